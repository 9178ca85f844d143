"""One run, one process: taking a run, giving it back, and telling who has it."""

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, RowMapping, and_, delete, func, or_, select, update

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import RunLeased, UnknownName
from mesocosm.core.group import Outcome, OutcomeStatus
from mesocosm.core.run import LeaseOwner, Run, RunStatus
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.episodes import keep_usage, mend_counters
from mesocosm.store.groups import outcome_from
from mesocosm.store.lease_owner import UNHELD_S, abandoned, alive, this_process
from mesocosm.store.lookup import resolve
from mesocosm.store.rows import holder_from, json_text, run_from, state_values
from mesocosm.store.run_index import refresh_index_row, write_state
from mesocosm.store.schema import UNUSUAL, episodes, invocations, outcomes, runs
from mesocosm.store.views import INTERRUPTED

SILENCE = 60.0
"""Seconds without a heartbeat after which a process that cannot be looked at counts as dead."""

_UNFINISHED = (EpisodeStatus.PENDING, EpisodeStatus.RUNNING, EpisodeStatus.CANCELLED)

_mine: set[tuple[str, str, LeaseOwner]] = set()
_lock = threading.Lock()

OLD_S = 300.0
"""Seconds without a sign of life after which a process that cannot be looked at counts as gone."""

_OPEN = (RunStatus.PENDING, RunStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was found to be interrupted: runs (stopped now), outcomes (failed now), groups (finished now)."""

    runs: tuple[Run, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    groups: tuple[str, ...] = ()


class Leases:
    """Which process works on which run, and clearing up after processes that are gone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def owner(self) -> LeaseOwner:
        """Return what identifies this process."""
        return this_process()

    def take(self, run_id: str, holder: LeaseOwner) -> None:
        """Take a run; removes what an interrupted process left unfinished. Raises RunLeased, UnknownName.

        Free is a run that nobody holds, or whose holder is dead: provably (same machine and boot, process gone or its
        id given to another), or silent for 60 s where that cannot be looked at. One conditional UPDATE decides.
        """
        key = (str(self._database.engine.url), run_id, holder)
        with _lock:
            if key in _mine:
                raise RunLeased(f"run {run_id} is worked on by this very process already; let it finish there first")
            _mine.add(key)
        try:
            self._database.write(lambda connection: _take(connection, run_id, holder))
        except BaseException:
            _mine.discard(key)
            raise

    def release(self, run_id: str, holder: LeaseOwner) -> None:
        """Give a run back; nothing happens when another process has taken it over."""
        given = update(runs).where(runs.c.id == run_id, runs.c.holder == json_text(holder))

        def work(connection: Connection) -> None:
            if connection.execute(given.values(holder=None, held_at=None)).rowcount:
                refresh_index_row(connection, run_id)

        try:
            self._database.write(work)
        finally:
            _mine.discard((str(self._database.engine.url), run_id, holder))

    def evict(self, run_id: str, silence_s: float) -> bool:
        """Take a run from a process of which nothing was heard for so long, alive or not; return whether it was.

        For who has another claim to the run, such as the lease of a queue. When the process goes on it finds that the
        run is not its own any more, and writes nothing.
        """

        def work(connection: Connection) -> bool:
            row = _state(connection, run_id)
            if row["holder"] is None or _age(row, now(connection)) <= silence_s:
                return False
            silent = and_(runs.c.holder == row["holder"], runs.c.heartbeat_at.is_not_distinct_from(row["heartbeat_at"]))
            free = update(runs).where(runs.c.id == run_id, silent).values(holder=None, held_at=None)
            taken = connection.execute(free).rowcount > 0
            refresh_index_row(connection, run_id)
            return taken

        return self._database.write(work)

    def active(self, run: Run) -> bool:
        """Return whether a living process works on a run, as far as this process can know."""
        return run.status in {RunStatus.PENDING, RunStatus.RUNNING} and not abandoned(run)

    def stale(self, older_than_s: float = OLD_S, *, force: bool = False) -> tuple[Run, ...]:
        """Return the runs that should be going on but whose process is gone, the oldest first.

        On this machine the process itself is looked at. One of another machine counts as gone when it was last heard
        of more than `older_than_s` (at least 60) seconds ago. `force`: all that were not heard of for `older_than_s`,
        processes that live included.
        """
        wanted = select(runs).where(runs.c.status.in_(_OPEN)).order_by(runs.c.created_at, runs.c.id)
        found = self._database.all(wanted)
        return tuple(run_from(row) for row in found if _stale(self._database, row, older_than_s, force=force))

    def mark_interrupted(self, run_id: str, *, older_than_s: float = 0.0, force: bool = False) -> Run | None:
        """Write that the process of a run is gone, and free the run; return it, None when it is not going on.

        It becomes `stopped` with the error `orchestrator_interrupted`: what is pending can be run by repeating the
        command. Raises RunLeased while its process lives; with `force` that process loses the run, and stops at its
        next heartbeat. Raises UnknownName.
        """

        def work(connection: Connection) -> Run | None:
            found = resolve(connection, runs, run_id)
            row = connection.execute(select(runs).where(runs.c.id == found)).mappings().one()
            if row["status"] not in _OPEN:
                return None
            if not _stale(self._database, row, older_than_s, force=force):
                raise RunLeased(held_message(found, row))
            return _interrupt(connection, row)

        return self._database.write(work)

    def recover(self, older_than_s: float = OLD_S, *, force: bool = False) -> Recovered:
        """Mark all runs, outcomes and groups whose process is gone, as `stale_runs` tells; return what was changed."""
        marked = []
        for run in self.stale(older_than_s, force=force):
            try:
                changed = self.mark_interrupted(run.id, older_than_s=older_than_s, force=force)
            except RunLeased:
                # Somebody has taken it up again just now.
                continue
            if changed is not None:
                marked.append(changed)
        failed, closed = self._database.write(lambda connection: _close_groups(connection, older_than_s, force=force))
        return Recovered(tuple(marked), failed, closed)


def check_free(database: Database, connection: Connection, run_id: str) -> None:
    """Raise RunLeased while a process, this one included, works on the run; UnknownName when there is no such run."""
    row = _state(connection, run_id)
    if held_by_this_process(database, run_id) or _busy(row, this_process(), now(connection)):
        raise RunLeased(held_message(run_id, row))


def held_by_this_process(database: Database, run_id: str) -> bool:
    """Return whether something in this very process works on the run."""
    return (str(database.engine.url), run_id, this_process()) in _mine


def _take(connection: Connection, run_id: str, holder: LeaseOwner) -> None:
    row = _state(connection, run_id)
    at = now(connection)
    if _busy(row, holder, at):
        raise RunLeased(held_message(run_id, row))
    unchanged = or_(
        runs.c.holder.is_(None), and_(runs.c.holder == row["holder"], runs.c.heartbeat_at == row["heartbeat_at"])
    )
    taken = connection.execute(
        update(runs)
        .where(runs.c.id == run_id, unchanged)
        .values(holder=json_text(holder), held_at=at, heartbeat_at=at, stop_requested=False)
    )
    if not taken.rowcount:
        raise RunLeased(held_message(run_id, _state(connection, run_id)))
    drop_unfinished(connection, run_id)
    mend_counters(connection, run_id)
    refresh_index_row(connection, run_id)


def drop_unfinished(connection: Connection, run_id: str) -> None:
    """Remove what an interrupted process left of episodes that never finished, with their traces."""
    left = delete(episodes).where(episodes.c.run_id == run_id, UNUSUAL, episodes.c.status.in_(_UNFINISHED))
    keep_usage(connection, run_id, left.whereclause)
    connection.execute(left)


def _state(connection: Connection, run_id: str) -> RowMapping:
    columns = (runs.c.holder, runs.c.held_at, runs.c.heartbeat_at)
    row = connection.execute(select(*columns).where(runs.c.id == run_id)).mappings().one_or_none()
    if row is None:
        raise UnknownName(f"there is no run {run_id!r}; it may have been deleted")
    return row


def _busy(row: RowMapping, me: LeaseOwner, at: float) -> bool:
    """Return whether another process than `me` works on the run."""
    holder = holder_from(row["holder"])
    if holder is None or holder == me:
        return False
    living = alive(holder)
    return _age(row, at) <= SILENCE if living is None else living


def _age(row: RowMapping, at: float) -> float:
    return at - (row["heartbeat_at"] or row["held_at"] or 0.0)


def held_message(run_id: str, row: RowMapping) -> str:
    """Return who holds a run since when, and what to do about it."""
    holder = holder_from(row["holder"])
    since = datetime.fromtimestamp(row["held_at"] or 0.0, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    age = _age(row, time.time())
    text = (
        f"run {run_id} is worked on by {holder} since {since}, last heard of {age:.0f} s ago; "
        f"wait for it, or stop it with: mesocosm run stop {run_id}"
    )
    if holder is not None and alive(holder) is None:
        text += f" (if that process is dead, the run becomes free in {max(SILENCE - age, 0):.0f} s)"
    return text


def _stale(database: Database, row: RowMapping, older_than_s: float, *, force: bool) -> bool:
    holder = holder_from(row["holder"])
    heard = (row["heartbeat_at"], row["held_at"], row["created_at"])
    silent = time.time() - max(float(at) for at in heard if at is not None)
    if force:
        return silent >= older_than_s
    if holder is None:
        return row["status"] == RunStatus.RUNNING.value or silent > UNHELD_S
    if held_by_this_process(database, row["id"]):
        return False
    living = alive(holder)
    return silent > max(older_than_s, SILENCE) if living is None else not living


def _interrupt(connection: Connection, row: RowMapping) -> Run:
    run = run_from(row)
    heard = run.heartbeat_at or run.started_at or run.created_at
    if run.started_at is not None:
        worked = round(run.worked_s(heard) or 0.0, 3)
        kept = {name: value for name, value in run.provenance.items() if name != "session_at"}
        run.provenance = {**kept, "worked_s": worked}
        run.ended_at = max(heard, run.started_at)
    run.status, run.error, run.holder = RunStatus.STOPPED, INTERRUPTED, None
    write_state(connection, run.id, state_values(run))
    connection.execute(update(runs).where(runs.c.id == run.id).values(holder=None, held_at=None))
    drop_unfinished(connection, run.id)
    refresh_index_row(connection, run.id)
    return run


def _close_groups(
    connection: Connection, older_than_s: float, *, force: bool
) -> tuple[tuple[Outcome, ...], tuple[str, ...]]:
    """Fail what is still `running` in groups whose process is gone, and end those groups."""
    failed: list[Outcome] = []
    closed: list[str] = []
    # Groups that were never added as such, but only named by a run, have nobody who carries them out.
    wanted = select(invocations).where(invocations.c.finished_at.is_(None), invocations.c.holder.is_not(None))
    for row in connection.execute(wanted.order_by(invocations.c.id)).mappings().all():
        if not _left(connection, row, older_than_s, force=force):
            continue
        failed += _fail_running(connection, row["id"])
        going = select(func.count()).where(runs.c.group_id == row["id"], runs.c.status.in_(_OPEN))
        if not connection.scalar(going):
            last = _last_sign(connection, row)
            connection.execute(update(invocations).where(invocations.c.id == row["id"]).values(finished_at=last))
            closed.append(row["id"])
    return tuple(failed), tuple(closed)


def _left(connection: Connection, row: RowMapping, older_than_s: float, *, force: bool) -> bool:
    holder = holder_from(row["holder"])
    living = None if holder is None else alive(holder)
    if living is not None and not force:
        return not living
    age = time.time() - _last_sign(connection, row)
    return age >= older_than_s if force else age > max(older_than_s, SILENCE)


def _last_sign(connection: Connection, row: RowMapping) -> float:
    """Return when something of a group was last heard of."""
    one = (outcomes.c.group_id == row["id"],)
    run = select(func.max(runs.c.heartbeat_at)).where(runs.c.id.in_(select(outcomes.c.run_id).where(*one)))
    known = (connection.scalar(select(func.max(outcomes.c.at)).where(*one)), connection.scalar(run), row["created_at"])
    return max(float(at) for at in known if at is not None)


def _fail_running(connection: Connection, group_id: str) -> list[Outcome]:
    """Fail the outcomes that still run, except those whose run a process works on."""
    busy = select(runs.c.id).where(runs.c.status.in_(_OPEN))
    still = (
        outcomes.c.group_id == group_id,
        outcomes.c.status == OutcomeStatus.RUNNING,
        outcomes.c.run_id.is_(None) | outcomes.c.run_id.not_in(busy),
    )
    found = [row["position"] for row in connection.execute(select(outcomes).where(*still)).mappings()]
    new = {"status": OutcomeStatus.FAILED.value, "reason": INTERRUPTED}
    connection.execute(update(outcomes).where(*still).values(new))
    changed = select(outcomes).where(outcomes.c.group_id == group_id, outcomes.c.position.in_(found))
    return [outcome_from(row) for row in connection.execute(changed.order_by(outcomes.c.position)).mappings()]
