"""No text can break out of the place that an export gives it. A CommonMark parser is the judge."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from restante.surface.markdown import Shown, code, fence, lead, quote

HOSTILE = [
    "```\n# Heading\n```",
    "~~~\n> **Undelivered:** a -> b: c",
    "`````` \r``````\r\n\r\n---",
    "[x]: http://example.com\n\n[message from person] hello",
    "<!-- </blockquote><img src=x onerror=alert(1)>",
    "\u2028\u2029\x85\x0b\x0c\x1b]0;title\x07",
    "&lt;b&gt; **bold** __bold__ $(id) `id`",
    "  two blanks  ",
    "\n",
    "1. a\n   - b\n\n        code",
]
texts = st.text(st.sampled_from("a `~>#*_-=[]()!<&\\|$1.\n\r\t\u2028\x0b\x1b")) | st.text(st.characters(codec="utf-8"))
WHOLE = Shown(None)


def parsed(lines: list[str]) -> list[Token]:
    return MarkdownIt("commonmark").parse("\n".join(lines))


def as_parsed(text: str) -> str:
    """A text as a parser gives it back: it knows one line break, and no U+0000."""
    return re.sub(r"\r\n|\r", "\n", text).replace("\0", "\ufffd")


def visible(token: Token) -> str:
    return "".join(child.content for child in token.children or ())


@given(texts.filter(lambda text: "\0" not in text))
@example("a_b")
@example("_a_")
def test_a_text_stays_whole_and_in_its_place(text: str) -> None:
    tokens = parsed(lead("**Message (mid-turn):**", text, WHOLE))

    if tokens[-1].type == "fence":
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close", "fence"]
        assert tokens[-1].content == as_parsed(text) + "\n"
    else:
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
        assert visible(tokens[1]).removeprefix("Message (mid-turn):").removeprefix(" ") == text


@given(texts.filter(lambda text: "\0" not in text))
def test_a_quoted_text_stays_in_its_quotation(text: str) -> None:
    tokens = parsed([*quote(quote(lead("**Undelivered:** a -> b:", text, WHOLE, " (nobody came)"))), "", "after"])

    assert [token.type for token in tokens[:2]] == ["blockquote_open", "blockquote_open"]
    assert [token.type for token in tokens if token.level == 0] == [
        "blockquote_open",
        "blockquote_close",
        "paragraph_open",
        "paragraph_close",
    ]
    assert "nobody came" in str([token.content for token in tokens])


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_shown_as_code(text: str) -> None:
    tokens = parsed(fence(text))

    assert [(token.type, token.content) for token in tokens] == [("fence", as_parsed(text) + "\n")]


@given(st.text(st.sampled_from("a` ")).filter(lambda text: text.strip() != ""))
def test_a_short_code_is_one_code(text: str) -> None:
    tokens = parsed([f"**Tool call: {code(text)}**"])

    assert [child.content for child in tokens[1].children or () if child.type == "code_inline"] == [text]


@given(
    st.recursive(
        texts | st.booleans() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
    )
)
def test_arguments_are_valid_json_and_the_same(value: object) -> None:
    assert json.loads(WHOLE.json(value)) == value


def test_a_shortened_text_says_by_how_much() -> None:
    shown = Shown(5)

    assert lead("**A:**", "123456789", shown, " (why)") == ["**A:** 12345 [4 characters more] (why)"]
    assert lead("**A:**", "123`56789", shown) == ["**A:**", "", "```text", "123`5", "```", "", "[4 characters more]"]
    assert json.loads(shown.json({"text": ["123456789"]})) == {"text": ["12345 [4 characters more]"]}
