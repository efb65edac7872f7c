"""Parsing, once and strictly, of whatever any door was sent: nothing is converted, trimmed, clamped or ignored."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, cast

from restante.errors import InvalidArguments, Limit

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_PROBLEMS = {
    "Unexpected UTF-8 BOM (decode using utf-8-sig)": "a byte order mark, which is to be left out,",
    "Invalid control character at": "a control character inside a text, to be written as an escape,",
    "Unterminated string starting at": "a text that never ends and begins",
    "Invalid \\escape": "an escape that JSON does not have",
    "Invalid \\escape: ": "an escape that JSON does not have",
    "Invalid \\uXXXX escape": "an escape \\u without its four hexadecimal digits",
    "Expecting value": "a value is missing or misspelled",
    "Expecting property name enclosed in double quotes": "a field name in double quotes is missing",
    "Illegal trailing comma before end of object": "a comma too many",
    "Illegal trailing comma before end of array": "a comma too many",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Extra data": "the object has ended, and more follows",
}
"""What is wrong with a text that is no JSON, in our words."""
_DIGITS = 19
"""Digits of the largest number that any field takes."""


class Fields:
    """The fields of one request. Ask for each by its name and type, after `only` has refused the others."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def only(self, *names: str) -> None:
        """Raise `InvalidArguments`, naming it, for a field that is not one of these."""
        for name in self._values:
            if name not in names:
                known = ", ".join(names) or "none"
                raise InvalidArguments(f"There is no field {_shown(name)} here. The fields are: {known}.", field=name)

    def text(self, name: str) -> str:
        """A required text."""
        found = self.find_text(name)
        if found is None:
            raise InvalidArguments(f"{name} is missing.", field=name)
        return found

    def find_text(self, name: str) -> str | None:
        """A text, or None where the field is absent or null. An empty text names nothing, and is refused."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise InvalidArguments(f"{name} is a text, and nothing else: messages are texts.", field=name)
        if not value and name != "message":
            raise InvalidArguments(f"{name} is empty. Leave it out, or say what it is.", field=name)
        return value if name == "message" else _encodable(name, value)

    def integer(self, name: str, default: int) -> int:
        """A whole number; how large it may be is for others to say."""
        value = self._values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidArguments(f"{name} is a whole number.", field=name)
        return value

    def number(self, name: str, default: float) -> float:
        """A number, with decimals if need be; never NaN or infinite."""
        value = self._values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InvalidArguments(f"{name} is a number.", field=name)
        return float(value)


def parse_json(raw: bytes, depth_limit: int) -> Fields:
    """The one JSON object that a body is. Raises `InvalidArguments`; depth is judged before anything is built."""
    _check_depth(raw, depth_limit)
    try:
        value: object = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_refuse_constant
        )
    except UnicodeDecodeError as error:
        raise InvalidArguments("The body is no UTF-8.") from error
    except json.JSONDecodeError as error:
        problem = _PROBLEMS.get(error.msg, "something unexpected")
        raise InvalidArguments(f"The body is no JSON: {problem} at character {error.pos}.") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets that never close
        raise InvalidArguments("The body holds a number or a nesting that no field takes.") from error
    if not isinstance(value, dict):
        raise InvalidArguments("The body is one JSON object with the fields in it.")
    return Fields(cast("dict[str, object]", value))


def parse_query(pairs: Iterable[tuple[str, str]], numbers: Mapping[str, tuple[float, float]] | None = None) -> Fields:
    """The fields of a query string, where every value is text; those in `numbers` must read as a number.

    What `numbers` says of their ranges is for the refusal alone.

    Raises `InvalidArguments`.
    """
    values: dict[str, object] = {}
    ranges = numbers or {}
    for name, value in pairs:
        if name in values:
            raise InvalidArguments(f"{_shown(name)} is given twice.", field=name)
        values[name] = _number(name, value, ranges[name]) if name in ranges else value
    return Fields(values)


def _number(name: str, value: str, range_: tuple[float, float]) -> float:
    if len(value) <= _DIGITS + 1 and _INTEGER.fullmatch(value):
        return int(value)
    if len(value) <= _DIGITS + 1 and _NUMBER.fullmatch(value):
        return float(value)
    low, high = range_
    raise InvalidArguments(f"{name} is a number from {low:,} to {high:,}, in digits and nothing else.", field=name)


def _check_depth(raw: bytes, limit: int) -> None:
    if raw.count(b"[") + raw.count(b"{") <= limit:
        return
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", raw)):
        depth += 1 if bracket.group() in {b"[", b"{"} else -1
        if depth > limit:
            raise InvalidArguments(
                f"The body is nested more than {limit} deep.", limit=Limit("json_depth", limit, depth)
            )


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidArguments(f"{_shown(name)} is given twice.", field=name)
        found[name] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidArguments(f"{name} is no JSON.")


def _encodable(name: str, value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidArguments(f"{name} holds a lone surrogate.", field=name) from error
    if "\0" in value:
        raise InvalidArguments(f"{name} holds U+0000.", field=name)
    return value


def _shown(name: str) -> str:
    return ascii(name[:100])
