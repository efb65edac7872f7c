"""A dialogue on a terminal, on which one types while a turn runs."""

import asyncio
import logging
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text
from typing_extensions import override

from restante.errors import RestanteError, TextBlank
from restante.running.platform import Platform
from restante.running.tasks import owning_group
from restante.surface.addressing import AS_IT_IS, SIGN, read_addressed
from restante.surface.cli import dialogue_commands as commands
from restante.surface.cli.dialogue_questions import read_verdict, shown_question
from restante.surface.cli.dialogue_screen import Screen
from restante.surface.cli.dialogue_talk import Dialogue, refusal, short
from restante.surface.visible import visible_line
from restante.texts import WHITE_SPACE, check_text
from restante.turn import GatedCall, Verdict

SHOWN_WORKERS = 4
"""How many addresses the line names that says who works."""


class Terminal:
    """The dialogue behind a screen. What is entered is done in its order, one thing after the other."""

    streams = attends = True

    def __init__(self, platform: Platform, screen: Screen, group: asyncio.TaskGroup) -> None:
        self._screen = screen
        self._dialogue = Dialogue(platform, self, group)
        self._group = group
        self._entered: list[str] = []
        self._bell = asyncio.Event()
        self._stopping = False
        """The turn in view is being stopped."""
        self._warned = False
        self._leaving = False
        self._seen: GatedCall | None = None
        """The call that waits for a yes or a no, as the screen shows it."""

    async def talk(self, chat_id: str | None) -> None:
        """Talk until the person leaves."""
        dialogue = self._dialogue
        await dialogue.follow_others()
        await dialogue.go_to(chat_id)
        agent = visible_line(dialogue.agent)
        greeting = Text(f"You talk to {agent}. /help lists the commands, Ctrl-D leaves.", "dim")
        working = self._group.create_task(self._work())
        try:
            await self._screen.run(self, greeting)
        finally:
            dialogue.close()
        working.cancel()
        if dialogue.chat_id is not None:
            self.tell(Text("`restante chat --last` goes on with this chat.", "dim"))

    # What the dialogue shows

    def show(self, shown: RenderableType) -> None:
        """Print something, for good."""
        self._screen.show(shown)

    def tell(self, shown: RenderableType) -> None:
        """The same."""
        self._screen.show(shown)

    def echo(self, said: RenderableType) -> None:
        """The same."""
        self._screen.show(said)

    def refresh(self) -> None:
        """What may still change has changed."""
        self._stopping = self._stopping and self._dialogue.works
        self._screen.refresh()

    # What the screen asks

    def changing(self, width: int, height: int) -> Sequence[Text]:
        """The lines that may still change; the last ones are the call that waits for a yes or a no."""
        waiting = self._dialogue.questions.of(self._dialogue.chat_id)
        self._seen = waiting[0] if waiting else None
        question = shown_question(waiting[0], len(waiting) - 1, width, height) if waiting else []
        return [*self._dialogue.view.changing(width, height - len(question)), *question]

    def status(self) -> str:
        """Who works."""
        dialogue = self._dialogue
        others = len([chat for chat in dialogue.working_chats if chat != dialogue.chat_id])
        waits = ", a call waits there" if dialogue.questions.chats - {dialogue.chat_id} else ""
        elsewhere = f"{others} other chat{'' if others == 1 else 's'} at work{waits}" if others else ""
        if not dialogue.works:
            return elsewhere
        working = list(dialogue.view.working) or [dialogue.agent]
        more = f" and {len(working) - SHOWN_WORKERS} more" if len(working) > SHOWN_WORKERS else ""
        verb = "works" if len(working) == 1 else "work"
        what = "stopping" if self._stopping else f"{', '.join(working[:SHOWN_WORKERS])}{more} {verb}"
        key = "Ctrl-C again leaves" if self._stopping else "Ctrl-C stops"
        return visible_line(" · ".join(part for part in (what, key, elsewhere) if part))

    def completions(self, text: str) -> Iterator[str]:
        """What could stand in place of all that was typed."""
        return commands.completions(self._dialogue, text)

    def enter(self, text: str) -> bool:
        """Take a line to do what it says; False for one that is refused."""
        self._warned = False
        try:
            if commands.find_command(text) is None:
                check_text(read_addressed(text).text, self._dialogue.platform.config.limits.text_max)
        except RestanteError as error:
            if isinstance(error, TextBlank) and not text.strip(WHITE_SPACE):
                return True
            self.tell(refusal(error))
            return False
        verdict, waiting = read_verdict(text), self._dialogue.questions.of(self._dialogue.chat_id)
        if verdict is not None and waiting:
            return self._answer(text, verdict, waiting[0])
        self._entered.append(text)
        self._bell.set()
        return True

    def _answer(self, line: str, verdict: Verdict, call: GatedCall) -> bool:
        """Answer a call that waits, if it is the one that the person has seen."""
        if call is not self._seen:
            self.tell(Text("Another call waits now. Look at it first.", "yellow"))
            return False
        self.tell(Text("> ", "bold").append(visible_line(line), "not bold"))
        self._dialogue.questions.answer(call, verdict)
        self._screen.refresh()
        return True

    def interrupt(self, *, typed: bool) -> bool:
        """Ctrl-C stops the turn, and a second one leaves. Without a turn it empties the input, or leaves."""
        dialogue = self._dialogue
        if self._leaving:
            self._screen.close()
        elif self._stopping or self._warned:
            self.leave()
        elif dialogue.works:
            self._stopping = True
            self._group.create_task(dialogue.stop())
            self._screen.refresh()
        elif not typed:
            self._warned = True
            self.tell(Text("Ctrl-C again leaves.", "dim"))
        return typed and not dialogue.works

    def leave(self) -> None:
        """Stop what still runs, and leave when all of it has ended."""
        if not self._leaving:
            self._leaving = True
            self._group.create_task(self._leave())

    async def _leave(self) -> None:
        working = self._dialogue.working_chats
        if working:
            self.tell(
                Text(f"Still at work: {', '.join(map(short, working))}. Stopping; Ctrl-C leaves at once.", "yellow")
            )
            await self._dialogue.stop_all()
        self._screen.close()

    async def _work(self) -> None:
        while True:
            await self._bell.wait()
            self._bell.clear()
            while self._entered:
                line = self._entered.pop(0)
                try:
                    await self._do(line)
                except RestanteError as error:
                    self.tell(refusal(error))

    async def _do(self, line: str) -> None:
        asked = commands.find_command(line)
        if asked is None:
            await self._say(line)
            return
        self.tell(Text("> ", "bold").append(visible_line(line), "not bold"))
        if asked.name in commands.LEAVING:
            self.leave()
            return
        if asked.name == "stop":
            self._stopping = self._dialogue.works
        await commands.run_command(self._dialogue, asked)
        self.refresh()

    async def _say(self, words: str) -> None:
        """Say it. Words that could not be stored are in the input again, with what was entered after them."""
        try:
            await self._dialogue.say(words)
        except RestanteError as error:
            self._screen.give_back("\n".join([words, *self._entered]))
            self._entered.clear()
            self.tell(refusal(error))
            if words.startswith(SIGN):
                self.tell(Text(AS_IT_IS, "dim"))


class _ShownLog(logging.Handler):
    """Shows warnings as lines of the dialogue: written by itself, they would go across the input."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    @override
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        why = f" {type(error).__name__}: {error}" if error is not None else ""
        self._screen.show(Text(visible_line(f"{record.getMessage()}{why}"), "yellow"))


async def talk_on_terminal(platform: Platform, chat_id: str | None, history: Path | None) -> None:
    """Talk with a person at this terminal until they leave. Raises `NotFound` for a chat that there is not."""
    screen = Screen(history)
    log = _ShownLog(screen)
    logging.getLogger().addHandler(log)
    try:
        async with owning_group() as group:
            terminal = Terminal(platform, screen, group)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminal.leave)
            await terminal.talk(chat_id)
    finally:
        logging.getLogger().removeHandler(log)
