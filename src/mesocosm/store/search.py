"""Finding events of one episode among hundreds of thousands, in short requests that go on where the last one ended."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, select

from mesocosm.core.entry import Chunk
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import InfrastructureError, UnknownName
from mesocosm.store.line import Wanted
from mesocosm.store.schema import episodes, event_chunks
from mesocosm.store.traces import Traces

_WINDOW = 8
"""Chunks read at once: half a megabyte of events."""

_events = msgspec.json.Decoder(Event)


@dataclass(frozen=True, slots=True)
class EventPage:
    """Raw JSON lines of events in the order they were found, and the position to go on from (None: all were seen).

    `scanned` events were looked at. `damaged` are stretches `(first, last)` of events that cannot be read.
    """

    lines: tuple[bytes, ...]
    next: int | None
    scanned: int
    damaged: tuple[tuple[int, int], ...] = ()


class Piece(NamedTuple):
    """Events `first` to `last` of an episode; without a chunk they are damaged."""

    first: int
    last: int
    chunk: Chunk | None


@dataclass(slots=True)
class _Found:
    limit: int
    end: float
    backward: bool
    lines: list[bytes] = field(default_factory=list)
    damaged: list[tuple[int, int]] = field(default_factory=list)
    scanned: int = 0
    next: int | None = None

    def take(self, piece: Piece, first: int, wanted: Wanted) -> None:
        """Look at the events of a piece; `next` is where to go on after it."""
        self.next = piece.first - 1 if self.backward else piece.last + 1
        if piece.chunk is None:
            self.damaged.append((piece.first, piece.last))
            return
        lines = piece.chunk.raw.rstrip(b"\n").split(b"\n")
        low, high = (0, first - piece.first + 1) if self.backward else (max(first - piece.first, 0), len(lines))
        places = range(low, min(high, len(lines)))
        if not wanted.possible(piece.chunk.raw):
            self.scanned += len(places)
            return
        for place in reversed(places) if self.backward else places:
            self.scanned += 1
            if wanted.fits(lines[place]):
                self.lines.append(lines[place])
                if len(self.lines) == self.limit:
                    self.next = piece.first + place + (-1 if self.backward else 1)
                    return

    @property
    def enough(self) -> bool:
        return len(self.lines) >= self.limit or time.monotonic() > self.end


class Searches(Traces):
    """Finding events of the store."""

    def find_events(
        self,
        episode_id: str,
        *,
        first: int = 0,
        kinds: frozenset[Kind] | None = None,
        text: str = "",
        limit: int = 100,
        budget_s: float = 0.05,
        step: int | None = None,
        backward: bool = False,
    ) -> EventPage:
        """Return events from position `first` on (`backward`: from it down to 0) that fit, as raw JSON lines.

        `text` must occur in the payload as people see it: escapes resolved, without regard to case. Looking ends after
        `limit` events or when `budget_s` is used up; ask again from `next` then. Raises UnknownName.
        """
        wanted = Wanted(kinds, text, step)
        found = _Found(max(limit, 1), time.monotonic() + budget_s, backward)
        around = () if step is None else (event_chunks.c.first_step <= step, event_chunks.c.last_step >= step)
        for piece in self.pieces(episode_id, first, *around, backward=backward):
            found.take(piece, first, wanted)
            if found.enough:
                break
        else:
            found.next = None
        rest = found.next
        if rest is not None and not self._holds(episode_id, rest, *around, backward=backward):
            rest = None
        return EventPage(tuple(found.lines), rest, found.scanned, tuple(found.damaged))

    def first_event_of_step(self, episode_id: str, step: int) -> int | None:
        """Return the position of the first event of a step, None when it has none. Raises UnknownName."""
        page = self.find_events(episode_id, step=step, limit=1, budget_s=float("inf"))
        return _events.decode(page.lines[0]).seq if page.lines else None

    def pieces(
        self, episode_id: str, first: int, *conditions: ColumnElement[bool], backward: bool = False
    ) -> Iterator[Piece]:
        """Yield the chunks of an episode from the one with event `first` on, or down. Raises UnknownName."""
        window = 1
        while True:
            found = self._pieces(episode_id, first, window, conditions, backward=backward)
            for row in found:
                yield self._piece(*row)
            if len(found) < window:
                return
            _id, _seq, start, last, *_ = found[-1]
            first, window = start - 1 if backward else last + 1, _WINDOW

    def _pieces(
        self, episode_id: str, first: int, window: int, conditions: tuple[ColumnElement[bool], ...], *, backward: bool
    ) -> list[tuple[Any, ...]]:
        column = event_chunks.c
        wanted = select(event_chunks).where(column.episode_id == episode_id, *conditions)
        if backward:
            wanted = wanted.where(column.first_event <= first).order_by(column.last_event.desc())
        else:
            wanted = wanted.where(column.last_event >= first).order_by(column.last_event)
        known = select(episodes.c.id).where(episodes.c.id == episode_id)

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            found = [tuple(row) for row in connection.execute(wanted.limit(window))]
            if not found and connection.scalar(known) is None:
                raise UnknownName(f"there is no episode {episode_id!r}; it may have been removed with its run")
            return found

        return self._database.read(work)

    def _piece(self, *row: Any) -> Piece:
        try:
            return Piece(row[2], row[3], self._chunk(*row))
        except InfrastructureError:
            return Piece(row[2], row[3], None)

    def _holds(self, episode_id: str, first: int, *conditions: ColumnElement[bool], backward: bool) -> bool:
        column = event_chunks.c
        beyond = column.first_event <= first if backward else column.last_event >= first
        wanted = select(column.seq).where(column.episode_id == episode_id, beyond, *conditions).limit(1)
        return self._database.read(lambda connection: connection.scalar(wanted)) is not None
