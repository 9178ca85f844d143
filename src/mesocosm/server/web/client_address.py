"""Where a request comes from, also behind proxies."""

import ipaddress
from collections.abc import Iterable

from starlette.requests import HTTPConnection

_V6_NETWORK = 64
"""Bits of an IPv6 address that one customer has alone: they can take any address of it."""


def client_address(connection: HTTPConnection, trusted: Iterable[str]) -> str:
    """Return the address of the client, which proxies in `trusted` (addresses or networks) forward.

    `X-Forwarded-For` is read from its end, and only as far as trusted proxies wrote it.
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
    """Return whether the client speaks HTTPS, as far as this server can know."""
    if public_url:
        return public_url.casefold().startswith("https://")
    proxy = connection.client.host if connection.client else ""
    if _within(proxy, _networks(trusted)):
        return connection.headers.get("x-forwarded-proto", "").partition(",")[0].strip().casefold() == "https"
    return connection.url.scheme in {"https", "wss"}


def counted(address: str) -> str:
    """Return what tries from an address are counted under: of IPv6 its network."""
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
    """Return an address as proxies write it, also with a port; an IPv4 address inside IPv6 as IPv4."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
