"""The toolsets that come with restante, as an agent uses them."""

from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart

from restante.errors import BadConfig
from restante.running.agents import build_agents
from restante.running.config import load_config
from restante.running.toolsets.file_tools import ENTRIES, PAGE
from restante.testing import FakeClock
from restante.turn import TurnOptions
from tests.turn.playing import play

pytestmark = pytest.mark.anyio

AT = 1_782_993_785.5
"""2026-07-02, a Thursday, 12:03:05.5 in UTC."""


async def answers(folder: Path, available: str, *calls: str, at: float = AT) -> list[str]:
    """What the tools answer an agent that makes these calls, one in each round."""
    steps = "".join(f"[[a]]\ncall = {call}\n" for call in calls)
    (folder / "script.toml").write_text(f'{steps}[[a]]\nsay = "done"\n')
    (folder / "restante.toml").write_text(
        f'entry = "a"\n[agents.a]\nmodel = "scripted:script.toml"\nfolder = "work/a"\nrounds = 20\n'
        f"tools.available = [{available}]\n"
    )
    agents = build_agents(load_config(folder / "restante.toml"), FakeClock(at))
    played = await play(agents["a"].agent, "go", TurnOptions(label="a", rounds={"a": 20}))
    assert played.result.output == "done"
    return [facts["text"] for facts in played.entries.of("tool_result")]


async def test_an_agent_is_told_the_time_of_the_platform_in_utc_and_in_the_zone_that_it_names(tmp_path: Path) -> None:
    said = await answers(
        tmp_path,
        '"time"',
        '{tool = "current_time"}',
        '{tool = "current_time", args = {zone = "Europe/Berlin"}}',
        '{tool = "current_time", args = {zone = "Asia/Kathmandu"}}',
    )

    assert said == [
        "2026-07-02T12:03:05+00:00, Thursday (UTC)",
        "2026-07-02T14:03:05+02:00, Thursday (Europe/Berlin)\n2026-07-02T12:03:05+00:00, Thursday (UTC)",
        "2026-07-02T17:48:05+05:45, Thursday (Asia/Kathmandu)\n2026-07-02T12:03:05+00:00, Thursday (UTC)",
    ]


@pytest.mark.parametrize("zone", ["Europe/Berln", "", "Europe", "../../etc/passwd", "/etc/localtime", "CEST!"])
async def test_what_is_no_time_zone_is_refused_with_some_that_are(tmp_path: Path, zone: str) -> None:
    (said,) = await answers(tmp_path, '"time"', f'{{tool = "current_time", args = {{zone = "{zone}"}}}}')

    assert f"not_found: there is no time zone {zone!r}" in said
    assert "Europe/" in said


async def test_an_agent_writes_reads_and_lists_files_in_its_folder(tmp_path: Path) -> None:
    said = await answers(
        tmp_path,
        '"files"',
        '{tool = "list_files"}',
        '{tool = "write_file", args = {path = "notes/plan.md", text = "Ä plan\\n"}}',
        '{tool = "write_file", args = {path = "notes/plan.md", text = ""}}',
        '{tool = "read_file", args = {path = "notes/plan.md"}}',
        '{tool = "write_file", args = {path = "notes/plan.md", text = "Ä plan\\r\\n"}}',
        '{tool = "read_file", args = {path = "notes/plan.md"}}',
        '{tool = "list_files", args = {path = "notes"}}',
        '{tool = "list_files"}',
    )

    assert said == [
        "Nothing is in here.",
        "Wrote 'notes/plan.md': 7 characters.",
        "Replaced 'notes/plan.md': 0 characters.",
        "('notes/plan.md': the whole of 0 characters.)\n",
        "Replaced 'notes/plan.md': 8 characters.",
        "('notes/plan.md': the whole of 8 characters.)\nÄ plan\r\n",
        "plan.md: 9 bytes",
        "notes/",
    ]
    assert (tmp_path / "work/a/notes/plan.md").read_bytes() == "Ä plan\r\n".encode()


async def test_a_long_file_comes_in_pages_that_say_so_and_make_up_the_whole(tmp_path: Path) -> None:
    text = "".join(chr(0x4E00 + number % 20_000) for number in range(2 * PAGE + 5))
    (tmp_path / "work/a").mkdir(parents=True)
    (tmp_path / "work/a/long.txt").write_text(text)

    said = await answers(
        tmp_path,
        '"files"',
        *(
            f'{{tool = "read_file", args = {{path = "long.txt", offset = {offset}}}}}'
            for offset in (0, PAGE, 2 * PAGE, 2 * PAGE + 6)
        ),
    )

    assert [page.partition("\n")[0] for page in said[:3]] == [
        "('long.txt': characters 0 to 20,000 of 40,005 characters. Go on with offset=20000.)",
        "('long.txt': characters 20,000 to 40,000 of 40,005 characters. Go on with offset=40000.)",
        "('long.txt': characters 40,000 to 40,005 of 40,005 characters.)",
    ]
    assert "".join(page.partition("\n")[2] for page in said[:3]) == text
    assert "offset is 40006; it goes from 0 to 40005" in said[3]


async def test_a_long_list_comes_in_pages_that_say_so(tmp_path: Path) -> None:
    (tmp_path / "work/a").mkdir(parents=True)
    for number in range(ENTRIES + 1):
        (tmp_path / f"work/a/{number:04}").touch()

    first, second, beyond = await answers(
        tmp_path,
        '"files"',
        '{tool = "list_files"}',
        f'{{tool = "list_files", args = {{offset = {ENTRIES}}}}}',
        '{tool = "list_files", args = {offset = -1}}',
    )

    assert first.endswith("\n0499: 0 bytes\n(1 more: go on with offset=500.)")
    assert second == "0500: 0 bytes"
    assert "offset is -1" in beyond


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\x89PNG\r\n", "no text in UTF-8: byte 0"), (b"a\0b", "holds U+0000"), ("ä".encode("latin-1"), "byte 0")],
)
async def test_a_binary_file_is_refused_in_words(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "work/a").mkdir(parents=True)
    (tmp_path / "work/a/it").write_bytes(content)

    (said,) = await answers(tmp_path, '"files"', '{tool = "read_file", args = {path = "it"}}')

    assert words in said
    assert "Only texts can be read" in said


async def test_a_way_out_is_a_result_marked_as_an_error_and_the_run_goes_on(tmp_path: Path) -> None:
    said = await answers(
        tmp_path,
        '"files"',
        '{tool = "read_file", args = {path = "../../restante.toml"}}',
        '{tool = "write_file", args = {path = "/tmp/x", text = "x"}}',
        '{tool = "read_file", args = {path = "none.md"}}',
    )

    assert said[0] == ("invalid_arguments: '../../restante.toml' leads upwards. Only what is in your folder is there.")
    assert "is absolute. Paths are relative to your folder." in said[1]
    assert said[2] == "not_found: There is no 'none.md'. list_files shows what there is."


async def test_a_name_cannot_look_like_a_second_entry(tmp_path: Path) -> None:
    (tmp_path / "work/a").mkdir(parents=True)
    (tmp_path / "work/a/x\nforged: 3 bytes").touch()
    (tmp_path / "work/a/\x1b[31m").touch()

    (said,) = await answers(tmp_path, '"files"', '{tool = "list_files"}')

    assert said.splitlines() == ["'\\x1b[31m': 0 bytes", "'x\\nforged: 3 bytes': 0 bytes"]


def test_files_without_a_folder_are_refused_with_the_line_and_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "restante.toml").write_text('entry = "a"\n[agents.a]\nmodel = "x:y"\ntools.available = ["files"]\n')

    with pytest.raises(BadConfig) as caught:
        load_config(tmp_path / "restante.toml")

    assert caught.value.message.endswith(
        "restante.toml:4: Agent 'a' has the toolset 'files' and no folder. Add to [agents.a]: folder = \"work/a\"."
    )


@pytest.mark.parametrize("folder", [".", "", "..", "work/..", "/", "{here}", "link"])
def test_a_folder_that_holds_the_configuration_is_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    named = folder.format(here=tmp_path)
    (tmp_path / "restante.toml").write_text(f'entry = "a"\n[agents.a]\nmodel = "x:y"\nfolder = "{named}"\n')

    with pytest.raises(BadConfig, match=r"restante\.toml:4: folder is .* which holds restante\.toml"):
        load_config(tmp_path / "restante.toml")


def test_a_folder_that_cannot_be_made_is_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "script.toml").write_text('[[a]]\nsay = "done"\n')
    (tmp_path / "restante.toml").write_text(
        'entry = "a"\n[agents.a]\nmodel = "scripted:script.toml"\nfolder = "file/a"\n'
    )

    with pytest.raises(BadConfig, match=r"restante\.toml:4: Agent 'a': its folder .*file/a cannot be made"):
        build_agents(load_config(tmp_path / "restante.toml"))


async def test_two_agents_with_folders_of_their_own_do_not_see_each_others_files(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text(
        '[[a]]\ncall = {tool = "write_file", args = {path = "mine.md", text = "a"}}\n'
        '[[a]]\ncall = {tool = "spawn", args = {agent = "b", task = "look"}}\n[[a]]\nsay = "done"\n'
        '[[b]]\ncall = {tool = "list_files"}\n[[b]]\nsay = "looked"\n'
    )
    table = 'model = "scripted:script.toml"\ntools.available = ["files"]\n'
    (tmp_path / "restante.toml").write_text(
        f'entry = "a"\n[agents.a]\n{table}folder = "work/a"\ndelegates_to = ["b"]\n'
        f'[agents.b]\n{table}folder = "work/b"\n'
    )
    agents = build_agents(load_config(tmp_path / "restante.toml"))

    played = await play(agents["a"].agent, "go", TurnOptions(label="a", agents=agents["a"].delegates))

    assert played.entries.results("list_files") == ["Nothing is in here."]
    assert results_of(list(played.result.messages)) == ["Wrote 'mine.md': 1 characters.", "looked"]


def results_of(messages: list[ModelMessage]) -> list[str]:
    """What the tools answered, as the model reads it."""
    return [
        part.model_response_str()
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
