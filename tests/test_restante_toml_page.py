"""The page about `restante.toml`: its example is loaded, its toolset is built, and it names every key there is."""

import re
import tomllib
from pathlib import Path

import pytest

from restante.bus.policy import BusPolicy
from restante.errors import BadConfig
from restante.running import Holder, Limits, build_agents, load_config
from restante.running.toml_places import BUS_LIMITS, PLACES
from restante.running.toolsets import find_toolsets
from restante.testing import FakeClock
from restante.turn import TurnOptions
from tests.turn.playing import play

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/restante-toml.md").read_text()
SHOP = """\
from pydantic_ai import Agent
from restante.testing import ScriptedModel, says
billing = Agent(ScriptedModel(says("billed")))
books = {}
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the example, and with what it names."""
    (tmp_path / "restante.toml").write_text(blocks("toml")[0])
    (tmp_path / "researcher.md").write_text("Find it out.")
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/agents.py").write_text(SHOP)
    return tmp_path


def test_the_whole_file_is_loaded_and_its_agents_are_built(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOCAL_KEY", "SEARCH_TOKEN", "SHELF_TOKEN", "SHELF_NUMBER", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sesame")
    monkeypatch.syspath_prepend(str(folder))  # pyright: ignore[reportUnknownMemberType]

    agents = build_agents(load_config(folder / "restante.toml"))

    assert list(agents) == ["assistant", "researcher", "billing"]
    assert (folder / "work/assistant").is_dir()


def test_the_whole_file_has_every_key_that_is_no_limit(folder: Path) -> None:
    read = tomllib.loads((folder / "restante.toml").read_text())
    tables = [read, read["review"], *read["models"].values(), *read["mcp"].values(), *read["agents"].values()]
    used = {key for table in tables for key in table} | {
        key for agent in read["agents"].values() for part in ("tools", "capabilities") for key in agent.get(part, {})
    }

    known = {key for place, keys in PLACES.items() if place != "[limits]" for key in keys}

    assert known - used == set()


def test_the_page_names_every_key_and_every_default(folder: Path) -> None:
    del folder
    limits = PAGE[PAGE.index("### `[limits]`") : PAGE.index("### `[models.NAME]`")]
    named = set(re.findall(r"`([a-z_]+)`", limits))

    assert named == set(PLACES["[limits]"]) - set(BUS_LIMITS)
    assert all(f"{getattr(Limits(), key):,.10g}" in limits for key in named)
    keys = {key for place, known in PLACES.items() if place != "[limits]" for key in known}
    assert [key for key in keys if not re.search(rf"`[^`\n]*\b{key}\b[^`\n]*`", PAGE)] == []


def test_the_limits_of_a_turn_are_on_the_page_that_it_points_to() -> None:
    policies = (ROOT / "docs/policies.md").read_text()

    assert all(f"`{name}`" in policies for name in ("rounds", "agent_extensions", "text_limit", "live_runs"))
    assert "rounds" in BUS_LIMITS
    assert BusPolicy().rounds == 10


def test_the_page_names_every_toolset_that_is_shipped() -> None:
    table = PAGE[PAGE.index("## The toolsets") :]

    assert all(f'`"{name}"`' in table for name, (entry, *_) in find_toolsets().items() if "restante" in entry.value)


def test_the_error_that_it_shows_is_the_one_that_comes(folder: Path) -> None:
    text = (folder / "restante.toml").read_text()
    start, slip = text.index("[agents.assistant]"), 'delegate_to = ["researcher"]\n'
    lines = text[:start].count("\n") + 2
    (folder / "restante.toml").write_text(text[:start] + "[agents.assistant]\n" + slip)

    with pytest.raises(BadConfig) as caught:
        load_config(folder / "restante.toml")

    shown = caught.value.message.removeprefix(f"{folder}/").replace(f":{lines}:", ":14:")
    assert f"restante: {shown}\n" in PAGE


@pytest.mark.anyio
async def test_the_toolset_of_ones_own_is_one(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text(
        '[[a]]\ncall = {tool = "weather_now", args = {place = "Rome"}}\n[[a]]\nsay = "done"\n'
    )
    (tmp_path / "restante.toml").write_text('entry = "a"\n[agents.a]\nmodel = "scripted:script.toml"\n')
    agents = build_agents(load_config(tmp_path / "restante.toml"))
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 - the page's own
    made = names["weather"]
    assert callable(made)

    options = TurnOptions(label="a", toolsets=[made(Holder(agent="a", folder=None, clock=FakeClock(60)))])  # type: ignore[list-item]
    played = await play(agents["a"].agent, "go", options)

    assert played.entries.results("weather_now") == ["a looked at 60: the sun shines in Rome."]


def test_the_page_is_one_that_readers_find() -> None:
    assert '"restante-toml.md"' in (ROOT / "zensical.toml").read_text()
    assert "(restante-toml.md)" in (ROOT / "docs/index.md").read_text()
