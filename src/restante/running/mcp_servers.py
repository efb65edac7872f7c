"""`[mcp.NAME]`: a server of the Model Context Protocol whose tools agents may hold."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from restante.running.toml_places import check_variable, only
from restante.running.toml_table import Range, Table, nearest

MCP = "mcp:"
"""What a toolset begins with that is the tools of a server."""
NAME = re.compile(r"[A-Za-z0-9-]{1,20}")
"""What a server may be called, since the name is part of the names of its tools."""
START_SECONDS = 30.0
"""How long a server may take until it can be asked, in seconds."""

_OF_A_COMMAND = ("args", "env_from")
_OF_A_URL = ("token_env", "headers_env")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """A program that is started, or a server at a URL: exactly one of the two."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env_from: tuple[str, ...] = ()
    """The environment variables that the program gets, beside PATH, HOME and the like."""
    folder: Path
    """Where the program is started: the folder of the file."""
    url: str | None = None
    token_env: str | None = None
    """The environment variable that holds the token, sent as `Authorization: Bearer TOKEN`."""
    headers_env: Mapping[str, str]
    """Headers, and the environment variable that holds the value of each."""
    start_seconds: float = START_SECONDS


def read_server(name: str, table: Table, folder: Path) -> McpServer:
    """One server, as its table says. Raises `BadConfig`."""
    only(table, "[mcp.NAME]")
    if not NAME.fullmatch(name):
        table.refuse(None, f"{name!r} is no name of an MCP server: 1 to 20 of A to Z, a to z, 0 to 9 and '-'.")
    command, url = table.text("command"), table.text("url")
    _check_kind(table, command, url)
    start_seconds = table.number("start_seconds", Range(0.1, 600, whole=False))
    return McpServer(
        name=name,
        command=command,
        args=table.texts("args", repeated=True),
        env_from=_variables(table),
        folder=folder,
        url=url,
        token_env=check_variable(table, "token_env"),
        headers_env=_headers(table.table("headers_env")),
        start_seconds=START_SECONDS if start_seconds is None else start_seconds,
    )


def check_mcp_tools(table: Table, name: str, servers: Mapping[str, McpServer]) -> None:
    """Refuse `mcp:NAME` in `available` when no server has that name."""
    server = name.removeprefix(MCP)
    if server in servers:
        return
    if not servers:
        table.refuse("available", f"{name!r} is a toolset of an MCP server, and there is none. Add [mcp.{server}].")
    known = nearest(server, servers)
    table.refuse("available", f"{name!r} names no MCP server of this file. The nearest one is '{MCP}{known}'.")


def _check_kind(table: Table, command: str | None, url: str | None) -> None:
    if (command is None) == (url is None):
        table.refuse("url" if url else None, f"{table.title} needs command or url, and not both.")
    if command == "":
        table.refuse("command", "command is empty. Name the program that is the server.")
    if url is not None:
        _check_url(table, url)
    for key in _OF_A_COMMAND if command is None else _OF_A_URL:
        if key in table:
            is_for, given = ("command", "url") if command is None else ("url", "command")
            table.refuse(key, f"{key} is for a server with a {is_for}, and {table.title} has a {given}.")


def _check_url(table: Table, url: str) -> None:
    if not url.startswith(("http://", "https://")):
        table.refuse("url", f"url is {url!r}; it begins with http:// or https://.")
    if "@" in urlsplit(url).netloc:
        table.refuse(
            "url", "url holds a user or a password, which do not belong in this file. Use headers_env or token_env."
        )


def _variables(table: Table) -> tuple[str, ...]:
    names = table.texts("env_from")
    for name in names:
        check_variable(table, "env_from", name)
    return names


def _headers(table: Table) -> Mapping[str, str]:
    return {header: check_variable(table, header) or "" for header in table.keys}
