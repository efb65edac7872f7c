"""`restante export`: a chat as it was, whole, to read or to keep."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from restante.errors import NotFound
from restante.surface.cli.places import CONFIG, ConfigOption, StoreOption, shown, store_of
from restante.surface.cli.terminal import run_async
from restante.surface.visible import visible, visible_json


def export(  # noqa: PLR0913 - each is an option of the command
    chat: Annotated[str | None, typer.Argument(metavar="[CHAT]", help="Its id. [default: the newest one]")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="PATH", help="Write it to a file.")] = None,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="Shorten nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Every stored fact as JSON; it shortens nothing.")] = False,
) -> None:
    """Print a chat as Markdown: every message, tool call and answer in its place, and what was not delivered.

    On a terminal, characters that would act on it are shown as escapes. A file or a pipe gets every text as it is,
    escape sequences and marks of direction too: what reads it has to be as careful. JSON has them as its own escapes.
    """
    from restante.running.stored import read_chat  # noqa: PLC0415 - takes its time to load
    from restante.surface.export import export_chat  # noqa: PLC0415
    from restante.surface.shapes import shape_record  # noqa: PLC0415

    found = run_async(read_chat(store_of(config, store), chat))
    text = f"{visible_json(shape_record(found))}\n" if as_json else export_chat(found, full=full)
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
