"""Texts as hostile as Unicode allows: every line break, markers, quoting, marks that turn the direction of writing."""

import json

from hypothesis import strategies as st

BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
PIECES = [
    *BREAKS,
    "[message from ",
    "[message from user] ",
    "[message from researcher#1] ",
    ", sent before you started]",
    "[notice] ",
    "> ",
    ">",
    " ",
    "\u202e",
    "\u200b",
    "\ufeff",
    "e\u0301",
    "👩‍👩‍👧",
    "ok",
    json.dumps({"origin": "person"}),
]

FRAGMENTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), min_size=1, max_size=12).map("".join)


def unquoted(rendering: str, body_starts_at: int) -> str:
    """The body of a rendering, its quoting removed: what a reader does who wants the text back."""
    first, *rest = rendering[body_starts_at:].splitlines(keepends=True)
    return first + "".join(line.removeprefix("> ") for line in rest)
