"""`restante chat`: a dialogue with the agents."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from restante.errors import CODES, InvalidArguments, InvalidText, NotFound, StoreUnavailable
from restante.surface.cli.kept import state_folder
from restante.surface.cli.places import CONFIG, ConfigOption, StoreOption, ready
from restante.surface.cli.terminal import run_async

if TYPE_CHECKING:
    from restante.running.platform import Platform

HISTORY_NAME = "said.history"


def chat(
    which: Annotated[
        str | None, typer.Argument(metavar="[CHAT]", help="Its id, or how that begins. [default: a new one]")
    ] = None,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    last: Annotated[bool, typer.Option("--last", "-l", help="Go on where you talked last.")] = False,
) -> None:
    """Talk with your agents. You can type while they work, and see what they write to one another.

    Where standard input is no terminal, each of its lines is what you say, once the answer before is there.
    """
    if which is not None and last:
        raise InvalidArguments("Name a chat, or ask for the last one with --last, not both.")
    answered = run_async(_talk(config, store, which, last=last))
    if not answered:
        sys.exit(CODES["internal"].exit_code)


async def _talk(config: Path, store: Path | None, which: str | None, *, last: bool) -> bool:
    from restante.running.agents import build_agents  # noqa: PLC0415 - as everything here that takes its time to load
    from restante.running.config import load_config  # noqa: PLC0415
    from restante.running.platform import open_platform  # noqa: PLC0415
    from restante.surface.cli.dialogue_commands import chat_named  # noqa: PLC0415

    team = load_config(config)
    agents, place = build_agents(team), ready(config, store)
    with _alone():
        async with open_platform(team, agents, place) as platform:
            chat_id = await _last_chat(platform) if last else which and await chat_named(platform, which)
            if not _at_terminal():
                from restante.surface.cli.dialogue_pipe import talk_by_lines  # noqa: PLC0415

                return await talk_by_lines(platform, chat_id)
            from restante.surface.cli.dialogue_terminal import talk_on_terminal  # noqa: PLC0415

            await talk_on_terminal(platform, chat_id, state_folder(place) / HISTORY_NAME)
            return True


async def _last_chat(platform: "Platform") -> str:
    """The chat of a person in which something happened last. Raises `NotFound`."""
    page = await platform.chats(limit=platform.config.limits.page_max)
    found = next((each.chat.chat_id for each in page.chats if each.chat.purpose == "person"), None)
    if found is None:
        raise NotFound("There is no chat to go on with yet. `restante chat` begins one.")
    return found


def _at_terminal() -> bool:
    """Whether somebody sits there who sees lines change while they type."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - so it is where it was closed
        raise InvalidText("Standard input is closed: there is nothing to say.")
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


@contextmanager
def _alone() -> Generator[None]:
    """A store that another process has in use is refused with what works beside it."""
    try:
        yield
    except StoreUnavailable as error:
        if error.field != "in_use":
            raise
        message = (
            f"{error.message} A dialogue runs your agents itself, and two cannot share a store. End the other one, "
            "name another store with --store, or write to its agents with `restante send`."
        )
        raise StoreUnavailable(message, field=error.field) from None
