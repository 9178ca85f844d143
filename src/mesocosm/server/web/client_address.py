"""The client address of a request, also behind proxies."""

import ipaddress
from collections.abc import Iterable

from starlette.requests import HTTPConnection

_V6_NETWORK = 64
"""Prefix length of an IPv6 network that is counted as one client: providers assign whole /64 networks."""


def client_address(connection: HTTPConnection, trusted: Iterable[str]) -> str:
    """Return the address of the client, as forwarded by proxies in `trusted` (addresses or networks).

    `X-Forwarded-For` is read from its end, and only the entries that trusted proxies wrote.
    """
    networks = _networks(trusted)
    address = connection.client.host if connection.client else ""
    if not _within(address, networks):
        return address
    listed = ",".join(connection.headers.getlist("x-forwarded-for")).split(",")
    for given in reversed([part.strip() for part in listed if part.strip()]):
        found = _parsed(given)
        if found is None:
            break
        address = str(found)
        if not _within(address, networks):
            break
    return address


def secure(connection: HTTPConnection, public_url: str, trusted: Iterable[str]) -> bool:
    """Return whether the client uses HTTPS, by `public_url`, a trusted proxy's header, or the connection."""
    if public_url:
        return public_url.casefold().startswith("https://")
    proxy = connection.client.host if connection.client else ""
    if _within(proxy, _networks(trusted)):
        return connection.headers.get("x-forwarded-proto", "").partition(",")[0].strip().casefold() == "https"
    return connection.url.scheme in {"https", "wss"}


def counted(address: str) -> str:
    """Return the rate limit key of an address: an IPv6 address is counted by its network."""
    found = _parsed(address)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, _V6_NETWORK), strict=False))
    return address


def _networks(trusted: Iterable[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    found = []
    for text in trusted:
        try:
            found.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            continue
    return found


def _within(address: str, networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    found = _parsed(address)
    return found is not None and any(found in network for network in networks)


def _parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address in `text`, which may have a port; IPv4-mapped IPv6 as IPv4. None if it is invalid."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
