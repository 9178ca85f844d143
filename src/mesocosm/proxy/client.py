"""Authentication of clients: one client per open address, identified by its token."""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from mesocosm.core.proxy import ModelRecorder, ProxyAddress
from mesocosm.proxy.api import Known


@dataclass(eq=False, slots=True)
class ProxyClient:
    """The program behind one address: its episode, the messages read so far, and its calls in progress."""

    address: ProxyAddress
    recorder: ModelRecorder
    known: Known = field(default_factory=Known)
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)


class TokenFactory:
    """Creates private tokens from a keyed hash of a counter, which is cheaper than random bytes from the system.

    They have the shape of an OpenAI key, so that they are redacted wherever they appear.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._count = 0

    def new(self) -> str:
        """Return a new token, unique and unpredictable."""
        self._count += 1
        number = self._count.to_bytes(8, "big")
        return f"sk-mesocosm-{hashlib.blake2b(number, digest_size=24, key=self._key).hexdigest()}"


class ProxyClients:
    """The open addresses by the digest of their token."""

    def __init__(self) -> None:
        self._clients: dict[bytes, ProxyClient] = {}

    def add(self, client: ProxyClient) -> None:
        """Add a client."""
        self._clients[_digest(client.address.token)] = client

    def remove(self, address: ProxyAddress) -> ProxyClient | None:
        """Revoke an address and return its client, or None if it was not open."""
        return self._clients.pop(_digest(address.token), None)

    def find(self, headers: Mapping[str, str]) -> ProxyClient | None:
        """Return the client whose token the request carries, or None. Timing does not leak other tokens."""
        scheme, _, bearer = headers.get("authorization", "").strip().partition(" ")
        given = bearer.strip() if scheme.lower() == "bearer" else ""
        for token in (given, headers.get("x-api-key", "").strip()):
            if not token:
                continue
            digest = _digest(token)
            client = self._clients.get(digest)
            if client is not None and hmac.compare_digest(_digest(client.address.token), digest):
                return client
        return None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
