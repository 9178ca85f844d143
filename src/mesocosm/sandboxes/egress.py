"""The way out for a program without a network: a proxy of ours that knows a few hosts."""

from collections.abc import Sequence


class Egress:
    """An HTTP proxy (CONNECT, and plain requests) to the named `hosts`, ports 80 and 443.

    Every address that a host resolves to must be public, and the connection goes to the checked address. `loopback`
    names servers of this machine that may be reached as well, each `host:port`. `most_bytes` is how much may be carried
    in both directions together. `refused` lists what was asked for in vain, `carried` counts bytes.
    """

    def __init__(self, hosts: Sequence[str], *, loopback: Sequence[str] = (), most_bytes: int | None = None) -> None:
        self.hosts = frozenset(host.lower().rstrip(".") for host in hosts)
        self.loopback = frozenset(place.lower() for place in loopback)
        self.most_bytes = most_bytes
        self.refused: list[str] = []
        self.carried = 0
