"""Scripts of models in a TOML file, for demos and for tests of a whole configuration."""

import asyncio
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from restante.errors import BadConfig
from restante.running.toml_lines import KeyPath, lines_of
from restante.testing.scripted import Call, ScriptedModel, Sleep, Step

STEP_KEYS = frozenset({"say", "call", "when", "seconds"})
CALL_KEYS = frozenset({"tool", "args"})


def load_script(path: Path, *, sleep: Sleep = asyncio.sleep) -> dict[str, ScriptedModel]:
    """The scripted model of each agent that the file names. `sleep` waits for the `seconds` of a step.

    Each agent is a list of steps (`[[assistant]]`). A step has `say`, or `call` with a table `{tool, args}` or a list
    of them, which run together; and optionally `when`, a text that the prompt must contain, and `seconds`.
    Raises `BadConfig`, naming the file, its line, the agent and the step.
    """
    try:
        text = path.read_text(encoding="utf-8")
        tables = tomllib.loads(text)
    except OSError as error:
        raise BadConfig(f"The script {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadConfig(f"The script {path} is not UTF-8 at byte {error.start}.") from error
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"The script {path} is no TOML: {error}.") from error
    read = _Reading(path, lines_of(text))
    return {
        agent: ScriptedModel(*read.steps(agent, steps), name=f"scripted:{path.name}:{agent}", sleep=sleep)
        for agent, steps in tables.items()
    }


class _Reading:
    """One script on its way to steps. What is wrong in it is said with the file, and the line where it has one."""

    def __init__(self, path: Path, lines: Mapping[KeyPath, int]) -> None:
        self._path = path
        self._lines = lines

    def steps(self, agent: str, steps: object) -> Iterator[Step]:
        if not isinstance(steps, list):
            message = f"{agent} must be a list of steps: write [[{agent}]] above each of them."
            raise BadConfig(f"{self._where(agent)}: {message}")
        for number, step in enumerate(cast("list[object]", steps), start=1):
            try:
                yield _step(f"step {number} of {agent}", step)
            except BadConfig as error:
                raise BadConfig(f"{self._where(agent, f'#{number}')}: {error.message}") from None

    def _where(self, *path: str) -> str:
        line = self._lines.get(path)
        return f"{self._path}:{line}" if line else str(self._path)


def _step(place: str, step: object) -> Step:
    table = _table(place, step, STEP_KEYS)
    if ("say" in table) == ("call" in table):
        raise BadConfig(f"{place} needs `say` or `call`, and not both.")
    seconds = table.get("seconds", 0.0)
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool) or seconds < 0:
        raise BadConfig(f"`seconds` in {place} is {seconds!r}; it is a number from 0.")
    when = None if "when" not in table else _text(place, table, "when")
    if "say" in table:
        return Step(say=_text(place, table, "say"), when=when, seconds=seconds)
    listed: object = table["call"]
    several = cast("list[object]", listed) if isinstance(listed, list) else [listed]
    return Step(calls=tuple(_call(place, one) for one in several), when=when, seconds=seconds)


def _call(place: str, call: object) -> Call:
    table = _table(f"`call` in {place}", call, CALL_KEYS)
    args = table.get("args", {})
    if not isinstance(args, dict):
        raise BadConfig(f"`args` in {place} must be a table of arguments.")
    return Call(_text(place, table, "tool"), cast("dict[str, object]", args))


def _table(place: str, value: object, keys: frozenset[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadConfig(f"{place} must be a table with some of {', '.join(sorted(keys))}.")
    table = cast("dict[str, Any]", value)
    for key in table.keys() - keys:
        raise BadConfig(f"{place} has the unknown key {key!r}; the keys are {', '.join(sorted(keys))}.")
    return table


def _text(place: str, table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str):
        raise BadConfig(f"`{key}` in {place} must be a text.")
    return value
