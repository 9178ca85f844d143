"""Traces: the events of an episode in compressed chunks, readable from any position or step on."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import zstandard
from sqlalchemy import ColumnElement, Connection, func, select

from mesocosm.core.entry import Chunk
from mesocosm.core.event import Event
from mesocosm.core.failure import InfrastructureError, UnknownName
from mesocosm.store.database import Database
from mesocosm.store.part import Part
from mesocosm.store.schema import episodes, event_chunks

_LEVEL = 3
_WINDOW = 8
"""Chunks read at once: half a megabyte of events, and no connection is kept while the caller works on them."""

_SHORT = 2
"""Chunks of a trace that is read together with others: two hundred of them are 25 MB at most."""

_events = msgspec.json.Decoder(Event)


def compress(raw: Sequence[bytes]) -> list[bytes]:
    """Return each piece compressed."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    if len(raw) > 1 and all(raw) and hasattr(compressor, "multi_compress_to_buffer"):
        # One call, because each one gives Python's lock away and waits to have it again; it takes no empty pieces.
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


class Traces(Part):
    """Events of the store; `redact` is applied to the JSON lines of each chunk as it is read."""

    def __init__(self, database: Database, redact: Callable[[bytes], bytes] | None = None) -> None:
        super().__init__(database)
        self._redact = redact

    def events(self, episode_id: str, *, first: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield the events of an episode from position `first` on, at most `limit`, reading only the chunks needed.

        Raises UnknownName for an unknown episode.
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

    def events_of_step(self, episode_id: str, step: int) -> Iterator[Event]:
        """Yield the events of one step, reading only the chunks that hold it. Raises UnknownName."""
        around = (event_chunks.c.first_step <= step, event_chunks.c.last_step >= step)
        for chunk in self.chunks(episode_id, 0, *around):
            for line in chunk.raw.rstrip(b"\n").split(b"\n"):
                event = _events.decode(line)
                if event.step == step:
                    yield event

    def chunks(self, episode_id: str, first: int = 0, *conditions: ColumnElement[bool]) -> Iterator[Chunk]:
        """Yield the chunks of an episode from the one that holds event `first` on. Raises UnknownName."""
        window = 1
        while True:
            found = self._window(episode_id, first, window, conditions)
            yield from found
            if len(found) < window:
                return
            first, window = found[-1].last + 1, _WINDOW

    def short_traces(self, ids: Sequence[str]) -> dict[str, list[Chunk]]:
        """Return the whole traces of those of the named episodes that have no more than two chunks, in two queries."""
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
        """Return a chunk of its row in the table. Raises InfrastructureError where it is damaged."""
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
