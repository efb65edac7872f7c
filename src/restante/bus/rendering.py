"""How a message reads to a model. The person's words are bare; no other body can imitate them, or another agent."""

from collections.abc import Mapping
from typing import NamedTuple

from restante.bus.message import Message


class Delivery(NamedTuple):
    """A message, as one drain handed it over."""

    message: Message
    replayed: bool
    """Sent before the reader opened."""
    redelivered: bool
    """Handed over before, to a call of the entry agent that failed."""

    def prompt_text(self) -> str:
        """The text of the prompt part that carries this message."""
        return prompt_text(self.message, replayed=self.replayed)

    def provenance(self) -> dict[str, object]:
        """The facts about this delivery that go with its prompt part, ready for JSON."""
        return provenance(self.message, replayed=self.replayed, redelivered=self.redelivered)


def prompt_text(message: Message, *, replayed: bool = False) -> str:
    """The text of a prompt part. Whoever it is from, every character of the message is in it."""
    if message.origin == "person":
        return message.text
    if message.origin == "bus":
        return f"[notice] {quoted(message.text)}"
    marker = f"[message from {message.sender}{', sent before you started' if replayed else ''}]"
    if message.origin == "external":
        return f"{marker}\n{_platform_lines(message)}\n> {quoted(message.text)}"
    return f"{marker} {quoted(message.text)}"


def provenance(message: Message, *, replayed: bool = False, redelivered: bool = False) -> dict[str, object]:
    """Who a prompt part comes from. Authority is decided from this and never from a text."""
    return {
        "origin": message.origin,
        "sender": message.sender,
        "message_id": message.message_id,
        "sequence": message.sequence,
        "replayed": replayed,
        "redelivered": redelivered,
        "in_reply_to": message.in_reply_to,
    }


def is_turn_of_person(provenance: Mapping[str, object]) -> bool:
    """Whether a prompt part with this provenance may be read as the person's turn."""
    return provenance.get("origin") == "person"


def quoted(text: str) -> str:
    """The text with `> ` after each of its line breaks, which are kept as they are.

    A line break is what Unicode calls one; CRLF is one break. So no line of the text but its first can stand where a
    marker stands.
    """
    lines = text.splitlines(keepends=True)
    ends_with_a_break = bool(lines) and len(lines[-1].splitlines()[0]) < len(lines[-1])
    return "> ".join(lines) + ("> " if ends_with_a_break else "")


def _platform_lines(message: Message) -> str:
    facts = f"It came from outside this turn. Sender: {message.sender}; message_id: {message.message_id}"
    if message.reply_address is None:
        return f"{facts}. It cannot be answered from here."
    return (
        f"{facts}; reply_address: {message.reply_address}.\n"
        "An answer is optional. The closing text of your turn goes nowhere: to answer, call the tool `messages` with "
        f'action "send", inbox_id "{message.reply_address}" and your message.'
    )
