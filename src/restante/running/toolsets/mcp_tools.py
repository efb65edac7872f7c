"""The tools of an MCP server. Each run of an agent has its own session, and its own process where one is started."""

import asyncio
import logging
import os
import re
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, BinaryIO, Self, TextIO, cast

from pydantic_ai import RunContext, ToolFailed
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from restante.errors import McpServerFailed
from restante.running.mcp_servers import McpServer
from restante.running.toolsets import tether

SHOWN_BYTES = 500
"""How much of what a server wrote to its standard error an error shows: the end of it."""
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes as the name of a tool."""

logger = logging.getLogger(__name__)


def mcp_tools(server: McpServer) -> AbstractToolset[Any]:
    """The tools of this server, each as `SERVER__TOOL`.

    Raises ImportError without the extra `mcp`, and ValueError when an environment variable is not set.
    """
    return McpTools(_toolset(server, None), server)


@dataclass
class McpTools(WrapperToolset[Any]):
    """The tools of one server. A run whose server cannot be started fails; a tool that fails is a result."""

    server: McpServer
    errors: BinaryIO | None = None
    """What the process writes to its standard error."""
    resources: AsyncExitStack = field(default_factory=AsyncExitStack)
    """The session, the process and its standard error, while a run has them."""
    known: dict[str, ToolsetTool[Any]] = field(default_factory=dict[str, ToolsetTool[Any]])
    """The tools as the server listed them last."""

    @property
    def id(self) -> str:
        return f"restante.mcp.{self.server.name}"

    async def for_run(self, ctx: RunContext[Any]) -> "McpTools":
        """A session of its own, so that runs at the same time do not see each other in it."""
        del ctx
        return replace(self, known={}, resources=AsyncExitStack())

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as resources:
            if self.server.command is not None:
                self.errors = resources.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            self.wrapped = _toolset(self.server, self.errors)
            try:
                async with asyncio.timeout(self.server.start_seconds):
                    await resources.enter_async_context(self.wrapped)
            except Exception as error:
                raise McpServerFailed(f"{self._title} could not be started: {self._why(error)}") from error
            self.resources = resources.pop_all()
        return self

    async def __aexit__(self, *args: object) -> None:
        del args
        try:
            await self.resources.aclose()
        except Exception as error:  # noqa: BLE001 - a server that ends badly has done its work
            logger.warning("%s ended badly: %s", self._title, _inner(error))

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools as the server lists them; as it did before, when it does not answer."""
        try:
            tools = await self.wrapped.get_tools(ctx)
        except Exception as error:
            if not self.known:
                raise McpServerFailed(f"{self._title} does not list its tools: {self._why(error)}") from error
            return self.known
        usable = {name: tool for name, tool in tools.items() if _TOOL_NAME.fullmatch(name)}
        if not self.known and len(usable) < len(tools):
            odd = ", ".join(repr(name) for name in tools if name not in usable)
            logger.warning("%s has tools that no model can call, since they are named %s.", self._title, odd)
        self.known = {name: replace(tool, toolset=self) for name, tool in usable.items()}
        return self.known

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """What the server answers. Whatever goes wrong is a result, too, and the run goes on."""
        try:
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)
        except ToolFailed:
            raise
        except ModelRetry as refused:
            # The library would end the run after a few of these, although the model may do something else.
            raise ToolFailed(
                f"{self._title} refused the call: {self._with_said(refused.message.rstrip('.'))}"
            ) from refused
        except Exception as error:
            raise ToolFailed(f"{self._title} did not answer: {self._why(error)}") from error

    @property
    def _title(self) -> str:
        return f"The MCP server {self.server.name!r}"

    def _why(self, error: Exception) -> str:
        """What went wrong, and what the process said of it."""
        late = isinstance(error, TimeoutError)
        return self._with_said(f"it took longer than {self.server.start_seconds:g} s" if late else _inner(error))

    def _with_said(self, what: str) -> str:
        said = self._said()
        if self.server.url is not None:
            return f"{what}. It is asked at {self.server.url}; are the URL and what it demands in headers right?"
        return f"{what}. It wrote: {said}" if said else f"{what}."

    def _said(self) -> str:
        if self.errors is None or self.errors.closed:
            return ""
        # The process goes on writing at the place where this file stands, so that must not be moved.
        end = os.fstat(self.errors.fileno()).st_size
        said = os.pread(self.errors.fileno(), SHOWN_BYTES, max(0, end - SHOWN_BYTES))
        return said.decode(errors="replace").strip()


def _inner(error: BaseException) -> str:
    """The innermost error of a group, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}".rstrip(".: ")


def _toolset(server: McpServer, errors: BinaryIO | None) -> AbstractToolset[Any]:
    _load_quietly()
    from fastmcp.client.transports import StdioTransport  # noqa: PLC0415 - an optional extra
    from pydantic_ai.mcp import MCPToolset  # noqa: PLC0415

    options: dict[str, Any] = {"id": server.name, "tool_error_behavior": "failed", "init_timeout": server.start_seconds}
    if server.command is None:
        options["headers"] = {header: _variable(name) for header, name in server.headers_env.items()} or None
        options["auth"] = _variable(server.token_env) if server.token_env else None
        client: Any = server.url
    else:
        environment = {name: _variable(name) for name in server.env_from}
        client = StdioTransport(
            sys.executable,
            ["-I", "-S", tether.__file__, str(os.getpid()), server.command, *server.args],
            env=environment,
            cwd=str(server.folder),
            keep_alive=False,
            log_file=cast("TextIO", errors),  # of which only the descriptor is used
        )
    return MCPToolset[Any](client, **options).prefixed(f"{server.name}_")


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise ValueError(f"the environment variable {name} is not set")
    return value


class _WithoutTraceback(logging.Filter):
    """What a server writes that is no message is said in one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True


_WITHOUT_TRACEBACK = _WithoutTraceback()


def _load_quietly() -> None:
    """The client's library sends its log to the terminal as it is imported. Its log is to go where ours goes."""
    logging.getLogger("mcp.client.stdio").addFilter(_WITHOUT_TRACEBACK)
    if "fastmcp" in sys.modules:
        return
    import_module("fastmcp")
    log = logging.getLogger("fastmcp")
    log.handlers.clear()
    log.setLevel(logging.NOTSET)
    log.propagate = True
