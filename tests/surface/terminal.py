"""`restante` as a person runs it, in a folder of its own."""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from restante.surface.cli.main import main
from tests.surface.commands import start

PATIENCE_SECONDS = 60
COMMAND = (sys.executable, "-c", "from restante.surface.cli.main import main; main()")


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def restante(*arguments: str, folder: Path, stdin: bytes = b"", **environment: str) -> Ran:
    """Run a command to its end in this process, which has loaded everything, and without a terminal."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    before = dict(os.environ)
    given = sys.argv, sys.stdin
    try:
        sys.argv, sys.stdin = ["restante", *arguments], io.TextIOWrapper(io.BytesIO(stdin))
        os.environ.update(environment)
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = _exit_code()
    finally:
        sys.argv, sys.stdin = given
        os.environ.clear()
        os.environ.update(before)
    return Ran(code, _written(out), _written(err))


def _exit_code() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def restante_process(*arguments: str, folder: Path, stdin: bytes = b"") -> Ran:
    """Run a command to its end in a process of its own."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        streams = given.fileno(), out.fileno(), err.fileno()
        code = start(*arguments, folder=folder, streams=streams, environment=os.environ).wait(PATIENCE_SECONDS)
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read().decode(), err.read().decode())


def write_team(folder: Path, script: str, config: str = "") -> None:
    """A configuration whose agents are those of the script; `assistant` delegates to all others and all can write."""
    names = [line[2:-2] for line in dict.fromkeys(script.splitlines()) if line.startswith("[[")]
    others = [name for name in names if name != "assistant"]
    tables = [
        f'[agents.{name}]\nmodel = "scripted:script.toml"\ntools.available = ["messaging"]\n'
        + (f"delegates_to = {others}\n" if name == "assistant" else "")
        for name in names
    ]
    (folder / "script.toml").write_text(script)
    (folder / "restante.toml").write_text(f'entry = "assistant"\n{config}\n' + "".join(tables))
