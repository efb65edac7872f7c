"""The commands of a dialogue: a line that begins with a slash and a word."""

import difflib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from restante.bus.entry import JournalEntry
from restante.bus.message import EVERYONE
from restante.bus.roster import roster_text
from restante.errors import InvalidArguments, NotFound
from restante.running.platform import Platform
from restante.running.transcript import TurnRecord
from restante.surface.addressing import SIGN
from restante.surface.cli.dialogue_questions import whole_arguments
from restante.surface.cli.dialogue_talk import Dialogue, short
from restante.surface.cli.rounds import rounds_of, runs_in
from restante.surface.cli.usage import used_by_each
from restante.surface.visible import visible, visible_line

LISTED = 20
"""How many chats, or hits of a search, are listed."""
_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?\s*", re.DOTALL)
_TITLE_LIMIT = 60


class Command(NamedTuple):
    """One command."""

    takes: str
    """What it takes, as the help shows it."""
    does: str
    run: Callable[[Dialogue, str], Awaitable[None]]


class Asked(NamedTuple):
    """A command with what it was given."""

    name: str
    argument: str


def find_command(line: str) -> Asked | None:
    """The command that a line is, or None for words. Raises `NotFound` for one that there is not."""
    found = _COMMAND.fullmatch(line)
    if found is None:
        return None
    name, argument = found[1], (found[2] or "").strip()
    if name in COMMANDS or name in LEAVING:
        return Asked(name, argument)
    near = difflib.get_close_matches(name, [*COMMANDS, *LEAVING], n=1)
    meant = f" Did you mean /{near[0]}?" if near else ""
    raise NotFound(f"There is no command /{name}.{meant} /help lists them. To say it as it is, put a space before it.")


def completions(dialogue: Dialogue, typed: str) -> Iterator[str]:
    """The commands, and what can follow one, for what was typed so far."""
    name, space, _ = typed.partition(" ")
    if typed.startswith(SIGN):
        yield from (f"{SIGN}{whom} " for whom in _addressable(dialogue))
    if not typed.startswith("/"):
        return
    if not space:
        yield from (f"/{each}{' ' if each in COMMANDS and COMMANDS[each].takes else ''}" for each in COMMANDS)
        yield from (f"/{each}" for each in LEAVING)
    elif name == "/rounds":
        yield from (f"/rounds {address}" for address in dialogue.view.addresses)
    elif name == "/switch":
        yield from (f"/switch {chat_id}" for chat_id in dialogue.listed)
    elif name == "/new":
        yield from (f"/new {agent}" for agent in dialogue.platform.config.agents)


def _addressable(dialogue: Dialogue) -> list[str]:
    """Who can be addressed: the runs that work, those of a label together, and everyone."""
    live = list(dialogue.view.working)
    labels = dict.fromkeys(address.partition("#")[0] for address in live)
    return list(dict.fromkeys([*live, *labels, EVERYONE])) if live else []


async def _help(dialogue: Dialogue, _: str) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, command in COMMANDS.items():
        table.add_row(Text(f"/{name} {command.takes}".rstrip(), "bold"), command.does)
    table.add_row(Text("/quit", "bold"), "leave; what still runs is stopped")
    dialogue.output.tell(table)
    dialogue.output.tell(
        Text(
            "Anything else is what you say. While a turn runs, it joins that turn: for everyone, or after @ADDRESS for"
            " that one alone. Ctrl-C stops the turn, Ctrl-D"
            " leaves, Alt-Enter begins a new line, Tab completes, the arrow keys and Ctrl-R find what you said before.",
            "dim",
        )
    )


async def _agents(dialogue: Dialogue, _: str) -> None:
    chat_id = _chat_of(dialogue)
    roster = await dialogue.platform.roster(chat_id)
    dialogue.output.tell(Text(visible(roster_text(roster))))
    newest = visible_line(roster[-1].address)
    how = (
        f"They write to one another by address: {newest} is one of them, {newest.partition('#')[0]} all of that name,"
        f" everyone all that read. What you type goes to everyone, or with {SIGN}{newest} before it to that one alone;"
        f" {visible_line(dialogue.agent)} owes you the answer."
    )
    dialogue.output.tell(Text(how, "dim"))


async def _rounds(dialogue: Dialogue, address: str) -> None:
    entries = (await _last_turn(dialogue)).entries
    runs = runs_in(entries)
    if not address:
        for each, count in runs.items():
            dialogue.output.tell(Text(f"{visible_line(each)}: {count} round{'' if count == 1 else 's'}"))
        dialogue.output.tell(Text("/rounds ADDRESS shows those of one.", "dim"))
        return
    if address not in runs:
        raise NotFound(f"No run of the last turn has the address {address!r}.", candidates=list(runs))
    for shown in rounds_of(address, entries):
        dialogue.output.tell(shown)


async def _show(dialogue: Dialogue, message_id: str) -> None:
    if not message_id:
        raise InvalidArguments("Say which message: /show ID. A line that is cut ends with its id.")
    for turn in reversed((await dialogue.platform.chat(_chat_of(dialogue))).turns):
        for entry in turn.entries:
            if entry.kind == "message" and entry.facts["message_id"] == message_id:
                return _show_message(dialogue, entry)
    raise NotFound(f"No message of this chat has the id {message_id!r}. A line that is cut ends with the id.")


def _show_message(dialogue: Dialogue, entry: JournalEntry) -> None:
    facts = entry.facts
    dialogue.output.tell(Text(visible_line(f"{facts['sender']} -> {facts['to']}:"), "bold"))
    dialogue.output.tell(Text(visible(str(facts["text"]))))


async def _arguments(dialogue: Dialogue, _: str) -> None:
    waiting = dialogue.questions.of(dialogue.chat_id)
    if not waiting:
        raise InvalidArguments("No call in this chat waits for your yes or no.")
    dialogue.output.tell(whole_arguments(waiting[0]))


async def _usage(dialogue: Dialogue, _: str) -> None:
    each = used_by_each((await _last_turn(dialogue)).entries)
    for used in each:
        calls = f"{used.requests} model call{'' if used.requests == 1 else 's'}"
        dialogue.output.tell(Text(f"{visible_line(', '.join(used.runs))}: {calls}, {used.in_words()}"))
    if not each:
        dialogue.output.tell(Text("No run has ended whose provider tells what it used.", "dim"))


async def _stop(dialogue: Dialogue, _: str) -> None:
    if not await dialogue.stop():
        raise InvalidArguments("No turn runs in this chat.")


async def _new(dialogue: Dialogue, agent: str) -> None:
    agents = dialogue.platform.config.agents
    if agent and agent not in agents:
        raise NotFound(f"There is no agent {agent!r}.", candidates=list(agents))
    await dialogue.go_to(None, agent or None)
    dialogue.output.tell(Text(f"A new chat with {visible_line(dialogue.agent)}. It begins with what you say.", "dim"))


async def _switch(dialogue: Dialogue, which: str) -> None:
    if not which:
        await _list(dialogue)
        return
    chat_id = await _named(dialogue, which)
    if chat_id == dialogue.chat_id:
        raise InvalidArguments("That chat is in view.")
    dialogue.output.tell(Text(f"To {short(chat_id)}", "dim"))
    await dialogue.go_to(chat_id)


async def _list(dialogue: Dialogue) -> None:
    page = await dialogue.platform.chats(limit=LISTED)
    dialogue.listed = [each.chat.chat_id for each in page.chats]
    for number, each in enumerate(page.chats, start=1):
        here = " (in view)" if each.chat.chat_id == dialogue.chat_id else ""
        runs = ", runs" if each.running else ""
        title = visible_line(each.chat.title or "", _TITLE_LIMIT)
        line = Text(f"{number:>2}  ", "bold").append(f"{title}{here}", "not bold")
        turns = f"{each.turns} turn{'' if each.turns == 1 else 's'}"
        line.append(f"  {visible_line(each.chat.agent)}, {turns}{runs}, {short(each.chat.chat_id)}", "not bold dim")
        dialogue.output.tell(line)
    if not page.chats:
        dialogue.output.tell(Text("There is no chat yet: say something.", "dim"))
        return
    more = f" The {LISTED} newest; `restante chats` lists all." if page.has_more else ""
    dialogue.output.tell(Text(f"/switch NUMBER goes to one, or /switch ID.{more}", "dim"))


async def _named(dialogue: Dialogue, which: str) -> str:
    """The chat with this number in the last list, or with an id that begins so."""
    if which.isdecimal() and 1 <= int(which) <= len(dialogue.listed):
        return dialogue.listed[int(which) - 1]
    return await chat_named(dialogue.platform, which)


async def chat_named(platform: Platform, which: str) -> str:
    """The chat whose id this is, or begins so. Raises `NotFound`."""
    page = await platform.chats(limit=platform.config.limits.page_max)
    ids = [each.chat.chat_id for each in page.chats]
    found = [each for each in ids if each.removeprefix("chat-").startswith(which.removeprefix("chat-"))]
    if len(found) > 1:
        raise NotFound(f"{len(found)} chats have an id that begins with {which!r}. Give more of it.")
    return found[0] if found else (await platform.chat(which)).chat_id


async def _rename(dialogue: Dialogue, title: str) -> None:
    chat = await dialogue.platform.change_chat(_chat_of(dialogue), title=title)
    dialogue.output.tell(Text(f"This chat is called: {visible_line(chat.title or '')}", "dim"))


async def _search(dialogue: Dialogue, words: str) -> None:
    page = await dialogue.platform.search_chats(words, limit=LISTED)
    dialogue.listed = list(dict.fromkeys(hit.chat_id for hit in page.hits))
    for hit in page.hits:
        number = dialogue.listed.index(hit.chat_id) + 1
        line = Text(f"{number:>2}  ", "bold").append(visible_line(hit.excerpt), "not bold")
        dialogue.output.tell(line.append(f"  turn {hit.turn} of {short(hit.chat_id)}", "not bold dim"))
    end = "/switch NUMBER goes to that chat." if page.hits else f"You never said {visible_line(words)}."
    dialogue.output.tell(Text(end, "dim"))


async def _export(dialogue: Dialogue, argument: str) -> None:
    from restante.surface.export import export_chat  # noqa: PLC0415 - of use to this command alone

    full, name = argument.startswith("--full"), argument.removeprefix("--full").strip()
    chat = await dialogue.platform.chat(_chat_of(dialogue))
    path = _write(name or f"{chat.chat_id}.md", export_chat(chat, full=full))
    dialogue.output.tell(Text(visible_line(f"Wrote {path}."), "dim"))


def _write(name: str, text: str) -> Path:
    path = Path(name).expanduser()
    try:
        path.write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise NotFound(f"{path} cannot be written: {error.strerror}.") from error
    return path


def _chat_of(dialogue: Dialogue) -> str:
    if dialogue.chat_id is None:
        raise NotFound("This chat is still empty: say something first, or go to another with /switch.")
    return dialogue.chat_id


async def _last_turn(dialogue: Dialogue) -> TurnRecord:
    turns = (await dialogue.platform.chat(_chat_of(dialogue))).turns
    if not turns:
        raise NotFound("This chat has no turn yet: say something first.")
    return turns[-1]


async def run_command(dialogue: Dialogue, asked: Asked) -> None:
    """Do what was asked for. Raises `RestanteError` where that cannot be done."""
    command = COMMANDS[asked.name]
    if asked.argument and not command.takes:
        raise InvalidArguments(f"/{asked.name} takes nothing.")
    await command.run(dialogue, asked.argument)


COMMANDS: Mapping[str, Command] = {
    "help": Command("", "this list", _help),
    "agents": Command("", "who works in the turn that runs", _agents),
    "rounds": Command("[ADDRESS]", "the rounds of one run of the last turn: what it read, called and said", _rounds),
    "show": Command("ID", "the whole text of a message whose line is cut", _show),
    "arguments": Command("", "all arguments of the call that waits for your yes or no", _arguments),
    "usage": Command("", "the tokens of each run of the last turn, and their cost", _usage),
    "stop": Command("", "stop the turn that runs", _stop),
    "new": Command("[AGENT]", "begin another chat", _new),
    "switch": Command("[CHAT]", "list the chats, or go to one of them", _switch),
    "search": Command("WORDS", "find what you said, in every chat", _search),
    "rename": Command("TITLE", "give this chat a title", _rename),
    "export": Command("[--full] [PATH]", "write this chat to a file, as Markdown", _export),
}
LEAVING = ("quit", "exit")
"""They end the dialogue."""
