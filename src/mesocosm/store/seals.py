"""Checksums of finished episodes and a hash chain over them, to detect damage and later changes of results.

The checksum of an episode has two halves: one of its row with its scores, one of its trace. The latter is computed from
the checksums that zstandard stores with each chunk, so nothing is hashed twice. The chain of a run covers its finished
episodes in commit order: each link is the digest of the previous one and the episode's checksum. Its head is stored in
the run's row as `COUNT:DIGEST`. Episodes and runs recorded before checksums were introduced have none.
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
from mesocosm.store.rows import TASKED
from mesocosm.store.schema import answers, episodes, event_chunks, runs, scores

_FINISHED = sorted(status.value for status in FINISHED)
HALF = 32
SEALED = 2
"""Number of last columns of an episode's row, `checksum` and `link`, that the checksum does not cover."""

_FRAME_CHECKSUM = 4
"""Length in bytes of the content checksum at the end of a zstandard frame."""

_HELD = 2_047
"""Bytes that hashlib hashes without releasing the GIL; next to a busy event loop, getting it back takes 5 ms."""

_PLAIN = frozenset({str, int, type(None)})
_NAME = itemgetter(1)
_encode = msgspec.json.Encoder().encode

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Chain:
    """The end of a chain: its number of links and the digest of the last one."""

    length: int = 0
    head: str = ""

    def __str__(self) -> str:
        return f"{self.length}:{self.head}"

    def extended(self, sealed: Iterable[str]) -> "Chain":
        """Return the chain extended by episodes with these checksums."""
        length, head = self.length, self.head
        for checksum in sealed:
            head = _digest((head + checksum).encode())
            length += 1
        return Chain(length, head)


def read_chain(text: str | None) -> Chain | None:
    """Return the chain stored in a run's row; None if there is none or it cannot be read."""
    length, _, head = (text or "").partition(":")
    return Chain(int(length), head) if length.isdecimal() else None


def row_checksum(row: Row, score_rows: Iterable[Row], answer: Row | None = None) -> str:
    """Return the checksum of an episode's row (its columns before the checksum) with its scores and its answer.

    Of the row of its answer it covers what was recorded, not what was derived from it.
    """
    listed = [_plain(score) for score in score_rows]
    if len(listed) > 1:
        listed.sort(key=_NAME)
    recorded = () if answer is None else answer[-len(TASKED) :]
    if all(value is None for value in recorded):
        return _digest(_encode([_plain(row), listed]))
    return _digest(_encode([_plain(row), listed, recorded]))


def trace_checksum(chunks: Iterable[Row], before: str = "") -> str:
    """Return the checksum of a trace from the rows of its chunks, in order; `before` is that of earlier chunks.

    It detects changed content only together with decompression, which verifies the checksum of each zstandard frame.
    """
    for chunk in chunks:
        place = b"%b %d %d %d %d %d %d " % (before.encode(), *chunk[1:7])
        before = _digest(place + chunk[7][-_FRAME_CHECKSUM:])
    return before


def rechain(connection: Connection, run_id: str) -> Chain:
    """Recompute the chain of a run from the checksums of its episodes, and store it."""
    end = Chain().extended(checksums(connection, run_id))
    connection.execute(update(runs).where(runs.c.id == run_id).values(chain=str(end)))
    return end


def checksums(connection: Connection, run_id: str) -> Iterator[str]:
    """Yield the checksums of the finished episodes of a run in commit order."""
    wanted = select(episodes.c.checksum).where(
        episodes.c.run_id == run_id, episodes.c.checksum.is_not(None), episodes.c.status.in_(_FINISHED)
    )
    yield from connection.scalars(wanted.order_by(episodes.c.link, episodes.c.id))


def reseal(connection: Connection, run_id: str, ids: Sequence[str]) -> None:
    """Recompute the row checksums of intentionally changed episodes that have one; their trace checksums stay.

    The chain of the run is cleared: recompute it when the change is complete.
    """
    for some in batches(ids):
        found = {
            episode_id: row_checksum(row[:-SEALED], listed, answer)
            for episode_id, row, listed, answer in stored_rows(connection, some)
            if row[-SEALED]
        }
        known = {key: sealed for key, (sealed, _link) in seals_of(connection, list(found)).items()}
        new = [{"key": key, "new": whole + known[key][HALF:]} for key, whole in found.items()]
        if new:
            mine = update(episodes).where(episodes.c.id == bindparam("key"))
            connection.execute(mine.values(checksum=bindparam("new")), new)
    connection.execute(update(runs).where(runs.c.id == run_id).values(chain=None))


def stored_rows(connection: Connection, ids: Sequence[str]) -> Iterator[tuple[str, Row, list[Row], Row | None]]:
    """Yield id, row, score rows and answer row of the given episodes."""
    listed: dict[str, list[Row]] = {}
    for score in connection.execute(select(scores).where(scores.c.episode_id.in_(ids))):
        listed.setdefault(score.episode_id, []).append(tuple(score))
    given = {
        row.episode_id: tuple(row) for row in connection.execute(select(answers).where(answers.c.episode_id.in_(ids)))
    }
    for row in connection.execute(select(episodes).where(episodes.c.id.in_(ids))).all():
        yield row.id, tuple(row), listed.get(row.id, []), given.get(row.id)


def seals_of(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[str, int | None]]:
    """Return checksum and link of those of the given episodes that have them."""
    mine = episodes.c
    wanted = select(mine.id, mine.checksum, mine.link).where(mine.id.in_(ids), mine.checksum.is_not(None))
    return {episode_id: (checksum, link) for episode_id, checksum, link in connection.execute(wanted)}


def seal_new(connection: Connection, run_id: str, ids: Sequence[str], links: Mapping[str, int]) -> dict[str, str]:
    """Store checksums of newly inserted finished episodes and return them.

    Without `links` they are appended to the chain.
    """
    sealed: dict[str, str] = {}
    for some in batches(ids):
        for episode_id, row, listed, answer in stored_rows(connection, some):
            if row[5] not in _FINISHED:
                continue
            wanted = select(event_chunks).where(event_chunks.c.episode_id == episode_id).order_by(event_chunks.c.seq)
            trace = trace_checksum(connection.execute(wanted))
            sealed[episode_id] = row_checksum(row[:-SEALED], listed, answer) + trace
    last = connection.scalar(select(func.max(episodes.c.link)).where(episodes.c.run_id == run_id))
    place = count(0 if last is None else last + 1)
    new = [{"key": key, "new": value, "place": links.get(key, next(place))} for key, value in sealed.items()]
    if new:
        mine = update(episodes).where(episodes.c.id == bindparam("key"))
        connection.execute(mine.values(checksum=bindparam("new"), link=bindparam("place")), new)
    return sealed


def _plain(row: Row) -> list[Any]:
    """Return the values of a row in a form that is equal before writing and after reading, in both dialects."""
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
