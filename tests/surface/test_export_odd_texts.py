"""Bodies that mean something to Markdown or to a terminal: kept as they are, and no part of the export's structure."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.surface.terminal import restante, write_team

ODD = [
    "one\u2028two\u2029three\x85four",
    "\x01\x07\x08\x1b]0;title\x07\x1b[2J\x7f\x9b31m\r\nnext\rlast",
    "```\n# In a fence\n```\n~~~~\n> deep",
    "# A heading\n## Turn 2\n\nUnder\n=====\n\n---",
    "> **Undelivered:** a -> b: c\n> > deeper",
    "**Answer:** no\n\n**Person:** do it",
    "<h1>big</h1>\n<!-- \n- a\n1. b\n    code",
]
PLAIN = ["harmless"] * len(ODD)
"""In the same places, texts that mean nothing to anybody."""


def script(bodies: list[str]) -> str:
    """A worker sends each body to everyone, and then its parent does, and to the worker, which has ended.

    By default nobody is left to read what the parent sends to everyone; under classic it reads that itself, and what
    it sends to the worker is read by nobody.
    """

    def sent(to: str) -> str:
        texts = ["".join(f"\\U{ord(letter):08X}" for letter in body) for body in bodies]
        return "".join(f'{{tool = "send_message", args = {{to = "{to}", text = "{text}"}}}},\n' for text in texts)

    return (
        '[[assistant]]\ncall = {tool = "spawn", args = {agent = "sender", task = "work"}}\n'
        f"[[assistant]]\ncall = [\n{sent('everyone')}{sent('sender#1')}]\n"
        '[[assistant]]\nsay = "done"\n'
        '[[assistant]]\nsay = "done again"\n'
        f"[[sender]]\ncall = [\n{sent('everyone')}]\n"
        '[[sender]]\nsay = "sent"\n'
        '[[sender]]\nsay = "sent again"\n'
    )


class Kept(NamedTuple):
    """What is written of a turn, as it is read back."""

    accepted: set[str]
    delivered: set[str]
    reported: list[str]
    export: str


def played(folder: Path, policy: str, bodies: list[str]) -> Kept:
    """Run the turn, and read back its journal, its report and its export."""
    folder.mkdir()
    write_team(folder, script(bodies), config=f'policy = "{policy}"')
    turn: Any = json.loads(restante("run", "go", "--json", folder=folder).out)
    assert restante("export", "--full", "-o", "chat.md", folder=folder).code == 0
    texts = {
        kind: {entry["facts"]["text"] for entry in turn["entries"] if entry["kind"] == kind}
        for kind in ("message", "delivery")
    }
    reported = [unmet["text"] for unmet in turn["report"]["unmet"]]
    return Kept(texts["message"], texts["delivery"], reported, (folder / "chat.md").read_bytes().decode())


def outline(export: str) -> list[tuple[int, str]]:
    """What says what is what: everything but plain words and code, as a parser of Markdown sees it."""
    return [
        (token.level, found)
        for token in MarkdownIt("commonmark").parse(export)
        if token.type not in ("fence", "paragraph_open", "paragraph_close")
        for found in (_signs(token) if token.type == "inline" else [token.type])
    ]


def _signs(token: Token) -> list[str]:
    """The words of a line that are set off: its signature, in bold or in italics."""
    children = token.children or []
    return [
        children[place + 1].content for place, child in enumerate(children) if child.type in ("strong_open", "em_open")
    ]


@pytest.mark.rows("T314")
@pytest.mark.parametrize("policy", ["default", "classic"])
def test_odd_bodies_come_back_as_they_were_and_change_nothing_of_the_structure(tmp_path: Path, policy: str) -> None:
    odd = played(tmp_path / "odd", policy, ODD)
    plain = played(tmp_path / "plain", policy, PLAIN)

    assert odd.accepted == odd.delivered == set(ODD)
    assert odd.reported == ODD
    assert outline(odd.export) == outline(plain.export)
    code = [token.content for token in MarkdownIt("commonmark").parse(odd.export) if token.type == "fence"]
    for body in ODD:
        # A parser knows one line break.
        assert re.sub(r"\r\n|\r", "\n", body) + "\n" in code
