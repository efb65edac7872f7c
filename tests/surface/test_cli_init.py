"""`restante init` writes a team that works, and nothing that was there is lost."""

import re
import stat
import tomllib
from pathlib import Path

import pytest

from restante.bus import BusPolicy
from restante.running.agents import build_agents
from restante.running.config import Limits, load_config
from restante.surface.cli.templates import CONFIG_TEXT
from tests.surface.terminal import restante, restante_process

COMMENTED_OUT = re.compile(r"# (\[|[a-z_]+ = )")


def test_a_new_user_has_a_team_that_answers(tmp_path: Path) -> None:
    made = restante_process("init", "team", folder=tmp_path)
    played = restante_process("run", "What is new?", folder=tmp_path / "team")

    assert (made.code, played.code) == (0, 0), made.err + played.err
    assert 'cd team && restante run "What is new?"' in made.out
    lines = played.out.splitlines()
    assert "researcher#1 -> writer#1: Agents can write to each other while they work.  ✓ delivered" in lines
    assert lines[-1].startswith("Three agents worked on this")
    assert played.err.startswith("The whole chat: restante export chat-")


@pytest.mark.rows("T332")
@pytest.mark.parametrize("policy", ["default", "classic"])
def test_the_entry_agent_and_each_of_the_three_workers_can_write(tmp_path: Path, policy: str) -> None:
    restante("init", folder=tmp_path)
    text = (tmp_path / "restante.toml").read_text()
    (tmp_path / "restante.toml").write_text(text.replace('policy = "default"', f'policy = "{policy}"'))
    config = load_config(tmp_path / "restante.toml")

    assert len(config.agents) == 4
    assert all("messaging" in agent.tools for agent in config.agents.values())
    assert set(config.agents["assistant"].delegates_to) == {"researcher", "writer", "critic"}
    assert (config.entry, config.policy.name) == ("assistant", policy)
    assert list(build_agents(config)) == list(config.agents)


def test_what_it_writes_are_the_defaults_so_that_leaving_a_key_out_changes_nothing(tmp_path: Path) -> None:
    restante("init", folder=tmp_path)
    config = load_config(tmp_path / "restante.toml")

    assert (config.policy, config.limits) == (BusPolicy(), Limits())


def test_every_key_that_is_commented_out_is_one_that_works(tmp_path: Path) -> None:
    restante("init", folder=tmp_path)
    shown = [line.removeprefix("# ") if COMMENTED_OUT.match(line) else line for line in CONFIG_TEXT.splitlines()]
    (tmp_path / "restante.toml").write_text("\n".join(shown))

    config = load_config(tmp_path / "restante.toml")

    assert config.models["local"].base_url == "http://localhost:11434/v1"
    assert config.agents["billing"].agent == "shop.agents:billing"
    assert config.agents["assistant"].folder == tmp_path / "work/assistant"
    assert config.agents["assistant"].confirm == ("write_file",)
    assert (config.servers["docs"].command, config.servers["docs"].env_from) == ("uvx", ("DOCS_TOKEN",))


def test_the_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    restante("init", folder=tmp_path)

    assert stat.S_IMODE((tmp_path / ".restante").stat().st_mode) == 0o700
    assert (tmp_path / ".restante/.gitignore").read_text() == "*\n"


@pytest.mark.parametrize("name", ["restante.toml", "team.script.toml"])
def test_nothing_is_overwritten_and_then_nothing_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")

    refused = restante("init", folder=tmp_path)

    assert refused.code == 2
    assert refused.err == f"restante: {name} is there already, and nothing is overwritten. Name another folder.\n"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_store_that_is_there_is_kept_with_its_token(tmp_path: Path) -> None:
    restante("init", folder=tmp_path)
    token = (tmp_path / ".restante/owner.token").read_text()
    (tmp_path / "restante.toml").unlink()
    (tmp_path / "team.script.toml").unlink()

    assert restante("init", folder=tmp_path).code == 0
    assert (tmp_path / ".restante/owner.token").read_text() == token


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    refused = restante("init", "file/team", folder=tmp_path)

    assert (refused.code, "Name another folder." in refused.err) == (2, True)


def test_the_file_is_toml_that_other_readers_know() -> None:
    assert list(tomllib.loads(CONFIG_TEXT)) == ["policy", "entry", "limits", "agents"]


def test_right_after_init_no_token_can_have_the_name_of_an_agent(tmp_path: Path) -> None:
    restante("init", folder=tmp_path)

    refused = restante("token", "create", "Researcher", folder=tmp_path)

    assert (refused.code, refused.out) == (2, "")
    assert "is the name of an agent" in refused.err
