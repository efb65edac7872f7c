"""`restante run` and `restante export`: a turn as it goes, and a chat as it was."""

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from restante.errors import CODES, NotFound
from restante.surface.cli.places import CONFIG, ConfigOption, StoreOption, ready, shown, store_of
from restante.surface.cli.terminal import run_async, say, show, show_json, words_of
from restante.surface.visible import visible

if TYPE_CHECKING:
    from restante.running.platform import Platform
    from restante.running.transcript import TurnRecord

FAILED = CODES["internal"].exit_code
STOPPED = CODES["turn_stopped"].exit_code


def run(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What you say; - is standard input.")],
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the answer.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the turn as JSON when it has ended.")] = False,
) -> None:
    """Say something to your agents and watch what they write to each other. Exit code 0: there is an answer."""
    text = words_of(prompt)
    chat_id, turn = run_async(_play(config, store, text, watch=not quiet and not as_json))
    if as_json:
        show_json({"chat_id": chat_id, **_shape(turn)})
    else:
        _show_end(turn)
        if not quiet:
            say(f"The whole chat: restante export {chat_id}")
    if turn.state != "ended_ok":
        sys.exit(STOPPED if turn.state == "stopped" else FAILED)


async def _play(config: Path, store: Path | None, text: str, *, watch: bool) -> tuple[str, "TurnRecord"]:
    from rich.console import Console  # noqa: PLC0415 - as everything here that takes its time to load

    from restante.running.agents import build_agents  # noqa: PLC0415
    from restante.running.config import load_config  # noqa: PLC0415
    from restante.running.platform import open_platform  # noqa: PLC0415
    from restante.surface.cli.live import LiveView  # noqa: PLC0415

    team = load_config(config)
    async with open_platform(team, build_agents(team), ready(config, store)) as platform:
        chat_id = await platform.create_chat()
        said = await platform.say(chat_id, text)
        console = Console(quiet=not watch, highlight=False)
        with _stopping(platform, chat_id), LiveView(console) as view:
            async for entry in platform.watch(chat_id):
                view.take(entry)
        turns = (await platform.transcript(chat_id)).turns
    return chat_id, next(turn for turn in turns if turn.turn_id == said.turn_id)


@contextmanager
def _stopping(platform: "Platform", chat_id: str) -> Generator[None]:
    """The first Ctrl-C stops the turn, which then ends with its report; the second one ends the command."""
    import asyncio  # noqa: PLC0415 - it is loaded by now

    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def stop() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        tasks.add(loop.create_task(platform.stop(chat_id)))

    loop.add_signal_handler(signal.SIGINT, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _show_end(turn: "TurnRecord") -> None:
    from restante.surface.leftovers import Leftovers  # noqa: PLC0415

    if turn.answer is not None:
        show(turn.answer)
    if turn.state == "stopped":
        say("Stopped: there is no answer.")
    elif turn.error is not None:
        say(f"Failed: {turn.error}")
    for line in Leftovers(turn).sentences():
        say(line)


def _shape(turn: "TurnRecord") -> dict[str, object]:
    return {
        "turn_id": turn.turn_id,
        "state": turn.state,
        "answer": turn.answer,
        "error": turn.error,
        "report": turn.report,
        "entries": [entry._asdict() for entry in turn.entries],
    }


def list_chats(
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
) -> None:
    """List the chats of the store, the newest first: id, agent, when it began, turns, and how the last one stands."""
    from restante.durable.times import rfc3339  # noqa: PLC0415
    from restante.running.stored import list_chats as stored_chats  # noqa: PLC0415 - takes its time to load

    found = [
        {
            "chat_id": each.chat.chat_id,
            "agent": each.chat.agent,
            "purpose": each.chat.purpose,
            "created_at": rfc3339(each.chat.created_at_ms),
            "turns": each.turns,
            "last_state": each.last_state,
        }
        for each in run_async(stored_chats(store_of(config, store))).chats
    ]
    if as_json:
        show_json({"chats": found})
        return
    for chat in found:
        turns = f"{chat['turns']} turn{'' if chat['turns'] == 1 else 's'}"
        state = f", the last {chat['last_state']}" if chat["last_state"] else ""
        show(f"{chat['chat_id']}  {chat['agent']}  {chat['created_at']}  {turns}{state}")


def export(
    chat: Annotated[str | None, typer.Argument(metavar="[CHAT]", help="Its id. [default: the newest one]")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="PATH", help="Write it to a file.")] = None,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="Shorten nothing.")] = False,
) -> None:
    """Print a chat as Markdown: every message, tool call and answer in its place, and what was not delivered.

    On a terminal, characters that would act on it are shown as escapes. A file or a pipe gets every text as it is,
    escape sequences and marks of direction too: what reads it has to be as careful.
    """
    from restante.running.stored import read_chat  # noqa: PLC0415 - takes its time to load
    from restante.surface.export import export_chat  # noqa: PLC0415

    text = export_chat(run_async(read_chat(store_of(config, store), chat)), full=full)
    if out is not None:
        _write(out, text)
    elif sys.stdout.isatty():
        sys.stdout.write(visible(text))
    else:
        sys.stdout.write(text)


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise NotFound(f"{shown(path)} cannot be written: {os.strerror(error.errno or 0)}.") from error
