"""What tells a question and a reply from other messages, and the verdict on a gated call, in every view."""

import json
from collections.abc import Mapping
from typing import Any

ARGUMENTS_LIMIT = 80
"""How much of the arguments of a call a line shows, in characters."""


def sign_of(message: Mapping[str, Any]) -> str:
    """What is said of a message beside its addresses, from its facts in the journal; empty for most."""
    if message.get("answer_by_s") is not None:
        return " (question)"
    return " (reply)" if message.get("in_reply_to") is not None else ""


def in_short(arguments: object) -> str:
    """The beginning of the arguments of a call, as JSON on one line, and how much is missing."""
    text = json.dumps(arguments, ensure_ascii=False)
    missing = len(text) - ARGUMENTS_LIMIT
    return text if missing <= 0 else f"{text[:ARGUMENTS_LIMIT]} [{missing:,} characters more]"


def said_by(verdict: Mapping[str, Any]) -> str:
    """Who gave the yes or the no, from the facts of an `approval` in the journal."""
    if verdict["by"] == "nobody":
        return "nobody could be asked"
    return f"the {verdict['by']} said {'yes' if verdict['allowed'] else 'no'}"
