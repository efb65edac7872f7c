"""`restante run`: one turn, as it goes."""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from restante.errors import CODES
from restante.surface.cli.places import CONFIG, ConfigOption, StoreOption, ready
from restante.surface.cli.terminal import run_async, say, show, show_json, words_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console

    from restante.running.pieces import Heard
    from restante.running.platform import Platform
    from restante.running.transcript import TurnRecord

FAILED = CODES["internal"].exit_code
STOPPED = CODES["turn_stopped"].exit_code
ENDING = (signal.SIGINT, signal.SIGTERM)
"""The signals that stop the turn."""


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
    watch = not quiet and not as_json
    chat_id, turn = run_async(_play(config, store, text, watch=watch))
    if as_json:
        _show_json(chat_id, turn)
    else:
        _show_end(turn, quiet=quiet)
    if watch:
        say(f"The whole chat: restante export {chat_id}")
    if turn.state != "ended_ok":
        sys.exit(STOPPED if turn.state == "stopped" else FAILED)


async def _play(config: Path, store: Path | None, text: str, *, watch: bool) -> tuple[str, "TurnRecord"]:
    from rich.console import Console  # noqa: PLC0415 - as everything here that takes its time to load

    from restante.running.agents import build_agents  # noqa: PLC0415
    from restante.running.config import load_config  # noqa: PLC0415
    from restante.running.feed import TurnEnded, Watch  # noqa: PLC0415
    from restante.running.platform import open_platform  # noqa: PLC0415
    from restante.surface.cli.live import LiveView  # noqa: PLC0415

    team = load_config(config)
    console = Console(quiet=not watch, highlight=False)
    ended: dict[str, TurnRecord] = {}
    async with open_platform(team, build_agents(team), ready(config, store)) as platform:
        chat_id = await platform.create_chat()
        with _listening(platform, chat_id, console) as heard, _stopping(platform, chat_id), LiveView(console) as view:
            said = await platform.say(chat_id, text)
            async for event in platform.watch_chat(chat_id, Watch(after=0, until_idle=True, heard=heard)):
                view.take(event)
                if isinstance(event, TurnEnded):
                    ended[event.turn.turn_id] = event.turn
    return chat_id, ended[said.turn_id]


def _listening(platform: "Platform", chat_id: str, console: "Console") -> "AbstractContextManager[Heard | None]":
    """An answer comes piece by piece where somebody sees the pieces."""
    return platform.listen(chat_id) if console.is_terminal and not console.quiet else nullcontext()


@contextmanager
def _stopping(platform: "Platform", chat_id: str) -> Generator[None]:
    """The first Ctrl-C, or SIGTERM, stops the turn, which then ends with its report; the second ends the command."""
    import asyncio  # noqa: PLC0415 - it is loaded by now

    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()

    def stop() -> None:
        listen_no_more()
        tasks.add(loop.create_task(platform.stop(chat_id)))

    def listen_no_more() -> None:
        for number in ENDING:
            loop.remove_signal_handler(number)

    for number in ENDING:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        listen_no_more()


def _show_end(turn: "TurnRecord", *, quiet: bool) -> None:
    from restante.surface.cli.ending import ending  # noqa: PLC0415

    if quiet and turn.answer is not None:
        show(turn.answer)
    for line in ending(turn):
        say(line)


def _show_json(chat_id: str, turn: "TurnRecord") -> None:
    from restante.surface.shapes import shape_turn  # noqa: PLC0415

    show_json({"chat_id": chat_id, **shape_turn(turn)})
