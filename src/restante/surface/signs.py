"""What tells a question and a reply from other messages, and the verdict on a gated call, in every view."""

from collections.abc import Mapping
from typing import Any


def sign_of(message: Mapping[str, Any]) -> str:
    """What is said of a message beside its addresses, from its facts in the journal; empty for most."""
    if message.get("answer_by_s") is not None:
        return " (question)"
    return " (reply)" if message.get("in_reply_to") is not None else ""


def said_by(verdict: Mapping[str, Any]) -> str:
    """Who gave the yes or the no, from the facts of an `approval` in the journal."""
    if verdict["by"] == "nobody":
        return "nobody could be asked"
    return f"the {verdict['by']} said {'yes' if verdict['allowed'] else 'no'}"
