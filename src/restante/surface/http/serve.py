"""Serving a platform over HTTP: in a process of its own, or for the length of a block."""

import asyncio
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from restante.running.agents import Hosted
from restante.running.config import Config
from restante.running.platform import Platform, open_platform
from restante.running.tasks import owning_group
from restante.surface.http.app import build_app
from restante.surface.http.bodies import BODY_S, Bodies

LOOPBACK = "127.0.0.1"
GRACE_S = 5
"""Seconds that open requests get at a stop before they are cut off."""


class Server(uvicorn.Server):
    """A server that answers open long polls and half-sent requests before it stops."""

    def __init__(self, platform: Platform, *, signals: bool, body_s: float = BODY_S) -> None:
        self._bodies = Bodies(body_s)
        super().__init__(_settings(build_app(platform, self._bodies)))
        self.ready = asyncio.Event()
        """Set when it listens."""
        self._platform = platform
        self._signals = signals
        self._loop = asyncio.get_running_loop()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self.ready.set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal asks for an orderly stop."""
        self._loop.call_soon_threadsafe(self.prepare_to_stop)
        super().handle_exit(sig, frame)

    def prepare_to_stop(self) -> None:
        """Whoever waits is answered now, whether for a message or with the rest of a body."""
        self._platform.prepare_to_stop()
        self._bodies.cut_off()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are ours only where the process is. None is raised again: the platform still has to close."""
        if not self._signals:
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def listen(host: str = LOOPBACK, port: int = 0) -> socket.socket:
    """A socket that listens. Port 0: any free one. Raises `OSError` where the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


def url_of(listening: socket.socket) -> str:
    """Where a client finds it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve(
    config: Config,
    agents: Mapping[str, Hosted],
    store: Path,
    listening: socket.socket,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve a store until SIGINT or SIGTERM; `ready` is told the URL. Raises `StoreUnavailable`."""
    url = url_of(listening)
    async with open_platform(config, agents, store, address=url) as platform:
        server = Server(platform, signals=True)
        async with owning_group() as group:
            group.create_task(_tell_when_ready(server, url, ready))
            await server.serve(sockets=[listening])


def run_serving(
    config: Config,
    agents: Mapping[str, Hosted],
    store: Path,
    listening: socket.socket,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """`serve` in an event loop of its own, the fast one where there is one."""
    with asyncio.Runner(loop_factory=_settings_of_loop()) as runner:
        runner.run(serve(config, agents, store, listening, ready))


@asynccontextmanager
async def running_server(
    platform: Platform, host: str = LOOPBACK, port: int = 0, *, body_s: float = BODY_S
) -> AsyncGenerator[str]:
    """Serve an open platform for the length of the block; the URL. A body is to come within `body_s` seconds."""
    listening = listen(host, port)
    url = url_of(listening)
    server = Server(platform, signals=False, body_s=body_s)
    async with owning_group() as group:
        serving = group.create_task(server.serve(sockets=[listening]))
        await server.ready.wait()
        platform.announce(url)
        try:
            yield url
        finally:
            server.prepare_to_stop()
            server.should_exit = True
            await serving


async def _tell_when_ready(server: Server, url: str, ready: Callable[[str], None]) -> None:
    await server.ready.wait()
    ready(url)


def _settings(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )


def _settings_of_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    return uvicorn.Config("", loop="auto", log_config=None).get_loop_factory()
