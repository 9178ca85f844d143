"""State that all connections of one client share."""

import ssl
from dataclasses import dataclass, field


@dataclass(slots=True)
class ClientState:
    """The settings of a client, and what it has learned about servers. `socket` is the path of a Unix socket."""

    connect_timeout: float
    max_response: int
    tls: ssl.SSLContext | None
    socket: str | None
    public_only: bool
    closed: bool = False
    abrupt: set[str] = field(default_factory=set)
    """Servers that once closed a reused connection during a request that must not be repeated."""

    proofs: dict[str, int] = field(default_factory=dict)
    """By URL, how often its server was seen to keep its connection open after such a request."""
