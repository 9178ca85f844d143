"""A small HTTP/1.1 server on loopback: one task for each request, cancelled when its client goes away."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast
from urllib.parse import urlsplit

import httptools

MAX_BODY = 64 * 1024 * 1024
MAX_HEAD = 64 * 1024
_MOST_WAITING = 32
JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request as it came: method, path without and with its query, headers by lower-case name, body."""

    method: str
    path: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class ClientDisconnected(Exception):
    """The client closed its connection before the answer was complete."""


class ProxyReply:
    """The answer to one request: `send` it whole, or `start` it, `write` pieces and `end` it."""

    def __init__(self, connection: "Connection", *, keep: bool, chunked: bool) -> None:
        self._connection = connection
        self._chunked = chunked
        self.keep = keep and chunked
        self.started = False
        self.ended = False

    async def send(self, status: int, body: bytes, headers: Mapping[str, str] = JSON) -> None:
        """Write a whole answer. Raises Gone."""
        self.started = self.ended = True
        head = _head(status, headers, self.keep) + b"content-length: %d\r\n\r\n" % len(body)
        await self._connection.write(head + body)

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Write the head of an answer whose length nobody knows yet. Raises Gone."""
        self.started = True
        framing = b"transfer-encoding: chunked\r\n\r\n" if self._chunked else b"\r\n"
        await self._connection.write(_head(status, headers, self.keep) + framing)

    async def write(self, piece: bytes) -> None:
        """Write a piece of the body. Raises Gone."""
        if piece:
            await self._connection.write(b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece)

    async def end(self) -> None:
        """Write the end. Raises Gone."""
        self.ended = True
        await self._connection.write(b"0\r\n\r\n" if self._chunked else b"")


Handler = Callable[[ProxyRequest, ProxyReply], Awaitable[None]]


class ProxyServer:
    """Listens on a free port of 127.0.0.1. Use it within one event loop."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Listen and return the root URL. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self), "127.0.0.1", 0, backlog=1024)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stop listening, end every request under way and wait for that."""
        if self._server is None:
            return
        self._server.close()
        tasks = [connection.task for connection in self.connections if connection.task is not None]
        for connection in tuple(self.connections):
            connection.drop()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()


class Connection(asyncio.Protocol):
    """One connection of a client; what is asked on it is answered in order."""

    def __init__(self, server: ProxyServer) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._waiting: deque[tuple[ProxyRequest, bool, bool]] = deque()
        self.task: asyncio.Task[None] | None = None
        self._clear()

    def _clear(self) -> None:
        self._target = b""
        self._fields: dict[str, str] = {}
        self._pieces: list[bytes] = []
        self._size = 0
        self._head_size = 0

    async def write(self, data: bytes) -> None:
        """Write, and wait while the client does not read. Raises Gone."""
        if self._transport is None or self._transport.is_closing():
            raise ClientDisconnected
        self._transport.write(data)
        if not self._writable.is_set():
            await self._writable.wait()

    def drop(self) -> None:
        """Close the connection at once; its request ends."""
        if self.task is not None:
            self.task.cancel()
        if self._transport is not None:
            self._transport.abort()

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Enter the connection."""
        self._transport = cast(asyncio.Transport, transport)
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End what is asked on it: nobody hears the answer."""
        self._server.connections.discard(self)
        self._waiting.clear()
        self._writable.set()
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        """Make writers wait."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let writers go on."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Parse a piece of a request."""
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, _TooLarge) as error:
            large = isinstance(error, _TooLarge) or isinstance(error.__context__, _TooLarge)
            self._refuse(413 if large else 400)

    def _refuse(self, status: int) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self.task is None:
            self._transport.write(_head(status, JSON, keep=False) + b"content-length: 0\r\n\r\n")
        self._transport.close()

    # Called by the parser

    def on_url(self, url: bytes) -> None:
        """Keep the target."""
        self._target += url
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; of repeated ones the last counts."""
        self._fields[name.decode("latin-1").lower()] = value.decode("latin-1")
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        """Tell a client that waits for it to send the body."""
        if self._fields.get("expect", "").lower() == "100-continue" and self._transport is not None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        """Keep a piece of the body."""
        self._size += len(data)
        if self._size > MAX_BODY:
            raise _TooLarge
        self._pieces.append(data)

    def on_message_complete(self) -> None:
        """Answer it, after those before."""
        target = self._target.decode("latin-1")
        method = self._parser.get_method().decode("latin-1")
        try:
            # Two slashes in front are a path here, and no host.
            path = target.partition("?")[0] if target.startswith("/") else urlsplit(target).path
        except ValueError:
            path = ""
        request = ProxyRequest(method, path, target, self._fields, b"".join(self._pieces))
        # The answer to HEAD would need to have no body; a body and the end of the connection do no harm.
        keep = self._parser.should_keep_alive() and method != "HEAD"
        chunked = self._parser.get_http_version() != "1.0"
        self._clear()
        self._waiting.append((request, keep, chunked))
        if len(self._waiting) > _MOST_WAITING:
            self.drop()
        elif self.task is None:
            self._next()

    def _count(self, size: int) -> None:
        self._head_size += size
        if self._head_size > MAX_HEAD:
            raise _TooLarge

    def _next(self) -> None:
        self.task = None
        if self._waiting and self._transport is not None and not self._transport.is_closing():
            self.task = asyncio.get_running_loop().create_task(self._answer(*self._waiting.popleft()))
            self.task.add_done_callback(lambda _: self._next())

    async def _answer(self, request: ProxyRequest, keep: bool, chunked: bool) -> None:
        reply = ProxyReply(self, keep=keep, chunked=chunked)
        with suppress(ClientDisconnected, asyncio.CancelledError):
            await self._server.handler(request, reply)
        if self._transport is not None and not (reply.keep and reply.ended):
            self._transport.close()


class _TooLarge(Exception):
    """A request passed a cap."""


def _head(status: int, headers: Mapping[str, str], keep: bool) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Status"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    if not keep:
        lines.append("connection: close")
    return ("\r\n".join(lines) + "\r\n").encode("latin-1", "replace")
