"""A bus that is closed: it refuses, gives nothing, and says the same once more."""

import pytest

from restante import BusPolicy, CloseReport, MessageBus, Reader, Receipt
from restante.errors import BusClosed
from tests.bus.policies import both


def closed(policy: BusPolicy) -> tuple[MessageBus, Reader, CloseReport]:
    """A bus that was closed while a message waited for its only worker."""
    bus = MessageBus(policy)
    bus.open_entry("assistant").send("everyone", "hello")
    worker = bus.open("researcher")
    return bus, worker, bus.close()


@both
@pytest.mark.rows("T025")
def test_every_way_of_sending_is_refused_without_a_word_of_acceptance(policy: BusPolicy) -> None:
    bus, worker, _ = closed(policy)
    before = bus.record()

    receipts: list[Receipt] = [
        worker.send("everyone", "late"),
        bus.send_person("late"),
        bus.send_external("desk", "late", message_id="x-1"),
    ]

    assert {(receipt.accepted, receipt.code, receipt.message_id) for receipt in receipts} == {
        (False, "turn_closed", None)
    }
    assert not any("accept" in receipt.text.lower() for receipt in receipts)
    assert bus.record() == before


@both
@pytest.mark.rows("T025")
def test_an_old_reader_drains_nothing_and_changes_nothing(policy: BusPolicy) -> None:
    bus, worker, _ = closed(policy)
    before = bus.record()

    assert (worker.drain(), worker.drain_or_close(), worker.drain_last(), worker.has_mail()) == ((), (), (), False)
    worker.returned()
    worker.failed()
    worker.close("answered")

    assert bus.record() == before


@both
@pytest.mark.rows("T025")
@pytest.mark.parametrize("stopped", [False, True])
def test_closing_again_gives_the_same_report(policy: BusPolicy, stopped: bool) -> None:
    bus, _, report = closed(policy)

    assert bus.close(stopped=stopped) == report
    assert len(report.unmet) == 1


@both
@pytest.mark.rows("T025")
def test_no_reader_opens_any_more(policy: BusPolicy) -> None:
    bus, _, _ = closed(policy)
    before = bus.record()

    for opening in (lambda: bus.open("researcher"), lambda: bus.open_entry("assistant")):
        with pytest.raises(BusClosed):
            opening()

    assert bus.record() == before
