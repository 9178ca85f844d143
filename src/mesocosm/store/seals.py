"""Checksums of finished episodes and the chain over them, so that damage and later changes of results are noticed.

The checksum of an episode has two parts: of its row with its scores, and of the events of its trace. The chain of a run
goes over its finished episodes in the order in which they were committed: each link is the digest of the one before and
the episode's checksum. Its head stands in the run's row as `COUNT:DIGEST`. Episodes and runs of before there were
checksums have none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, func, select, update

from mesocosm.core.entry import Chunk
from mesocosm.core.episode import FINISHED
from mesocosm.store.schema import episodes, event_chunks, runs, scores

_FINISHED = sorted(status.value for status in FINISHED)
_BATCH = 200
HALF = 32
SEALED = 2
"""Columns at the end of an episode's row that are not under its checksum: they hold it."""

_encode = msgspec.json.Encoder().encode

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Chain:
    """The end of a chain: how many links it has, and the digest of the last."""

    length: int = 0
    head: str = ""

    def __str__(self) -> str:
        return f"{self.length}:{self.head}"

    def extended(self, checksum: str) -> "Chain":
        """Return the chain with one more episode."""
        return Chain(self.length + 1, _digest(self.head.encode() + checksum.encode()))


def read_chain(text: str | None) -> Chain | None:
    """Return the chain that a run's row holds; None where it has none, or one that cannot be read."""
    length, _, head = (text or "").partition(":")
    return Chain(int(length), head) if length.isdecimal() else None


def row_checksum(row: Row, score_rows: Iterable[Row]) -> str:
    """Return the checksum of an episode's row (its columns before the checksum) with the rows of its scores."""
    listed = sorted((_plain(score) for score in score_rows), key=lambda score: str(score[1]))
    return _digest(_encode([_plain(row), listed]))


def trace_checksum(chunks: Iterable[bytes]) -> str:
    """Return the checksum of a trace of whose chunks `chunk_checksum` gave these."""
    return _digest(b"".join(chunks))


def chunk_checksum(chunk: Chunk) -> bytes:
    """Return the checksum of a chunk with its place."""
    place = b"%d %d %d %d %d " % (chunk.seq, chunk.first, chunk.last, chunk.first_step, chunk.last_step)
    return blake2b(place + chunk.raw, digest_size=16).digest()


def rechain(connection: Connection, run_id: str) -> Chain:
    """Compute the chain of a run anew over the checksums that its episodes have, and write it."""
    end = chain_of(checksums(connection, run_id))
    connection.execute(update(runs).where(runs.c.id == run_id).values(chain=str(end)))
    return end


def chain_of(sealed: Iterable[str]) -> Chain:
    """Return the chain over checksums in their order."""
    end = Chain()
    for checksum in sealed:
        end = end.extended(checksum)
    return end


def checksums(connection: Connection, run_id: str) -> Iterator[str]:
    """Yield the checksums of the finished episodes of a run in the order of their commits."""
    wanted = select(episodes.c.checksum).where(
        episodes.c.run_id == run_id, episodes.c.checksum.is_not(None), episodes.c.status.in_(_FINISHED)
    )
    yield from connection.scalars(wanted.order_by(episodes.c.link, episodes.c.id))


def reseal(connection: Connection, run_id: str, ids: Sequence[str]) -> None:
    """Compute the checksums of the rows of episodes anew after a change that was meant; their traces keep theirs.

    Episodes without a checksum stay without. The chain of the run is to be computed when the change is complete.
    """
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        found = {
            episode_id: row_checksum(row[:-SEALED], listed)
            for episode_id, row, listed in stored_rows(connection, some)
            if row[-SEALED]
        }
        known = {key: sealed for key, (sealed, _link) in seals_of(connection, list(found)).items()}
        new = [{"key": key, "new": whole + known[key][HALF:]} for key, whole in found.items()]
        if new:
            mine = update(episodes).where(episodes.c.id == bindparam("key"))
            connection.execute(mine.values(checksum=bindparam("new")), new)
    connection.execute(update(runs).where(runs.c.id == run_id).values(chain=None))


def stored_rows(connection: Connection, ids: Sequence[str]) -> Iterator[tuple[str, Row, list[Row]]]:
    """Yield the named episodes: id, row, rows of scores."""
    listed: dict[str, list[Row]] = {}
    for score in connection.execute(select(scores).where(scores.c.episode_id.in_(ids))):
        listed.setdefault(score.episode_id, []).append(tuple(score))
    for row in connection.execute(select(episodes).where(episodes.c.id.in_(ids))).all():
        yield row.id, tuple(row), listed.get(row.id, [])


def seals_of(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[str, int | None]]:
    """Return checksum and link of those of the named episodes that have them."""
    mine = episodes.c
    wanted = select(mine.id, mine.checksum, mine.link).where(mine.id.in_(ids), mine.checksum.is_not(None))
    return {episode_id: (checksum, link) for episode_id, checksum, link in connection.execute(wanted)}


def seal_new(
    connection: Connection, run_id: str, ids: Sequence[str], read: Callable[[Row], Chunk], links: Mapping[str, int]
) -> dict[str, str]:
    """Give finished episodes that were inserted as they are their checksums, and return these.

    `read` returns a chunk of a row of the table of chunks. Without `links` they come after all others of the run.
    """
    sealed: dict[str, str] = {}
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        for episode_id, row, listed in stored_rows(connection, some):
            if row[5] not in _FINISHED:
                continue
            wanted = select(event_chunks).where(event_chunks.c.episode_id == episode_id).order_by(event_chunks.c.seq)
            trace = trace_checksum(chunk_checksum(read(tuple(chunk))) for chunk in connection.execute(wanted))
            sealed[episode_id] = row_checksum(row[:-SEALED], listed) + trace
    last = connection.scalar(select(func.max(episodes.c.link)).where(episodes.c.run_id == run_id))
    place = count(0 if last is None else last + 1)
    new = [{"key": key, "new": value, "place": links.get(key, next(place))} for key, value in sealed.items()]
    if new:
        mine = update(episodes).where(episodes.c.id == bindparam("key"))
        connection.execute(mine.values(checksum=bindparam("new"), link=bindparam("place")), new)
    return sealed


def _plain(row: Row) -> list[Any]:
    """Return the values of a row so that what was written and what is read are equal on both dialects."""
    return [_number(value) if isinstance(value, float | bool) else value for value in row]


def _number(value: float) -> float | int:
    return int(value) if value == value and abs(value) < 1e15 and float(value).is_integer() else value  # noqa: PLR0124


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
