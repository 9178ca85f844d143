"""Addresses of the public internet, as opposed to this machine and private networks."""

import ipaddress
import socket
from urllib.parse import urlsplit

from mesocosm.core.failure import UsageError
from mesocosm.http.target import target

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Networks that `ipaddress` counts as global, or does not judge, but that lead elsewhere.
_NEVER = tuple(
    ipaddress.ip_network(text)
    for text in (
        "100.64.0.0/10",  # shared by providers and their customers, RFC 6598
        "192.0.0.0/24",  # carrier-grade NAT, RFC 6598
        "192.88.99.0/24",  # 6to4 relays, RFC 7526
        "168.63.129.16/32",  # the host of an Azure machine
        "fec0::/10",  # site-local, RFC 3879
        "fd00:ec2::/32",  # metadata of EC2
        "5f00::/16",  # segment routing, RFC 9602
        "64:ff9b:1::/48",  # local translation, RFC 8215
        "2001::/23",  # protocol assignments, among them Teredo
        "100::/64",  # discarded, RFC 6666
    )
)
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")


def public(address: str) -> bool:
    """Return whether an address, as the resolver formats it, is one of the public internet.

    IPv4 addresses embedded in IPv6 ones (mapped, compatible, 6to4, NAT64) are judged by the IPv4 address. An address
    with a zone (`%eth0`) and text that is not an address are not public.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return _public(found)


def check_public(url: str) -> None:
    """Check that a URL is http(s) and that every address of its host is public. Blocks while resolving the name.

    Raises UsageError with a short reason.
    """
    try:
        origin = target(url).origin
    except ValueError as error:
        raise UsageError(f"this URL cannot be used: {error}") from error
    if urlsplit(url).username is not None:
        raise UsageError("the URL has a user or password in it; leave them out")
    for address in _resolved(origin.host, origin.port):
        if not public(address):
            raise UsageError(f"{origin.host} is at {address}, which is not an address of the public internet")


def _resolved(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"the host name {host!r} cannot be resolved; is it spelled right?") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        inner = _inner(address)
        if inner is not None:
            return _public(inner)
    if any(address in network for network in _NEVER if network.version == address.version):
        return False
    return address.is_global and not (
        address.is_multicast
        or address.is_reserved
        or address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_unspecified
    )


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that an IPv6 one embeds, or None."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    number = int(address)
    if address in _TRANSLATED or (number >> 32 == 0 and number > 1):
        return ipaddress.IPv4Address(number & 0xFFFF_FFFF)
    return None
