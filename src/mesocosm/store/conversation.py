"""Find the messages that a model call refers to in a long trace without reading all of it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mesocosm.core.event import Kind
from mesocosm.store.event_search import EventFilter

_KEPT = 16
"""Chunks to cache: binary search visits the same ones again."""

MESSAGES = EventFilter(frozenset({Kind.MESSAGE}), "", None)

Messages = dict[int, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Payloads of `message` events, each with its `index`, in ascending order: the latest of the requested range.

    `rest` are ranges `(first, last)` of indexes not searched yet: request them next. An index in neither is not in the
    trace, or is in a damaged part of it.
    """

    messages: tuple[dict[str, Any], ...]
    rest: tuple[tuple[int, int], ...] = ()


def numbered(payload: dict[str, Any]) -> bool:
    """Return whether a message has an integer index."""
    return type(payload.get("index")) is int


class MessageSearch:
    """Searches the chunks of one episode for messages."""

    def __init__(self, chunk: Callable[[str, int], Messages], episode_id: str, starts: list[int]) -> None:
        self._chunk = chunk
        self._episode_id = episode_id
        self._starts = starts
        self._known: dict[int, Messages] = {}

    def read(self, first: int, last: int, found: Messages, limit: int, end: float) -> int | None:
        """Collect messages from `last` down to `first` into `found`.

        Return None when done, or the index to continue from if `limit` messages were found or the monotonic time `end`
        passed.
        """
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
        """Return the first chunk with a message at or after `index`, or the last chunk of all."""
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
