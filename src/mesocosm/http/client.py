"""The HTTP client: one per event loop, for any number of servers and thousands of concurrent requests.

    async with HttpClient() as client:
        response = await client.request("POST", url, headers=headers, body=b"{}", timeout=60)

Redirects are not followed. A response with any status is returned, not raised. Proxies come from the environment.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mesocosm.http.errors import ConnectFailed, InvalidRequest, Timeout
from mesocosm.http.proxy import Proxies
from mesocosm.http.response import Response
from mesocosm.http.state import ClientState
from mesocosm.http.target import check_head, target, visible

if TYPE_CHECKING:
    # Importing aiohttp takes about 0.2 s, so it is deferred until the first request.
    from mesocosm.http.transport import RequestAttempt, StreamedResponse, Transport

FRESH_S = 1.0
"""Maximum idle seconds of a connection that carries a request that must not be repeated.

Servers close idle connections at any time (gunicorn after 2 s, uvicorn and Node after 5 s), and the client cannot know
whether they saw a request that was sent while the connection was closing.
"""
_LONGEST_S = 86_400.0


class OwnConnection:
    """A connection reserved for one caller, so that errors of other callers do not affect it.

    Call `drop` when the caller is done.
    """

    __slots__ = ("transport",)

    def __init__(self) -> None:
        self.transport: Transport | None = None

    async def drop(self) -> None:
        """Close the connection."""
        transport, self.transport = self.transport, None
        if transport is not None:
            await transport.close()


class HttpClient:
    """Sends requests over persistent connections. Use it within one event loop, and close it there.

    A connection is made within `connect_timeout` seconds and dropped after `idle_timeout` seconds without a request. A
    response of more than `max_response` bytes is an error. `tls` replaces the default TLS context.

    With `socket`, the path of a Unix socket, every request goes through it; a socket of type SOCK_SEQPACKET instead
    passes a connected socket for each connection (sandboxes.sandbox). With `public_only`, a server is reached only at
    addresses of the public internet: each address is checked after resolving, the connection is made to exactly that
    address, and proxies are not used.
    """

    def __init__(
        self,
        *,
        connect_timeout: float = 10.0,
        idle_timeout: float = 30.0,
        max_response: int = 16 * 1024 * 1024,
        tls: ssl.SSLContext | None = None,
        socket: Path | None = None,
        public_only: bool = False,
    ) -> None:
        self._state = ClientState(connect_timeout, max_response, tls, str(socket) if socket else None, public_only)
        self._idle_timeout = idle_timeout
        self._proxies = Proxies()
        self._shared: dict[float, Transport] = {}
        self._transports: set[Transport] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
        timeout: float,  # noqa: ASYNC109 -- asyncio.timeout around the call could not say the phase
        resend: bool = True,
        own: OwnConnection | None = None,
    ) -> Response:
        """Send one request and return the complete response.

        `timeout` is in seconds, from the call to the last byte (at most a day). If a reused connection turns out to be
        dead before any part of the response arrives, or the server reports that it waited too long for a request (408),
        the connection is replaced once and the request sent again; `resend=False` forbids that, for requests that must
        not be processed twice. With `own`, the request uses the caller's own connection, never one that served other
        callers. Raises HttpError.
        """
        call = self._call(method, url, headers, body, timeout, resend)
        transport = self._transport(own, repeatable=resend)
        try:
            async with asyncio.timeout(call.timeout):
                return await (await transport.begin(call)).read()
        except TimeoutError as error:
            raise Timeout(*call.name, "response" if call.connected else "connect", timeout) from error

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
        timeout: float,  # noqa: ASYNC109 -- as in `request`
        resend: bool = True,
    ) -> AsyncIterator["StreamedResponse"]:
        """Send one request and yield the response as soon as its head has arrived; its body can then be read in pieces.

        `timeout` is the longest silence in seconds: until the head, and between two pieces. Leaving the block before
        the end drops the connection. A dead reused connection is replaced as in `request`, unless `resend` is False.
        Raises HttpError, also inside the block.
        """
        call = self._call(method, url, headers, body, timeout, repeatable=resend)
        transport = self._transport(own=None, repeatable=resend)
        try:
            async with asyncio.timeout(call.timeout):
                response = await transport.begin(call, most_silence=call.timeout)
        except TimeoutError as error:
            raise Timeout(*call.name, "response" if call.connected else "connect", timeout) from error
        try:
            yield response
        finally:
            response.close()

    async def close(self) -> None:
        """Drop all connections; requests in progress fail with ConnectionLost."""
        self._state.closed = True
        await asyncio.gather(*(transport.close() for transport in tuple(self._transports)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _call(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, seconds: float, repeatable: bool
    ) -> "RequestAttempt":
        """Check a request before any part of it is sent. Raises HttpError."""
        from mesocosm.http.transport import RequestAttempt

        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None:
                raise RuntimeError("an HTTP client works within one event loop; make another one for this loop")
            self._loop = loop
        try:
            where = target(url)
            check_head(method, tuple(headers.items()))
        except ValueError as error:
            raise InvalidRequest(method, visible(url), str(error)) from error
        if not seconds > 0:
            raise InvalidRequest(method, where.shown, f"a timeout of {seconds} s leaves no time")
        if self._state.closed:
            raise ConnectFailed(method, where.shown, "the client was closed")
        try:
            proxy = None if self._state.socket or self._state.public_only else self._proxies.proxy(where.origin)
        except ValueError as error:
            raise ConnectFailed(method, where.shown, str(error)) from error
        return RequestAttempt(method, where, headers, body, min(seconds, _LONGEST_S), proxy, repeatable)

    def _transport(self, own: OwnConnection | None, *, repeatable: bool) -> "Transport":
        """Return the transport whose connections a request may use."""
        if own is not None:
            if own.transport is None:
                own.transport = self._open(FRESH_S)
            return own.transport
        idle_s = self._idle_timeout if repeatable else min(FRESH_S, self._idle_timeout)
        return self._shared.get(idle_s) or self._shared.setdefault(idle_s, self._open(idle_s))

    def _open(self, idle_s: float) -> "Transport":
        from mesocosm.http.transport import Transport

        transport = Transport(self._state, idle_s, self._transports.discard)
        self._transports.add(transport)
        return transport
