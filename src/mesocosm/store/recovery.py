"""Runs and groups whose process is gone: finding them, and writing down that they were interrupted."""

import time
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, func, select, update

from mesocosm.core.failure import RunHeld
from mesocosm.core.group import Outcome, OutcomeStatus
from mesocosm.core.run import Run, RunStatus
from mesocosm.store.database import Database
from mesocosm.store.groups import Groups, outcome_from
from mesocosm.store.hold import SILENCE, Holding, drop_unfinished, held_by_this_process, held_message
from mesocosm.store.holder import UNHELD_S, alive
from mesocosm.store.lines import refresh_line
from mesocosm.store.part import resolve
from mesocosm.store.rows import holder_from, run_from, state_values
from mesocosm.store.runs import write_state
from mesocosm.store.schema import invocations, outcomes, runs
from mesocosm.store.views import INTERRUPTED

OLD_S = 300.0
"""Seconds without a sign of life after which a process that cannot be looked at counts as gone."""

_OPEN = (RunStatus.PENDING, RunStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was found to be interrupted: runs (stopped now), outcomes (failed now), groups (finished now)."""

    runs: tuple[Run, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    groups: tuple[str, ...] = ()


class Recovery(Holding, Groups):
    """Clearing up after processes that are gone."""

    def stale_runs(self, older_than_s: float = OLD_S, *, force: bool = False) -> tuple[Run, ...]:
        """Return the runs that should be going on but whose process is gone, the oldest first.

        On this machine the process itself is looked at. One of another machine counts as gone when it was last heard
        of more than `older_than_s` (at least 60) seconds ago. `force`: all that were not heard of for `older_than_s`,
        processes that live included.
        """
        wanted = select(runs).where(runs.c.status.in_(_OPEN)).order_by(runs.c.created_at, runs.c.id)
        found = self._database.read(lambda connection: list(connection.execute(wanted).mappings()))
        return tuple(run_from(row) for row in found if _stale(self._database, row, older_than_s, force=force))

    def mark_interrupted(self, run_id: str, *, older_than_s: float = 0.0, force: bool = False) -> Run | None:
        """Write that the process of a run is gone, and free the run; return it, None when it is not going on.

        It becomes `stopped` with the error `orchestrator_interrupted`: what it owes can be run by repeating the
        command. Raises RunHeld while its process lives; with `force` that process loses the run, and stops at its
        next heartbeat. Raises UnknownName.
        """

        def work(connection: Connection) -> Run | None:
            found = resolve(connection, runs, run_id)
            row = connection.execute(select(runs).where(runs.c.id == found)).mappings().one()
            if row["status"] not in _OPEN:
                return None
            if not _stale(self._database, row, older_than_s, force=force):
                raise RunHeld(held_message(found, row))
            return _interrupt(connection, row)

        return self._database.write(work)

    def recover(self, older_than_s: float = OLD_S, *, force: bool = False) -> Recovered:
        """Mark all runs, outcomes and groups whose process is gone, as `stale_runs` tells; return what was changed."""
        marked = []
        for run in self.stale_runs(older_than_s, force=force):
            try:
                changed = self.mark_interrupted(run.id, older_than_s=older_than_s, force=force)
            except RunHeld:
                # Somebody has taken it up again just now.
                continue
            if changed is not None:
                marked.append(changed)
        failed, closed = self._database.write(lambda connection: _close_groups(connection, older_than_s, force=force))
        return Recovered(tuple(marked), failed, closed)


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
    refresh_line(connection, run.id)
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
    """Fail the outcomes that still run, except those whose run somebody works on."""
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
