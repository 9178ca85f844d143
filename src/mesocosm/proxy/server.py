"""A small HTTP/1.1 server on loopback: one task per request, cancelled when its client disconnects."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

MAX_BODY = 64 * 1024 * 1024
MAX_HEAD = 64 * 1024
JSON = {"content-type": "application/json"}

_log = logging.getLogger(__name__)
# A malformed request is answered with 400; without a handler it would also be printed with a traceback.
_log.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A request as received: method, path without and with its query, headers by lower-case name, body."""

    method: str
    path: str
    target: str
    headers: Mapping[str, str]
    body: bytes


class ClientDisconnected(Exception):
    """The client closed its connection before the answer was complete."""


class ProxyReply:
    """The answer to one request: `send` it whole, or `start` it, `write` pieces and `end` it."""

    def __init__(self, request: Any) -> None:
        self.response: Any = None
        self._request = request

    @property
    def started(self) -> bool:
        """Whether any part of it was written."""
        return self.response is not None

    async def send(self, status: int, body: bytes, headers: Mapping[str, str] = JSON) -> None:
        """Write a whole answer. Raises ClientDisconnected."""
        from aiohttp import web

        await self._begin(web.Response(status=status, body=body, headers=headers))
        await self.end()

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Write the head of an answer of unknown length. Raises ClientDisconnected."""
        from aiohttp import web

        await self._begin(web.StreamResponse(status=status, headers=headers))

    async def write(self, piece: bytes) -> None:
        """Write a piece of the body. Raises ClientDisconnected."""
        if piece:
            await _written(self.response.write(piece))

    async def end(self) -> None:
        """Write the end. Raises ClientDisconnected."""
        await _written(self.response.write_eof())

    async def _begin(self, response: Any) -> None:
        self.response = response
        await _written(response.prepare(self._request))


async def _written(writing: Awaitable[Any]) -> None:
    try:
        await writing
    except ConnectionError as error:
        raise ClientDisconnected from error


Handler = Callable[[ProxyRequest, ProxyReply], Awaitable[None]]


class ProxyServer:
    """Listens on a free port of 127.0.0.1. Use it within one event loop."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._tasks: set[asyncio.Task[Any]] = set()
        self._web: Any = None
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        """Listen and return the root URL. Raises OSError."""
        # Importing aiohttp takes about 0.2 s, so it is deferred until the first address is opened.
        from aiohttp import web

        loop = asyncio.get_running_loop()

        def request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
            return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_BODY)

        self._web = web.Server(
            self._answer,
            request_factory=request,
            handler_cancellation=True,
            max_line_size=MAX_HEAD,
            max_field_size=MAX_HEAD,
            access_log=None,
            logger=_log,
        )
        self._server = await loop.create_server(self._web, "127.0.0.1", 0, backlog=1024)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Stop listening, cancel every request in progress and wait for it to end."""
        if self._server is None:
            return
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in self._web.connections:
            connection.force_close()
        await self._server.wait_closed()

    async def _answer(self, request: Any) -> Any:
        from aiohttp import web

        if request.headers.get("expect", "").lower() == "100-continue":
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge as error:
            error.force_close()
            raise
        except web.RequestPayloadError as error:
            # The body is not what its content-encoding says. A 500 would be repeated by every client.
            refused = web.HTTPBadRequest(text=f"The request body cannot be read: {error}")
            refused.force_close()
            raise refused from error
        target = request.raw_path
        # Two leading slashes are part of a path here and do not start a host.
        path = target.partition("?")[0] if target.startswith("/") else request.path
        headers = {name.lower(): value for name, value in request.headers.items()}
        reply = ProxyReply(request)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ClientDisconnected):
                await self._handler(ProxyRequest(request.method, path, target, headers, body), reply)
        finally:
            self._tasks.discard(task)
        return reply.response
