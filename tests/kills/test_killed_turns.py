"""A process is killed in the middle of a turn; the next one finds what was stored, and loses and repeats nothing."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from restante.bus import BusPolicy
from restante.running.platform import Transcript
from restante.running.stored import read_chat
from restante.surface.export import export_chat
from restante.testing import says
from restante.testing.scripted import prompt_of, texts_of
from tests.bus.policies import both
from tests.running.teams import ended, playing
from tests.turn.playing import Entries
from tests.turn.stage import Cast

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


def kill(folder: Path, policy: BusPolicy, case: str) -> None:
    """Play a turn in a process of its own until it dies."""
    command = [sys.executable, "-m", "tests.kills.dying", str(folder), policy.name, case]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def words_in(folder: Path) -> list[tuple[str, str, int]]:
    """Every word of the person with its state, and whether it came out of a turn unread."""
    with closing(sqlite3.connect(folder / "store.db")) as store:
        return store.execute("SELECT text, state, carried FROM words ORDER BY sequence").fetchall()


async def go_on(folder: Path, cast: Cast, chat: Transcript) -> Transcript:
    """The chat once a new process has run what waits in it."""
    async with playing(folder, cast) as platform:
        return await ended(platform, chat.chat_id)


@pytest.mark.rows("T347")
@both
@pytest.mark.parametrize("case", ["not_offered", "waiting", "claimed"])
async def test_words_that_no_run_had_read_when_the_process_was_killed_become_the_next_turn(
    tmp_path: Path, policy: BusPolicy, case: str
) -> None:
    kill(tmp_path, policy, case)

    found = await read_chat(tmp_path / "store.db", None)
    cast = Cast(policy, assistant=(says("answered"),))
    chat = await go_on(tmp_path, cast, found)
    again = await go_on(tmp_path, Cast(policy, assistant=()), found)

    assert [(turn.state, [one.text for one in turn.cause]) for turn in found.turns] == [
        ("interrupted", ["go"]),
        ("queued", ["one", "two"]),
    ]
    assert (chat.turns[0], chat.turns[1].state, len(chat.turns)) == (found.turns[0], "ended_ok", 2)
    assert chat.turns[1].cause == found.turns[1].cause
    assert len({one.message_id for one in chat.turns[1].cause}) == 2
    (prompt,) = cast.prompts("assistant")
    assert [text for message in prompt for part in message.parts for text in texts_of(part)] == ["one", "two"]
    assert again == chat
    assert words_in(tmp_path) == [("go", "read", 0), ("one", "read", 1), ("two", "read", 1)]


@pytest.mark.rows("T362")
@both
async def test_a_turn_killed_in_its_third_round_is_shown_up_to_there_and_what_was_owed_is_settled(
    tmp_path: Path, policy: BusPolicy
) -> None:
    kill(tmp_path, policy, "third_round")

    found = await read_chat(tmp_path / "store.db", None)
    cast = Cast(policy, researcher=(), writer=(), assistant=(says("answered"),))
    chat = await go_on(tmp_path, cast, found)

    turn, following = found.turns
    entries = Entries(turn.entries)
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert entries.story("researcher#1") == [
        "round 0",
        "calls send_message",
        "send_message: ok",
        "round 1",
        "calls wait_at",
        "wait_at: ok",
        "reads claimed",
        "reads typed",
        "round 2",
    ]
    ids = {facts["text"]: facts["message_id"] for facts in entries.of("message")}
    assert entries.fates() == (_of_classic(ids) if policy.one_reader_meets else _of_default(ids))
    assert turn.report is not None
    assert [(one["text"], one["reason"]) for one in turn.report["unmet"]] == [
        ("claimed", "interrupted"),
        ("waits", "interrupted"),
    ]
    assert turn.report["next_turn"] == [ids["typed"]]
    assert (turn.state, turn.answer, [one.text for one in following.cause]) == ("interrupted", None, ["typed"])
    _check_export(export_chat(found))

    assert chat.turns[0] == turn
    assert [len(cast.prompts(label)) for label in ("researcher", "writer", "assistant")] == [0, 0, 1]
    assert prompt_of(cast.prompts("assistant")[0]) == "typed"


Fates = list[tuple[str, str | None, str, str | None]]


def _of_default(ids: dict[str, str]) -> Fates:
    return [
        (ids["hello"], "writer#1", "delivered", None),
        (ids["claimed"], "researcher#1", "undelivered", "interrupted"),
        (ids["waits"], "assistant", "undelivered", "interrupted"),
        (ids["typed"], "assistant", "carried", None),
        (ids["typed"], "researcher#1", "undelivered", "interrupted"),
        (ids["typed"], "writer#1", "undelivered", "interrupted"),
    ]


def _of_classic(ids: dict[str, str]) -> Fates:
    """Each message is owed once; the first is the reading that met it."""
    return [
        (ids["hello"], "writer#1", "delivered", None),
        (ids["hello"], None, "delivered", None),
        (ids["claimed"], None, "undelivered", "interrupted"),
        (ids["waits"], None, "undelivered", "interrupted"),
        (ids["typed"], "assistant", "carried", None),
    ]


def _check_export(export: str) -> None:
    assert export.count("*not finished*") == 3  # both spawns, and the tool in which the writer waited
    assert "**Interrupted:** the process ended before this turn did. It is not run again." in export
    for sender, to, text in (("writer#1", "researcher", "claimed"), ("writer#1", "assistant", "waits")):
        assert f"> **Undelivered:** {sender} -> {to}" in export
        assert f": {text} (" in export
    assert "> **Not read, and so the next turn:** typed" in export
    assert "**Waiting:** this turn has not started." in export
