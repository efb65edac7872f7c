"""Texts of others on a terminal: what would move its cursor or turn its words around is shown as an escape."""

import json
import re
import unicodedata

_JOINERS = "\u200c\u200d"
"""They change nothing but the letters and emoji beside them."""


def visible(text: str, *, keep: str = "\n\t") -> str:
    """The text with every control, line separator and format character as an escape, those in `keep` excepted."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character in keep else _shown(character) for character in text)


def visible_line(text: str, limit: int | None = None) -> str:
    """The text on one line, at most its first `limit` characters, and how many more there are."""
    if limit is None or len(text) <= limit:
        return visible(text, keep="")
    return f"{visible(text[:limit], keep='')} [{len(text) - limit:,} characters more]"


def visible_json(value: object) -> str:
    """A value as JSON that any terminal can show. Its texts are whole, and the same once they are read."""
    # Outside its texts JSON has no such characters, and inside them an escape means the character.
    shown = json.dumps(value, ensure_ascii=False, indent=2)
    return re.sub(r"[^\x20-\x7e\n]", lambda found: _json_escape(found.group()), shown)


def _shown(character: str) -> str:
    return character.encode("unicode_escape").decode() if _acts(character) else character


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1] if _acts(character) else character


def _acts(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in _JOINERS
