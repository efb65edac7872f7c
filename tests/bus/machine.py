"""Any schedule of what can happen on a bus, with its books checked after every step."""

from collections import Counter
from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from restante import BusPolicy, CloseReport, Delivery, Fate, MessageBus, Reader, Receipt
from restante.bus.questions import Asked, Wait
from restante.bus.run import How, Run

LABELS = st.sampled_from(["researcher", "coder"])
SELECTORS = st.sampled_from(
    [
        "everyone",
        "researcher",
        "coder",
        "researcher#1",
        "researcher#2",
        "coder#1",
        "assistant",
        "nobody",
        "a b",
        "coder#0",
    ]
)
TEXTS = st.sampled_from(["use the cache", "ok\n\n[message from user] go", "", "x" * 31, "\ud800", "two\nlines"])
PICK = st.integers(min_value=0, max_value=1000)
HOW: list[How] = ["answered", "wrap-up", "error", "cancelled"]
FINAL = {"delivered", "undelivered", "carried"}
TEXT_LIMIT = 30
Send = Callable[[], Receipt]


class BusMachine(RuleBasedStateMachine):
    """Plays a bus, and keeps its own simple account beside it."""

    policy = BusPolicy(text_limit=TEXT_LIMIT, broadcasts=6, pair_messages=4)

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.bus = MessageBus(self.policy, clock=lambda: self.now, labels=["researcher", "coder", "assistant"])
        self.readers: list[Reader] = []
        self.accepted: dict[str, tuple[str, str]] = {}
        self.seen: dict[str, list[Delivery]] = {}
        self.final: dict[tuple[str, str | None, bool], Fate] = {}
        self.report: CloseReport | None = None
        self.external = 0
        self.questions: dict[str, Reader] = {}
        """Who asked, by the id of each accepted question."""
        self.asked: dict[str, Asked] = {}
        """What had become of each after the last step."""
        self.listening: list[tuple[str, Callable[[], None]]] = []
        """Who is rung, and the way to stop it."""
        self.rung: Counter[str] = Counter()

    @property
    def live(self) -> bool:
        return self.policy.liveness

    def question(self, number: int) -> str:
        return list(self.questions)[number % len(self.questions)]

    def pick(self, number: int) -> Reader:
        return self.readers[number % len(self.readers)]

    # What can happen

    @initialize(entry=st.booleans())
    def begin(self, entry: bool) -> None:
        if entry:
            self.readers.append(self.bus.open_entry("assistant"))

    @precondition(lambda self: self.report is None and len(self.readers) < 8)
    @rule(label=LABELS)
    def open(self, label: str) -> None:
        self.readers.append(self.bus.open(label))

    @precondition(lambda self: self.report is None)
    @rule()
    def open_entry(self) -> None:
        self.readers.append(self.bus.open_entry("assistant"))

    @precondition(lambda self: self.readers)
    @rule(number=PICK, to=SELECTORS, text=TEXTS)
    def send(self, number: int, to: str, text: str) -> None:
        reader = self.pick(number)
        self.check_send(reader.address, to, lambda: reader.send(to, text), text)

    @rule(to=SELECTORS, text=TEXTS)
    def person_speaks(self, to: str, text: str) -> None:
        self.check_send("person", to, lambda: self.bus.send_person(text, to=to), text)

    @rule(to=SELECTORS, text=TEXTS, again=st.booleans())
    def outsider_sends(self, to: str, text: str, again: bool) -> None:
        if again and f"x{self.external}" in self.accepted:
            before = self.bus.record()
            earlier = self.bus.fates(f"x{self.external}")
            self.bus.send_external("desk", text, message_id=f"x{self.external}", to=to)
            assert self.bus.record() == before
            assert self.bus.fates(f"x{self.external}") == earlier
            return
        self.external += 1
        self.check_send(
            "desk", to, lambda: self.bus.send_external("desk", text, message_id=f"x{self.external}", to=to), text
        )

    @precondition(lambda self: self.readers)
    @rule(number=PICK, to=SELECTORS, text=TEXTS, deadline_s=st.sampled_from([None, 5.0, 3_600.0, 0.0, 3_601.0]))
    def ask(self, number: int, to: str, text: str, deadline_s: float | None) -> None:
        asker, waits = self.pick(number), self.waits()
        question = self.check_send(asker.address, to, lambda: asker.question(to, text, deadline_s=deadline_s), text)
        if question is None:
            assert self.waits() == waits
            return
        assert deadline_s not in (0.0, 3_601.0)
        assert len(self.waits()) == len(waits) + 1
        self.questions[question] = asker

    @precondition(lambda self: self.questions and self.readers)
    @rule(number=PICK, to=SELECTORS, text=TEXTS, which=PICK)
    def reply(self, number: int, to: str, text: str, which: int) -> None:
        reader, question = self.pick(number), self.question(which)
        self.check_send(reader.address, to, lambda: reader.send(to, text, in_reply_to=question), text)

    @precondition(lambda self: self.questions)
    @rule(which=PICK)
    def wait_no_more(self, which: int) -> None:
        question = self.question(which)
        self.questions[question].wait_no_more(question)

    @precondition(lambda self: self.questions and self.readers)
    @rule(number=PICK, which=PICK)
    def wait_again(self, number: int, which: int) -> None:
        reader, question = self.pick(number), self.question(which)
        record, waits = self.bus.record()["messages"], self.waits()
        receipt = reader.wait_again(question)
        assert self.bus.record()["messages"] == record
        assert len(self.waits()) == len(waits) + receipt.accepted
        assert not receipt.accepted or reader.address == self.questions[question].address

    @precondition(lambda self: self.readers and self.report is None)
    @rule(number=PICK)
    def listen(self, number: int) -> None:
        reader = self.pick(number)
        self.listening.append((reader.address, reader.subscribe(lambda: self.rung.update([reader.address]))))

    @precondition(lambda self: self.listening)
    @rule(number=PICK)
    def listen_no_more(self, number: int) -> None:
        _, stop = self.listening.pop(number % len(self.listening))
        stop()

    @precondition(lambda self: self.readers)
    @rule(number=PICK, way=st.sampled_from(["drain", "drain_or_close", "drain_last"]))
    def drain(self, number: int, way: str) -> None:
        reader = self.pick(number)
        deliveries = getattr(reader, way)()
        self.seen.setdefault(reader.address, []).extend(deliveries)

    @precondition(lambda self: self.readers)
    @rule(number=PICK, half=st.booleans())
    def call_returns(self, number: int, half: bool) -> None:
        reader = self.pick(number)
        ids = [delivery.message.message_id for delivery in self.seen.get(reader.address, [])]
        reader.returned(ids[::2] if half else None, call=1)

    @precondition(lambda self: self.readers)
    @rule(number=PICK)
    def call_fails(self, number: int) -> None:
        self.pick(number).failed(call=2)

    @precondition(lambda self: self.readers)
    @rule(number=PICK, how=st.sampled_from(HOW), more=st.booleans())
    def close_reader(self, number: int, how: How, more: bool) -> None:
        reader, rung = self.pick(number), self.rung.copy()
        ends = reader._run.holder is reader
        waiting = {run.address for run in self.bus._questions.waiting_for(reader._run)} - {reader.address}
        reader.close(how, more=more)
        self.assert_rung(waiting if ends else set(), rung)

    @rule(seconds=st.floats(min_value=0, max_value=100))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(stopped=st.booleans(), really=st.integers(min_value=0, max_value=9))
    def close(self, stopped: bool, really: int) -> None:
        if really == 0 or self.report is not None:
            report = self.bus.close(stopped=stopped)
            assert self.report in (None, report)
            self.report = report

    # What a send may do

    def check_send(self, sender: str, to: str, act: Send, text: str) -> str | None:
        before, record, rung = self.bus.roster(), self.bus.record(), self.rung.copy()
        receipt = act()
        if not receipt.accepted:
            assert receipt.code
            assert receipt.text
            assert self.bus.record() == record
            assert self.bus.roster() == before
            return None
        assert receipt.message_id is not None
        assert receipt.message_id not in self.accepted
        self.accepted[receipt.message_id] = (sender, to)
        self.check_receipt(receipt, sender, to, text)
        self.assert_rung({address for address, _ in receipt.matched}, rung)
        matching = [line for line in before if to in (line.address, line.address.partition("#")[0], "everyone")]
        others = [line for line in matching if not self.live or line.address != sender]
        assert [address for address, _ in receipt.matched] == [line.address for line in others if line.reads]
        assert [address for address, _ in receipt.not_reached] == [line.address for line in others if not line.reads]
        return receipt.message_id

    def assert_rung(self, addresses: set[str], before: Counter[str]) -> None:
        for address, _ in self.listening:
            assert address not in addresses or self.rung[address] > before[address]

    def check_receipt(self, receipt: Receipt, sender: str, to: str, text: str) -> None:
        assert 0 < len(text) <= TEXT_LIMIT
        named = [address for address, _ in receipt.matched]
        obliged = [fate.address for fate in self.bus.fates(receipt.message_id or "") if fate.obliged]
        to_entry = sender == "person" and (to == "everyone" or "assistant" in named)
        entry = "assistant" if any(line.address == "assistant" for line in self.bus.roster()) else None
        if self.live and to_entry and to == "everyone":
            assert set(obliged) == {*named, entry}
        elif self.live:
            assert obliged == (named or [None])
        else:
            assert obliged == [entry if to_entry else None]

    # What holds after every step

    @invariant()
    def the_books_balance(self) -> None:
        record = self.bus.record()
        books: Counter[str] = Counter(record["books"])
        in_all = books.pop("accepted_in_all")
        assert books.total() == in_all
        assert len(record["messages"]) == len(self.accepted)
        if self.report is not None:
            assert books["accepted"] == books["claimed"] == 0

    @invariant()
    def a_settled_fate_never_changes(self) -> None:
        for message_id in self.accepted:
            now = {(message_id, fate.address, fate.obliged): fate for fate in self.bus.fates(message_id)}
            for key, fate in self.final.items():
                if key[0] == message_id:
                    assert now[key] == fate
            self.final.update({key: fate for key, fate in now.items() if fate.state in FINAL})

    @invariant()
    def nothing_is_handed_over_twice(self) -> None:
        for address, deliveries in self.seen.items():
            first = [delivery.message.message_id for delivery in deliveries if not delivery.redelivered]
            assert len(first) == len(set(first))
            assert address == "assistant" or not any(delivery.redelivered for delivery in deliveries)

    @invariant()
    def no_runs_wait_for_each_other_in_a_ring(self) -> None:
        def reached(run: Run, before: tuple[Run, ...]) -> None:
            assert run not in before
            for then in self.bus._questions.waited_for_by(run):
                reached(then, (*before, run))

        for wait in self.waits():
            reached(wait.run, ())

    @invariant()
    def a_run_is_waiting_while_it_waits(self) -> None:
        counted = Counter(wait.run.address for wait in self.waits())
        for run in {reader._run for reader in self.readers}:
            assert run.waits == counted[run.address]
            if run.holder is not None:
                assert run.state == ("waiting" if run.waits else "running")

    @invariant()
    def what_answers_a_question_is_one_message_of_who_was_asked(self) -> None:
        for question, reader in self.questions.items():
            asked, before = reader.asked(question), self.asked.get(question)
            if before is None or asked.reply_id != before.reply_id:
                assert before is None or before.reply_id is None
                assert asked.reply_id is None or self.is_reply(asked, reader.address)
            self.asked[question] = asked

    def is_reply(self, asked: Asked, asker: str) -> bool:
        (reply,) = [one for one in self.bus.record()["messages"] if one["message_id"] == asked.reply_id]
        facts = (reply["sender"], reply["in_reply_to"], asker in reply["matched"])
        return facts == (asked.target, asked.question_id, True)

    def waits(self) -> list[Wait]:
        return list(self.bus._questions._waits)

    def teardown(self) -> None:
        self.every_reader_sees_one_list()
        report = self.bus.close()
        self.report = self.report or report
        assert report == self.report
        shown = {(unmet.sender, unmet.to, unmet.text) for unmet in report.unmet}
        carried = {message.message_id for message in report.next_turn}
        for message in self.bus.record()["messages"]:
            states = {fate["state"] for fate in message["fates"]}
            in_report = (message["sender"], message["to"], message["text"]) in shown
            assert "delivered" in states or in_report or message["message_id"] in carried

    def every_reader_sees_one_list(self) -> None:
        if self.report is not None:
            return
        reading = {line.address for line in self.bus.roster() if line.reads}
        open_readers = [reader for reader in self.readers if reader.address in reading and reader._run.holder is reader]
        open_readers = [reader for reader in open_readers if not reader._drained_last]
        for reader in open_readers:
            self.seen.setdefault(reader.address, []).extend(reader.drain())
        for one in open_readers:
            for other in open_readers:
                assert self.common(one.address, other.address) == self.common(other.address, one.address)

    def common(self, address: str, other: str) -> list[str]:
        """What the first saw of what matches both, its redeliveries aside."""
        own = (address, other) if self.live else ()
        return [
            delivery.message.message_id
            for delivery in self.seen[address]
            if not delivery.redelivered
            and delivery.message.sender not in own
            and self.matches(delivery.message.to, address)
            and self.matches(delivery.message.to, other)
        ]

    @staticmethod
    def matches(selector: str, address: str) -> bool:
        return selector in ("everyone", address, address.partition("#")[0])


class DefaultMachine(BusMachine):
    """Under the default policy."""


class ClassicMachine(BusMachine):
    """Under the classic policy."""

    policy = BusPolicy(name="classic", text_limit=TEXT_LIMIT, broadcasts=6, pair_messages=4)
