"""An HTTP proxy that gives a program without a network access to a few allowed hosts."""

import asyncio
import re
import ssl
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from mesocosm.http.public import public
from mesocosm.http.target import target

PORTS = frozenset({80, 443})
_CHUNK = 64 * 1024
_HEAD_S = 30.0
_CONNECT_S = 10.0
_IDLE_S = 120.0
_REMEMBERED = 20
_HOP = re.compile(rb"^(proxy-[^:]*|connection|keep-alive|host)\s*:", re.IGNORECASE)
_FETCHING = re.compile(
    rb"(accept|accept-encoding|cache-control|if-modified-since|if-none-match|if-range|pragma|range|user-agent)[ \t]*:"
    rb"[^\x00-\x08\x0a-\x1f\x7f]*",
    re.IGNORECASE,
)
"""Header fields that may accompany an added password. Others could override the request's method or path."""


@dataclass(frozen=True, slots=True)
class AuthenticatedRoute:
    """Access to a server without revealing its password: the program requests `http://HOST:PORT/…` at the proxy.

    A GET or HEAD request at or below one of `paths` is forwarded to `port` with `authorization` in place of its own
    header, over TLS if `tls` is set. Any other request to the server is refused.
    """

    port: int
    tls: bool
    authorization: str
    paths: tuple[str, ...]

    def covers(self, path: str) -> bool:
        """Return whether a request's path, with or without a query, is at or below one of `paths`."""
        path = path.partition("?")[0]
        plain = unquote(unquote(path))
        if "\\" in plain or any(part.partition(";")[0] in {".", ".."} for part in plain.split("/")):
            return False
        return any(path == root or path.startswith(f"{root.rstrip('/')}/") for root in self.paths)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The destination of a request; `first` is what to send there first."""

    host: str
    port: int
    first: bytes
    tunnel: bool = False
    tls: bool = False
    entered: bool = False
    """Whether `first` carries our password; if so, no further data of the program may follow it."""
    refusal: str = ""

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"


class EgressProxy:
    """An HTTP proxy (CONNECT and plain requests) to the named `hosts`, by default to their ports 80 and 443.

    `*.example.com` stands for every host below example.com, `*` for every host.
    Every address that a host resolves to must be public, and the connection goes to the checked address. `loopback`
    names servers of this machine that may be reached too, each as `host:port`. `most_bytes` limits the bytes in both
    directions together. `entrances` maps servers, each `host:port`, to routes with passwords that the program does not
    see; `trusted` is a file with the certificate authorities for them, by default those of the system. `refused` lists
    refused requests with their reasons, `carried` counts bytes.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        ports: Collection[int] = PORTS,
        loopback: Sequence[str] = (),
        most_bytes: int | None = None,
        entrances: Mapping[str, Sequence[AuthenticatedRoute]] | None = None,
        trusted: str | None = None,
    ) -> None:
        self.hosts = frozenset(host.lower().rstrip(".") for host in hosts)
        self.ports = frozenset(ports)
        self.loopback = frozenset(place.lower() for place in loopback)
        self.most_bytes = most_bytes
        self.entrances = dict(entrances or {})
        self.trusted = trusted
        self.refused: list[str] = []
        self.carried = 0

    def variables(self, port: int) -> dict[str, str]:
        """Return the variables that point programs to this proxy at `port` of their own loopback."""
        url = f"http://127.0.0.1:{port}"
        names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        return {**dict.fromkeys(names, url), "no_proxy": "", "NO_PROXY": ""}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of the program until it ends. Raises OSError if it breaks."""
        try:
            async with asyncio.timeout(_HEAD_S):
                asked = _asked(await reader.readuntil(b"\r\n\r\n"), self.entrances)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            await _answer(writer, 400, "this proxy takes CONNECT host:port and requests for http:// URLs")
            return
        try:
            there, here = await self._connected(asked)
        except OSError as error:
            words = f"{asked.place}: {error}"
            self._refuse(words)
            await _answer(writer, 403, words)
            return
        try:
            if asked.tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            here.write(asked.first)
            if asked.entered:
                await self._pour(there, writer)
            else:
                await asyncio.gather(self._pour(reader, here), self._pour(there, writer))
        finally:
            here.close()

    async def _connected(self, asked: _Asked) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a checked address. Raises OSError with the reason."""
        if asked.refusal:
            raise OSError(asked.refusal)
        local = asked.place in self.loopback
        if not local and not self._named(asked.host):
            raise OSError(f"this host is not allowed; there are: {', '.join(sorted(self.hosts)) or 'none'}")
        if not local and asked.port not in self.ports:
            numbers = " and ".join(map(str, sorted(self.ports)))
            raise OSError(f"only the ports {numbers} are allowed")
        if self.most_bytes is not None and self.carried >= self.most_bytes:
            raise OSError(f"more than {self.most_bytes:,} bytes were carried already")
        addresses = await _addresses(asked)
        for address in addresses:
            if not local and not public(address):
                raise OSError(f"it is at {address}, which is not an address of the public internet")
        failure: OSError = OSError("it has no address")
        for address in addresses:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    return await self._opened(asked, address)
            except OSError as error:
                failure = OSError(f"no connection to {address}: {error.strerror or 'no answer'}")
        raise failure

    def _named(self, host: str) -> bool:
        parents = host.split(".")
        above = (f"*.{'.'.join(parents[place:])}" for place in range(1, len(parents)))
        return host in self.hosts or "*" in self.hosts or any(name in self.hosts for name in above)

    async def _opened(self, asked: _Asked, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not asked.tls:
            return await asyncio.open_connection(address, asked.port)
        context = await asyncio.to_thread(ssl.create_default_context, cafile=self.trusted)
        return await asyncio.open_connection(address, asked.port, ssl=context, server_hostname=asked.host)

    async def _pour(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await _piece(reader):
            self.carried += len(data)
            if self.most_bytes is not None and self.carried > self.most_bytes:
                words = f"more than {self.most_bytes:,} bytes were to be carried"
                self._refuse(words)
                raise ConnectionAbortedError(words)
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    def _refuse(self, words: str) -> None:
        if words not in self.refused and len(self.refused) < _REMEMBERED:
            self.refused.append(words)


async def _piece(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(_IDLE_S):
        return await reader.read(_CHUNK)


def _asked(head: bytes, entrances: Mapping[str, Sequence[AuthenticatedRoute]]) -> _Asked:
    """Parse the head of a request. Raises ValueError for anything but a proxy request."""
    start, *fields = head[:-4].split(b"\r\n")
    method, url, version = start.decode("ascii").split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(version)
    if method == "CONNECT":
        host, _, port = url.rpartition(":")
        return _Asked(host.strip("[]").lower().rstrip("."), int(port), b"", tunnel=True)
    where = target(url)
    if where.origin.scheme != "http":
        raise ValueError("https is asked for with CONNECT")
    name, number = where.origin.host.rstrip("."), where.origin.port
    # One request per connection, because the next might be for another host.
    ours = [f"{method} {where.path} {version}", f"Host: {where.origin.authority}", "Connection: close"]
    kept = [field for field in fields if not _HOP.match(field)]
    doors = entrances.get(f"{name}:{number}", ())
    if not doors:
        return _Asked(name, number, _head(ours, kept))
    door = next((one for one in doors if one.covers(where.path)), None)
    if door is None or method not in {"GET", "HEAD"}:
        below = " or ".join(dict.fromkeys(path for one in doors for path in one.paths))
        words = f"{method} {where.path.partition('?')[0]} is refused; of this server only GET below {below} is allowed"
        return _Asked(name, number, b"", refusal=words)
    ours.append(f"Authorization: {door.authorization}")
    first = _head(ours, [field for field in fields if _FETCHING.fullmatch(field)])
    return _Asked(name, door.port, first, tls=door.tls, entered=True)


def _head(ours: Sequence[str], kept: Sequence[bytes]) -> bytes:
    return b"\r\n".join([*(line.encode("ascii") for line in ours), *kept, b"", b""])


async def _addresses(asked: _Asked) -> list[str]:
    try:
        found = await _resolved(asked.host, asked.port)
    except (OSError, UnicodeError) as error:
        raise OSError("the host name cannot be resolved") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def _resolved(host: str, port: int) -> Sequence[tuple[object, object, object, object, tuple[object, ...]]]:
    return await asyncio.get_running_loop().getaddrinfo(host, port, type=1)


async def _answer(writer: asyncio.StreamWriter, status: int, words: str) -> None:
    body = f"{words}\n".encode()
    head = f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
    await writer.drain()
