"""Runs of the entry agent that follow each other in one turn: one address, and nothing read twice or never shown."""

from restante import BusPolicy, Fate, MessageBus
from tests.bus.policies import both
from tests.bus.seen import replayed, texts


@both
def test_what_is_sent_between_two_entry_runs_is_read_by_the_second(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    first.drain_or_close()
    worker.send("everyone", "from a worker")
    bus.send_person("from the person")

    second = bus.open_entry("assistant")

    assert texts(second.drain()) == ["from a worker", "from the person"]
    assert second.drain() == ()


def test_by_default_a_broadcast_between_two_entry_runs_is_older_than_the_second() -> None:
    bus = MessageBus()
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    worker.send("everyone", "to the first")
    first.drain()
    first.close("answered")
    worker.send("everyone", "between")

    second = bus.open_entry("assistant")

    assert replayed(second.drain()) == {"between": True}
    second.returned()
    assert [fate.state for fate in bus.fates("m2")] == ["delivered", "delivered"]


@both
def test_mail_for_an_entry_agent_that_has_ended_waits_under_classic_and_is_refused_by_default(
    policy: BusPolicy,
) -> None:
    bus = MessageBus(policy)
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    first.close("answered")

    receipt = worker.send("assistant", "hello")

    assert receipt.code == ("recipient_finished" if policy.liveness else None)
    assert texts(bus.open_entry("assistant").drain()) == ([] if policy.liveness else ["hello"])


def test_by_default_a_second_entry_run_sees_what_the_first_left_and_meets_nothing_by_that() -> None:
    bus = MessageBus()
    first, worker = bus.open_entry("assistant"), bus.open("coder")
    worker.send("assistant", "from a worker")
    bus.send_person("from the person", to="assistant")
    first.close("error")
    given_up = Fate("assistant", "undelivered", "run_ended_first", call=None, obliged=True)

    second = bus.open_entry("assistant")

    assert texts(second.drain()) == ["from a worker", "from the person"]
    second.returned(call=0)
    assert bus.fates("m1") == (given_up, Fate("assistant", "delivered", None, call=0, obliged=False))
    assert [unmet.text for unmet in bus.close().unmet] == ["from a worker"]


@both
def test_a_backlog_that_the_first_entry_run_never_drained_waits_for_the_second(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    worker = bus.open("coder")
    worker.send("everyone", "before both")
    bus.open_entry("assistant").close("cancelled")
    worker.send("everyone", "between")

    second = bus.open_entry("assistant")

    assert texts(second.drain()) == ["before both", "between"]
