"""Parse request URLs and check request heads."""

import re
from base64 import b64encode
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f\u0100-\U0010ffff]*")
_RESERVED = frozenset({"content-length", "transfer-encoding", "connection", "upgrade", "te"})


class Origin(NamedTuple):
    """A server: scheme, host without brackets, port."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """Host and port as in a URL; a default port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS.get(self.scheme) else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A parsed URL. `shown` is the URL that is safe for messages; `authorization` comes from its user part."""

    origin: Origin
    path: str
    shown: str
    authorization: str = ""

    @property
    def url(self) -> str:
        """The URL without its user part and fragment, percent-encoded."""
        return f"{self.origin.scheme}://{self.origin.authority}{self.path}"


@lru_cache(maxsize=1024)
def target(url: str) -> Target:
    """Parse a URL. Raises ValueError that says what is wrong, without quoting the URL."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname:
        raise ValueError("the URL must begin with http:// or https:// and name a host")
    host = parts.hostname
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    if re.search(r"[\x00-\x20\x7f%\\]", host):
        raise ValueError("the host of the URL has characters that no host name has")
    port = parts.port if parts.port is not None else _PORTS[scheme]
    origin = Origin(scheme, host, port)
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    query = quote(parts.query, safe="/?%:@!$&'()*+,;=~")
    shown = f"{scheme}://{origin.authority}{path}"
    if query:
        shown += "?" + "&".join(f"{part.split('=')[0]}=…" for part in query.split("&"))
    return Target(origin, f"{path}?{query}" if query else path, shown, _basic(parts.username, parts.password))


def visible(url: str) -> str:
    """Return a URL without user, password, fragment and query values; an invalid URL is not shown at all."""
    try:
        return target(url).shown
    except ValueError:
        return "(unusable URL)"


def _basic(user: str | None, password: str | None) -> str:
    if user is None and password is None:
        return ""
    pair = f"{unquote(user or '')}:{unquote(password or '')}"
    return "Basic " + b64encode(pair.encode()).decode("ascii")


# Cached because a caller sends the same headers thousands of times.
@lru_cache(maxsize=256)
def check_head(method: str, headers: tuple[tuple[str, str], ...]) -> None:
    """Check that a method and header fields can be sent. Raises ValueError for one that would corrupt the message."""
    if not _TOKEN.fullmatch(method) or method == "CONNECT":
        raise ValueError("this method cannot be sent")
    for name, value in headers:
        # The value may be a secret, so the message has only the name.
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError(f"header {name!r} has characters that HTTP does not allow")
        if name.lower() in _RESERVED:
            raise ValueError(f"header {name!r} is the client's own; leave it out")
