"""Traces: the events of an episode in compressed chunks, readable from any position or step."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import zstandard
from sqlalchemy import ColumnElement, Connection, func, select

from mesocosm.core.entry import Chunk
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import InfrastructureError, UnknownName
from mesocosm.store.conversation import MESSAGES, MessagePage, Messages, MessageSearch, numbered
from mesocosm.store.database import Database
from mesocosm.store.event_search import EventFilter, EventPage, EventSearch, TracePiece
from mesocosm.store.schema import episodes, event_chunks

_LEVEL = 3
_WINDOW = 8
"""Chunks to read at once: half a megabyte of events. No connection is held while the caller processes them."""

_SHORT = 2
"""Maximum chunks of a trace to be read together with others: two hundred such traces are at most 25 MB."""

_events = msgspec.json.Decoder(Event)


def compress(raw: Sequence[bytes]) -> list[bytes]:
    """Return each piece compressed with zstandard."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    if len(raw) > 1 and all(raw) and hasattr(compressor, "multi_compress_to_buffer"):
        # A single call, because each one releases the GIL and waits to get it back. It does not accept empty pieces.
        packed = compressor.multi_compress_to_buffer(list(raw))
        return [packed[place].tobytes() for place in range(len(packed))]
    return [compressor.compress(piece) for piece in raw]


def chunk_rows(chunks: Sequence[tuple[str, Chunk]]) -> list[tuple[Any, ...]]:
    """Return chunks, each with its episode's id, as values in the order of the table's columns."""
    data = compress([chunk.raw for _episode_id, chunk in chunks])
    return [
        (
            episode_id,
            chunk.seq,
            chunk.first,
            chunk.last,
            chunk.first_step,
            chunk.last_step,
            len(chunk.raw),
            packed,
        )
        for (episode_id, chunk), packed in zip(chunks, data, strict=True)
    ]


class Traces:
    """Events of episodes. `redact` is applied to the JSON lines of each chunk as it is read."""

    def __init__(self, database: Database, redact: Callable[[bytes], bytes] | None = None) -> None:
        self._database = database
        self._redact = redact

    def events(self, episode_id: str, *, first: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield at most `limit` events of an episode from position `first` on, reading only the chunks needed.

        Raises UnknownName for an unknown episode, InfrastructureError for a damaged chunk.
        """
        end = sys.maxsize if limit is None else first + limit
        if end <= first:
            return
        for chunk in self.chunks(episode_id, first, event_chunks.c.first_event < end):
            lines = chunk.raw.rstrip(b"\n").split(b"\n")
            for line in lines[max(first - chunk.first, 0) : end - chunk.first]:
                yield _events.decode(line)
            if chunk.last + 1 >= end:
                return

    def chunks(self, episode_id: str, first: int = 0, *conditions: ColumnElement[bool]) -> Iterator[Chunk]:
        """Yield the chunks of an episode from the one with event `first` on.

        Raises UnknownName, InfrastructureError.
        """
        window = 1
        while True:
            found = self._window(episode_id, first, window, conditions)
            yield from found
            if len(found) < window:
                return
            first, window = found[-1].last + 1, _WINDOW

    def short(self, ids: Sequence[str]) -> dict[str, list[Chunk]]:
        """Return the complete traces of those of the given episodes that have at most two chunks, in two queries."""
        mine = event_chunks.c.episode_id
        many = select(mine).where(mine.in_(ids)).group_by(mine).having(func.count() > _SHORT)

        def work(connection: Connection) -> dict[str, list[Chunk]]:
            long = set(connection.scalars(many))
            found: dict[str, list[Chunk]] = {episode_id: [] for episode_id in ids if episode_id not in long}
            wanted = select(event_chunks).where(mine.in_(found)).order_by(mine, event_chunks.c.seq)
            for row in connection.execute(wanted):
                found[row.episode_id].append(self._chunk(*row))
            return found

        return self._database.read(work)

    def _window(
        self, episode_id: str, first: int, window: int, conditions: tuple[ColumnElement[bool], ...]
    ) -> list[Chunk]:
        wanted = (
            select(event_chunks)
            .where(event_chunks.c.episode_id == episode_id, event_chunks.c.last_event >= first, *conditions)
            .order_by(event_chunks.c.last_event)
            .limit(window)
        )

        def work(connection: Connection) -> list[Chunk]:
            found = [self._chunk(*row) for row in connection.execute(wanted)]
            known = select(episodes.c.id).where(episodes.c.id == episode_id)
            if not found and connection.scalar(known) is None:
                raise UnknownName(f"there is no episode {episode_id!r}; it may have been removed with its run")
            return found

        return self._database.read(work)

    def read_chunk(self, row: Sequence[Any]) -> Chunk:
        """Return the chunk of a row of the table. Raises InfrastructureError if it is damaged."""
        return self._chunk(*row)

    def _chunk(self, episode_id: str, seq: int, *fields: Any) -> Chunk:
        first, last, first_step, last_step, raw_bytes, data = fields
        try:
            raw = zstandard.ZstdDecompressor().decompress(data)
        except zstandard.ZstdError as error:
            raw = b""
            reason = str(error)
        else:
            reason = f"{len(raw)} bytes instead of {raw_bytes}"
        if len(raw) != raw_bytes:
            raise InfrastructureError(
                f"events {first} to {last} of episode {episode_id} in {self._database.place} are damaged ({reason}); "
                "restore a backup, or rerun the episode"
            )
        return Chunk(seq, first, last, first_step, last_step, raw if self._redact is None else self._redact(raw))

    def find(
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
        """Return matching events from position `first` on (`backward`: from there down to 0), as raw JSON lines.

        `text` must occur in the payload as displayed: escapes resolved, ignoring case. The search stops after `limit`
        events or `budget_s` seconds; continue it from `next`. Raises UnknownName.
        """
        wanted = EventFilter(kinds, text, step)
        found = EventSearch(max(limit, 1), time.monotonic() + budget_s, backward)
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
        """Return the position of the first event of a step, None if it has none. Raises UnknownName."""
        page = self.find(episode_id, step=step, limit=1, budget_s=float("inf"))
        return _events.decode(page.lines[0]).seq if page.lines else None

    def pieces(
        self, episode_id: str, first: int, *conditions: ColumnElement[bool], backward: bool = False
    ) -> Iterator[TracePiece]:
        """Yield the chunks of an episode from the one with event `first` upwards, or downwards. Raises UnknownName.

        Damaged chunks are yielded without content.
        """
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

    def _piece(self, *row: Any) -> TracePiece:
        try:
            return TracePiece(row[2], row[3], self._chunk(*row))
        except InfrastructureError:
            return TracePiece(row[2], row[3], None)

    def _holds(self, episode_id: str, first: int, *conditions: ColumnElement[bool], backward: bool) -> bool:
        column = event_chunks.c
        beyond = column.first_event <= first if backward else column.last_event >= first
        wanted = select(column.seq).where(column.episode_id == episode_id, beyond, *conditions).limit(1)
        return self._database.scalar(wanted) is not None

    def messages(
        self,
        episode_id: str,
        indexes: Sequence[Sequence[int]],
        before_seq: int,
        *,
        limit: int = 1_000,
        budget_s: float = 0.05,
    ) -> MessagePage:
        """Return the messages that the event at `before_seq` refers to, given as ranges `[first, last]` of indexes.

        Messages are numbered in recording order, so a binary search finds the end of each range, which is read
        downwards from there. It stops after `limit` messages or `budget_s` seconds. Raises UnknownName.
        """
        trace = MessageSearch(self.messages_of_chunk, episode_id, self._spans(episode_id, before_seq))
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
        """Return the first position of every chunk that may contain events before a position."""
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
        """Return the messages in the chunk with event `first`; empty if it is damaged."""
        piece = next(self.pieces(episode_id, first), None)
        if piece is None or piece.chunk is None or not MESSAGES.possible(piece.chunk.raw):
            return {}
        lines = piece.chunk.raw.rstrip(b"\n").split(b"\n")
        payloads = [_events.decode(line).payload for line in lines if MESSAGES.fits(line)]
        return {found["index"]: found for found in payloads if isinstance(found, dict) and numbered(found)}
