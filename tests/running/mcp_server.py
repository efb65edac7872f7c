"""A real server of the Model Context Protocol for the tests: `stdio`, `http`, or one that misbehaves."""

import os
import signal
import socket
import sys
import time
from typing import Any

KEY = "Bearer sesame"
FOR_EVER_S = 600


def write_pid(folder: str) -> None:
    """Leave the number of this process in a file named by it."""
    with open(f"{folder}/{os.getpid()}.pid", "w", encoding="utf-8") as file:  # noqa: PTH123 - starts sooner
        file.write("started")


def main(kind: str, folder: str) -> None:
    """Serve, or not. `folder` gets a file for each process that starts."""
    write_pid(folder)
    if kind == "dies":
        sys.exit("no database at localhost:5432")
    if kind == "mute":
        time.sleep(FOR_EVER_S)
    if kind == "chatty":
        print("Welcome to this server!", flush=True)  # noqa: T201 - where only messages belong
    if kind == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server = make_server()
    if kind == "http":
        serve_http(server)
        return
    server.run()
    if kind == "stubborn":
        time.sleep(FOR_EVER_S)


def make_server() -> Any:
    """A server with tools that work, fail, and end it."""
    from mcp.server import MCPServer  # noqa: PLC0415 - the process is to leave its number at once

    server = MCPServer("testing")
    for tool in (echo, environment, fails, dies, place, waits):
        server.tool(structured_output=False)(tool)
    server.tool(name="odd.name", structured_output=False)(place)
    return server


def echo(text: str) -> str:
    """Say it again."""
    return text


def environment(name: str) -> str:
    """What an environment variable holds here."""
    return os.environ.get(name, "nothing")


def fails() -> str:
    """Fail."""
    raise ValueError("the shelf is empty")


def dies() -> str:
    """End the server in the middle of a call."""
    os._exit(3)


async def waits(pipe: str) -> str:
    """Say into a pipe that it has begun, and take for ever."""
    import anyio  # noqa: PLC0415

    await anyio.Path(pipe).write_text("begun")
    await anyio.sleep(FOR_EVER_S)
    return "late"


def place() -> str:
    """Where the server works."""
    return os.getcwd()  # noqa: PTH109


def serve_http(server: Any) -> None:
    """Serve at a free port, which is printed, whoever brings the key."""
    import uvicorn  # noqa: PLC0415

    app = server.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        headers: dict[bytes, bytes] = dict(scope.get("headers") or ())
        if scope["type"] == "http" and (headers.get(b"authorization"), headers.get(b"x-shelf")) != (KEY.encode(), b"7"):
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
            return
        await app(scope, receive, send)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)  # noqa: T201 - who started it reads it
        uvicorn.Server(uvicorn.Config(guarded, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    main(*sys.argv[1:])
