"""`restante serve` and `restante token create`: the server, and who may come to it."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from restante.errors import InvalidArguments
from restante.surface.cli.places import CONFIG, ConfigOption, StoreOption, ready, shown, store_of
from restante.surface.cli.terminal import run_async, say, show, show_json

PORT = 8765
_EXTRA = {"fastapi", "starlette", "uvicorn", "httptools", "uvloop"}


def serve(
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = PORT,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
) -> None:
    """Serve your agents over HTTP until Ctrl-C: others send to them, and read what they answer."""
    from restante.running.agents import build_agents  # noqa: PLC0415 - as all of this, it takes its time to load
    from restante.running.config import load_config  # noqa: PLC0415

    with _server_extra():
        from restante.surface.http.serve import listen, run_serving  # noqa: PLC0415

    team = load_config(config)
    agents = build_agents(team)
    place = ready(config, store)
    try:
        listening = listen(host, port)
    except OSError as error:
        message = f"{host} port {port} cannot be listened at: {error.strerror}. Name another with --host and --port."
        raise InvalidArguments(message) from error
    with listening:
        run_serving(team, agents, place, listening, lambda url: _announce(url, place, team.entry))


def _announce(url: str, store: Path, agent: str) -> None:
    say(f"restante serves {shown(store)} at {url}. Ctrl-C stops it. Try, in this folder:")
    say(f'  restante send {agent} "hello"\n  restante states')


@contextmanager
def _server_extra() -> Generator[None]:
    """Say which extra a command lacks."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        raise InvalidArguments("This command needs the server. Install it: pip install 'restante[server]'.") from error


def create_token(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The name that its holder sends under.")],
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print it with its ids, as JSON.")] = False,
) -> None:
    """Make a token for a client. It is printed this once; the store keeps only a digest of it."""
    from restante.running.config import load_config  # noqa: PLC0415
    from restante.running.stored import make_token  # noqa: PLC0415 - takes its time to load

    place = store_of(config, store)
    # A store is made only where a team is, so that nobody waits at one that no server serves.
    team = tuple(load_config(config).agents) if config.exists() or not place.exists() else ()
    made = run_async(make_token(ready(config, store), label, team))
    if as_json:
        show_json(made.shape())
        return
    show(made.token)
    whose = json.dumps(made.label, ensure_ascii=False)
    say(f"For {whose}, in {shown(place)}. Keep it: it is shown this once. RESTANTE_TOKEN holds it for")
    say("`restante send` and `restante read`; over HTTP it is the header `Authorization: Bearer TOKEN`.")
