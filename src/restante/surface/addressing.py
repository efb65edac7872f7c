"""Whom a typed line is for. Every door at which a person types reads it here."""

import re
from typing import NamedTuple

from restante.bus.message import EVERYONE
from restante.texts import WHITE_SPACE

SIGN = "@"
AS_IT_IS = f"To say a line that begins with {SIGN} to everyone, double the {SIGN}."
"""What helps somebody who meant no address."""
_SEPARATOR = re.compile(f"[{re.escape(WHITE_SPACE)}]")


class Addressed(NamedTuple):
    """Words, and the address or label of the running turn that they are for alone; None: for everyone."""

    to: str | None
    text: str


def read_addressed(line: str) -> Addressed:
    """What a typed line says to whom.

    Only an `@` at the very start addresses: what follows it up to the first white space is the address, which may turn
    out to match nobody, and one space after it belongs to neither. `@@` begins words to everyone with an `@`.
    """
    if not line.startswith(SIGN):
        return Addressed(None, line)
    if line.startswith(2 * SIGN):
        return Addressed(None, line.removeprefix(SIGN))
    found = _SEPARATOR.search(line)
    end = found.start() if found else len(line)
    address = line[len(SIGN) : end]
    return Addressed(None if address == EVERYONE else address, line[end:].removeprefix(" "))
