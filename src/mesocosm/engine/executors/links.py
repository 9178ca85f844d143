"""Protocols between a session and its workers: a connection, and where connections come from."""

from typing import Protocol


class LinkLost(Exception):
    """The other end of a connection is gone; the message says what is known about it."""


class HelperGone(LinkLost):
    """A worker is gone that had come to help, which says nothing about whether others can play."""


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
    """Where the workers of a session come from."""

    @property
    def most(self) -> int:
        """Maximum number of workers at a time; it may change."""
        ...

    @property
    def what(self) -> str:
        """How several workers are called in messages to users."""
        ...

    async def connect(self) -> Link:
        """Start a worker, or wait for one, and return the connection. Raise InfrastructureError."""
        ...

    async def close(self) -> None:
        """End everything; never raise."""
        ...
