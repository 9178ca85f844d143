"""The HTTP client: one per event loop, for any number of servers and thousands of requests at once.

    async with Client() as client:
        response = await client.request("POST", url, headers=headers, body=b"{}", timeout=60)

Redirects are not followed; a response with any status is returned as it is. Proxies come from the environment.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from mesocosm.http.connection import Connection
from mesocosm.http.content import TooLarge, decode
from mesocosm.http.dial import Route
from mesocosm.http.errors import (
    BadResponse,
    ConnectFailed,
    ConnectionLost,
    InvalidRequest,
    ResponseTooLarge,
    Timeout,
)
from mesocosm.http.pool import OwnConnection, Pool
from mesocosm.http.proxy import Proxies
from mesocosm.http.response import Response
from mesocosm.http.streamed import Streamed
from mesocosm.http.target import Origin, Target, request_head, target, visible

_LONGEST = 86_400.0
_IDLE_TOO_LONG = 408
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class Client:
    """Sends requests over kept-open connections. Use it within one event loop, and close it there.

    At most `limit_per_host` connections to one server, each made within `connect_timeout` seconds and dropped after
    `idle_timeout` seconds without a request. A response of more than `max_response` bytes is an error. `tls` replaces
    the default TLS context.

    With `socket`, the path of a unix socket, every request goes through it; one of type SOCK_SEQPACKET hands over a
    connected socket for each connection (sandboxes.enclosure). With `public_only` a server is only reached at addresses
    of the public internet, each checked after it was resolved and just that one connected to; proxies are not used.
    """

    def __init__(
        self,
        *,
        limit_per_host: int = 10_000,
        connect_timeout: float = 10.0,
        idle_timeout: float = 30.0,
        max_response: int = 16 * 1024 * 1024,
        tls: ssl.SSLContext | None = None,
        socket: Path | None = None,
        public_only: bool = False,
    ) -> None:
        self._socket = str(socket) if socket is not None else None
        self._public_only = public_only
        self._limit = limit_per_host
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._max_response = max_response
        self._tls = tls
        self._proxies = Proxies()
        self._pools: dict[tuple[Origin, str | None], Pool] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
        timeout: float,  # noqa: ASYNC109 -- asyncio.timeout around the call would cost more, and could not say the phase
        unix_socket: str | None = None,
        resend: bool = True,
        own: OwnConnection | None = None,
    ) -> Response:
        """Send one request and return the complete response.

        `timeout` is in seconds, from here to the last byte (at most a day). `unix_socket` is the path of a socket to
        use instead of the URL's host. A kept-open connection that turns out dead before anything of the response came,
        or on which the server says that it waited too long for a request (408), is replaced once and the request sent
        again; `resend=False` forbids that, for requests that must not be processed twice. With `own` the request goes
        over the caller's own connection, never over one that served others. Raises HttpError.
        """
        pool, call = self._prepare(method, url, headers, body, timeout, unix_socket)
        await _permit(pool, call)
        try:
            connection = pool.take(own, repeatable=resend)
            if connection is not None and not resend:
                connection = await pool.proved(connection)
            if connection is None:
                return await _exchange(pool, await self._connect(pool, call), call, own)
            try:
                response = await _exchange(pool, connection, call, own)
            except ConnectionLost as lost:
                pool.abrupt = pool.abrupt or not self._closed
                if self._closed or lost.received or (lost.processed and not resend):
                    raise
                return await self._again(pool, call, lost, own)
            if response.status == _IDLE_TOO_LONG and resend:
                return await _exchange(pool, await self._connect(pool, call), call, own)
            return response
        finally:
            pool.permits.release()

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
        timeout: float,  # noqa: ASYNC109 -- as in `request`
    ) -> AsyncIterator[Streamed]:
        """Send one request and give the response as soon as its head is there; its body is read from it as it comes.

        `timeout` is the longest silence, in seconds: until the head, and between two pieces. Leaving the block before
        the end drops the connection. A dead kept-open connection is replaced as by `request`. Raises HttpError, inside
        the block as well.
        """
        pool, call = self._prepare(method, url, headers, body, timeout, None)
        await _permit(pool, call)
        try:
            connection = pool.take()
            fresh = connection is None
            connection = connection or await self._connect(pool, call)
            try:
                streamed = _start(pool, connection, call)
                dead = False
                try:
                    await streamed.begun()
                    dead = streamed.status == _IDLE_TOO_LONG and not fresh
                except ConnectionLost as lost:
                    if self._closed or lost.received or fresh:
                        raise
                    dead = True
                if dead:
                    connection.abort()
                    connection = await self._connect(pool, call)
                    streamed = _start(pool, connection, call)
                    await streamed.begun()
                yield streamed
            finally:
                pool.give_back(connection)
        finally:
            pool.permits.release()

    async def close(self) -> None:
        """Drop all connections; requests in progress fail with ConnectionLost."""
        self._closed = True
        await asyncio.gather(*(pool.close() for pool in self._pools.values()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _prepare(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout: float,
        unix_socket: str | None,
    ) -> tuple[Pool, "_Call"]:
        loop = asyncio.get_running_loop()
        where = _target(method, url)
        if self._loop is not loop:
            self._bind(loop)
        if not timeout > 0:
            raise InvalidRequest(method, where.shown, f"a timeout of {timeout} s leaves no time")
        unix_socket = unix_socket or self._socket
        pool = self._pools.get((where.origin, unix_socket)) or self._pool(method, where, unix_socket)
        head = _head(method, where, headers, body, pool.route)
        return pool, _Call(method, where, head, body or b"", timeout, loop.time() + min(timeout, _LONGEST))

    def _bind(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not None:
            raise RuntimeError("an HTTP client works within one event loop; make another one for this loop")
        self._loop = loop

    def _pool(self, method: str, where: Target, unix_socket: str | None) -> Pool:
        """Return a new pool for a server not met before."""
        try:
            direct = unix_socket is not None or self._public_only
            proxy = None if direct else self._proxies.proxy(where.origin)
        except ValueError as error:
            raise ConnectFailed(method, where.shown, str(error)) from error
        tls = None
        if where.origin.scheme == "https":
            if self._tls is None:
                # Reading the authorities takes 20 ms, so only when they are needed.
                self._tls = ssl.create_default_context()
                self._tls.set_alpn_protocols(["http/1.1"])
            tls = self._tls
        self._pools[where.origin, unix_socket] = pool = Pool(
            Route(where.origin, tls, unix_socket, proxy, self._public_only),
            limit=self._limit,
            idle_seconds=self._idle_timeout,
            max_response=self._max_response,
        )
        return pool

    async def _connect(self, pool: Pool, call: "_Call") -> Connection:
        """Return a new connection. Raises ConnectFailed, Timeout."""
        self._refuse_when_closed(call)
        last = pool.loop.time() + self._connect_timeout
        try:
            async with asyncio.timeout_at(min(last, call.deadline)) as limit:
                connection = await pool.open()
        except OSError as error:
            if limit.expired():
                seconds = call.timeout if call.deadline <= last else self._connect_timeout
                raise Timeout(call.method, call.where.shown, "connect", seconds) from error
            raise ConnectFailed(call.method, call.where.shown, str(error)) from error
        try:
            self._refuse_when_closed(call)
        except ConnectFailed:
            connection.abort()
            raise
        return connection

    def _refuse_when_closed(self, call: "_Call") -> None:
        if self._closed:
            raise ConnectFailed(call.method, call.where.shown, "the client was closed")

    async def _again(self, pool: Pool, call: "_Call", lost: ConnectionLost, own: OwnConnection | None) -> Response:
        """Repeat a request whose kept-open connection was dead."""
        try:
            connection = await self._connect(pool, call)
        except ConnectFailed as error:
            cause = f"{lost.cause}, and then: {error.cause}"
            raise ConnectionLost(lost.method, lost.url, cause, lost.processed, lost.received) from error
        return await _exchange(pool, connection, call, own)


@dataclass(slots=True)
class _Call:
    """One request on its way. `deadline` is a time of the event loop, `timeout` the seconds it stands for."""

    method: str
    where: Target
    head: bytes
    body: bytes
    timeout: float
    deadline: float


def _target(method: str, url: str) -> Target:
    try:
        return target(url)
    except ValueError as error:
        raise InvalidRequest(method, visible(url), str(error)) from error


def _head(method: str, where: Target, headers: Mapping[str, str], body: bytes | None, route: Route) -> bytes:
    """Return everything before the body."""
    proxy = route.proxy if route.tls is None else None
    authorization = proxy.authorization if proxy else ""
    head = request_head(method, where, tuple(headers.items()), proxy is not None, authorization)
    if body is None and method not in _WITH_BODY:
        return head + b"\r\n"
    return b"%bContent-Length: %d\r\n\r\n" % (head, len(body or b""))


async def _permit(pool: Pool, call: _Call) -> None:
    """Wait until one more connection may be used."""
    if not pool.permits.locked():
        await pool.permits.acquire()
        return
    try:
        async with asyncio.timeout_at(call.deadline):
            await pool.permits.acquire()
    except TimeoutError as error:
        raise Timeout(call.method, call.where.shown, "pool", call.timeout) from error


def _start(pool: Pool, connection: Connection, call: _Call) -> Streamed:
    """Send the request; what comes back is taken in from now on."""
    streamed = Streamed(call.method, call.where.shown, pool.max_response)
    deadline = pool.loop.time() + min(call.timeout, _LONGEST)
    done = connection.send(call.method, call.where, call.head, call.body, deadline, call.timeout, streamed)
    done.add_done_callback(streamed.end)
    return streamed


async def _exchange(pool: Pool, connection: Connection, call: _Call, own: OwnConnection | None) -> Response:
    """Send the request, wait and decode. Whatever else happens, an unfinished connection is not used again."""
    try:
        response = await connection.send(call.method, call.where, call.head, call.body, call.deadline, call.timeout)
    finally:
        pool.give_back(connection, own)
    if response.body and (field := response.headers.get("content-encoding")):
        response.body = await _decoded(response.body, field, pool.max_response, call)
    return response


async def _decoded(body: bytes, field: str, limit: int, call: _Call) -> bytes:
    """Return the body with its content encodings undone. Raises HttpError."""
    try:
        async with asyncio.timeout_at(call.deadline):
            return await decode(body, field, limit)
    except TooLarge as error:
        raise ResponseTooLarge(call.method, call.where.shown, limit) from error
    except TimeoutError as error:
        raise Timeout(call.method, call.where.shown, "response", call.timeout) from error
    except ValueError as error:
        raise BadResponse(call.method, call.where.shown, str(error)) from error
