"""Checksums of finished episodes and the chain over them, so that damage and later changes of results are noticed.

The checksum of an episode has two parts: of its row with its scores, and of the events of its trace. The latter is made
of the checksums that zstandard keeps of the content of each chunk, so nothing is digested twice. The chain of a run
goes over its finished episodes in the order in which they were committed: each link is the digest of the one before and
the episode's checksum. Its head stands in the run's row as `COUNT:DIGEST`. Episodes and runs of before there were
checksums have none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from operator import itemgetter
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, func, select, update

from mesocosm.core.episode import FINISHED
from mesocosm.store.database import batches
from mesocosm.store.schema import episodes, event_chunks, runs, scores

_FINISHED = sorted(status.value for status in FINISHED)
_BATCH = 200
HALF = 32
SEALED = 2
"""Columns at the end of an episode's row that are not under its checksum: they hold it."""

_FRAME_CHECKSUM = 4
"""Bytes at the end of a zstandard frame: a checksum of what it decompresses to."""

_HELD = 2_047
"""Bytes that hashlib digests without giving Python's lock away: beside a busy event loop it comes back 5 ms later."""

_PLAIN = frozenset({str, int, type(None)})
_NAME = itemgetter(1)
_encode = msgspec.json.Encoder().encode

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Chain:
    """The end of a chain: how many links it has, and the digest of the last."""

    length: int = 0
    head: str = ""

    def __str__(self) -> str:
        return f"{self.length}:{self.head}"

    def extended(self, sealed: Iterable[str]) -> "Chain":
        """Return the chain with the episodes that have these checksums at its end."""
        length, head = self.length, self.head
        for checksum in sealed:
            head = _digest((head + checksum).encode())
            length += 1
        return Chain(length, head)


def read_chain(text: str | None) -> Chain | None:
    """Return the chain that a run's row holds; None where it has none, or one that cannot be read."""
    length, _, head = (text or "").partition(":")
    return Chain(int(length), head) if length.isdecimal() else None


def row_checksum(row: Row, score_rows: Iterable[Row]) -> str:
    """Return the checksum of an episode's row (its columns before the checksum) with the rows of its scores."""
    listed = [_plain(score) for score in score_rows]
    if len(listed) > 1:
        listed.sort(key=_NAME)
    return _digest(_encode([_plain(row), listed]))


def trace_checksum(chunks: Iterable[Row], before: str = "") -> str:
    """Return the checksum of a trace of whose chunks these are the rows, in order; `before` is that of earlier ones.

    It tells of other content only if decompressing compares each chunk with the checksum at the end of its frame.
    """
    for chunk in chunks:
        place = b"%b %d %d %d %d %d %d " % (before.encode(), *chunk[1:7])
        before = _digest(place + chunk[7][-_FRAME_CHECKSUM:])
    return before


def rechain(connection: Connection, run_id: str) -> Chain:
    """Compute the chain of a run anew over the checksums that its episodes have, and write it."""
    end = Chain().extended(checksums(connection, run_id))
    connection.execute(update(runs).where(runs.c.id == run_id).values(chain=str(end)))
    return end


def checksums(connection: Connection, run_id: str) -> Iterator[str]:
    """Yield the checksums of the finished episodes of a run in the order of their commits."""
    wanted = select(episodes.c.checksum).where(
        episodes.c.run_id == run_id, episodes.c.checksum.is_not(None), episodes.c.status.in_(_FINISHED)
    )
    yield from connection.scalars(wanted.order_by(episodes.c.link, episodes.c.id))


def reseal(connection: Connection, run_id: str, ids: Sequence[str]) -> None:
    """Recompute the checksums of changed episode rows that have one. Recompute the chain of the run afterwards."""
    for some in batches(ids):
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


def seal_new(connection: Connection, run_id: str, ids: Sequence[str], links: Mapping[str, int]) -> dict[str, str]:
    """Give inserted finished episodes their checksums and return these. Without `links` they are appended."""
    sealed: dict[str, str] = {}
    for some in batches(ids):
        for episode_id, row, listed in stored_rows(connection, some):
            if row[5] not in _FINISHED:
                continue
            wanted = select(event_chunks).where(event_chunks.c.episode_id == episode_id).order_by(event_chunks.c.seq)
            trace = trace_checksum(connection.execute(wanted))
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
    return [value if value.__class__ in _PLAIN else _number(value) for value in row]


def _number(value: float) -> float | int:
    return int(value) if abs(value) < 1e15 and float(value).is_integer() else float(value)


def _digest(data: bytes) -> str:
    if len(data) <= _HELD:
        return blake2b(data, digest_size=16).hexdigest()
    whole = blake2b(digest_size=16)
    for start in range(0, len(data), _HELD):
        whole.update(data[start : start + _HELD])
    return whole.hexdigest()
