"""Finding events of one episode among hundreds of thousands, in short requests that go on where the last one ended."""

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from mesocosm.core.entry import Chunk
from mesocosm.core.event import Event
from mesocosm.store.event_filter import EventFilter

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


class TracePiece(NamedTuple):
    """Events `first` to `last` of an episode; without a chunk they are damaged."""

    first: int
    last: int
    chunk: Chunk | None


@dataclass(slots=True)
class EventSearch:
    """Collects the events that fit, until there are enough or the time is over."""

    limit: int
    end: float
    backward: bool
    lines: list[bytes] = field(default_factory=list)
    damaged: list[tuple[int, int]] = field(default_factory=list)
    scanned: int = 0
    next: int | None = None

    def take(self, piece: TracePiece, first: int, wanted: EventFilter) -> None:
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
        """Whether the search can end."""
        return len(self.lines) >= self.limit or time.monotonic() > self.end
