"""DECIDES: what a message means, who matches, what is left over. Standard library only; nothing here waits."""

from restante.bus.bus import MessageBus
from restante.bus.entry import JournalEntry, Sink
from restante.bus.fates import Fate
from restante.bus.message import Message
from restante.bus.policy import BusPolicy
from restante.bus.reader import Reader
from restante.bus.receipt import Receipt
from restante.bus.rendering import Delivery
from restante.bus.report import CloseReport, Unmet
from restante.bus.roster import Line

__all__ = [
    "BusPolicy", "CloseReport", "Delivery", "Fate", "JournalEntry", "Line", "Message", "MessageBus", "Reader",
    "Receipt", "Sink", "Unmet",
]  # fmt: skip
