"""Where the configuration and the store are: beside each other, unless an option says otherwise."""

from pathlib import Path
from typing import Annotated

import typer

from restante.errors import StoreUnavailable

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


def ready(store: Path) -> Path:
    """The same; its folder is made, for the owner alone, if it is not there. Raises `StoreUnavailable`."""
    try:
        store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"The folder of the store {shown(store)} cannot be made: {error.strerror}."
        raise StoreUnavailable(message, field="unreadable") from error
    return store


def shown(path: Path) -> str:
    """A path as short as it can be said from here."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd())) if absolute.is_relative_to(Path.cwd()) else str(absolute)
