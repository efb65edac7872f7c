"""Toolsets that installed packages register: found by their name, built for their agent, refused with the line."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DESCRIBE = """\
import json, pathlib, sys
sys.path.insert(0, "packages")
from restante.errors import BadConfig
from restante.running.agents import build_agents
from restante.running.config import load_config
for available in json.loads(sys.argv[1]):
    team = pathlib.Path("team.toml").read_text().replace('"weather"', f'"{available}"')
    pathlib.Path("restante.toml").write_text(team)
    try:
        agents = build_agents(load_config(pathlib.Path("restante.toml")))
    except BadConfig as error:
        described = {"refused": error.message}
    else:
        described = {name: [tool for each in one.agent.toolsets for tool in getattr(each, "tools", ())]
                     for name, one in agents.items()}
    print(json.dumps(described | {"loaded": "weather_of_test" in sys.modules}))
"""
WEATHER = """\
from pydantic_ai import FunctionToolset

def tools(holder):
    where, toolset = holder.folder.name, FunctionToolset()
    toolset.add_function(lambda: f"sun at {where}, {holder.clock.now()}", name=f"sun_for_{holder.agent}")
    return toolset

def broken(holder):
    raise RuntimeError("no barometer here")

def nothing(holder):
    return [holder]
"""
TEAM = """\
policy = "POLICY"
entry = "scout"
[agents.scout]
model = "scripted:script.toml"
folder = "work/scout"
tools.available = ["weather"]
[agents.writer]
model = "scripted:script.toml"
tools.available = ["messaging"]
"""


ENTRIES = {
    "weather": "weather_of_test:tools",
    "messaging": "weather_of_test:broken",
    "broken": "weather_of_test:broken",
    "nothing": "weather_of_test:nothing",
    "absent": "weather_of_test:absent",
    "nobody": "weather_of_nobody:tools",
    "twice": "weather_of_test:tools",
}
NAMED = ["time", "weather", "broken", "nothing", "absent", "nobody", "twice", "wether"]


def install(packages: Path, package: str, entries: dict[str, str]) -> None:
    """A distribution as an installer leaves it."""
    info = packages / f"{package.replace('-', '_')}-1.dist-info"
    info.mkdir(parents=True)
    lines = "\n".join(f"{name} = {value}" for name, value in entries.items())
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[restante.toolsets]\n{lines}\n")


@pytest.fixture(scope="module", params=["default", "classic"])
def described(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What a process in which two packages are installed makes of the team: by the toolset that the scout names."""
    folder = tmp_path_factory.mktemp("team")
    install(folder / "packages", "weather-of-test", ENTRIES)
    install(folder / "packages", "another", {"twice": "weather_of_test:nothing"})
    (folder / "packages/weather_of_test.py").write_text(WEATHER)
    (folder / "script.toml").write_text('[[scout]]\nsay = "done"\n[[writer]]\nsay = "done"\n')
    (folder / "team.toml").write_text(TEAM.replace("POLICY", request.param))
    command = [sys.executable, "-c", DESCRIBE, json.dumps(NAMED)]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=100)
    assert ran.returncode == 0, ran.stderr
    assert (folder / "work/scout").is_dir()
    return dict(zip(NAMED, map(json.loads, ran.stdout.splitlines()), strict=True))


Described = dict[str, dict[str, Any]]


@pytest.mark.rows("T330")
def test_a_toolset_that_a_package_registers_is_built_for_the_agent_that_names_it_and_for_no_other(
    described: Described,
) -> None:
    assert described["weather"]["scout"] == ["sun_for_scout"]
    assert described["weather"]["writer"] == ["send_message", "list_agents"]


def test_a_package_cannot_take_over_a_name_of_ours(described: Described) -> None:
    assert ENTRIES["messaging"] == "weather_of_test:broken"
    assert described["time"]["writer"] == ["send_message", "list_agents"]


def test_a_package_whose_toolset_nobody_names_is_not_loaded(described: Described) -> None:
    assert not described["time"]["loaded"]
    assert described["weather"]["loaded"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken", ["the toolset 'broken' cannot be built", "RuntimeError: no barometer here"]),
        ("nothing", ["(weather_of_test:nothing) gives a list", "no Pydantic AI toolset"]),
        ("absent", ["AttributeError", "'absent'"]),
        ("nobody", ["No module named 'weather_of_nobody'"]),
    ],
)
def test_a_toolset_that_cannot_be_built_is_refused_with_the_line_and_the_agent(
    described: Described, name: str, words: list[str]
) -> None:
    refused = described[name]["refused"]

    assert "restante.toml:6: Agent 'scout': " in refused
    assert all(word in refused for word in words), refused


def test_an_unknown_toolset_is_refused_with_the_line_the_nearest_one_and_all_that_are_installed(
    described: Described,
) -> None:
    assert described["wether"]["refused"] == (
        "restante.toml:6: Agent 'scout' names the toolset 'wether'. The nearest one is 'weather'. Installed are: "
        "absent, asking, broken, files, messaging, nobody, nothing, time, twice, weather, "
        '"mcp:NAME" for a server [mcp.NAME].'
    )


def test_a_name_that_two_packages_bring_is_refused_by_naming_both(described: Described) -> None:
    refused = described["twice"]["refused"]

    assert "restante.toml:6: Several packages bring a toolset 'twice'" in refused
    assert "weather_of_test:nothing and weather_of_test:tools" in refused
