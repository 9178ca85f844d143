"""Connections that code leaves to Python's garbage collector. Standard library only.

A workflow that makes a client for each row often leaves it open. The collector closes the socket of such a client by
`__del__` of asyncio's transport, and the client, which openai and aiohttp close in a `__del__` of their own, closes the
transport again later: by the number of a socket that is gone. If a new connection has that number by then, asyncio
stops to read from it, and its row waits until its deadline.
"""

import asyncio.selector_events
from typing import Any

_Transport: Any = asyncio.selector_events._SelectorTransport  # type: ignore[attr-defined]  # noqa: SLF001
_plain = _Transport.__del__


class SafeClosing:
    """Makes closing a collected transport again do nothing, in this process, while at least one user needs it."""

    def __init__(self) -> None:
        self._users = 0

    def begin(self) -> None:
        """Start."""
        self._users += 1
        _Transport.__del__ = _closed

    def end(self) -> None:
        """Stop after the last user."""
        self._users -= 1
        if not self._users and _Transport.__del__ is _closed:
            _Transport.__del__ = _plain


safe_closing = SafeClosing()


def _closed(transport: Any) -> None:
    # What close() and abort() look at first.
    transport._closing = True  # noqa: SLF001
    transport._conn_lost = 1  # noqa: SLF001
    _plain(transport)
