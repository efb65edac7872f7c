"""`restante init`: a team that works at once, in files that explain themselves."""

import os
from pathlib import Path
from typing import Annotated

import typer

from restante.errors import InvalidArguments
from restante.surface.cli.places import CONFIG_NAME, FOLDER_NAME, STORE_NAME, TOKEN_NAME, shown
from restante.surface.cli.templates import CONFIG_TEXT, SCRIPT_NAME, SCRIPT_TEXT
from restante.surface.cli.terminal import run_async, show


def init(folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where to write it.")] = Path()) -> None:
    """Write a commented restante.toml for a team of four that plays a script until you name a model."""
    files = {folder / CONFIG_NAME: CONFIG_TEXT, folder / SCRIPT_NAME: SCRIPT_TEXT}
    for path in files:
        if path.exists() or path.is_symlink():
            raise InvalidArguments(f"{shown(path)} is there already, and nothing is overwritten. Name another folder.")
    _make_folders(folder)
    for path, text in files.items():
        _write_new(path, text, 0o644)
    _make_owner(folder / FOLDER_NAME)
    show(f"Wrote {shown(folder / CONFIG_NAME)}, {SCRIPT_NAME} and {FOLDER_NAME}/. Next:")
    where = f"cd {shown(folder)} && " if folder.resolve() != Path.cwd() else ""
    show(f'  {where}restante run "What is new?"')
    show(f"  {where}restante chat")


def _make_folders(folder: Path) -> None:
    private = folder / FOLDER_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        private.mkdir(mode=0o700, exist_ok=True)
        private.chmod(0o700)
    except OSError as error:
        raise InvalidArguments(f"{shown(private)} cannot be made: {error.strerror}. Name another folder.") from error


def _make_owner(private: Path) -> None:
    """The store, and a token for whoever sits here, so that `restante send` works without one being named."""
    from restante.running.stored import make_owner_token  # noqa: PLC0415 - takes its time to load

    # What is in there is nobody else's, so it does not belong into a repository either.
    if not (private / ".gitignore").exists():
        _write_new(private / ".gitignore", "*\n", 0o644)
    if not (private / TOKEN_NAME).exists():
        _write_new(private / TOKEN_NAME, run_async(make_owner_token(private / STORE_NAME)).token + "\n", 0o600)


def _write_new(path: Path, text: str, mode: int) -> None:
    """Write a file that is not there yet, whoever else is quick."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise InvalidArguments(f"{shown(path)} cannot be written: {error.strerror}. Nothing is overwritten.") from error
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
