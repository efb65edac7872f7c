"""restante carries messages between AI agents and tells you, for every one, whether it was read, and if not, why.

Agents come by `from restante.turn import Mailbox, run_turn`, the platform by `restante.running`, clients by
`restante.client`.
"""

from restante.bus import (
    BusPolicy,
    CloseReport,
    Delivery,
    Fate,
    JournalEntry,
    Line,
    Message,
    MessageBus,
    Reader,
    Receipt,
    Sink,
    Unmet,
)
from restante.errors import RestanteError

__all__ = [
    "BusPolicy", "CloseReport", "Delivery", "Fate", "JournalEntry", "Line", "Message", "MessageBus", "Reader",
    "Receipt", "RestanteError", "Sink", "Unmet",
]  # fmt: skip
