"""Senders from outside the turn: what they may be called, and what a message that they offer again is answered."""

from restante.bus.address import is_ordinal
from restante.bus.message import Message
from restante.bus.receipt import Receipt, refusal
from restante.errors import BadLabel
from restante.names import check_name, folded

ID_LIMIT = 256
"""The longest id that a message from outside may bring, in characters."""


class Outsiders:
    """The external senders of one turn, and the receipts that they got."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._receipts: dict[str, Receipt] = {}

    def has(self, name: str) -> bool:
        """Whether somebody of that name, or of one like it, has sent from outside."""
        return folded(name) in self._names

    def answer_for(self, message: Message, earlier: Message | None, *, taken: bool) -> Receipt | None:
        """The first receipt if it was accepted before, a refusal if it cannot be, else None.

        `earlier` is the message with the same id, if there is one; `taken`: a name of this turn is like the sender's.
        """
        message_id = message.message_id
        if not 1 <= len(message_id) <= ID_LIMIT or not message_id.isprintable() or message_id != message_id.strip():
            return refusal("invalid_arguments", f"A message_id has 1 to {ID_LIMIT} printable characters.")
        if bad_name := _bad_name(message.sender):
            return bad_name
        if taken:
            return refusal(
                "invalid_name", f"{message.sender!r} belongs to this turn; an external sender needs its own."
            )
        if earlier is None:
            return None
        if (earlier.sender, earlier.text) == (message.sender, message.text):
            return self._receipts.get(message_id)
        return refusal("submission_conflict", f"The message_id {message_id!r} was used for another message.")

    def remember(self, message: Message, receipt: Receipt) -> None:
        """It was accepted."""
        self._names.add(folded(message.sender.partition("#")[0]))
        self._receipts[message.message_id] = receipt


def _bad_name(sender: str) -> Receipt | None:
    """A refusal unless it is a label, or a label with an ordinal."""
    label, hash_sign, ordinal = sender.partition("#")
    try:
        check_name(label)
    except BadLabel as error:
        return refusal(error.code, error.message)
    if hash_sign and not is_ordinal(ordinal):
        return refusal(BadLabel.code, f"{sender!r} is no address. After '#' comes a number from 1, as in 'desk#2'.")
    return None
