"""The index of what was said: kept up in the background, from what runs have committed.

Every run with episodes that the index may not have is in the table `search_pending`, from before they are written until
the index has them all. So a process may die at any time and any number may index at once: a block is stored only if its
episodes are still what they were when it was made, and if nobody has stored it meanwhile.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import zstandard
from sqlalchemy import ColumnElement, Connection, Integer, delete, func, literal_column, select

from mesocosm.core.entry import Chunk
from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure, InfrastructureError, MesocosmError, UnknownName
from mesocosm.core.score import Metric, Score
from mesocosm.core.verdict import Verdict, verdict
from mesocosm.store.blobs import Blobs
from mesocosm.store.database import Database, batches
from mesocosm.store.rows import run_from
from mesocosm.store.schema import episodes, runs, search_blocks, search_pages, search_pending
from mesocosm.store.search_blocks import SIZE, BlockBuilder, bits
from mesocosm.store.search_words import indexed_words, utterances, with_content
from mesocosm.store.traces import Traces

_log = logging.getLogger(__name__)

VERDICTS = tuple(Verdict)
"""The verdicts whose sets a block stores, in this order; other episodes have a score that neither passes nor fails."""
_FEW = 64
"""New episodes of a run in progress that are left to be searched without the index."""
_READ = 200

_FINISHED = sorted(status.value for status in FINISHED)


Item = TypeVar("Item")


class IndexedEpisode(NamedTuple):
    """A finished episode as the index needs it; its fields tell whether it has changed."""

    id: str
    position: int
    checksum: str | None
    score: float | None
    outcome: str | None
    status: str
    cause: str | None

    def verdict(self, metric: Metric | None) -> str:
        """Return the verdict by the metric that says what passes; empty if it neither passes nor fails."""
        name = "" if metric is None else metric.score
        scores = {
            "scored": (Score(name, self.score),),
            "worst": (Score(name, worst=True),),
            "skipped": (Score(name, None, Cause.SKIPPED),),
            "missing": (Score(name, None, Cause.VALUE_MISSING),),
        }
        failure = None if self.cause is None else Failure(Cause(self.cause), Boundary.MODEL, "")
        status, given = EpisodeStatus(self.status), scores.get(self.outcome or "", ())
        return verdict(Episode(self.id, "", "", "", status=status, failure=failure, scores=given), metric) or ""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Positions of a plan: their number, finished episodes, and those in the index."""

    number: int
    finished: int
    indexed: int


class SearchIndex:
    """Brings the index up to date."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._traces = Traces(database)
        self._blobs = Blobs(database)

    def update(
        self, run_id: str = "", *, end: float = float("inf"), indexed: Callable[[int], None] | None = None
    ) -> bool:
        """Index finished episodes, of the newest runs first, until the monotonic time `end`.

        Return whether nothing is left to do. `indexed` is called with numbers of new episodes. Raises
        InfrastructureError.
        """
        wanted = select(search_pending.c.run_id).order_by(search_pending.c.run_id.desc())
        if run_id:
            wanted = wanted.where(search_pending.c.run_id == run_id)
        ids = [row["run_id"] for row in self._database.all(wanted)]
        done = [time.monotonic() < end and self._update(pending, end, indexed) for pending in ids]
        return all(done)

    def pending(self) -> int:
        """Return how many finished episodes are not in the index."""

        def work(connection: Connection) -> int:
            ids = connection.scalars(select(search_pending.c.run_id)).all()
            waiting = [stretch for run_id in ids for stretch in _stretches(connection, run_id)]
            return sum(max(0, stretch.finished - stretch.indexed) for stretch in waiting)

        return self._database.read(work)

    def _update(self, run_id: str, end: float, indexed: Callable[[int], None] | None) -> bool:
        going = self._database.scalar(select(runs.c.id).where(runs.c.id == run_id, runs.c.holder.is_not(None)))
        for stretch in self._database.read(lambda connection: _stretches(connection, run_id)):
            if stretch.finished == stretch.indexed or (going and not _due(stretch)):
                continue
            if time.monotonic() > end:
                return False
            try:
                new = self._index(run_id, stretch)
            except UnknownName:  # deleted meanwhile
                return True
            if indexed is not None:
                indexed(new)
        return bool(going) or self._database.write(lambda connection: _settle(connection, run_id))

    def _index(self, run_id: str, stretch: _Stretch) -> int:
        """Index the finished episodes of a stretch anew; return how many are new, 0 if they changed meanwhile."""
        metric, found, indexed = self._database.read(
            lambda connection: (
                passing_of(connection, run_id),
                _episodes(connection, run_id, stretch.number),
                _indexed(connection, run_id, stretch.number),
            )
        )
        if indexed != stretch.indexed:  # another process does the same
            return 0
        made: list[tuple[BlockBuilder, Sequence[IndexedEpisode]]] = []
        builder, start = BlockBuilder(), 0
        for number, (episode, chunks) in enumerate(read_traces(self._traces, found, lambda one: one.id), 1):
            builder.add(episode.id, indexed_words(utterances(with_content(chunks, self._blobs))))
            if builder.full:
                made.append((builder, found[start:number]))
                builder, start = BlockBuilder(), number
        if builder.ids:
            made.append((builder, found[start:]))
        blocks, pages = [], []
        pack = zstandard.ZstdCompressor(level=6).compress
        for part, (builder, some) in enumerate(made):
            count, packed = builder.pages()
            place = (run_id, stretch.number, part)
            verdicts = _verdicts([episode.verdict(metric) for episode in some])
            blocks.append((*place, len(some), count, verdicts, pack("\n".join(builder.ids).encode())))
            pages += [(*place, number, data) for number, data in sorted(packed.items())]

        def work(connection: Connection) -> int:
            lock(connection, run_id)
            now = set(_episodes(connection, run_id, stretch.number))
            if not now.issuperset(found) or _indexed(connection, run_id, stretch.number) != stretch.indexed:
                return 0
            mine = (search_blocks.c.run_id == run_id, search_blocks.c.stretch == stretch.number)
            connection.execute(delete(search_blocks).where(*mine))
            self._database.add(connection, search_blocks, blocks)
            self._database.add(connection, search_pages, pages)
            return len(found) - stretch.indexed

        return self._database.write(work)


def expect(database: Database, connection: Connection, run_id: str) -> None:
    """Record that a run has, or will have, episodes that are not in the index."""
    new = database.insert(search_pending).values(run_id=run_id)
    connection.execute(new.on_conflict_do_nothing())


def forget(database: Database, connection: Connection, run_id: str, which: ColumnElement[bool] | None = None) -> None:
    """Remove from the index the stretches with the episodes of a run that match `which`, or all of them.

    Call it in the transaction that changes or deletes these episodes, before it does.
    """
    lock(connection, run_id)
    gone = delete(search_blocks).where(search_blocks.c.run_id == run_id)
    if which is not None:
        stretches = select(episodes.c.position // SIZE).where(episodes.c.run_id == run_id, which)
        gone = gone.where(search_blocks.c.stretch.in_(stretches))
    connection.execute(gone)
    expect(database, connection, run_id)


def lock(connection: Connection, run_id: str) -> None:
    """Keep others from changing the index of a run until this transaction ends; SQLite has one writer anyway."""
    connection.execute(select(runs.c.id).where(runs.c.id == run_id).with_for_update())


def passing_of(connection: Connection, run_id: str) -> Metric | None:
    """Return the metric that says which episodes of a run pass; None if none does. Raises UnknownName."""
    row = connection.execute(select(runs).where(runs.c.id == run_id)).mappings().one_or_none()
    if row is None:
        raise UnknownName(f"there is no run {run_id!r}; it may have been deleted")
    return run_from(row).passing


def unindexed(connection: Connection, run_id: str, most: int) -> list[IndexedEpisode]:
    """Return finished episodes of a run that are not in the index, at most `most`, in plan order."""
    found: list[IndexedEpisode] = []
    for stretch in _stretches(connection, run_id):
        if stretch.finished == stretch.indexed:
            continue
        column = search_blocks.c
        stored = select(column.ids).where(column.run_id == run_id, column.stretch == stretch.number)
        known = {key for packed in connection.scalars(stored) for key in read_ids(packed)}
        found += [one for one in _episodes(connection, run_id, stretch.number) if one.id not in known]
        if len(found) >= most:
            break
    return found[:most]


def read_ids(packed: bytes) -> list[str]:
    """Return the ids of the episodes of a block, as stored."""
    return zstandard.ZstdDecompressor().decompress(packed).decode().split("\n")


def read_traces(
    traces: Traces, items: Sequence[Item], id_of: Callable[[Item], str]
) -> Iterator[tuple[Item, Sequence[Chunk] | Iterator[Chunk]]]:
    """Yield episodes with their traces, without chunks that are damaged or gone."""
    for some in batches(items, _READ):
        try:
            short = traces.short([id_of(item) for item in some])
        except InfrastructureError:
            short = {}
        for item in some:
            yield item, short[id_of(item)] if id_of(item) in short else _readable(traces, id_of(item))


def _readable(traces: Traces, episode_id: str) -> Iterator[Chunk]:
    try:
        for piece in traces.pieces(episode_id, 0):
            if piece.chunk is not None:
                yield piece.chunk
    except UnknownName:  # deleted meanwhile
        return


def _due(stretch: _Stretch) -> bool:
    """Return whether to index a stretch although the run goes on: each of its episodes is indexed twice on average."""
    return stretch.finished >= SIZE or stretch.finished >= max(_FEW, 2 * stretch.indexed)


def _stretches(connection: Connection, run_id: str) -> list[_Stretch]:
    # Written out: PostgreSQL does not see that two parameters are equal.
    number = episodes.c.position // literal_column(str(SIZE), Integer)
    finished = select(number, func.count()).where(episodes.c.run_id == run_id, episodes.c.status.in_(_FINISHED))
    total = func.sum(search_blocks.c.episodes)
    stored = select(search_blocks.c.stretch, total).where(search_blocks.c.run_id == run_id)
    indexed = {key: int(value) for key, value in connection.execute(stored.group_by(search_blocks.c.stretch))}
    counted = {key: int(value) for key, value in connection.execute(finished.group_by(number))}
    return [_Stretch(key, counted.get(key, 0), indexed.get(key, 0)) for key in sorted({*counted, *indexed})]


def _indexed(connection: Connection, run_id: str, stretch: int) -> int:
    mine = (search_blocks.c.run_id == run_id, search_blocks.c.stretch == stretch)
    return int(connection.scalar(select(func.sum(search_blocks.c.episodes)).where(*mine)) or 0)


def _episodes(connection: Connection, run_id: str, stretch: int) -> list[IndexedEpisode]:
    column = episodes.c
    wanted = (
        select(
            *(column.id, column.position, column.checksum, column.score, column.outcome),
            *(column.status, column.failure_cause),
        )
        .where(column.run_id == run_id, column.status.in_(_FINISHED))
        .where(column.position >= stretch * SIZE, column.position < (stretch + 1) * SIZE)
        .order_by(column.position, column.task_digest, column.trial)
    )
    return [IndexedEpisode(*row) for row in connection.execute(wanted)]


def _settle(connection: Connection, run_id: str) -> bool:
    """Remove a run from the pending ones if no process works on it and the index has all of its episodes."""
    lock(connection, run_id)
    held = connection.scalar(select(runs.c.id).where(runs.c.id == run_id, runs.c.holder.is_not(None)))
    if held or any(stretch.finished != stretch.indexed for stretch in _stretches(connection, run_id)):
        return False
    connection.execute(delete(search_pending).where(search_pending.c.run_id == run_id))
    return True


def _verdicts(given: Sequence[str]) -> bytes:
    """Return the sets of episodes by verdict, one after the other, all of the same length."""
    size = (len(given) + 7) // 8
    sets = (bits([n for n, verdict in enumerate(given) if verdict == name]) for name in VERDICTS)
    return b"".join(found.to_bytes(size, "little") for found in sets)


def verdict_sets(data: bytes) -> dict[str, int]:
    """Return the sets of the episodes of a block by verdict, as stored."""
    size = len(data) // len(VERDICTS)
    parts = (data[place * size : (place + 1) * size] for place in range(len(VERDICTS)))
    return {name: int.from_bytes(part, "little") for name, part in zip(VERDICTS, parts, strict=True)}


class IndexKeeper:
    """A thread that keeps the index up to date, at most half of its time, so that others of the process get theirs."""

    SLICE_S = 0.2
    PAUSE_S = 2.0
    FAILED_S = 60.0

    def __init__(self, index: Callable[[], SearchIndex]) -> None:
        self._index = index
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._work, name="mesocosm-search-index", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after the block that is being made."""
        self._leaving.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        pause = self.SLICE_S
        while not self._leaving.wait(pause):
            began = time.monotonic()
            try:
                done = self._index().update(end=began + self.SLICE_S)
            except MesocosmError as error:
                _log.info("the search index cannot be kept up at the moment: %s", error)
                pause = self.FAILED_S
            else:
                pause = self.PAUSE_S if done else time.monotonic() - began
