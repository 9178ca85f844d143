"""HTTP proxies from the environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY."""

import ipaddress
import os
from collections.abc import Mapping

from mesocosm.http.target import Origin, target


class Proxies:
    """The proxy settings of an environment, read once.

    Lower-case names take precedence. NO_PROXY lists host names (including their subdomains), `host:port`, addresses and
    networks, or `*`. Loopback addresses never use a proxy.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        given = os.environ if environment is None else environment
        # In a CGI program HTTP_PROXY is the request header `Proxy`, which any client can send.
        upper = {"HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} | (set() if "REQUEST_METHOD" in given else {"HTTP_PROXY"})

        def value(name: str) -> str:
            return (given.get(name) or (given.get(name.upper(), "") if name.upper() in upper else "")).strip()

        everything = value("all_proxy")
        self._by_scheme = {"http": value("http_proxy") or everything, "https": value("https_proxy") or everything}
        self._direct = [entry for part in value("no_proxy").split(",") if (entry := part.strip().lower().lstrip("."))]

    def proxy(self, origin: Origin) -> str | None:
        """Return the proxy URL for a server, or None for a direct connection. Raises ValueError for bad settings."""
        url = self._by_scheme[origin.scheme]
        if not url or self._is_direct(origin):
            return None
        url = url if "://" in url else f"http://{url}"
        try:
            usable = target(url).origin.scheme == "http"
        except ValueError:
            usable = False
        if not usable:
            name = f"{origin.scheme.upper()}_PROXY"
            raise ValueError(f"the proxy in {name} or ALL_PROXY must be an http:// URL; NO_PROXY makes exceptions")
        return url

    def _is_direct(self, origin: Origin) -> bool:
        host = origin.host.rstrip(".")
        if host == "localhost" or host.endswith(".localhost"):
            return True
        address = _address(host)
        if address is not None and address.is_loopback:
            return True
        return any(_covers(entry, host, origin.port, address) for entry in self._direct)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _covers(entry: str, host: str, port: int, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None) -> bool:
    if entry == "*":
        return True
    if address is not None:
        try:
            return address in ipaddress.ip_network(entry.strip("[]"), strict=False)
        except ValueError:
            pass
    name, _, only = entry.rpartition(":")
    if name and only.isdigit():
        if int(only) != port:
            return False
        entry = name.strip("[]")
    entry = entry.removeprefix("*.")
    return host == entry or host.endswith(f".{entry}")
