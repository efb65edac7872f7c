"""Turns with a real model: over HTTP to a small one on loopback, in the dialogue that people have."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from restante.bus import JournalEntry
from restante.bus.fates import FINAL
from restante.running.stored import read_chat

ROOT = Path(__file__).parents[2]
MODEL = ROOT / ".real-model"
"""The environment that `make real-model` builds."""
COMMAND = Path(sys.executable).with_name("restante")
WORDS = ("What is the capital of France?", "Who painted the Mona Lisa?", "How many legs does a spider have?")
PATIENCE_SECONDS = 600

pytestmark = [
    pytest.mark.skipif(not (MODEL / ".ready").exists(), reason="no real model is here; `make real-model` builds one"),
    pytest.mark.timeout(2 * PATIENCE_SECONDS),
]


@contextmanager
def serving(log: Path) -> Generator[str]:
    """The shim as a process; gives its base URL."""
    command = [MODEL / "bin/python", "-m", "tests.real_model.shim"]
    with (
        log.open("w") as err,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=err, text=True) as shim,
    ):
        try:
            assert shim.stdout is not None
            url = shim.stdout.readline().strip()
            assert url, log.read_text()
            yield url
        finally:
            shim.terminate()


def printed(folder: Path, *arguments: str, said: Sequence[str] = ()) -> str:
    """Run the command, print what it printed and how long it took, and return its output."""
    began_s = time.monotonic()
    ran = subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        input="".join(f"{line}\n" for line in said),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    took_s = time.monotonic() - began_s
    sys.stdout.write(
        f"\n$ restante {' '.join(arguments)}\n{ran.stdout}{ran.stderr}[{took_s:.1f} s, exit code {ran.returncode}]\n"
    )
    assert ran.returncode == 0
    return ran.stdout


def test_two_workers_of_a_real_model_write_in_several_turns_and_no_message_is_lost(tmp_path: Path) -> None:
    log, team = tmp_path / "shim.log", Path(__file__).with_name("team.toml").read_text()
    with serving(log) as url:
        (tmp_path / "restante.toml").write_text(team.replace("BASE_URL", url))
        try:
            printed(tmp_path, "chat", said=WORDS)
        finally:
            sys.stdout.write(f"\nWhat the model was asked for and gave:\n{log.read_text()}")
    exported = printed(tmp_path, "export")

    turns = asyncio.run(read_chat(tmp_path / ".restante/store.db", None)).turns
    assert [(turn.state, bool(turn.answer)) for turn in turns] == [("ended_ok", True)] * len(WORDS)
    assert {label for turn in turns for label in spawned(turn.entries)} >= {"researcher", "critic"}
    assert all(read_by_another(turn.entries) for turn in turns)
    assert [lost for turn in turns for lost in without_fate(turn.entries)] == []
    assert all(f"[message from {sender}]" in exported for sender in read_by_another(turns[0].entries))


Entries = Sequence[JournalEntry]


def spawned(entries: Entries) -> list[str]:
    """The labels of the workers, in the order of their starts."""
    return [str(entry.facts["agent"]) for entry in entries if entry.kind == "spawn"]


def read_by_another(entries: Entries) -> set[str]:
    """The workers of whom another run has read a message."""
    workers = {entry.facts["address"] for entry in entries if entry.kind == "spawn"}
    sent = {entry.facts["message_id"]: entry.facts["sender"] for entry in entries if entry.kind == "message"}
    read = [
        (sent[entry.facts["message_id"]], entry.facts["address"])
        for entry in entries
        if entry.kind == "fate" and entry.facts["state"] == "delivered"
    ]
    return {str(sender) for sender, reader in read if sender in workers and reader != sender}


def without_fate(entries: Entries) -> list[object]:
    """The messages, with an address, for which nothing final is known."""
    known = {
        (entry.facts["message_id"], entry.facts["address"])
        for entry in entries
        if entry.kind == "fate" and entry.facts["state"] in FINAL
    }
    owed = [
        (entry.facts["message_id"], address)
        for entry in entries
        if entry.kind == "message"
        for address, _ in cast("list[tuple[str, str]]", entry.facts["matched"])
    ]
    return [one for one in owed if one not in known]
