"""The messages that a model call refers to, found in a long trace without reading all of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.core.event import Event, Kind
from mesocosm.store.event_search import EventFilter

_KEPT = 16
"""Chunks of which the messages are remembered; halving comes back to the same ones."""

_events = msgspec.json.Decoder(Event)
MESSAGES = EventFilter(frozenset({Kind.MESSAGE}), "", None)

Messages = dict[int, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Payloads of `message` events (each with its `index`), rising by index, the latest of those asked for.

    `rest` are runs `(first, last)` of indexes that were not looked for yet: ask for them next. What is neither here
    nor there is not in the trace, or in a damaged part of it.
    """

    messages: tuple[dict[str, Any], ...]
    rest: tuple[tuple[int, int], ...] = ()


def numbered(payload: dict[str, Any]) -> bool:
    """Return whether a message has an index."""
    return type(payload.get("index")) is int


class MessageSearch:
    """The chunks of one episode, seen as the messages in them."""

    def __init__(self, chunk: Callable[[str, int], Messages], episode_id: str, starts: list[int]) -> None:
        self._chunk = chunk
        self._episode_id = episode_id
        self._starts = starts
        self._known: dict[int, Messages] = {}

    def read(self, first: int, last: int, found: Messages, limit: int, end: float) -> int | None:
        """Collect messages `last` down to `first`; return the index to go on from when it had to stop, else None."""
        place = self._place(last)
        while place >= 0:
            here = self._messages(place)
            some = sorted((index for index in here if first <= index <= last), reverse=True)
            for index in some:
                if len(found) >= limit:
                    return index
                found[index] = here[index]
            if here and min(here) <= first:
                return None
            if time.monotonic() > end:
                return (min(some) if some else last + 1) - 1
            last = min(some) - 1 if some else last
            place -= 1
        return None

    def _place(self, index: int) -> int:
        """Return the first chunk whose messages reach up to `index`, or the last chunk of all."""
        low, high = 0, len(self._starts) - 1
        while low < high:
            middle = place = (low + high) // 2
            while place >= low and not self._messages(place):
                place -= 1
            if place >= low and max(self._messages(place)) >= index:
                high = place
            else:
                low = middle + 1
        return high

    def _messages(self, place: int) -> Messages:
        if place not in self._known:
            if len(self._known) >= _KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[place] = self._chunk(self._episode_id, self._starts[place])
        return self._known[place]
