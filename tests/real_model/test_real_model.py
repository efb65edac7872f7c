"""A turn with a real model: over HTTP to a small one on loopback, started by the command that people start."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from restante.bus import JournalEntry
from restante.running.stored import read_chat

ROOT = Path(__file__).parents[2]
MODEL = ROOT / ".real-model"
"""The environment that `make real-model` builds."""
COMMAND = Path(sys.executable).with_name("restante")
PROMPT = "What is the capital of France?"
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


def printed(folder: Path, *arguments: str) -> str:
    """Run the command, print what it printed and how long it took, and return its output."""
    began_s = time.monotonic()
    command = [COMMAND, *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    took_s = time.monotonic() - began_s
    sys.stdout.write(
        f"\n$ restante {' '.join(arguments)}\n{ran.stdout}{ran.stderr}[{took_s:.1f} s, exit code {ran.returncode}]\n"
    )
    assert ran.returncode == 0
    return ran.stdout


def test_a_message_of_a_worker_of_a_real_model_is_read_by_another_run(tmp_path: Path) -> None:
    log, team = tmp_path / "shim.log", Path(__file__).with_name("team.toml").read_text()
    with serving(log) as url:
        (tmp_path / "restante.toml").write_text(team.replace("BASE_URL", url))
        try:
            printed(tmp_path, "run", PROMPT)
        finally:
            sys.stdout.write(f"\nWhat the model was asked for and gave:\n{log.read_text()}")
    exported = printed(tmp_path, "export")

    (turn,) = asyncio.run(read_chat(tmp_path / ".restante/store.db", None)).turns
    workers = {entry.facts["address"] for entry in turn.entries if entry.kind == "spawn"}
    assert workers
    delivered = [sent for sent in turn.entries if is_of(sent, workers) and readers_of(sent, turn.entries)]
    assert delivered
    assert f"[message from {delivered[0].facts['sender']}]" in exported


def is_of(sent: JournalEntry, workers: set[object]) -> bool:
    """Whether this is a message that was accepted from one of them."""
    return sent.kind == "message" and sent.facts["sender"] in workers


def readers_of(sent: JournalEntry, entries: tuple[JournalEntry, ...]) -> set[str | None]:
    """Whose prompts held the message, by runs whose fate for it is `delivered`."""
    about = [entry for entry in entries if entry.facts.get("message_id") == sent.facts["message_id"]]
    given = {entry.address for entry in about if entry.kind == "delivery"}
    read = {entry.facts["address"] for entry in about if entry.kind == "fate" and entry.facts["state"] == "delivered"}
    return given & read - {sent.facts["sender"]}
