"""Servers to kill: `python -m tests.kills.server STORE PORT RUNS`.

It loads everything once. For each line that it reads it starts a server in a process of its own, which says its
process id when it serves; when that process has ended, it says `ended` and how, and reads on. The agents echo what they
get, and write each text into the file RUNS before they do, so that a second run of the same message shows.
"""

import os
import re
import sys
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from restante.bus.policy import BusPolicy
from restante.running.agents import Hosted
from restante.running.config import Config, Limits
from restante.surface.http.serve import listen, run_serving
from restante.testing.scripted import prompt_of

NAMES = ("scout", "editor", "coder", "tester")


class Echo:
    """Answers each message once, and keeps a log of what it was asked."""

    def __init__(self, log: Path) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del info
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart("done")])
        prompt = prompt_of(messages)
        text = prompt.splitlines()[-1].removeprefix("> ")
        os.write(self._log, f"{text}\n".encode())
        address = re.findall(r"reply_address: (inbox-\w+)", prompt)[-1]
        reply = {"action": "send", "inbox_id": address, "message": f"re: {text}"}
        return ModelResponse(parts=[ToolCallPart("messages", reply)])


def _hosted(name: str, echo: Echo) -> Hosted:
    agent = Agent(FunctionModel(echo.respond), name=name)
    return Hosted(name=name, description="", agent=agent, delegates={}, rounds=None, free_text_ask=True)


def _serve(store: str, port: str, runs: str) -> None:
    echo = Echo(Path(runs))
    config = Config(policy=BusPolicy(), entry="scout", agents={}, limits=Limits(messages_per_hour=100_000))
    agents = {name: _hosted(name, echo) for name in NAMES}
    run_serving(config, agents, Path(store), listen(port=int(port)), lambda _: _tell(str(os.getpid())))


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(*arguments: str) -> None:
    for _ in sys.stdin:
        process = os.fork()
        if process == 0:
            _serve(*arguments)
            return
        _, status = os.waitpid(process, 0)
        _tell(f"ended {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
