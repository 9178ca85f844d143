"""Lossless export and import of whole runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from sqlalchemy import Connection, select, update

from mesocosm.core.entry import Blob, Entry
from mesocosm.core.episode import FINISHED, Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.group import Outcome, RunGroup
from mesocosm.core.run import RESCORING, Run
from mesocosm.store.blobs import Artifact, Artifacts, Blobs, blob_row, blob_rows, insert_artifacts, insert_blobs
from mesocosm.store.database import Database
from mesocosm.store.episodes import Episodes, keep_bins, keep_means, primary_of, recount
from mesocosm.store.groups import Groups
from mesocosm.store.leases import check_free, drop_unfinished
from mesocosm.store.rows import answer_row, episode_row, json_text, run_from, score_rows, state_values
from mesocosm.store.run_index import insert_run, refresh_index_row, write_state
from mesocosm.store.runs import Runs
from mesocosm.store.schema import answers, episodes, event_chunks, runs, scores
from mesocosm.store.seals import HALF, rechain, seal_new, seals_of, stored_rows
from mesocosm.store.search_index import forget
from mesocosm.store.traces import Traces, chunk_rows

_PAGE = 200
_CHUNKS = 8
_BATCH = 50
_FINISHED = sorted(status.value for status in FINISHED)


class StoredRun:
    """A run with everything that belongs to it: the source of a bundle."""

    def __init__(self, database: Database, run: Run) -> None:
        self.record = run
        self._database = database

    def entries(self) -> Iterator[Entry]:
        """Yield all its episodes in plan order; a long trace is split over several entries."""
        return Bundles(self._database, Episodes(self._database), Traces(self._database)).entries(self.record.id)

    def blobs(self) -> Iterator[Blob]:
        """Yield all blobs that its traces and artifacts refer to."""
        return Blobs(self._database).of_run(self.record.id)

    def artifacts(self) -> tuple[Artifact, ...]:
        """Return its files and those of its episodes, oldest first."""
        return Artifacts(self._database).of_run(self.record.id)

    def group(self) -> tuple[RunGroup, tuple[Outcome, ...]] | None:
        """Return its run group with the outcomes; None if it has no group."""
        groups, group_id = Groups(self._database), self.record.group_id
        return (groups.get(group_id), groups.outcomes(group_id)) if group_id else None


class Bundles:
    """Exports and imports whole runs."""

    def __init__(self, database: Database, episodes: Episodes, traces: Traces) -> None:
        self._database = database
        self._episodes = episodes
        self._traces = traces

    def entries(self, run_id: str) -> Iterator[Entry]:
        """Yield all episodes of a run in plan order; a long trace is split over several entries."""
        cursor: str | None = None
        while True:
            page = self._episodes.list(run_id, cursor=cursor, limit=_PAGE)
            ids = [episode.id for episode in page.items]
            short, sealed = self._traces.short(ids), self._database.read(partial(seals_of, ids=ids))
            for episode in page.items:
                checksum, link = sealed.get(episode.id, ("", None))
                if episode.id in short:
                    yield Entry(episode, short[episode.id], checksum=checksum, link=link)
                    continue
                chunks = self._traces.chunks(episode.id)
                while piece := list(islice(chunks, _CHUNKS)):
                    yield Entry(episode, piece, checksum=checksum, link=link)
            cursor = page.cursor
            if cursor is None:
                return

    def run(self, run_id: str) -> StoredRun:
        """Return a run with everything that belongs to it. Raises UnknownName."""
        return StoredRun(self._database, Runs(self._database).get(run_id))

    def insert(
        self,
        run: Run,
        entries: Iterable[Entry],
        blobs: Iterable[Blob] = (),
        artifacts: Iterable[Artifact] = (),
        *,
        ending: Callable[[Connection], None] | None = None,
        same_scores: bool = False,
    ) -> int:
        """Insert a run with everything that belongs to it in one transaction; return the number of new episodes.

        The entries of one episode must be adjacent; `artifacts` are read after them. The call is idempotent: rows with
        known ids stay. A stored run with fewer finished episodes gets the missing ones, and takes over the state,
        specification and info given here. The run is not leased afterwards. `ending` is called last in the transaction.
        With `same_scores` a copy whose known episodes are scored otherwise is refused even if nothing in it is new.

        Raises UsageError if the id belongs to another experiment, if both copies were continued or scored separately,
        or if checksums do not match; RunLeased while a process works on the run; and any exception of the iterables.
        Nothing is changed in these cases.
        """
        with self._database.once(immediate=True) as connection:
            there, replaced = _insert_state(self._database, connection, run)
            forget(self._database, connection, run.id)
            for blob in blobs:
                insert_blobs(self._database, connection, run.id, [blob_row(blob, self._database.objects)])
            primary = primary_of(connection, run.id)
            remaining, new, fresh = iter(entries), 0, set[str]()
            given: dict[str, Entry] = {}
            finished, other = set[str](), list[Episode]()
            while batch := list(islice(remaining, _BATCH)):
                known = fresh
                finished |= {entry.episode.id for entry in batch if entry.episode.status in FINISHED}
                if there and not other:
                    other += _scored_otherwise(connection, batch)
                fresh = _insert_entries(self._database, connection, batch, known, primary)
                new += len(fresh - known)
                given |= {
                    entry.episode.id: replace(entry, chunks=(), blobs=())
                    for entry in batch
                    if entry.episode.id in fresh
                }
            if other and same_scores:
                raise _scored_in_two_ways(run.id, other[0])
            if there and (replaced or new):
                _check_one_copy(connection, run.id, finished, other, replaced=replaced)
            insert_artifacts(self._database, connection, list(artifacts))
            recount(connection, run.id)
            self._seal(connection, run, given)
            refresh_index_row(connection, run.id)
            if ending is not None:
                ending(connection)
        keep_means(self._database, run.id)
        keep_bins(self._database, run.id)
        return new

    def _seal(self, connection: Connection, run: Run, given: Mapping[str, Entry]) -> None:
        """Store checksums of the inserted episodes. Raises UsageError if they differ from those of the bundle.

        While a rescoring is in progress, some episode rows still refer to the previous primary score: then only the
        checksums of traces are compared.
        """
        part = slice(HALF, None) if run.provenance.get(RESCORING) else slice(None)
        links = {key: entry.link for key, entry in given.items() if entry.link is not None}
        sealed = seal_new(connection, run.id, list(given), links)
        for episode_id, checksum in sealed.items():
            entry = given[episode_id]
            if entry.checksum and entry.checksum[part] != checksum[part]:
                raise UsageError(
                    f"episode {entry.episode.index} ({episode_id}) of run {run.id} is not what was exported: its "
                    "checksum is another one; the bundle is damaged, or it was edited"
                )
        here = rechain(connection, run.id)
        whole = here.length == len(sealed) and not run.provenance.get(RESCORING)
        if run.chain and whole and links and run.chain != str(here):
            raise UsageError(
                f"the episodes of run {run.id} are not those that were exported: the chain over them ends with {here}, "
                f"that of the bundle with {run.chain}; the bundle is damaged, or it was edited"
            )


def _insert_state(database: Database, connection: Connection, run: Run) -> tuple[bool, bool]:
    """Write the state of a run; return whether the run existed, and whether its state was written."""
    row = connection.execute(select(runs).where(runs.c.id == run.id)).mappings().one_or_none()
    if row is None:
        insert_run(database, connection, run)
        connection.execute(update(runs).where(runs.c.id == run.id).values(holder=None, held_at=None))
        return False, True
    here = run_from(row)
    if here.signature != run.signature:
        raise UsageError(
            f"run {run.id} exists here as another experiment ({here.benchmark} with {here.model}); "
            "the bundle is damaged, or one of the two was edited"
        )
    check_free(database, connection, run.id)
    drop_unfinished(connection, run.id)
    if run.counts.done <= here.counts.done:
        return True, False
    terms = {"spec": json_text(run.spec), "info": json_text(run.info)}
    write_state(connection, run.id, {**state_values(run), **terms, "heartbeat_at": run.heartbeat_at})
    return True, True


def _scored_otherwise(connection: Connection, batch: Sequence[Entry]) -> list[Episode]:
    """Return the finished episodes of a batch that are stored with a different record or different scores."""
    found = {entry.episode.id: entry for entry in batch if entry.episode.status in FINISHED}
    sealed = seals_of(connection, list(found))
    differing = []
    for key, row, listed, _answer in stored_rows(connection, list(found)):
        entry, (checksum, _) = found[key], sealed.get(key, ("", None))
        if checksum and entry.checksum:
            same = checksum == entry.checksum
        else:
            # Recorded before checksums were introduced.
            given = set(score_rows(key, entry.episode.run_id, entry.episode.scores))
            same = row[5] == entry.episode.status.value and given == {tuple(score) for score in listed}
        if not same:
            differing.append(entry.episode)
    return differing


def _check_one_copy(
    connection: Connection, run_id: str, finished: set[str], other: Sequence[Episode], *, replaced: bool
) -> None:
    """Raise UsageError if the results of the merged run would not cover all its episodes consistently."""
    if other:
        raise _scored_in_two_ways(run_id, other[0])
    mine = select(episodes.c.id).where(episodes.c.run_id == run_id, episodes.c.status.in_(_FINISHED))
    if not replaced or not finished.issuperset(connection.scalars(mine)):
        raise UsageError(
            f"run {run_id} went on here and where the bundle comes from, each with episodes that the other lacks; "
            "import the bundle into another results directory to compare them"
        )


def _scored_in_two_ways(run_id: str, episode: Episode) -> UsageError:
    return UsageError(
        f"episode {episode.index} of run {run_id} is scored here in another way than in the bundle, so the two "
        "cannot be put together; import the bundle into another results directory, or delete the run here first"
    )


def _insert_entries(
    database: Database,
    connection: Connection,
    batch: Sequence[Entry],
    fresh: set[str],
    primary: str,
) -> set[str]:
    """Insert the rows of episodes that are new in this batch or were new in the one before; return the ids of these."""
    found = {entry.episode.id: entry.episode for entry in batch}
    stored = select(episodes.c.id).where(episodes.c.id.in_(found))
    before = set(connection.scalars(stored)) - fresh
    database.add(connection, episodes, [episode_row(episode, primary) for episode in found.values()], known="keep")
    there = set(connection.scalars(stored))
    _check_one_history(found, there)
    fresh = there - before
    lines = [(entry.episode.id, chunk) for entry in batch if entry.episode.id in fresh for chunk in entry.chunks]
    database.add(connection, event_chunks, chunk_rows(lines), known="keep")
    rows = [row for key in fresh for row in score_rows(key, found[key].run_id, found[key].scores)]
    database.add(connection, scores, rows, known="keep")
    given = (answer_row(found[key]) for key in fresh if found[key].status in FINISHED)
    database.add(connection, answers, [row for row in given if row is not None], known="keep")
    for entry in batch:
        listed = blob_rows(list(entry.blobs), database.objects)
        insert_blobs(database, connection, entry.episode.run_id, listed)
    return fresh


def _check_one_history(found: Mapping[str, Episode], there: set[str]) -> None:
    """Raise UsageError if a finished episode was not inserted because another one has its task and trial."""
    for key, episode in found.items():
        if key not in there and episode.status in FINISHED:
            raise UsageError(
                f"episode {episode.index} of run {episode.run_id} was played here and where the bundle comes from, so "
                "the two are no longer one run; import the bundle into another results directory to compare them"
            )
