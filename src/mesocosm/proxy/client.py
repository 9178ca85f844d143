"""Who may ask: one client for each open address, known by its token."""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from mesocosm.core.gateway import Address, Tap
from mesocosm.proxy.api import Known


@dataclass(eq=False, slots=True)
class Client:
    """The program behind one address: its episode, what it has said before, what it is asking now."""

    address: Address
    tap: Tap
    known: Known = field(default_factory=Known)
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)


def new_token() -> str:
    """Return a private token. Its shape is that of an OpenAI key, so that it is redacted wherever it turns up."""
    return f"sk-mesocosm-{secrets.token_hex(24)}"


class Clients:
    """The open addresses by the digest of their token."""

    def __init__(self) -> None:
        self._clients: dict[bytes, Client] = {}

    def add(self, client: Client) -> None:
        """Let a client in."""
        self._clients[_digest(client.address.token)] = client

    def remove(self, address: Address) -> Client | None:
        """Let nobody in by this address any more, and return who was."""
        return self._clients.pop(_digest(address.token), None)

    def find(self, headers: Mapping[str, str]) -> Client | None:
        """Return whose token the headers of a request carry. The time it takes tells nothing of other tokens."""
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
