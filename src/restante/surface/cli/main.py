"""`restante`: the commands. What is heavy is imported by the command that needs it."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from restante.errors import RestanteError
from restante.surface.cli import asking, dialogue, exporting, mail, reading, serving, starting
from restante.surface.cli.kept_chats import chats_app
from restante.surface.cli.terminal import check_arguments, fail, output, prepare, show

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
token_app = typer.Typer(
    help="Tokens, by which a server knows its clients.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(token_app, name="token")
app.add_typer(chats_app, name="chats")


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - so the library calls it
    if wanted:
        show(f"restante {version('restante')}")
        raise typer.Exit


@app.callback()
def restante(
    *,
    version_wanted: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Carries messages between AI agents and tells you, for every one, whether it was read, and if not, why."""
    del version_wanted  # its callback has ended the command


@app.command()
def demo(
    *, classic: Annotated[bool, typer.Option("--classic", help="Play the scenes under the policy `classic`.")] = False
) -> None:
    """Watch agents write to one another: no key, no server to start, about ten seconds."""
    from restante.surface.cli import demo as scenes  # noqa: PLC0415 - it loads all of the product

    scenes.demo(classic)


app.command("init")(starting.init)
app.command("run")(asking.run)
app.command("chat")(dialogue.chat)
app.command("export")(exporting.export)
app.command("serve")(serving.serve)
token_app.command("create")(serving.create_token)
app.command("send")(mail.send)
app.command("read")(reading.read)
app.command("states")(mail.states)
app.command("health")(mail.health)


def main() -> None:
    """The entry point. Every refusal is one line on standard error and the exit code of its kind."""
    prepare()
    with output():
        try:
            check_arguments(sys.argv[1:])
            app()
        except RestanteError as error:
            fail(error)
