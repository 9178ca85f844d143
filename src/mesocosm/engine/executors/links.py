"""Protocols between a session and its workers: a connection, and where connections come from."""

from typing import Protocol


class LinkLost(Exception):
    """The other end of a connection is gone; the message says what is known about it."""


class Link(Protocol):
    """A connection to one worker. Messages arrive whole and in order, or not at all."""

    name: str
    """How the worker is called in messages to users."""

    def send(self, data: bytes) -> None:
        """Send a message without waiting. If the worker is gone, `receive` says so."""
        ...

    async def receive(self) -> bytes:
        """Return the next message of the worker. Raise LinkLost if it is gone."""
        ...

    async def close(self) -> None:
        """End the worker; never raise."""
        ...


class WorkerLink(Protocol):
    """The worker's end of a connection."""

    async def receive(self) -> bytes:
        """Return the next message of the session. Raise LinkLost if it has closed the connection."""
        ...

    async def send(self, data: bytes) -> None:
        """Send a message, and wait until there is room for another. Raise LinkLost."""
        ...


class WorkerSource(Protocol):
    """Where the workers of a session come from.

    `most` is the maximum number of them at a time, which may change; `what` is how several of them are called in
    messages to users.
    """

    most: int
    what: str

    async def connect(self) -> Link:
        """Start a worker, or wait for one, and return the connection. Raise InfrastructureError."""
        ...

    async def close(self) -> None:
        """End everything; never raise."""
        ...
