"""Whom a typed line is for: only an `@` at the very start addresses."""

import pytest

from restante.surface.addressing import read_addressed


@pytest.mark.parametrize(
    ("line", "to", "text"),
    [
        ("@researcher#2 drop that file", "researcher#2", "drop that file"),
        ("@researcher stop", "researcher", "stop"),
        ("@researcher   three spaces", "researcher", "  three spaces"),
        ("@researcher\na line", "researcher", "\na line"),
        ("@researcher\u3000wide", "researcher", "\u3000wide"),
        ("@researcher ends with one ", "researcher", "ends with one "),
        ("@researcher", "researcher", ""),
        ("@ researcher", "", "researcher"),
        ("@", "", ""),
        ("@everyone hello", None, "hello"),
        ("@Everyone hello", "Everyone", "hello"),
    ],
)
@pytest.mark.rows("T142")
def test_an_address_ends_at_the_first_white_space_and_one_space_is_all_that_is_removed(
    line: str, to: str | None, text: str
) -> None:
    assert read_addressed(line) == (to, text)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (" @researcher#2 x", " @researcher#2 x"),
        ("ask @researcher#2", "ask @researcher#2"),
        ("@@property is odd", "@property is odd"),
        ("@@@researcher x", "@@researcher x"),
        ("\n@researcher#2 x", "\n@researcher#2 x"),
        ("", ""),
    ],
)
@pytest.mark.rows("T144", "B52")
def test_any_other_line_is_for_everyone_and_a_doubled_sign_is_literal(line: str, text: str) -> None:
    assert read_addressed(line) == (None, text)
