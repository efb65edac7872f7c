"""`restante chats`: the chats of a store, and what a person does with them."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from restante.errors import InvalidArguments
from restante.surface.cli.places import CONFIG, ConfigOption, StoreOption, store_of
from restante.surface.cli.terminal import run_async, say, show, show_json
from restante.surface.visible import visible_line

if TYPE_CHECKING:
    from restante.durable.chat_pages import ChatInList

JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
ChatArgument = Annotated[str, typer.Argument(metavar="CHAT", help="Its id.")]
LimitOption = Annotated[int | None, typer.Option(metavar="N", min=1, help="At most so many.")]

chats_app = typer.Typer(rich_markup_mode=None)


@chats_app.callback(invoke_without_command=True)
def list_chats(
    context: typer.Context,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the chats of the store, the one in which something happened last first; or do something with one of them.

    A line has the id, the agent, the time of the last activity, the turns, and the title: the first words, until the
    chat gets another.
    """
    if context.invoked_subcommand is not None:
        _refuse_misplaced(context)
        return
    from restante.running.stored import list_chats as stored_chats  # noqa: PLC0415 - takes its time to load
    from restante.surface.shapes import shape_page  # noqa: PLC0415

    page = run_async(stored_chats(store_of(config, store), limit))
    if as_json:
        show_json(shape_page(page))
        return
    for each in page.chats:
        show(_line(each))
    if page.has_more:
        say(f"There are more: restante chats --limit {len(page.chats) * 2}")


@chats_app.command()
def search(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="What to look for, as it stands; capitals do not matter.")
    ],
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    limit: LimitOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find what a person said, the newest first: chat, turn, and the sentence around it. Nobody else's words count."""
    from restante.running.stored import search_chats  # noqa: PLC0415 - takes its time to load
    from restante.surface.shapes import shape_hits  # noqa: PLC0415

    page = run_async(search_chats(store_of(config, store), text, limit))
    if as_json:
        show_json(shape_hits(page))
        return
    for hit in page.hits:
        show(f"{hit.chat_id}  turn {hit.turn}  {visible_line(hit.excerpt)}")
    if not page.hits:
        say("No person said that in any chat of this store.")
    elif page.has_more:
        say(f"There are more: give a --limit above {len(page.hits)}.")


@chats_app.command("show")
def show_turns(
    chat: ChatArgument, config: ConfigOption = CONFIG, store: StoreOption = None, *, as_json: JsonOption = False
) -> None:
    """List the turns of a chat after which it can be cut: number, id, how it ended, and how its words begin."""
    from restante.running.stored import list_cuts  # noqa: PLC0415 - takes its time to load
    from restante.surface.shapes import shape_cut  # noqa: PLC0415

    cuts = run_async(list_cuts(store_of(config, store), chat))
    if as_json:
        show_json({"cuts": [shape_cut(cut) for cut in cuts]})
        return
    for cut in cuts:
        show(f"{cut.number}  {cut.turn_id}  {cut.state}  {cut.words or ''}")
    if not cuts:
        say("No turn of this chat has ended yet.")


@chats_app.command()
def rename(
    chat: ChatArgument,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="Its new name, at most 200 characters.")],
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Give a chat another name than its first words."""
    from restante.running.stored import rename_chat  # noqa: PLC0415 - takes its time to load
    from restante.surface.shapes import shape_chat  # noqa: PLC0415

    renamed = run_async(rename_chat(store_of(config, store), chat, title))
    if as_json:
        show_json(shape_chat(renamed))
    else:
        show(f"{renamed.chat_id} is called {visible_line(title)}")


@chats_app.command()
def branch(
    chat: ChatArgument,
    after: Annotated[
        str | None, typer.Option(metavar="TURN", help="The last turn to copy: its number or id. [default: the last]")
    ] = None,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Copy a chat up to and with one of its turns into a new chat, which goes on from there. Turns are copied whole."""
    from restante.running.stored import branch_chat  # noqa: PLC0415 - takes its time to load

    made = run_async(branch_chat(store_of(config, store), chat, after))
    if as_json:
        show_json({"chat_id": made.chat.chat_id, "turns": made.turns})
    else:
        show(f"{made.chat.chat_id}  {_turns(made.turns)}")


@chats_app.command()
def truncate(  # noqa: PLR0913 - each is an option of the command
    chat: ChatArgument,
    after: Annotated[str, typer.Option(metavar="TURN", help="The last turn to keep: its number or id.")],
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove every turn of a chat after one of them, for good: those that wait, too."""
    from restante.running.stored import truncate_chat  # noqa: PLC0415 - takes its time to load

    _make_sure(f"Remove every turn of {chat} after {after}?", yes=yes)
    dropped = run_async(truncate_chat(store_of(config, store), chat, after))
    if as_json:
        show_json({"chat_id": chat, "removed_turns": dropped})
    else:
        show(f"Removed {_turns(dropped)}")


@chats_app.command()
def delete(
    chat: ChatArgument,
    config: ConfigOption = CONFIG,
    store: StoreOption = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove a chat with all that was said in it, for good."""
    from restante.running.stored import delete_chat, find_chat  # noqa: PLC0415 - takes its time to load

    place = store_of(config, store)
    found = run_async(find_chat(place, chat))
    _make_sure(f"Delete {_title(found)}, {_turns(found.turns)}?", yes=yes)
    run_async(delete_chat(place, chat))
    if as_json:
        show_json({"chat_id": chat, "removed_turns": found.turns})
    else:
        show(f"Deleted {_title(found)}, {_turns(found.turns)}")


def _refuse_misplaced(context: typer.Context) -> None:
    """An option before the name of a command would be for the list, which is not shown."""
    source = context.get_parameter_source
    given = [name for name in context.params if (where := source(name)) is not None and where.name == "COMMANDLINE"]
    if given:
        message = f"Give the options after the command: restante chats {context.invoked_subcommand} ..."
        raise InvalidArguments(message, field=given[0])


def _make_sure(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):  # pyright: ignore[reportUnnecessaryComparison] - closed by whoever started us
        raise InvalidArguments("This removes something for good, and nobody can be asked here. Add --yes.", field="yes")
    sys.stderr.write(f"{visible_line(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        say("Nothing was removed.")
        sys.exit(1)


def _line(each: "ChatInList") -> str:
    from restante.durable.times import rfc3339  # noqa: PLC0415 - it is loaded by now

    chat = each.chat
    state = "" if each.last_state in (None, "ended_ok") else f", the last {each.last_state}"
    at = rfc3339(chat.last_activity_at_ms)
    return f"{chat.chat_id}  {chat.agent}  {at}  {_turns(each.turns)}{state}  {_title(each)}".rstrip()


def _title(each: "ChatInList") -> str:
    if each.chat.title is not None:
        return visible_line(each.chat.title)
    return "(nothing said yet)" if each.chat.purpose == "person" else "(messages of others)"


def _turns(count: int) -> str:
    return f"{count} turn{'' if count == 1 else 's'}"
