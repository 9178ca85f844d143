"""The messages that a model call refers to, found in a long trace without reading all of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, select

from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import UnknownName
from mesocosm.store.line import Wanted
from mesocosm.store.schema import episodes, event_chunks
from mesocosm.store.search import Searches

_KEPT = 16
"""Chunks of which the messages are remembered; halving comes back to the same ones."""

_events = msgspec.json.Decoder(Event)
_message = Wanted(frozenset({Kind.MESSAGE}), "", None)

Messages = dict[int, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Payloads of `message` events (each with its `index`), rising by index, the latest of those asked for.

    `rest` are runs `(first, last)` of indexes that were not looked for yet: ask for them next. What is neither here
    nor there is not in the trace, or in a damaged part of it.
    """

    messages: tuple[dict[str, Any], ...]
    rest: tuple[tuple[int, int], ...] = ()


class Conversations(Searches):
    """Messages of the store."""

    def messages(
        self,
        episode_id: str,
        indexes: Sequence[Sequence[int]],
        before_seq: int,
        *,
        limit: int = 1_000,
        budget_s: float = 0.05,
    ) -> MessagePage:
        """Return the messages that the event at `before_seq` refers to as runs `[first, last]` of indexes.

        Messages are numbered in the order they are recorded, so the end of each run is found by halving, and the run
        read from there down. It ends after `limit` messages or when `budget_s` is used up. Raises UnknownName.
        """
        trace = _Trace(self, episode_id, self._spans(episode_id, before_seq))
        end = time.monotonic() + budget_s
        found: Messages = {}
        left = sorted((int(first), int(last)) for first, last in indexes if 0 <= first <= last)
        while left and len(found) < limit:
            first, last = left.pop()
            reached = trace.read(first, last, found, limit, end)
            if reached is not None and reached >= first:
                left.append((first, reached))
                break
            if time.monotonic() > end:
                break
        return MessagePage(tuple(found[index] for index in sorted(found)), tuple(left))

    def _spans(self, episode_id: str, before: int) -> list[int]:
        """Return the first position of every chunk that may hold events before a position."""
        column = event_chunks.c
        wanted = select(column.first_event).where(column.episode_id == episode_id, column.first_event < before)
        known = select(episodes.c.id).where(episodes.c.id == episode_id)

        def work(connection: Connection) -> list[int]:
            found = list(connection.scalars(wanted.order_by(column.first_event)))
            if not found and connection.scalar(known) is None:
                raise UnknownName(f"there is no episode {episode_id!r}; it may have been removed with its run")
            return found

        return self._database.read(work)

    def messages_of_chunk(self, episode_id: str, first: int) -> Messages:
        """Return the messages of the chunk that begins with event `first`; none when it is damaged."""
        piece = next(self.pieces(episode_id, first), None)
        if piece is None or piece.chunk is None or not _message.possible(piece.chunk.raw):
            return {}
        lines = piece.chunk.raw.rstrip(b"\n").split(b"\n")
        payloads = [_events.decode(line).payload for line in lines if _message.fits(line)]
        return {found["index"]: found for found in payloads if isinstance(found, dict) and _numbered(found)}


def _numbered(payload: dict[str, Any]) -> bool:
    return type(payload.get("index")) is int


class _Trace:
    """The chunks of one episode, seen as the messages in them."""

    def __init__(self, store: Conversations, episode_id: str, starts: list[int]) -> None:
        self._store = store
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
            self._known[place] = self._store.messages_of_chunk(self._episode_id, self._starts[place])
        return self._known[place]
