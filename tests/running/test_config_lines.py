"""The line of every key, in TOML files that others wrote."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from restante.running.toml_lines import KeyPath, lines_of

ROOT = Path(__file__).parents[2]


def paths_of(table: dict[str, object], path: KeyPath = ()) -> Iterator[KeyPath]:
    for key, value in table.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from paths_of(value, (*path, key))  # pyright: ignore[reportUnknownArgumentType]


@pytest.mark.parametrize("name", ["pyproject.toml", "uv.lock"])
def test_every_key_of_a_real_file_has_a_line_that_shows_it(name: str) -> None:
    text = (ROOT / name).read_text()
    found, lines = lines_of(text), text.splitlines()

    paths = list(paths_of(tomllib.loads(text)))

    assert paths
    for path in paths:
        assert path[-1] in lines[found[path] - 1]


def test_quoted_keys_are_found_under_their_plain_names() -> None:
    assert lines_of("a.\"b \\u0063\" = 1\n[x.'y.z']\nk = 1\n") == {
        ("a",): 1,
        ("a", "b c"): 1,
        ("x",): 2,
        ("x", "y.z"): 2,
        ("x", "y.z", "k"): 3,
    }


def test_what_is_in_arrays_stands_under_the_key_of_the_array() -> None:
    assert lines_of("a = [\n {b = 1},\n {b = 2, c = [[3]]}]\n[[d]]\ne = 1\n[[d]]\ne = 2\n") == {
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "c"): 3,
        ("d",): 4,
        ("d", "#1"): 4,
        ("d", "#2"): 6,
        ("d", "e"): 5,
    }
