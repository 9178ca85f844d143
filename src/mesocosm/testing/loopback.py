"""A minimal, fast HTTP/1.1 server on loopback: the base class of the fake servers."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, cast

import msgspec

_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    404: b"Not Found",
    429: b"Too Many Requests",
    500: b"Internal Server Error",
}


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as received: `head` is the request line with the headers, `raw` the body."""

    method: str
    path: str
    head: bytes
    raw: bytes

    @property
    def body(self) -> Any:
        """The body decoded as JSON. Raises msgspec.DecodeError."""
        return msgspec.json.decode(self.raw)

    def header(self, name: str) -> str | None:
        """Return the value of a header, or None if it is missing."""
        wanted = name.lower()
        for line in self.head.decode("latin-1").split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.strip().lower() == wanted:
                return value.strip()
        return None


def response(status: int, body: bytes, headers: str = "", content_type: str = "application/json") -> bytes:
    """Return a complete HTTP response; `headers` are further lines, each ending with CR LF."""
    return b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n%s\r\n%s" % (
        status,
        _REASONS.get(status, b"Status"),
        content_type.encode(),
        len(body),
        headers.encode("latin-1"),
        body,
    )


class LoopbackConnection(asyncio.Protocol):
    """One keep-alive connection; requests may be pipelined, and bodies need a content-length."""

    __slots__ = ("_buffer", "_receive", "_registry", "_transport")

    def __init__(
        self, receive: Callable[["LoopbackConnection", ReceivedRequest], None], registry: set["LoopbackConnection"]
    ) -> None:
        self._receive = receive
        self._registry = registry
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._registry.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Unregister the connection."""
        self._registry.discard(self)

    def data_received(self, data: bytes) -> None:
        """Pass every complete request to `receive`."""
        self._buffer = self._buffer + data if self._buffer else data
        while self._buffer:
            request = self._take()
            if request is None:
                return
            self._receive(self, request)

    def _take(self) -> ReceivedRequest | None:
        buffer = self._buffer
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = buffer[:end]
        stop = end + 4 + _length(head)
        if len(buffer) < stop:
            return None
        self._buffer = buffer[stop:]
        method, path, _ = head[: head.find(b"\r\n")].decode("latin-1").split(" ", 2)
        return ReceivedRequest(method, path.partition("?")[0], head, buffer[end + 4 : stop])

    @property
    def open(self) -> bool:
        """Whether the connection can still be written to."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, payload: bytes) -> None:
        """Write, unless the connection is closing."""
        if self._transport is not None and self.open:
            self._transport.write(payload)

    def finish(self, payload: bytes = b"") -> None:
        """Write and close."""
        self.send(payload)
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Drop the connection."""
        if self._transport is not None:
            self._transport.abort()


class LoopbackServer(ABC):
    """Listens on 127.0.0.1 and passes every request to `receive`, which subclasses implement.

    Use it with `async with` on the running loop, or with `with`, which runs it in a separate thread.
    """

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self.host = host
        self.port: int = port
        self.connections: int = 0
        self._open: set[LoopbackConnection] = set()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stopped = asyncio.Event()
        self._refused: OSError | None = None

    @property
    def url(self) -> str:
        """The root URL, without a trailing slash."""
        return f"http://{self.host}:{self.port}"

    @abstractmethod
    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        """Respond to a request with `connection.send`, now or later."""

    async def start(self) -> None:
        """Listen, and set `port` to the actual port. Raises OSError if it is taken."""
        self._loop = asyncio.get_running_loop()
        self._server = await self._loop.create_server(self._connect, self.host, self.port, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and drop every connection."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._open):
            connection.abort()
        await self._server.wait_closed()
        self._server = None

    def _connect(self) -> LoopbackConnection:
        self.connections += 1
        return LoopbackConnection(self.receive, self._open)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        ready.wait()
        if self._refused is not None:
            raise self._refused
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()

    async def _serve(self, ready: threading.Event) -> None:
        try:
            await self.start()
        except OSError as error:
            self._refused = error
            return
        finally:
            ready.set()
        await self._stopped.wait()
        await self.stop()


def _length(head: bytes) -> int:
    lowered = head.lower()
    at = lowered.find(b"\r\ncontent-length:")
    if at < 0:
        return 0
    end = lowered.find(b"\r\n", at + 2)
    return int(lowered[at + 17 : end if end >= 0 else None])
