"""What the documents show is true: their examples run, and the pages that are made from the code are up to date."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests import reach_page
from tests.contract_page import PAGE, ROOT, page

README = (ROOT / "README.md").read_text()
COMMANDS = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    """The examples of the README in one language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_page_of_the_contract_is_made_from_the_tests() -> None:
    assert PAGE.read_text() == page(), "run `make contract`"


def test_the_page_of_who_can_reach_whom_is_made_from_the_tests_and_has_no_empty_cell() -> None:
    assert reach_page.PAGE.read_text() == reach_page.page(), "run `make contract`"
    assert reach_page.empty_cells() == []


def test_the_readme_is_short_enough_to_read() -> None:
    assert len(README.splitlines()) <= 150


def test_the_python_of_the_readme_runs_as_it_stands_and_prints_what_it_says() -> None:
    example, orchestrator = blocks("python")

    printed = subprocess.run(
        [sys.executable, "-c", example + orchestrator], capture_output=True, text=True, check=True
    ).stdout

    *lines, last = [line.strip() for line in printed.splitlines()]
    assert lines == [
        "The scout says 42.",
        "scout#1 -> writer#1 It is 42. delivered",
        "Nothing was left undelivered.",
    ]
    assert all(f"`{line}`" in README.replace("\n", " ") for line in lines)
    assert last == "The writer has it: 42. Nothing was left undelivered."


def test_the_commands_of_the_readme_run_as_they_stand(tmp_path: Path) -> None:
    _, first, other_shell, agent = blocks("sh")
    port = free_port()

    began = shell(first.replace("restante serve", ":"), tmp_path, port)
    with served(tmp_path, port):
        asked = shell(other_shell + agent, tmp_path, port)

    assert "Wrote restante.toml" in began
    assert '"accepted":true' in asked
    assert '"has_more":false' in asked


def shell(script: str, folder: Path, port: int) -> str:
    """Run lines of a shell as a reader would, with the commands on the path; what they print."""
    lines = "set -euo pipefail\n" + script.replace("8765", str(port)).replace("wait_seconds=25", "wait_seconds=0")
    ran = subprocess.run(
        ["/bin/bash", "-c", lines.replace("--wait 25", "--wait 0")],
        cwd=folder,
        env=environment(port),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@contextmanager
def served(folder: Path, port: int) -> Generator[None]:
    """`restante serve` in that folder, until the block ends."""
    command = [COMMANDS / "restante", "serve", "--port", str(port)]
    with subprocess.Popen(command, cwd=folder, env=environment(port), stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            while "serves" not in server.stderr.readline():
                assert server.poll() is None, "the server has ended"
            yield
        finally:
            server.terminate()


def environment(port: int) -> dict[str, str]:
    """The environment of a reader who has installed the commands."""
    path = f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "RESTANTE_URL": f"http://127.0.0.1:{port}"}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]
