"""A message: what somebody said, once, on one bus."""

from typing import NamedTuple, Protocol, TypeVar, cast

from restante.texts import Origin

EVERYONE = "everyone"
PERSON = "person"

T = TypeVar("T")


class _Quick(Protocol):
    def __call__(self, kind: type[T], facts: tuple[object, ...], /) -> T: ...


quick = cast("_Quick", tuple[object, ...].__new__)
"""Makes a named tuple of all its fields in order, in a third of the time: for those of which each message needs one."""


class Message(NamedTuple):
    """What was accepted. It never changes, and nothing in it tells what became of it.

    `sender` is the address of a run, `person`, or the name of an external sender. `token` is what a surface wants to
    find again; `reply_address` is where an external sender can be answered on the platform. A message with
    `answer_by_s` is a question: its sender waits for a reply, until then at most, in seconds since the bus was made.
    """

    message_id: str
    sequence: int
    sender: str
    origin: Origin
    to: str
    text: str
    in_reply_to: str | None = None
    token: str | None = None
    reply_address: str | None = None
    answer_by_s: float | None = None
