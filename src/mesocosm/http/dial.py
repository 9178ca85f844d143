"""Open connections: name resolution, TCP, TLS, Unix sockets, tunnels through a proxy."""

import asyncio
import errno
import os
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from mesocosm.http.connection import Connection
from mesocosm.http.handed import handed_over
from mesocosm.http.public import public
from mesocosm.http.target import Origin, Target

_RESOLVED_SECONDS = 30.0
_ADDRESS_SECONDS = 3.0
_MAX_HEAD = 64 * 1024
_Protocol = TypeVar("_Protocol", bound=asyncio.BaseProtocol)


@dataclass(frozen=True, slots=True)
class Route:
    """The way to a server: through a Unix socket, through a proxy, or directly; `tls` for https.

    A `public_only` one leads to addresses of the public internet and nowhere else.
    """

    origin: Origin
    tls: ssl.SSLContext | None = None
    unix_socket: str | None = None
    proxy: Target | None = None
    public_only: bool = False


class Dialer:
    """Opens connections along one route. Every failure is an OSError whose text says what failed."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._addresses: list[str] = []
        self._resolved_until = 0.0
        self._handed = False
        self._lookup: asyncio.Task[list[str]] | None = None

    async def open(self, make: Callable[[], Connection]) -> Connection:
        """Return a connection that is ready for a request. Raises OSError."""
        route = self._route
        try:
            if route.unix_socket is not None:
                return await self._unix(make, route.unix_socket)
            if route.proxy is None:
                return await self._tcp(make, route.origin, route.tls)
            if route.tls is None:
                return await self._tcp(make, route.proxy.origin, None)
            return await self._tunnel(make, route.proxy, route.tls)
        except ssl.SSLCertVerificationError as error:
            reason = f"the certificate of {route.origin.authority} is not trusted ({error.verify_message})"
            raise OSError(f"{reason}; SSL_CERT_FILE names more authorities") from error
        except ssl.SSLError as error:
            raise OSError(f"no TLS with {route.origin.authority} ({error.reason or error}); is it https?") from error

    async def _unix(self, make: Callable[[], Connection], path: str) -> Connection:
        loop, tls = asyncio.get_running_loop(), self._route.tls
        name = self._route.origin.host if tls else None
        try:
            if self._handed:
                connection = await handed_over(path)
                return (await loop.create_connection(make, sock=connection, ssl=tls, server_hostname=name))[1]
            return (await loop.create_unix_connection(make, path, ssl=tls, server_hostname=name))[1]
        except ssl.SSLError:
            raise
        except OSError as error:
            if error.errno == errno.EPROTOTYPE and not self._handed:
                # It is of the type where connections are handed over, and stays it.
                self._handed = True
                return await self._unix(make, path)
            raise OSError(f"cannot connect to the Unix socket {path} ({_reason(error)})") from error

    async def _tcp(self, make: Callable[[], _Protocol], origin: Origin, tls: ssl.SSLContext | None) -> _Protocol:
        loop = asyncio.get_running_loop()
        addresses = await self._resolve(origin)
        if self._route.public_only:
            _refuse_private(origin, addresses)
        failures: list[str] = []
        for position, address in enumerate(addresses):
            # One address that swallows packets must not use up the time of those that answer.
            patience = _ADDRESS_SECONDS if position + 1 < len(addresses) else None
            try:
                async with asyncio.timeout(patience):
                    name = origin.host if tls else None
                    _, protocol = await loop.create_connection(
                        make, address, origin.port, ssl=tls, server_hostname=name
                    )
            except ssl.SSLError:
                raise
            except OSError as error:
                failures.append(f"{address}: {_reason(error)}")
            else:
                if position:
                    self._addresses = [address, *(other for other in addresses if other != address)]
                return protocol
        self._resolved_until = 0.0
        raise OSError(f"cannot connect to {origin.host} port {origin.port} ({'; '.join(failures)})")

    async def _resolve(self, origin: Origin) -> list[str]:
        """Return the addresses of a host; a thousand connections made at once ask once."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._resolved_until:
            return self._addresses
        if self._lookup is None:
            self._lookup = loop.create_task(_look_up(origin))
            self._lookup.add_done_callback(self._resolved)
        return await asyncio.shield(self._lookup)

    def _resolved(self, lookup: asyncio.Task[list[str]]) -> None:
        self._lookup = None
        if not lookup.cancelled() and lookup.exception() is None:
            self._addresses = lookup.result()
            self._resolved_until = asyncio.get_running_loop().time() + _RESOLVED_SECONDS

    async def _tunnel(self, make: Callable[[], Connection], proxy: Target, tls: ssl.SSLContext) -> Connection:
        loop, origin = asyncio.get_running_loop(), self._route.origin
        tunnel = await self._tcp(_Tunnel, proxy.origin, None)
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        connection = make()
        try:
            answer = await tunnel.connect(f"{host}:{origin.port}", proxy.authorization)
            transport = None
            if 200 <= answer < 300:
                transport = await loop.start_tls(tunnel.transport, connection, tls, server_hostname=origin.host)
        except BaseException:
            tunnel.transport.abort()
            raise
        if transport is None:
            tunnel.transport.abort()
            raise OSError(f"the proxy {proxy.shown} answered {answer} when asked for {origin.authority}")
        connection.connection_made(transport)
        return connection


def _refuse_private(origin: Origin, addresses: Sequence[str]) -> None:
    """Refuse a host with any address that is not public: a name that leads to both is no accident."""
    for address in addresses:
        if not public(address):
            raise OSError(f"{origin.host} is at {address}, which is not an address of the public internet")


async def _look_up(origin: Origin) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(origin.host, origin.port, type=1)
    except (OSError, UnicodeError) as error:
        reason = _reason(error) if isinstance(error, OSError) else str(error)
        raise OSError(f"the host name {origin.host!r} cannot be resolved ({reason})") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _reason(error: OSError) -> str:
    if isinstance(error, TimeoutError) and not str(error):
        return "no answer"
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return "too many open files; raise the limit with `ulimit -n` or lower the concurrency"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


class _Tunnel(asyncio.Protocol):
    """The first words on a connection to a proxy, before TLS takes it over."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    async def connect(self, authority: str, authorization: str) -> int:
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if authorization:
            lines.append(f"Proxy-Authorization: {authorization}")
        self.transport.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        return await self._status

    def data_received(self, data: bytes) -> None:
        if self._status.done():
            return
        self._head += data
        head, end, rest = bytes(self._head).partition(b"\r\n\r\n")
        if not end and len(head) <= _MAX_HEAD:
            return
        words = head[:40].split()
        if not end or len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            self._status.set_exception(OSError(f"the proxy did not answer with HTTP: {head[:40]!r}"))
        elif rest and words[1].startswith(b"2"):
            # In TLS the client speaks first.
            self._status.set_exception(OSError(f"there is no TLS behind the proxy: {rest[:40]!r}"))
        else:
            self._status.set_result(int(words[1]))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._status.done():
            self._status.set_exception(OSError("the proxy closed the connection without an answer"))
