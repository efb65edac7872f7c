"""`restante chats` and its commands, in a folder of its own and beside a running platform."""

import asyncio
import json
import os
import pty
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from restante.bus import BusPolicy
from restante.testing import says
from tests.running.platforms import until
from tests.running.teams import ended, playing
from tests.surface.terminal import COMMAND, PATIENCE_SECONDS, Ran, restante, write_team
from tests.turn.stage import Cast, waits

pytestmark = pytest.mark.timeout(120)

HELLO = '[[assistant]]\nsay = "hi"\n'


def chat_of(folder: Path, *prompts: str) -> str:
    """A chat whose turns these prompts began; its id."""
    write_team(folder, HELLO)

    async def talk() -> str:
        async with playing(folder / ".restante", Cast(BusPolicy(), assistant=(says("greetings"),))) as platform:
            chat_id = await platform.create_chat()
            for prompt in prompts:
                await platform.say(chat_id, prompt)
                await ended(platform, chat_id)
            return chat_id

    (folder / ".restante").mkdir(exist_ok=True)
    return asyncio.run(talk())


def ids(folder: Path) -> list[str]:
    return [chat["chat_id"] for chat in json.loads(restante("chats", "--json", folder=folder).out)["chats"]]


def test_a_chat_is_renamed_and_listed_by_its_title(tmp_path: Path) -> None:
    chat_id = chat_of(tmp_path, "first words\nand more")

    before = restante("chats", folder=tmp_path)
    renamed = restante("chats", "rename", chat_id, "A \x1b[31mtitle", folder=tmp_path)
    after = restante("chats", folder=tmp_path)

    assert before.out.startswith(f"{chat_id}  assistant  ")
    assert before.out.endswith("Z  1 turn  first words and more\n")
    assert renamed == Ran(0, f"{chat_id} is called A \\x1b[31mtitle\n", "")
    assert after.out.endswith("  1 turn  A \\x1b[31mtitle\n")
    refused = restante("chats", "rename", chat_id, "x" * 201, folder=tmp_path)
    assert (refused.code, "1 to 200 characters" in refused.err) == (2, True)
    assert restante("chats", "rename", "chat-none", "x", folder=tmp_path).code == 5


def test_what_a_person_said_is_found_with_its_sentence_and_what_an_agent_said_is_not(tmp_path: Path) -> None:
    chat_id = chat_of(tmp_path, "one", "Look at this. Where is the cache? Tell me.")

    found = restante("chats", "search", "CACHE", folder=tmp_path)
    as_json = json.loads(restante("chats", "search", "o", "--limit", "1", "--json", folder=tmp_path).out)

    assert found.out == f"{chat_id}  turn 2  Where is the cache?\n"
    assert ([hit["turn"] for hit in as_json["hits"]], as_json["has_more"]) == ([2], True)
    nothing = restante("chats", "search", "greetings", folder=tmp_path)
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "No person said that in any chat of this store.\n")
    assert "a --limit above 1" in restante("chats", "search", "o", "--limit", "1", folder=tmp_path).err
    assert restante("chats", "search", " ", folder=tmp_path).code == 2


def test_a_chat_is_branched_and_truncated_after_a_turn_that_is_named_by_number_or_id(tmp_path: Path) -> None:
    chat_id = chat_of(tmp_path, "one", "two", "three")
    turns = [line.split("  ") for line in restante("chats", "show", chat_id, folder=tmp_path).out.splitlines()]

    branched = restante("chats", "branch", chat_id, "--after", "2", folder=tmp_path)
    whole = json.loads(restante("chats", "branch", chat_id, "--json", folder=tmp_path).out)
    truncated = restante("chats", "truncate", chat_id, "--after", turns[0][1], "--yes", folder=tmp_path)

    assert [(number, state, words) for number, _, state, words in turns] == [
        ("1", "ended_ok", "one"),
        ("2", "ended_ok", "two"),
        ("3", "ended_ok", "three"),
    ]
    copy, count = branched.out.split("  ")
    assert (count, whole["turns"], truncated.out) == ("2 turns\n", 3, "Removed 2 turns\n")
    assert [_turns(tmp_path, each) for each in (chat_id, copy, whole["chat_id"])] == [1, 2, 3]
    for place, words in (("4", "Its turns that have: 1 to 1."), ("msg-1", "not at a message")):
        refused = restante("chats", "branch", chat_id, "--after", place, folder=tmp_path)
        assert (refused.code, words in refused.err) == (2, True)


def _turns(folder: Path, chat_id: str) -> int:
    return len(json.loads(restante("export", chat_id, "--json", folder=folder).out)["turns"])


def test_nothing_is_removed_without_a_yes_where_nobody_can_be_asked(tmp_path: Path) -> None:
    chat_id = chat_of(tmp_path, "one", "two")

    for command in (["delete", chat_id], ["truncate", chat_id, "--after", "1"]):
        refused = restante("chats", *command, folder=tmp_path)
        assert (refused.code, "Add --yes" in refused.err) == (2, True)
    assert _turns(tmp_path, chat_id) == 2
    assert restante("chats", "delete", chat_id, "--yes", folder=tmp_path).out == "Deleted one, 2 turns\n"
    assert restante("chats", "delete", chat_id, "--yes", folder=tmp_path).code == 5
    assert ids(tmp_path) == []


@pytest.mark.parametrize(("typed", "left"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_on_a_terminal_one_is_asked_before_a_chat_is_removed(tmp_path: Path, typed: str, left: int) -> None:
    chat_id = chat_of(tmp_path, "one")

    code, shown = _at_a_terminal(["chats", "delete", chat_id], typed, tmp_path)

    assert "Delete one, 1 turn? [y/N]" in shown
    assert ("Nothing was removed." in shown, code) == ((True, 1) if left else (False, 0))
    assert len(ids(tmp_path)) == left


def _at_a_terminal(arguments: Sequence[str], typed: str, folder: Path) -> tuple[int, str]:
    """Run a command with a terminal at all its ends, and type something; its exit code and what was shown."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, *arguments], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        code = process.wait(PATIENCE_SECONDS)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    return code, shown


def test_an_option_before_the_command_is_refused_and_not_lost(tmp_path: Path) -> None:
    chat_id = chat_of(tmp_path, "one")

    refused = restante("chats", "--json", "show", chat_id, folder=tmp_path)

    assert (refused.code, refused.out) == (2, "")
    assert "restante chats show ..." in refused.err


def test_a_list_that_was_limited_says_that_there_is_more(tmp_path: Path) -> None:
    for prompt in ("one", "two"):
        chat_of(tmp_path, prompt)

    listed = restante("chats", "--limit", "1", folder=tmp_path)

    assert listed.out.endswith("  two\n")
    assert listed.err == "There are more: restante chats --limit 2\n"


@pytest.mark.anyio
async def test_beside_a_running_platform_chats_are_changed_and_one_that_runs_is_not_cut(tmp_path: Path) -> None:
    store = str(tmp_path / "store.db")
    cast = Cast(BusPolicy(), assistant=(waits("end"), says("done")))
    async with playing(tmp_path, cast) as platform:
        idle, busy = await platform.create_chat(title="idle"), await platform.create_chat()
        await platform.say(busy, "go")
        await until(lambda: cast.prompts("assistant"))

        refused = await asyncio.to_thread(restante, "chats", "delete", busy, "--yes", "--store", store, folder=tmp_path)
        deleted = await asyncio.to_thread(restante, "chats", "delete", idle, "--yes", "--store", store, folder=tmp_path)

        assert (refused.code, "A turn of this chat runs." in refused.err) == (4, True)
        assert (deleted.code, [each.chat.chat_id for each in (await platform.chats()).chats]) == (0, [busy])
        await cast.open("end")
        assert (await ended(platform, busy)).turns[0].answer == "done"
