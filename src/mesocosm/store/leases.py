"""Leases of runs: at most one process works on a run."""

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
from mesocosm.store.search_index import expect
from mesocosm.store.views import INTERRUPTED

SILENCE = 60.0
"""Seconds without a heartbeat after which a process that cannot be checked counts as dead."""

_UNFINISHED = (EpisodeStatus.PENDING, EpisodeStatus.RUNNING, EpisodeStatus.CANCELLED)

_mine: set[tuple[str, str, LeaseOwner]] = set()
_lock = threading.Lock()

OLD_S = 300.0
"""Default for `stale`: seconds without a heartbeat after which a process that cannot be checked counts as gone."""

_OPEN = (RunStatus.PENDING, RunStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was marked as interrupted: runs (now stopped), outcomes (now failed), groups (now finished)."""

    runs: tuple[Run, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    groups: tuple[str, ...] = ()


class Leases:
    """Which process works on which run, and cleaning up after processes that are gone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def owner(self) -> LeaseOwner:
        """Return the identity of this process."""
        return this_process()

    def take(self, run_id: str, holder: LeaseOwner) -> None:
        """Lease a run and delete episodes that an interrupted process left unfinished. Raises RunLeased, UnknownName.

        A run is free if it has no owner or its owner is dead: proven so (same machine and boot, process gone or its id
        reused), or silent for 60 s if that cannot be checked. One conditional UPDATE decides.
        """
        key = (str(self._database.engine.url), run_id, holder)
        with _lock:
            if key in _mine:
                raise RunLeased(f"run {run_id} is worked on by this very process already; let it finish there first")
            _mine.add(key)
        try:
            self._database.write(lambda connection: _take(self._database, connection, run_id, holder))
        except BaseException:
            _mine.discard(key)
            raise

    def release(self, run_id: str, holder: LeaseOwner) -> None:
        """Release a run; do nothing if another process has taken it over."""
        given = update(runs).where(runs.c.id == run_id, runs.c.holder == json_text(holder))

        def work(connection: Connection) -> None:
            if connection.execute(given.values(holder=None, held_at=None)).rowcount:
                refresh_index_row(connection, run_id)

        try:
            self._database.write(work)
        finally:
            _mine.discard((str(self._database.engine.url), run_id, holder))

    def evict(self, run_id: str, silence_s: float) -> bool:
        """Take a run from a process that was silent for more than `silence_s` seconds, alive or not.

        Return whether it was. For callers with another claim to the run, such as the lease of a queue. If the process
        continues, it finds that it has lost the run and writes nothing. Raises UnknownName.
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
        """Return the runs that should be running but whose process is gone, oldest first.

        Processes of this machine are checked directly. One of another machine counts as gone if its last heartbeat is
        more than `older_than_s` (at least 60) seconds ago. With `force`, return all runs without a heartbeat for
        `older_than_s` seconds, even if their process is alive.
        """
        wanted = select(runs).where(runs.c.status.in_(_OPEN)).order_by(runs.c.created_at, runs.c.id)
        found = self._database.all(wanted)
        return tuple(run_from(row) for row in found if _stale(self._database, row, older_than_s, force=force))

    def mark_interrupted(self, run_id: str, *, older_than_s: float = 0.0, force: bool = False) -> Run | None:
        """Mark the run of a process that is gone as interrupted and release it.

        Return it, or None if it is not running. It becomes `stopped` with the error `orchestrator_interrupted`;
        repeating the command runs its pending episodes. Raises UnknownName; RunLeased while its process is alive,
        unless `force`: then that process loses the run and stops at its next heartbeat.
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
        """Mark all runs (see `stale`), outcomes and groups whose process is gone as interrupted.

        Return what was changed.
        """
        marked = []
        for run in self.stale(older_than_s, force=force):
            try:
                changed = self.mark_interrupted(run.id, older_than_s=older_than_s, force=force)
            except RunLeased:
                # Another process has just resumed it.
                continue
            if changed is not None:
                marked.append(changed)
        failed, closed = self._database.write(lambda connection: _close_groups(connection, older_than_s, force=force))
        return Recovered(tuple(marked), failed, closed)


def check_free(database: Database, connection: Connection, run_id: str) -> None:
    """Raise RunLeased while a process (this one included) works on the run, UnknownName if there is no such run."""
    row = _state(connection, run_id)
    if held_by_this_process(database, run_id) or _busy(row, this_process(), now(connection)):
        raise RunLeased(held_message(run_id, row))


def held_by_this_process(database: Database, run_id: str) -> bool:
    """Return whether this process works on the run."""
    return (str(database.engine.url), run_id, this_process()) in _mine


def _take(database: Database, connection: Connection, run_id: str, holder: LeaseOwner) -> None:
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
    expect(database, connection, run_id)
    drop_unfinished(connection, run_id)
    mend_counters(connection, run_id)
    refresh_index_row(connection, run_id)


def drop_unfinished(connection: Connection, run_id: str) -> None:
    """Delete episodes of a run that never finished, with their traces; their usage is kept."""
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
    """Return who has leased a run, since when, and what to do about it."""
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
    """Fail outcomes still `running` in groups whose process is gone, and finish these groups."""
    failed: list[Outcome] = []
    closed: list[str] = []
    # Groups that were never added, only named by a run, have no process.
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
    """Return the UNIX time of the last activity in a group."""
    one = (outcomes.c.group_id == row["id"],)
    run = select(func.max(runs.c.heartbeat_at)).where(runs.c.id.in_(select(outcomes.c.run_id).where(*one)))
    known = (connection.scalar(select(func.max(outcomes.c.at)).where(*one)), connection.scalar(run), row["created_at"])
    return max(float(at) for at in known if at is not None)


def _fail_running(connection: Connection, group_id: str) -> list[Outcome]:
    """Fail the outcomes still running, except those with a run that a process works on."""
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
