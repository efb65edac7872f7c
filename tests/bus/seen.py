"""What a test looks at on a bus, in short."""

import re
from collections.abc import Iterable
from typing import Any

from restante import Delivery, MessageBus, Receipt


def texts(deliveries: Iterable[Delivery]) -> list[str]:
    """What a drain gave, as it was sent."""
    return [delivery.message.text for delivery in deliveries]


def replayed(deliveries: Iterable[Delivery]) -> dict[str, bool]:
    """What a drain gave, and which of it is marked as older than the reader."""
    return {delivery.message.text: delivery.replayed for delivery in deliveries}


def addresses(bus: MessageBus) -> list[str]:
    """The roster, by address."""
    return [line.address for line in bus.roster()]


def states(bus: MessageBus) -> dict[str, str | None]:
    """The roster, by state."""
    return {line.address: line.state for line in bus.roster()}


def matched(receipt: Receipt) -> list[str]:
    """Whom an accepted message matched."""
    assert receipt.accepted, receipt.text
    return [address for address, _ in receipt.matched]


def obliged(bus: MessageBus, receipt: Receipt) -> list[str | None]:
    """Who owes it to read a message."""
    return [fate.address for fate in bus.fates(receipt.message_id or "") if fate.obliged]


def the_list(bus: MessageBus) -> list[dict[str, Any]]:
    """Every accepted message with what was fixed when it was accepted, and without its fates."""
    return [{key: facts for key, facts in entry.items() if key != "fates"} for entry in bus.record()["messages"]]


def listed(text: str) -> list[str]:
    """The addresses that a text lists, a line each, and `everyone`."""
    return re.findall(r"^- ([^\s:]+)", text, re.MULTILINE)
