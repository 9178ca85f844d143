"""Send a client's requests over aiohttp connections, and convert aiohttp's errors to ours."""

import asyncio
import errno
import os
import select
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from io import BytesIO
from typing import Any

import aiohttp
from aiohttp.abc import ResolveResult
from aiohttp.client_exceptions import UnixClientConnectorError
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from aiohttp.http_exceptions import ContentEncodingError
from aiohttp.http_parser import RawResponseMessage
from aiohttp.resolver import ThreadedResolver
from aiohttp.streams import StreamReader
from aiohttp.tracing import Trace
from yarl import URL

from mesocosm.http.errors import (
    BadResponse,
    ConnectFailed,
    ConnectionLost,
    HttpError,
    InvalidRequest,
    ProxyFailed,
    ResponseTooLarge,
    Timeout,
)
from mesocosm.http.handed import handed_over
from mesocosm.http.public import public
from mesocosm.http.response import Response
from mesocosm.http.state import ClientState
from mesocosm.http.target import Target, visible

MAX_FIELDS = 500
"""Maximum number of header fields in a response."""
_MAX_LINE = 32 * 1024
_MAX_HEAD = 128 * 1024
_LARGE = 512 * 1024
"""A body of at least this many bytes is sent in pieces."""
_KEEPALIVE_S = 60
_IDLE_TOO_LONG = 408
PROVE_S = 0.01
"""Seconds to watch a connection before it carries another request that must not be repeated."""
_PROOFS = 8
"""How often a server must keep its connection open after requests to one URL before it is trusted to do so."""
_MOST_PROVED = 32
_DEFAULTS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "mesocosm"}
_OF_PROXIES = (aiohttp.ClientHttpProxyError, aiohttp.ClientProxyConnectionError, aiohttp.ServerDisconnectedError)
"""Errors that a proxy can cause before there is a connection to the server."""
_DECODED = frozenset({"", "identity", "gzip", "deflate"})


@dataclass(slots=True)
class RequestAttempt:
    """One request and the state of its connection: `connected` once there is one, `reused` if it is a kept-open one.

    A `fresh` request must not use a kept-open connection.
    """

    method: str
    target: Target
    headers: Mapping[str, str]
    body: bytes | None
    timeout: float
    proxy: str | None
    repeatable: bool
    connected: bool = False
    reused: bool = False
    fresh: bool = False

    @property
    def name(self) -> tuple[str, str]:
        """Method and URL as messages show them."""
        return self.method, self.target.shown


_CALL: ContextVar[RequestAttempt] = ContextVar("call")


class Transport:
    """A pool of connections of one client, each kept open for `idle_s` seconds. `ended` is called when it is closed."""

    def __init__(self, state: ClientState, idle_s: float, ended: Callable[["Transport"], None]) -> None:
        self._state = state
        self._ended = ended
        self._session = aiohttp.ClientSession(
            connector=_connector(state, idle_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=_DEFAULTS,
            skip_auto_headers=("Content-Type",),
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            max_headers=MAX_FIELDS,
        )

    async def begin(self, call: RequestAttempt, most_silence: float | None = None) -> "StreamedResponse":
        """Send a request and return the response as soon as its head has arrived. Raises HttpError.

        A dead kept-open connection is replaced once, if the request may be repeated.
        """
        limits = aiohttp.ClientTimeout(sock_connect=self._state.connect_timeout, sock_read=most_silence)
        _CALL.set(call)
        response, lost = None, None
        try:
            response = await self._send(call, limits)
        except ConnectionLost as error:
            lost = error
            if not self._may_repeat(call):
                raise
        if response is None or (response.status == _IDLE_TOO_LONG and self._may_repeat(call)):
            call.fresh, call.reused, call.connected = True, False, False
            try:
                response = await self._send(call, limits)
            except ConnectFailed as error:
                if lost is None:
                    raise
                raise ConnectionLost(*call.name, f"{lost.cause}, and then: {error.cause}") from error
        if response.status == 101:
            response.close()
            raise BadResponse(*call.name, "the server switched to another protocol")
        encoding = response.headers.get("Content-Encoding", "")
        if encoding.strip().lower() not in _DECODED:
            response.close()
            raise BadResponse(*call.name, f"the content encoding {encoding!r} was not asked for and is not known")
        return StreamedResponse(call, response, self._state.max_response)

    def _may_repeat(self, call: RequestAttempt) -> bool:
        if not call.reused or self._state.closed:
            return False
        if not call.repeatable:
            self._state.abrupt.add(call.target.origin.authority)
        return call.repeatable

    async def _send(self, call: RequestAttempt, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        headers = call.headers
        if call.target.authorization and "authorization" not in {name.lower() for name in headers}:
            headers = {**headers, "Authorization": call.target.authorization}
        try:
            return await self._session.request(
                call.method,
                _url(call.target.url),
                data=call.body if len(call.body or b"") < _LARGE else BytesIO(call.body or b""),
                headers=headers,
                allow_redirects=False,
                proxy=call.proxy,
                timeout=limits,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._failure(error, call) from _cause(error)

    def _failure(self, error: Exception, call: RequestAttempt) -> HttpError:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return Timeout(*call.name, "connect", self._state.connect_timeout)
        if self._state.closed:
            return ConnectionLost(*call.name, "the client was closed")
        return failure(error, call)

    async def close(self) -> None:
        """Drop all connections."""
        self._ended(self)
        await self._session.close()


class StreamedResponse:
    """A response in progress: status and headers are known, the decoded body arrives in pieces."""

    def __init__(self, call: RequestAttempt, response: aiohttp.ClientResponse, limit: int) -> None:
        self.status = response.status
        self.headers: dict[str, str] = {}
        """Fields by lower-case name; repeated ones are joined by a comma and a space."""
        for name, value in response.headers.items():
            key = name.lower()
            self.headers[key] = f"{self.headers[key]}, {value}" if key in self.headers else value
        self._call = call
        self._response = response
        self._limit = limit

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, never an empty piece. Raises HttpError if it breaks off."""
        call, size = self._call, 0
        try:
            if (self._response.content_length or 0) > self._limit and call.method != "HEAD":
                raise ResponseTooLarge(*call.name, self._limit)
            async for piece in self._response.content.iter_any():
                size += len(piece)
                if size > self._limit:
                    raise ResponseTooLarge(*call.name, self._limit)
                yield piece
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, _Flood):
                raise ResponseTooLarge(*call.name, self._limit) from error
            raise failure(error, call, f" (status {self.status}, {size:,} bytes of its body)") from error

    async def read(self) -> Response:
        """Return the whole response. Raises HttpError."""
        body = bytearray()
        try:
            async for piece in self.pieces():
                body += piece
        finally:
            self.close()
        return Response(self.status, self.headers, bytes(body), method=self._call.method, url=self._call.target.shown)

    def close(self) -> None:
        """Drop the connection, unless the response was read to its end."""
        self._response.close()


class _Flood(aiohttp.ClientPayloadError):
    """More bytes than the limit arrived."""


class _Protocol(ResponseHandler):
    """A connection that carries no further request after an error status, and limits each response to `limit` bytes.

    After an error, many servers close the connection without announcing it, or leave the body of the refused request
    unread, where the next request should start. The limit counts all parts of a response.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: int) -> None:
        super().__init__(loop)
        self._limit = limit
        self._received = 0

    def set_response_params(self, **params: Any) -> None:
        self._received = 0
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._received <= self._limit:
            super().data_received(data)
            return
        flood = _Flood()
        if self._payload is not None:
            self._payload.set_exception(flood)
        self.set_exception(flood)
        self.abort()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        if data[0].code >= 400:
            self.force_close()
        super().feed_data(data, size)

    def connection_lost(self, exc: BaseException | None) -> None:
        # A body without a length ends when the connection is closed, but not when it breaks.
        if exc is not None and self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(aiohttp.ClientOSError(*exc.args))
        super().connection_lost(exc)


class _Watched(aiohttp.BaseConnector):
    """Hands out no dead kept-open connection, and records what kind of connection a call got."""

    state: ClientState

    def watch(self, state: ClientState) -> None:
        """Set the client's state."""
        self.state = state
        self._factory = partial(  # type: ignore[assignment]
            _Protocol, loop=self._loop, limit=state.max_response + _MAX_HEAD
        )

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        call = _CALL.get()
        while (connection := await super()._get(key, traces)) is not None:
            try:
                kept = not call.fresh and (call.repeatable or await self._proved(call, connection))
            except BaseException:
                connection.close()
                raise
            if kept and _quiet(connection):
                call.connected = call.reused = True
                return connection
            connection.close()
        return None

    async def _proved(self, call: RequestAttempt, connection: Connection) -> bool:
        """Return whether a kept-open connection may carry a request that must not be repeated.

        Some servers answer, then fail (for example in a background task) and close the connection unannounced, which
        can be seen a moment after the answer. Early connections are watched for that moment. Once one is closed, no
        connection of that server is reused for such a request.
        """
        abrupt, proofs = self.state.abrupt, self.state.proofs
        if call.target.origin.authority in abrupt:
            return False
        known = proofs.get(call.target.url, 0 if len(proofs) < _MOST_PROVED else _PROOFS)
        if known < _PROOFS:
            await asyncio.sleep(PROVE_S)
            if _quiet(connection):
                proofs[call.target.url] = known + 1
            else:
                abrupt.add(call.target.origin.authority)
        return True


class _Direct(_Watched, aiohttp.TCPConnector):
    """Connections to the host of the URL, or to a proxy."""

    async def _create_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109
    ) -> ResponseHandler:
        protocol = await super()._create_connection(req, traces, timeout)
        _CALL.get().connected = True
        return protocol


class _ThroughSocket(_Watched):
    """Connections through one Unix socket, for any host in the URL."""

    handed = False

    async def _create_connection(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109
    ) -> ResponseHandler:
        loop, path = asyncio.get_running_loop(), str(self.state.socket)
        try:
            async with asyncio.timeout(timeout.sock_connect):
                if not self.handed:
                    try:
                        protocol = (await loop.create_unix_connection(self._factory, path))[1]
                    except OSError as error:
                        # The socket is of the type that passes connections; this does not change.
                        if error.errno != errno.EPROTOTYPE:
                            raise
                        self.handed = True
                if self.handed:
                    protocol = (await loop.create_connection(self._factory, sock=await handed_over(path)))[1]
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError(path) from error
        except OSError as error:
            raise UnixClientConnectorError(path, req.connection_key, error) from error
        _CALL.get().connected = True
        return protocol


class PrivateAddress(OSError):
    """A host that must be public has a private address."""


class _PublicResolver(ThreadedResolver):
    """Refuses a host with any address that is not public: a name with both kinds is probably an attack."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        for one in found:
            _refuse_private(one["host"])
        return found


@lru_cache
def trusted(file: str | None, folder: str | None) -> ssl.SSLContext | bool:
    """Return the TLS trust setting; aiohttp's default context ignores later changes of the variables."""
    return ssl.create_default_context() if file or folder else True


def _connector(state: ClientState, idle_s: float) -> _Watched:
    connector: _Watched
    if state.socket is not None:
        connector = _ThroughSocket(limit=0, keepalive_timeout=idle_s)
    else:
        connector = _Direct(
            limit=0,
            keepalive_timeout=idle_s,
            ssl=state.tls or trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
            resolver=(_PublicResolver if state.public_only else ThreadedResolver)(),
            socket_factory=_public_socket if state.public_only else _socket,
            use_dns_cache=False,
        )
    connector.watch(state)
    return connector


def _socket(address: "aiohttp.AddrInfoType") -> socket.socket:
    """Return a socket with TCP keepalive, which calls that last minutes need."""
    made = socket.socket(*address[:3])
    made.settimeout(0)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_S)
    return made


def _public_socket(address: "aiohttp.AddrInfoType") -> socket.socket:
    """Return a socket for a public address. All connections pass here, including those to numeric hosts."""
    _refuse_private(str(address[4][0]))
    return _socket(address)


def _refuse_private(address: str) -> None:
    if not public(address):
        host = _CALL.get().target.origin.host
        raise PrivateAddress(f"{host} is at {address}, which is not an address of the public internet")


def _quiet(connection: Connection) -> bool:
    """Return whether a kept-open connection received nothing since the last response: no byte, no end, no reset.

    The socket is polled too, because the most recent data has not reached the event loop yet. An unread byte (a late
    408, or surplus data) would be taken for the answer to the next request.
    """
    transport, protocol = connection.transport, connection.protocol
    if transport is None or protocol is None or transport.is_closing() or protocol.should_close:
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return not poll.poll(0)


# Cached because a caller sends requests to the same URL thousands of times.
@lru_cache(maxsize=1024)
def _url(text: str) -> URL:
    return URL(text, encoded=True)


def failure(error: Exception, call: RequestAttempt, progress: str = "") -> HttpError:
    """Convert an error of aiohttp; `progress` says how much of the response arrived."""
    name = call.name
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, ContentEncodingError):
        inner = inner.__cause__
    match error:
        case aiohttp.SocketTimeoutError():
            return Timeout(*name, "response", call.timeout)
        case _Flood():
            return BadResponse(*name, "the response has more before its body than any needs")
        case aiohttp.ClientConnectionError() | aiohttp.ClientHttpProxyError() | UnicodeError() if not call.connected:
            return (ProxyFailed if call.proxy and isinstance(error, _OF_PROXIES) else ConnectFailed)(
                *name, _unconnected(error, call)
            )
        case ValueError():
            return InvalidRequest(*name, str(error))
        case _ if call.proxy and not call.connected:
            return ProxyFailed(*name, f"the proxy {visible(call.proxy)} did not answer with HTTP")
        case aiohttp.ClientResponseError() if inner is None:
            cause = f"this is not an HTTP response ({' '.join(error.message.split())[:200]})"
        case _ if inner is not None:
            cause = f"the content is broken ({inner.message})"
        case _:
            how = f"the connection broke ({_reason(error)})" if _number(error) else "the server closed the connection"
            where = f"in the middle of the response{progress}" if progress else "before answering"
            return ConnectionLost(*name, f"{how} {where}")
    return BadResponse(*name, cause)


def _unconnected(error: Exception, call: RequestAttempt) -> str:
    """Return why there is no connection."""
    origin, proxy = call.target.origin, visible(str(call.proxy))
    failed = _cause(error)
    reason = _reason(failed)
    match error, failed:
        case _, ssl.SSLCertVerificationError():
            said = f"the certificate of {origin.authority} is not trusted ({failed.verify_message})"
            return f"{said}; SSL_CERT_FILE names more authorities"
        case _, ssl.SSLError():
            return f"no TLS with {origin.authority} ({failed.reason or failed}); is it https?"
        case _, PrivateAddress():
            return str(failed)
        case UnixClientConnectorError(), _:
            place = f"the Unix socket {error.path}"
        case aiohttp.ClientHttpProxyError(), _:
            return f"the proxy {proxy} answered {error.status} when asked for {origin.authority}"
        case aiohttp.ServerDisconnectedError(), _ if call.proxy:
            return f"the proxy {proxy} closed the connection without an answer"
        case aiohttp.ClientProxyConnectionError(), _:
            place = f"the proxy {proxy}"
        case aiohttp.ClientConnectorDNSError() | UnicodeError(), _:
            return f"the host name {origin.host!r} cannot be resolved ({reason})"
        case _:
            place = f"{origin.host} port {origin.port}"
    return f"cannot connect to {place} ({reason})"


def _cause(error: Exception) -> Exception:
    """Return the error that aiohttp wrapped: of the socket, the resolver or TLS."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return error.certificate_error
    return error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error


def _number(error: Exception) -> int:
    return error.errno or 0 if isinstance(error, OSError) else 0


def _reason(error: Exception) -> str:
    number = _number(error)
    if number in {errno.EMFILE, errno.ENFILE}:
        return "too many open files; raise the limit with `ulimit -n` or lower the concurrency"
    if number > 0:
        return os.strerror(number)
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
