"""What the model may write: one line of text or, where tools are offered, one well-formed call of one of them."""

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

from tests.real_model.dialogue import Tool

library: Any = import_module("llama_cpp.llama_grammar")  # as in `model.py`
TEXT_LIMIT = 160
"""Characters of a text that has no other limit: a small model may find no end by itself."""
_LINE = rf"[^{{\n] [^\n]{{0,{TEXT_LIMIT}}}"


def grammar_of(tools: Sequence[Tool], *, must_call: bool) -> str:
    """The grammar of an answer. The first token decides between call and text, where both may be."""
    if not tools:
        return f"root ::= {_LINE}"
    rules = "\n" + str(library.json_schema_to_gbnf(json.dumps({"anyOf": [_call(tool) for tool in tools]})))
    # One way to write each call, and it is the one that the model reads in the dialogue.
    rules = rules.replace('\nspace ::= " "?', '\nspace ::= ""')
    return rules if must_call else rules.replace("\nroot ::=", f"\nroot ::= {_LINE} |")


def _call(tool: Tool) -> dict[str, Any]:
    members = {"name": {"const": tool.name}, "arguments": _limited(tool.schema)}
    return {"type": "object", "properties": members, "required": list(members)}


def _limited(schema: Any) -> Any:
    """The schema with a limit on every text that has none."""
    if isinstance(schema, list):
        return [_limited(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    limited = {key: _limited(value) for key, value in cast("dict[str, Any]", schema).items()}
    return {"maxLength": TEXT_LIMIT} | limited if limited.get("type") == "string" else limited
