"""What a turn begins with, as messages: those of the platform from outside, or a person's own words."""

from collections.abc import Sequence

from restante.bus.message import PERSON, Message
from restante.durable.messages import Arrived
from restante.durable.words import Words


def opening_of(arrived: Sequence[Arrived], said: Sequence[Words]) -> tuple[Message, ...]:
    """Each as a message of its own, in the order in which they came; nothing is joined."""
    opening = [*(_external(one) for one in arrived), *(_person(one) for one in said)]
    return tuple(sorted(opening, key=lambda message: message.sequence))


def _external(one: Arrived) -> Message:
    return Message(
        message_id=one.message_id,
        sequence=one.sequence,
        sender=one.sender,
        origin="external",
        to="everyone",
        text=one.text,
        in_reply_to=one.in_reply_to,
        reply_address=one.reply_address,
    )


def _person(one: Words) -> Message:
    return Message(
        message_id=one.message_id,
        sequence=one.sequence,
        sender=PERSON,
        origin="person",
        to="everyone",
        text=one.text,
        token=one.message_id,
    )
