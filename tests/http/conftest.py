"""Raw servers on loopback that do exactly what a test tells them, well-behaved or not."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mesocosm.http.client import HttpClient


@dataclass(frozen=True)
class Received:
    """A request as it came over the wire."""

    line: str
    headers: dict[str, str]
    body: bytes


class Talk:
    """One connection, seen from the server."""

    def __init__(self, server: "RawServer", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server = server
        self.reader = reader
        self.writer = writer

    async def read(self) -> Received:
        """Return the next request. Raises IncompleteReadError when the client has gone."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *lines = head.rstrip("\r\n").split("\r\n")
        headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        request = Received(line, headers, body)
        self.server.requests.append(request)
        return request

    async def send(self, data: bytes) -> None:
        """Write and flush."""
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the client has dropped the connection."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass
        self.server.dropped.set()

    def reset(self) -> None:
        """End the connection rudely."""
        self.writer.transport.abort()


Handler = Callable[[Talk], Awaitable[None]]


@dataclass
class RawServer:
    """A listening server and what it has seen."""

    url: str = ""
    port: int = 0
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    most_open: int = 0
    dropped: asyncio.Event = field(default_factory=asyncio.Event)


class RawServers:
    """Starts servers for one test and ends them with it."""

    def __init__(self) -> None:
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(
        self,
        handle: Handler,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        path: Path | None = None,
    ) -> RawServer:
        """Serve `handle` for every connection, on loopback or on the Unix socket `path`."""
        server = RawServer()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            server.connections += 1
            server.open += 1
            server.most_open = max(server.most_open, server.open)
            try:
                await handle(Talk(server, reader, writer))
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                server.open -= 1
                server.dropped.set()
                writer.close()

        if path is not None:
            listening = await asyncio.start_unix_server(serve, path)
        else:
            listening = await asyncio.start_server(serve, host, port, ssl=tls, backlog=2048)
            server.port = listening.sockets[0].getsockname()[1]
            name = f"[{host}]" if ":" in host else host
            server.url = f"{'https' if tls else 'http'}://{name}:{server.port}"
        self._servers.append(listening)
        return server

    async def answer(self, *pieces: bytes, tls: ssl.SSLContext | None = None) -> RawServer:
        """Serve the same bytes for every request, keeping connections open."""

        async def handle(talk: Talk) -> None:
            while True:
                await talk.read()
                for piece in pieces:
                    await talk.send(piece)

        return await self.start(handle, tls=tls)

    async def answer_and_close(self, *pieces: bytes) -> RawServer:
        """Serve the same bytes for every request, closing each connection after them."""

        async def handle(talk: Talk) -> None:
            await talk.read()
            for piece in pieces:
                await talk.send(piece)

        return await self.start(handle)

    async def stop_listening(self) -> None:
        """Refuse new connections from now on."""
        for server in self._servers:
            server.close()

    async def close(self) -> None:
        """Stop listening and drop the connections."""
        await self.stop_listening()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
async def servers() -> AsyncIterator[RawServers]:
    """A starter of raw servers."""
    started = RawServers()
    yield started
    await started.close()


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    """A client with default settings."""
    async with HttpClient() as opened:
        yield opened


@pytest.fixture
def pem() -> Path:
    """A certificate for localhost, model.test, 127.0.0.1 and ::1 with its key, signed by itself."""
    return Path(__file__).with_name("loopback.pem")


@pytest.fixture
def server_tls(pem: Path) -> ssl.SSLContext:
    """The server's side of TLS with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


@pytest.fixture
def trusting(pem: Path) -> ssl.SSLContext:
    """A client's side of TLS that trusts that certificate."""
    return ssl.create_default_context(cafile=str(pem))
