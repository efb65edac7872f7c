"""A message that any one reader may meet, while several have it at once."""

import pytest

from restante import BusPolicy, MessageBus
from tests.bus.policies import both


@both
@pytest.mark.parametrize("second", ["returns", "fails"])
def test_a_reader_that_fails_leaves_a_shared_obligation_to_the_other_that_has_it(
    policy: BusPolicy, second: str
) -> None:
    bus = MessageBus(policy)
    sent = bus.open_entry("assistant").send("everyone", "who is free?").message_id
    assert sent is not None
    first, other = bus.open("coder"), bus.open("coder")
    first.drain()
    other.drain()

    first.failed()
    assert bus.fates(sent)[0].state == "claimed"

    if second == "returns":
        other.returned(call=3)
        assert bus.fates(sent)[0][:4] == (None, "delivered", None, 3)
        assert bus.close().unmet == ()
    else:
        other.failed()
        assert bus.fates(sent)[0].state == "accepted"
        (unmet,) = bus.close().unmet
        assert (unmet.address, unmet.reason) == (None, "model_call_failed")


@both
def test_a_limit_on_broadcasts_leaves_single_addresses_alone(policy: BusPolicy) -> None:
    bus = MessageBus(BusPolicy(name=policy.name, broadcasts=0))
    scout = bus.open("scout")
    bus.open("coder")

    assert [scout.send("coder", "news").accepted for _ in range(3)] == [True] * 3
    assert scout.send("everyone", "news").code == "rate_limited"
