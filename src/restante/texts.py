"""What a text may be, and who a piece of text comes from."""

from typing import Literal, NamedTuple

from restante.errors import InvalidText, Limit, RestanteError, TextBlank, TextTooLong

Origin = Literal["person", "agent", "external", "bus"]
"""Who a prompt part comes from. Decisions about authority read this and never the text."""

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters that have Unicode's property White_Space; text is judged blank by nothing else."""


class TextProblem(NamedTuple):
    """Why a text cannot be a message: a code of `errors.CODES`, and a sentence that says what would have worked."""

    code: Literal["invalid_text", "text_too_long", "text_blank"]
    message: str


def problem_of(text: str, limit: int) -> TextProblem | None:
    """Why `text` cannot be sent, or None. `limit` is in code points. Nothing is ever trimmed or replaced."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return _unusable(text, error.start)
    if "\0" in text:
        return _unusable(text, text.index("\0"))
    if len(text) > limit:
        return TextProblem(
            "text_too_long",
            f"A text has at most {limit:,} characters; this one has {len(text):,}. Nothing was cut: send it in parts.",
        )
    if not text or (text.isspace() and not text.strip(WHITE_SPACE)):
        return TextProblem("text_blank", "There is nothing to read in an empty or blank text. Write some words.")
    return None


def check_text(text: str, limit: int, *, field: str | None = None, limit_name: str = "text_limit") -> None:
    """Raise `InvalidText`, `TextTooLong` or `TextBlank` if `text` cannot be sent; the error names field and limit."""
    problem = problem_of(text, limit)
    if problem is None:
        return
    exceeded = Limit(limit_name, limit, len(text)) if problem.code == "text_too_long" else None
    raise _ERRORS[problem.code](problem.message, field=field, limit=exceeded)


_ERRORS: dict[str, type[RestanteError]] = {
    "invalid_text": InvalidText,
    "text_too_long": TextTooLong,
    "text_blank": TextBlank,
}


def _unusable(text: str, place: int) -> TextProblem:
    place = min(place, text.index("\0")) if "\0" in text else place
    shown = f"U+{ord(text[place]):04X}"
    return TextProblem("invalid_text", f"{shown} at place {place} cannot be sent. Leave that character out.")
