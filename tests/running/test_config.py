"""`restante.toml` as it is read: what comes out of a good file."""

from pathlib import Path

import pytest

from restante.bus.policy import BusPolicy
from restante.running.config import Config, Limits, load_config

WHOLE = """\
policy = "classic"
entry = "assistant"

[limits]
rounds = 7
text_max = 100
turn_max = 60.5

[models.local]
provider = "openai"
model = "qwen3.5:9b"
base_url = "http://localhost:11434/v1"
api_key_env = "LOCAL_KEY"

[agents.assistant]
description = "Plans."
instructions_file = "assistant.md"
model = "local"
delegates_to = ["researcher"]
rounds = 4
folder = "work/assistant"

[agents.assistant.tools]
available = ["messaging"]
confirm = []

[agents.assistant.capabilities]
free_text_ask = false

[agents.researcher]
model = "openai:gpt-5"
instructions = "Find out."

[agents.player]
model = "scripted:demo.toml"

[agents.billing]
agent = "shop.agents:billing"
"""


def load(folder: Path, text: str) -> Config:
    (folder / "restante.toml").write_text(text)
    (folder / "assistant.md").write_text("Plan, then ask.\n")
    (folder / "demo.toml").write_text("")
    return load_config(folder / "restante.toml")


def test_every_key_of_the_file_arrives(tmp_path: Path) -> None:
    config = load(tmp_path, WHOLE)
    assistant = config.agents["assistant"]

    assert config.policy == BusPolicy.classic(rounds=7)
    assert config.limits == Limits(text_max=100, turn_max=60.5)
    assert config.models["local"].api_key_env == "LOCAL_KEY"
    assert assistant.instructions == "Plan, then ask.\n"
    assert assistant.folder == tmp_path / "work/assistant"
    assert (assistant.tools, assistant.rounds, assistant.delegates_to) == (("messaging",), 4, ("researcher",))
    assert not assistant.free_text_ask
    assert config.agents["billing"].agent == "shop.agents:billing"


def test_a_small_file_gets_the_defaults_of_the_product(tmp_path: Path) -> None:
    config = load(tmp_path, 'entry = "a"\n[agents.a]\nmodel = "openai:gpt-5"\n')

    assert (config.policy, config.limits) == (BusPolicy(), Limits())
    assert config.agents["a"].free_text_ask
    assert config.agents["a"].tools == ()


@pytest.mark.parametrize("value", [True, False])
def test_an_agent_is_open_to_messages_or_closed_as_the_file_says(tmp_path: Path, value: bool) -> None:
    text = f'entry = "a"\n[agents.a]\nmodel = "x:y"\ncapabilities = {{free_text_ask = {str(value).lower()}}}\n'

    assert load(tmp_path, text).agents["a"].free_text_ask is value


def test_a_script_is_found_beside_the_file_and_not_beside_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")

    assert load(tmp_path, WHOLE).agents["player"].model == f"scripted:{tmp_path / 'demo.toml'}"


def test_a_configuration_does_not_change_once_it_is_read(tmp_path: Path) -> None:
    config = load(tmp_path, WHOLE)

    with pytest.raises(TypeError):
        config.agents["new"] = config.agents["assistant"]  # type: ignore[index]


def test_two_agents_may_delegate_to_the_same_one(tmp_path: Path) -> None:
    text = """\
        entry = "a"
        agents.a = {model = "x:y", delegates_to = ["b", "c"]}
        agents.b = {model = "x:y", delegates_to = ["d"]}
        agents.c = {model = "x:y", delegates_to = ["d"]}
        agents.d = {model = "x:y"}
        """

    assert load(tmp_path, text).agents["c"].delegates_to == ("d",)
