"""Writes `docs/reference.md`: every public name, as its source has it.

`python -m tests.reference_page` writes the page; a test compares it with the exports.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference.md"

HEAD = """\
# Every public name

What is listed here is promised; all else may change with any version. The page is made from the code, by
`.venv/bin/python -m tests.reference_page`. [In Python](in-python.md) shows how the names work together.
"""
MODULES = {
    "restante": "The bus of one turn: standard library only.",
    "restante.turn": "One turn, on Pydantic AI.",
    "restante.running": "The platform: a team of a file, its store, its turns.",
    "restante.running.platform": "What the platform takes and gives.",
    "restante.client": "For programs that talk to a server.",
    "restante.testing": "For your own tests.",
}
LINE = 100
Function = ast.FunctionDef | ast.AsyncFunctionDef


def page() -> str:
    """The page, as it should be."""
    seen: set[int] = set()
    return HEAD + "".join(_section(import_module(name), words, seen) for name, words in MODULES.items())


def _section(module: ModuleType, words: str, seen: set[int]) -> str:
    """The names of a module that stand in no section before."""
    lines: list[str] = []
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        if id(value) not in seen:
            seen.add(id(value))
            lines += ["", f"### `{name}`", "", *_described(name, value)]
    return "\n".join(["", f"## `{module.__name__}`", "", words, *lines, ""])


def _described(name: str, value: object) -> Iterator[str]:
    if inspect.isclass(value) or inspect.isfunction(value):
        node = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
        if isinstance(node, ast.ClassDef):
            yield from _class(node)
            return
        if isinstance(node, Function):
            yield f"```python\n{_signature(node, node.name)}\n```\n\n{_first_line(node)}"
            return
    # Quoted as the formatter of this page's examples quotes.
    quoted = str(value).replace("'", '"')
    yield f"```python\n{name} = {quoted}\n```"


def _class(node: ast.ClassDef) -> Iterator[str]:
    made = next((one for one in node.body if isinstance(one, Function) and one.name == "__init__"), None)
    fields = [ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign) and not _is_private(one.target)]
    named = ["*"] if any("kw_only=True" in ast.unparse(one) for one in node.decorator_list) else []
    shown = _signature(made, node.name) if made else _call(node.name, [*named, *fields])
    yield f"```python\n{shown}\n```\n\n{_first_line(node)}"
    methods = [one for one in node.body if isinstance(one, Function) and not one.name.startswith("_")]
    if methods:
        yield ""
    for method in methods:
        words = _first_line(method)
        called = method.name if _is_property(method) else _signature(method, method.name)
        yield f"- `{called}`{f': {words}' if words else ''}"


def _signature(node: Function, name: str) -> str:
    arguments = node.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    gives = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    begins = "async " if isinstance(node, ast.AsyncFunctionDef) and not _is_context(node) else ""
    return f"{begins}{name}({ast.unparse(arguments)}){gives}"


def _call(name: str, fields: list[str]) -> str:
    line = f"{name}({', '.join(fields)})"
    return line if len(line) <= LINE else "\n".join([f"{name}(", *(f"    {field}," for field in fields), ")"])


def _is_context(node: Function) -> bool:
    return any(ast.unparse(one).endswith("contextmanager") for one in node.decorator_list)


def _is_property(node: Function) -> bool:
    return any(ast.unparse(one) == "property" for one in node.decorator_list)


def _is_private(target: ast.expr) -> bool:
    return ast.unparse(target).startswith("_")


def _first_line(node: ast.ClassDef | Function) -> str:
    return (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page())
