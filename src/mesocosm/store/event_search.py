"""Search for events in one long episode, in short requests that each continue where the last one stopped."""

import re
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from mesocosm.core.entry import Chunk
from mesocosm.core.event import Event, Kind

# A line as the recorder writes it. Lines from elsewhere may be formatted differently; they are decoded instead.
_HEAD = re.compile(rb'\{"seq":\d+,"step":(-?\d+),"at":[^,"]+,"kind":"(\w+)"(?:,"payload":|\})')
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPED = re.compile(r'["\\/\x00-\x1f\x7f-\U0010ffff]+')

_events = msgspec.json.Decoder(Event)
_encode = msgspec.json.Encoder().encode


def seen(payload: bytes) -> str:
    """Return JSON text as displayed: UTF-8 decoded, escapes resolved."""
    text = payload.decode(errors="replace")
    if "\\" not in text:
        return text
    text = _ESCAPE.sub(_resolve, text)
    if text.isprintable():
        return text
    # Join surrogate pairs whose halves were escaped separately.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _resolve(found: re.Match[str]) -> str:
    number, letter = found.groups()
    return chr(int(number, 16)) if number else _LETTERS.get(letter, letter)


class EventFilter:
    """Event kinds (None: all), text in the payload, and step (None: any) to search for."""

    def __init__(self, kinds: frozenset[Kind] | None, text: str, step: int | None) -> None:
        self._kinds = None if kinds is None else frozenset(kind.value.encode() for kind in kinds)
        self._step = step
        self._text = text.casefold()
        # The longest part that JSON cannot write in another way: ASCII text without it cannot contain the whole.
        self._part = max(_ESCAPED.split(self._text), key=len).encode()
        self._plain = self._text.encode() if self._text.isascii() else b""

    def possible(self, raw: bytes) -> bool:
        """Return whether any line of a chunk may match."""
        if self._kinds is not None and not any(b'"' + kind + b'"' in raw for kind in self._kinds):
            return False
        # Non-ASCII letters may casefold to ASCII ones, and an escape may represent any letter.
        if not self._part or not raw.isascii() or b"\\u" in raw:
            return True
        return self._part in raw.lower()

    def fits(self, line: bytes) -> bool:
        """Return whether the line of an event matches."""
        if self._kinds is None and self._step is None and not self._text:
            return True
        head = _HEAD.match(line)
        if head is not None:
            step, kind, payload = int(head[1]), head[2], line[head.end() :]
        else:
            try:
                event = _events.decode(line)
            except msgspec.MsgspecError:
                return self._kinds is None and self._step is None and self._occurs(line)
            step, kind, payload = event.step, event.kind.value.encode(), _encode(event.payload)
        if self._kinds is not None and kind not in self._kinds:
            return False
        return (self._step is None or step == self._step) and self._occurs(payload)

    def _occurs(self, payload: bytes) -> bool:
        if not self._text:
            return True
        if payload.isascii():
            low = payload.lower()
            if b"\\" not in low:
                return bool(self._plain) and self._plain in low
            if self._part and b"\\u" not in low and self._part not in low:
                return False
        return self._text in seen(payload).casefold()


@dataclass(frozen=True, slots=True)
class EventPage:
    """Raw JSON lines of events in the order found, and the position to continue from (None: the end was reached).

    `scanned` is the number of events examined. `damaged` are unreadable ranges `(first, last)` of events.
    """

    lines: tuple[bytes, ...]
    next: int | None
    scanned: int
    damaged: tuple[tuple[int, int], ...] = ()


class TracePiece(NamedTuple):
    """Events `first` to `last` of an episode; `chunk` is None if they are damaged."""

    first: int
    last: int
    chunk: Chunk | None


@dataclass(slots=True)
class EventSearch:
    """Collects matching events until there are `limit`, or the monotonic time `end` has passed."""

    limit: int
    end: float
    backward: bool
    lines: list[bytes] = field(default_factory=list)
    damaged: list[tuple[int, int]] = field(default_factory=list)
    scanned: int = 0
    next: int | None = None

    def take(self, piece: TracePiece, first: int, wanted: EventFilter) -> None:
        """Search the events of a piece, and set `next` to the position to continue from."""
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
        """Whether the search can stop."""
        return len(self.lines) >= self.limit or time.monotonic() > self.end
