"""A turn: one reply of a chat, with every run that works on it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, TextContent
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage, UsageLimits

from restante.bus.bus import MessageBus
from restante.bus.entry import JournalEntry, Sink
from restante.bus.message import EVERYONE, Message
from restante.bus.policy import BusPolicy
from restante.bus.receipt import Receipt
from restante.bus.report import CloseReport
from restante.errors import InvalidArguments, TurnStopped
from restante.texts import check_text
from restante.turn import parts
from restante.turn.approval import Approvals, Approver
from restante.turn.background import Background
from restante.turn.clock import Clock, MonotonicClock
from restante.turn.journal import Journal
from restante.turn.mailbox import Mailbox, MailboxOptions
from restante.turn.notes import describe
from restante.turn.observer import Observer
from restante.turn.runs import Ran, Runs
from restante.turn.spawn import spawn_tools
from restante.turn.streaming import OnText, Streaming

Outcome = Literal["answered", "failed", "stopped"]
AnyAgent = Agent[Any, Any]


@dataclass(frozen=True, kw_only=True)
class TurnOptions:
    """How a turn is run. Raises `InvalidArguments` for fields that exclude each other."""

    label: str = "assistant"
    """What the entry agent is called."""
    agents: Mapping[str, AnyAgent] = field(default_factory=dict[str, AnyAgent])
    """Whom the entry agent may spawn, beside what its own toolsets allow."""
    rounds: Mapping[str, int] = field(default_factory=dict[str, int])
    """Model calls before the wrap-up, of labels that have their own number."""
    usage_limits: Mapping[str, UsageLimits] = field(default_factory=dict[str, UsageLimits])
    """What each run of these labels may use. One that would use more ends by an error, and mail that it has taken for
    a call that is then not made is reported. Mind that the library's `request_limit` is 50 unless it is given.
    """
    policy: BusPolicy | None = None
    """None: `BusPolicy()`."""
    bus: MessageBus | None = None
    """A host's own, with its own policy and sink."""
    id_prefix: str = "m"
    """What the ids of messages begin with. A turn with a history needs one that no earlier turn of the chat had."""
    journal: Journal | None = None
    """The sink of that bus, if its entries are to be read from the turn."""
    sink: Sink | None = None
    """What receives the entries as they happen."""
    observer: Observer | None = None
    on_text: OnText | None = None
    """Told (address, piece) of what the models say as it comes; an empty piece says that a call begins to answer anew.

    It is called in the event loop and must not wait. Whole texts are in the journal, which is the same with and
    without it, except that a call that has begun to answer and then breaks off is not tried with a fallback model.
    None: nothing is streamed.
    """
    history: Sequence[ModelMessage] = ()
    """The messages of earlier turns."""
    toolsets: Sequence[AbstractToolset[Any]] = ()
    """What the entry run holds in this turn beside what its agent holds."""
    clock: Clock | None = None
    """What waits of runs are measured by, and, unless a bus is given, the bus's clock. None: the machine's."""
    approvals: Approvals | None = None
    """Which tools need a yes, and who gives it."""
    deps: object = None
    """What the agents' tools depend on, for the runs of this turn."""

    def __post_init__(self) -> None:
        if self.bus is not None and (self.policy is not None or self.sink is not None):
            raise InvalidArguments("A bus brings its own policy and sink: give them to the bus, not to the turn.")
        if self.bus is None and self.journal is not None:
            raise InvalidArguments("A journal of one's own belongs to a bus of one's own, as its sink.")


@dataclass(frozen=True, kw_only=True)
class TurnResult:
    """What became of a turn."""

    outcome: Outcome
    output: object
    """What the entry agent answered, of its output type; None unless the outcome is `answered`."""
    error: str | None
    """Why it failed; None unless the outcome is `failed`."""
    report: CloseReport
    record: dict[str, Any]
    """The account of the turn, ready for JSON."""
    runs: tuple[Ran, ...]
    """In the order in which they ended."""
    usage: RunUsage
    """What all its model calls used together."""
    messages: tuple[ModelMessage, ...]
    """The history with what this turn added, as the next turn needs it; as it was, unless the outcome is `answered`."""


class Turn:
    """A turn that runs: `async with open_turn(agent, "...") as turn:`."""

    def __init__(self, agent: AnyAgent, prompt: str | Sequence[Message], options: TurnOptions) -> None:
        self._agent = agent
        self._prompt = [parts.person(prompt)] if isinstance(prompt, str) else [parts.words(one) for one in prompt]
        if not self._prompt:
            raise InvalidArguments("A turn begins with at least one message.")
        self._options = options
        clock = options.clock or MonotonicClock()
        self._runs = Runs(
            rounds=options.rounds,
            limits=options.usage_limits,
            clock=clock,
            streaming=Streaming(options.on_text) if options.on_text else None,
        )
        self._journal = options.journal or Journal(options.sink)
        known = {options.label, *options.agents}
        self.bus = options.bus or MessageBus(
            options.policy, labels=known, clock=clock.now, sink=self._journal, id_prefix=options.id_prefix
        )
        for one in [prompt] if isinstance(prompt, str) else [one.text for one in prompt]:
            check_text(one, self.bus.policy.text_limit)
        if options.approvals:
            opening = [prompt] if isinstance(prompt, str) else list(prompt)
            self._runs.approver = Approver(options.approvals, self.bus, opening)
        self._reader = self.bus.open_entry(options.label)
        self._messages = tuple(options.history)
        self._output: object = None
        self._error: Exception | None = None
        self._outcome: Outcome = "stopped"
        self._answered = asyncio.Event()
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def say(self, text: str, to: str = EVERYONE) -> Receipt:
        """The person says something while the turn runs. Never waits; a refusal is a receipt."""
        return self.bus.send_person(text, to=to)

    def stop(self) -> None:
        """The person stops the turn: what nobody has read by now is reported as `stopped`. Never waits."""
        if self._over.is_set():
            return
        self._runs.stopped = True
        self.bus.close(stopped=True)
        self._cancel()

    def events(self) -> AsyncIterator[JournalEntry]:
        """The journal from its first entry on, however late; any number may read. Ends with the turn.

        A turn on a bus of one's own has it if the options name the `journal` that is the sink of that bus.
        """
        return self._journal.events()

    async def answer(self) -> object:
        """Wait for what the entry agent answers, and return it. Raises its error, or `TurnStopped`.

        It does not wait for background workers.
        """
        await self._answered.wait()
        if self._error is not None:
            raise self._error
        if self._outcome == "stopped":
            raise TurnStopped("The turn was stopped before it had an answer.")
        return self._output

    async def result(self) -> TurnResult:
        """Wait until everything has ended, and return what became of the turn. Raises nothing of its runs."""
        await self._over.wait()
        return TurnResult(
            outcome=self._outcome,
            output=self._output,
            error=describe(self._error) if self._error else None,
            report=self.bus.close(),
            record=self.bus.record(),
            runs=tuple(self._runs.ended),
            usage=self._runs.usage(),
            messages=self._messages,
        )

    def _start(self, group: asyncio.TaskGroup) -> None:
        self._runs.background = Background(group)
        self._task = group.create_task(self._play())
        # A task that is cancelled before its first step runs no `finally` of its own.
        self._task.add_done_callback(self._end)

    def _cancel(self) -> None:
        self._runs.ending = True
        if self._runs.background is not None:
            self._runs.background.stop()
        if self._task is not None:
            self._task.cancel()

    async def _play(self) -> None:
        try:
            await self._run_entry()
        except Exception as error:  # noqa: BLE001 - the run failed, which is a fact of the turn
            self._error = error
            self._outcome = "failed"
        finally:
            if self._runs.background is not None:
                await self._end_workers(self._runs.background)

    async def _end_workers(self, background: Background) -> None:
        """Let the background workers end, for a while; if the turn is cut off, at once."""
        try:
            if self._outcome != "stopped" and (live := background.live()):
                self._answered.set()
                grace_s = self.bus.policy.grace_s
                self.bus.note("grace", None, {"workers": [one.address for one in live], "seconds": grace_s})
                await background.end(grace_s, self._runs.clock)
        finally:
            await background.stopped()

    def _end(self, _: asyncio.Task[None]) -> None:
        # A run that never came to start has not closed its reader.
        self._reader.close("error" if self._error else "cancelled")
        self.bus.close()
        self._journal.end()
        self._answered.set()
        self._over.set()

    async def _run_entry(self) -> None:
        options = self._options
        first, *others = self._prompt
        mailbox = MailboxOptions(reader=self._reader, runs=self._runs, observer=options.observer)
        listened = self._runs.listened(self._reader.address)
        async with self._runs.whole(self._reader.address):
            result = await self._agent.run(
                [first],
                message_history=options.history,
                deps=options.deps,
                usage_limits=self._runs.limits_of(options.label),
                capabilities=[
                    Mailbox(self.bus, options.label, entry=True, options=mailbox),
                    _Opening(others),
                    *listened,
                ],
                toolsets=[*([spawn_tools(options.agents)] if options.agents else []), *options.toolsets],
            )
        self._output = result.output
        self._messages = tuple(result.all_messages())
        self._outcome = "answered"


class _Opening(AbstractCapability[Any]):
    """The second and further words that a turn begins with: each a prompt part of its own, after the first."""

    def __init__(self, words: Sequence[TextContent]) -> None:
        self._words = words

    async def before_run(self, ctx: RunContext[Any]) -> None:
        if self._words:
            ctx.enqueue(parts.request(self._words))


@asynccontextmanager
async def open_turn(
    agent: AnyAgent, prompt: str | Sequence[Message], options: TurnOptions | None = None
) -> AsyncGenerator[Turn]:
    """Start a turn; its entry run begins at once. The person's words, as a text or as messages, begin it.

    Leaving the block waits for the result. Leaving it by an exception cancels every run and awaits it, and the
    exception comes out unchanged. Raises `BadLabel`, `InvalidArguments`, and what `check_text` says of the words.
    """
    left_by: BaseException | None = None
    turn = Turn(agent, prompt, options or TurnOptions())
    async with asyncio.TaskGroup() as group:
        turn._start(group)
        try:
            yield turn
            await turn.result()
        except asyncio.CancelledError:
            turn._runs.ending = True
            raise  # which cancels every run
        except BaseException as error:  # noqa: BLE001 - a group would wrap it
            left_by = error
            turn._cancel()
    if left_by is not None:
        raise left_by


async def run_turn(agent: AnyAgent, prompt: str | Sequence[Message], options: TurnOptions | None = None) -> TurnResult:
    """Open a turn and collect it. What its runs raise is in the result."""
    async with open_turn(agent, prompt, options) as turn:
        return await turn.result()
