"""Where the configuration and the store are: beside each other, unless an option says otherwise."""

from pathlib import Path
from typing import Annotated

import typer

from restante.errors import InvalidArguments, StoreUnavailable

CONFIG_NAME = "restante.toml"
FOLDER_NAME = ".restante"
STORE_NAME = "store.db"
TOKEN_NAME = "owner.token"  # noqa: S105 - the name of a file

ConfigOption = Annotated[
    Path, typer.Option("--config", "-c", metavar="FILE", help="The configuration.", envvar="RESTANTE_CONFIG")
]
StoreOption = Annotated[
    Path | None,
    typer.Option("--store", metavar="FILE", help="The store. [default: .restante/store.db beside the configuration]"),
]
CONFIG = Path(CONFIG_NAME)


def store_of(config: Path, store: Path | None) -> Path:
    """The store that a command uses."""
    return store or config.absolute().parent / FOLDER_NAME / STORE_NAME


def ready(config: Path, store: Path | None) -> Path:
    """The same, with a folder to be in: the default one is made if it is not there, for the owner alone.

    Raises `InvalidArguments` for a store that was named in a folder that is not there, else `StoreUnavailable`.
    """
    place = store_of(config, store)
    if store is not None:
        if not place.parent.is_dir():
            message = f"There is no folder {shown(place.parent)} for the store. Make it, or name another with --store."
            raise InvalidArguments(message, field="store")
        return place
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        message = f"The folder of the store {shown(place)} cannot be made: {error.strerror}."
        raise StoreUnavailable(message, field="unreadable") from error
    return place


def shown(path: Path) -> str:
    """A path as short as it can be said from here."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
