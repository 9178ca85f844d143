"""The transactions of a journal: episodes, scores, chunks and blobs, with the counters of their run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, select, update
from sqlalchemy.exc import IntegrityError

from mesocosm.core.entry import Blob, Chunk, Entry
from mesocosm.core.episode import FINISHED, Episode, EpisodeKey, EpisodeStatus
from mesocosm.core.failure import InfrastructureError, RunLeased
from mesocosm.core.run import LeaseOwner
from mesocosm.core.usage import NOTHING, Usage
from mesocosm.store.blobs import blob_rows, insert_blobs
from mesocosm.store.clock import now
from mesocosm.store.database import Database, batches
from mesocosm.store.episodes import COUNTERS, keep_usage, primary_of, recount, threshold_of
from mesocosm.store.rows import answer_row, counted_as, episode_row, holder_from, json_text, score_rows
from mesocosm.store.run_index import refresh_index_row
from mesocosm.store.schema import answers, episodes, event_chunks, runs, scores
from mesocosm.store.seals import (
    SEALED,
    Chain,
    checksums,
    read_chain,
    rechain,
    row_checksum,
    trace_checksum,
)
from mesocosm.store.traces import chunk_rows

_OPEN = frozenset({EpisodeStatus.PENDING, EpisodeStatus.RUNNING})
_REMEMBERED = 100_000

Row = tuple[Any, ...]


@dataclass(slots=True)
class Batch:
    """Entries as rows: the last state of each episode, and all chunks and blobs."""

    episodes: dict[str, Episode] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    scores: dict[str, list[Row]] = field(default_factory=dict)
    answers: dict[str, Row] = field(default_factory=dict)
    chunks: list[Row] = field(default_factory=list)
    traces: dict[str, str] = field(default_factory=dict)
    chain: Chain = field(default_factory=Chain)
    blobs: dict[str, Row] = field(default_factory=dict)


class Writer:
    """Commits the entries of one run while `holder` has its lease.

    A normal transaction assumes that none of its rows exist and adds its sums to the run's counters. In case of doubt
    (a commit with unknown outcome, a row that exists) the entries are written idempotently, and the counters are
    recomputed from the episodes.
    """

    def __init__(self, database: Database, run_id: str, holder: LeaseOwner) -> None:
        self._database = database
        self._run_id = run_id
        self._holder = json_text(holder)
        self._open: dict[str, Usage] = {}
        self._traces: dict[str, str] = {}
        self._stored: set[str] = set()
        self._primary = database.read(lambda connection: primary_of(connection, run_id))
        self._threshold = database.read(lambda connection: threshold_of(connection, run_id))
        self._chain, self._link = database.read(self._chain_so_far)
        mine = update(runs).where(runs.c.id == run_id, runs.c.holder == self._holder)
        self._beat = mine.values(heartbeat_at=bindparam("now"))
        sums = {name: runs.c[name] + bindparam(f"new_{name}") for name in COUNTERS}
        self._count = mine.values(heartbeat_at=bindparam("now"), chain=bindparam("new_chain"), **sums)

    def confirm(self) -> None:
        """Raise RunLeased if another process has the run, InfrastructureError if it was deleted."""
        mine = select(runs.c.id).where(runs.c.id == self._run_id, runs.c.holder == self._holder)
        self._database.read(lambda connection: self._check(connection, connection.scalar(mine) is not None))

    def beat(self) -> bool:
        """Record a heartbeat; return whether a stop of the run was requested. Raises RunLeased."""
        wanted = select(runs.c.stop_requested).where(runs.c.id == self._run_id)

        def work(connection: Connection) -> bool:
            self._check(connection, connection.execute(self._beat, {"now": now(connection)}).rowcount)
            refresh_index_row(connection, self._run_id)
            return bool(connection.scalar(wanted))

        return self._database.write(work)

    def commit(self, entries: Sequence[Entry]) -> list[Episode]:
        """Write entries in one transaction; return the episodes that are now finished and durable.

        Raises RunLeased if another process took the run over, InfrastructureError if the database cannot be used, the
        run was deleted, or an entry contradicts stored data or cannot be stored.
        """
        batch = self._batch(entries, self._chain)
        tries = 0

        def work(connection: Connection) -> Iterable[Episode]:
            nonlocal tries
            tries += 1
            if tries > 1:
                return self._write_carefully(connection, batch)
            self._write(connection, batch)
            return batch.episodes.values()

        try:
            written = self._database.write(work)
        except IntegrityError:
            try:
                written = self._database.write(work)
            except IntegrityError as error:
                raise InfrastructureError(
                    f"episodes of run {self._run_id} contradict what {self._database.place} holds: {error.orig}"
                ) from error
        self._remember(batch)
        return [episode for episode in written if episode.status in FINISHED]

    def _chain_so_far(self, connection: Connection) -> tuple[Chain, int]:
        """Return the end of the run's chain, and the next link number."""
        mine = select(runs.c.chain).where(runs.c.id == self._run_id)
        last = select(func.max(episodes.c.link)).where(episodes.c.run_id == self._run_id)
        link = connection.scalar(last)
        return (
            read_chain(connection.scalar(mine)) or Chain().extended(checksums(connection, self._run_id)),
            0 if link is None else int(link) + 1,
        )

    def _batch(self, entries: Sequence[Entry], end: Chain) -> Batch:
        batch = Batch()
        chunks: list[tuple[str, Chunk]] = []
        new: dict[str, Blob] = {}
        for entry in entries:
            episode_id = entry.episode.id
            batch.episodes[episode_id] = entry.episode
            chunks += [(episode_id, chunk) for chunk in entry.chunks]
            new |= {blob.digest: blob for blob in entry.blobs if blob.digest not in self._stored}
        batch.blobs = {row[0]: row for row in blob_rows(list(new.values()), self._database.objects)}
        batch.chunks = chunk_rows(chunks)
        for chunk in batch.chunks:
            batch.traces[chunk[0]] = trace_checksum((chunk,), self._trace(batch, chunk[0]))
        sealed: list[str] = []
        for episode_id, episode in batch.episodes.items():
            try:
                row = episode_row(episode, self._primary)
                listed = batch.scores[episode_id] = score_rows(episode_id, self._run_id, episode.scores)
                answer = None
                if episode.status in FINISHED and (answer := answer_row(episode)) is not None:
                    batch.answers[episode_id] = answer
                if episode.status not in _OPEN:
                    checksum = row_checksum(row[:-SEALED], listed, answer) + self._trace(batch, episode_id)
                    row = (*row[:-SEALED], checksum, self._link)
                    self._link += 1
                    if episode.status in FINISHED:
                        sealed.append(checksum)
                batch.rows[episode_id] = row
            except (TypeError, ValueError, OverflowError) as error:
                raise InfrastructureError(f"episode {episode_id} has no stored form: {error}") from error
        batch.chain = end.extended(sealed)
        return batch

    def _trace(self, batch: Batch, episode_id: str) -> str:
        """Return the checksum of all chunks of an episode so far."""
        return batch.traces.get(episode_id) or self._traces.get(episode_id, "")

    def _write(self, connection: Connection, batch: Batch) -> None:
        add = self._database.add
        insert_blobs(self._database, connection, self._run_id, list(batch.blobs.values()))
        add(connection, episodes, [row for key, row in batch.rows.items() if key not in self._open])
        add(connection, episodes, [row for key, row in batch.rows.items() if key in self._open], known="replace")
        add(connection, event_chunks, batch.chunks)
        add(connection, scores, [row for rows in batch.scores.values() for row in rows])
        add(connection, answers, list(batch.answers.values()))
        counted = _totals(batch.episodes.values(), self._open)
        for episode in batch.episodes.values():
            told = counted_as(episode, self._primary, self._threshold)
            if told is not None:
                counted[f"new_{told}"] += 1
        totals = {"now": now(connection), "new_chain": str(batch.chain), **counted}
        self._check(connection, connection.execute(self._count, totals).rowcount)

    def _write_carefully(self, connection: Connection, batch: Batch) -> Iterable[Episode]:
        add = self._database.add
        self._check(connection, connection.execute(self._beat, {"now": now(connection)}).rowcount)
        kept = self._without_rivals(connection, batch.episodes)
        insert_blobs(self._database, connection, self._run_id, list(batch.blobs.values()))
        add(connection, episodes, [batch.rows[key] for key in kept], known="replace")
        add(connection, event_chunks, [row for row in batch.chunks if row[0] in kept], known="keep")
        ids = list(kept)
        for some in batches(ids):
            connection.execute(delete(scores).where(scores.c.episode_id.in_(some)))
        add(connection, scores, [row for key in kept for row in batch.scores[key]])
        add(connection, answers, [batch.answers[key] for key in kept if key in batch.answers], known="replace")
        recount(connection, self._run_id)
        batch.chain = rechain(connection, self._run_id)
        return kept.values()

    def _without_rivals(self, connection: Connection, new: dict[str, Episode]) -> dict[str, Episode]:
        """Return the episodes to write: one per key, the first that finished.

        Two episodes of one key exist if a worker was given up and its episode was run again elsewhere.
        """
        kept: dict[EpisodeKey, Episode] = {}
        for episode in new.values():
            rival = kept.get(episode.key)
            if rival is None or rival.status not in FINISHED:
                kept[episode.key] = episode
        # For `(task, trial) IN (…)` SQLite reads all episodes of the run; for tasks alone it takes their index.
        tasks = list({key.task for key in kept})
        columns = (episodes.c.id, episodes.c.task_digest, episodes.c.trial, episodes.c.status)
        for some in batches(tasks):
            same = (episodes.c.run_id == self._run_id, episodes.c.task_digest.in_(some))
            for row in connection.execute(select(*columns).where(*same)).all():
                key = EpisodeKey(row.task_digest, row.trial)
                if key not in kept or row.id == kept[key].id:
                    continue
                if row.status in FINISHED:
                    del kept[key]
                else:
                    keep_usage(connection, self._run_id, episodes.c.id == row.id)
                    connection.execute(delete(episodes).where(episodes.c.id == row.id))
        return {episode.id: episode for episode in kept.values()}

    def _check(self, connection: Connection, mine: bool | int) -> None:
        if mine:
            return
        row = connection.execute(select(runs.c.holder).where(runs.c.id == self._run_id)).one_or_none()
        if row is None:
            raise InfrastructureError(f"run {self._run_id} was deleted while this process worked on it")
        holder = holder_from(row.holder) or "nobody"
        raise RunLeased(
            f"run {self._run_id} is no longer this process's: {holder} holds it now; what was written before is kept"
        )

    def _remember(self, batch: Batch) -> None:
        for episode_id, episode in batch.episodes.items():
            if episode.status in _OPEN:
                self._open[episode_id] = episode.usage
                self._traces[episode_id] = self._trace(batch, episode_id)
            else:
                self._open.pop(episode_id, None)
                self._traces.pop(episode_id, None)
        self._chain = batch.chain
        if len(self._stored) > _REMEMBERED:
            self._stored.clear()
        self._stored.update(batch.blobs)


def _totals(new: Iterable[Episode], counted: Mapping[str, Usage]) -> dict[str, float]:
    """Return what to add to a run's counters; `counted` is the usage of open episodes when they were last written.

    The usage of an episode counts as soon as it is written, whatever its result: it was spent.
    """
    totals: dict[str, float] = {f"new_{name}": 0 for name in COUNTERS}
    for episode in new:
        if episode.status in FINISHED:
            totals[f"new_{episode.status.value}"] += 1
        usage, before = episode.usage, counted.get(episode.id, NOTHING)
        totals["new_prompt_tokens"] += usage.prompt - before.prompt
        totals["new_completion_tokens"] += usage.completion - before.completion
        totals["new_cached_tokens"] += usage.cached - before.cached
        totals["new_reasoning_tokens"] += usage.reasoning - before.reasoning
        totals["new_model_calls"] += usage.calls - before.calls
        totals["new_cost_usd"] += (usage.cost_usd or 0.0) - (before.cost_usd or 0.0)
        totals["new_cost_unknown"] += (usage.cost_usd is None) - (before.cost_usd is None)
    return totals
