"""What a name may be: of an agent, a workflow or a principal, and of a label on the bus. One rule for all."""

import unicodedata

from restante.errors import BadLabel

RESERVED = frozenset({"everyone", "user", "person", "system", "bus"})
NAME_LIMIT = 64
"""The longest name, in code points."""

_ALLOWED = "letters, marks and digits of any script, '-', '_' and '.', a letter or digit first"


def folded(name: str) -> str:
    """The form under which two names are the same: names are unique under case folding."""
    return name.casefold()


def check_name(name: str) -> None:
    """Raise `BadLabel`, saying what would have worked, unless `name` follows the rule. Nothing is ever mapped."""
    if not name:
        raise BadLabel(f"A name has 1 to {NAME_LIMIT} characters: {_ALLOWED}.")
    if len(name) > NAME_LIMIT:
        raise BadLabel(f"A name has at most {NAME_LIMIT} characters; this one has {len(name)}.")
    for place, character in enumerate(name):
        if not _allowed(character, first=place == 0):
            shown = f"U+{ord(character):04X}"
            raise BadLabel(f"{shown} at place {place} is not allowed in the name {name!r}. Allowed: {_ALLOWED}.")
    composed = unicodedata.normalize("NFC", name)
    if composed != name:
        raise BadLabel(f"The name {name!r} is not composed; write {composed!r} (NFC) instead.")
    if folded(name) in RESERVED:
        raise BadLabel(f"The name {name!r} is reserved, in any letter case. Choose another one.")


def is_name(name: str) -> bool:
    """Whether `name` follows the rule, reserved names excepted."""
    try:
        check_name(name)
    except BadLabel:
        return False
    return True


def _allowed(character: str, *, first: bool) -> bool:
    category = unicodedata.category(character)
    if category[0] == "L" or category == "Nd":
        return True
    return not first and (category[0] == "M" or character in "-_.")
