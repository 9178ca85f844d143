"""Schedules of workspaces, and the runs that they owe.

A schedule that is due adds a `ScheduledRun` in the transaction that moves it on, and a sync adds one in the transaction
that stores its outcome. What submits it says its id, so each is submitted once, whatever dies in between.
"""

import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from mesocosm.core.ids import new_id
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.notifications import Delivery, insert_messages
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.run_imports import foreign_id
from mesocosm.store.tenancy import repositories, scheduled_runs, schedules

MOST_TRIES = 3
"""Submissions of a run that end their worker, after which it is refused."""
MOST_WAITING = 20
"""Runs of commits that wait to be submitted, beyond which the oldest is refused."""
KEPT = 50
"""Number of earlier runs of a schedule to keep."""
_BATCH = 20
_OVERTAKEN = f"{MOST_WAITING} newer commits were synced before it could be submitted"

ScheduleTrigger = Literal["cron", "sync"]


class ScheduledState(StrEnum):
    """State of a scheduled run; the last two are final."""

    PENDING = "pending"
    SUBMITTED = "submitted"
    REFUSED = "refused"


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule. Times are UNIX seconds.

    `configuration` is the path of a configuration in the workspace, `branch` empty for the followed one. `overrides`
    replace settings of the configuration. `created_by` is the user whose runs they are, None if the account is gone.
    `last_run` and `last_fault` are of the last run that was due.
    """

    id: str
    workspace_id: str
    name: str
    configuration: str
    branch: str = ""
    overrides: dict[str, Any] = {}
    trigger: ScheduleTrigger = "cron"
    cron: str = ""
    timezone: str = "UTC"
    enabled: bool = True
    created_by: int | None = None
    created_at: float = 0.0
    next_at: float | None = None
    last_at: float | None = None
    last_run: str | None = None
    last_fault: str = ""


class ScheduledRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a schedule owes. Times are UNIX seconds.

    `commit_id` is the commit to run, empty until it is chosen. `run_id` is the run once it is submitted. `fault` is why
    it was refused, or is tried again, not before `retry_at`.
    """

    id: str
    schedule_id: str
    run_id: str | None = None
    commit_id: str = ""
    due_at: float
    state: ScheduledState = ScheduledState.PENDING
    fault: str = ""
    retry_at: float | None = None
    ended_at: float | None = None
    claimed_by: str | None = None
    lease_until: float | None = None
    tries: int = 0


class Schedules:
    """The schedules of workspaces. Names are unique in a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, wanted: Schedule, most: int) -> Schedule | None:
        """Store a schedule and return it; None if the workspace has `most` already.

        Raises IntegrityError if the name is taken, or the workspace or the account is gone.
        """
        here = schedules.c.workspace_id == plain(wanted.workspace_id)
        row = msgspec.structs.replace(wanted, id=new_id(), created_at=time.time())

        def work(connection: Connection) -> Schedule | None:
            if connection.scalar(select(schedules.c.id).where(schedules.c.id == row.id)) is not None:
                return row
            if (connection.scalar(select(func.count()).select_from(schedules).where(here)) or 0) >= most:
                return None
            connection.execute(insert(schedules).values(_values(row)))
            return row

        return self._database.write(work)

    def get(self, workspace_id: str, reference: str) -> Schedule | None:
        """Return a schedule of a workspace by its id or name; None if there is none."""
        which = or_(schedules.c.id == plain(reference), schedules.c.name == plain(reference))
        wanted = select(schedules).where(schedules.c.workspace_id == plain(workspace_id), which)
        row = self._database.one(wanted.order_by(schedules.c.id != plain(reference)).limit(1))
        return None if row is None else _schedule(row)

    def list(self, workspace_id: str) -> tuple[Schedule, ...]:
        """Return the schedules of a workspace by name."""
        wanted = select(schedules).where(schedules.c.workspace_id == plain(workspace_id)).order_by(schedules.c.name)
        return tuple(map(_schedule, self._database.all(wanted)))

    def change(self, schedule_id: str, **fields: Any) -> bool:
        """Set fields of a schedule; return whether it exists. Raises IntegrityError if the new name is taken."""
        values = {name: plain(value) if isinstance(value, str) else value for name, value in fields.items()}
        if "overrides" in values:
            values["overrides"] = plain(json_text(values["overrides"]))
        changed = update(schedules).where(schedules.c.id == plain(schedule_id)).values(values)
        return self._database.execute(changed) > 0

    def delete(self, schedule_id: str) -> bool:
        """Delete a schedule with what it owes; return whether it existed. Its runs stay."""
        return self._database.execute(delete(schedules).where(schedules.c.id == plain(schedule_id))) > 0

    def pause(self, schedule_id: str, fault: str = "", messages: Sequence[Delivery] = ()) -> bool:
        """Pause a schedule, and refuse what it owes; return whether it was enabled.

        `fault` is why, if not by hand; then `messages` are queued.
        """

        def work(connection: Connection) -> bool:
            fields: dict[str, Any] = {"enabled": False, "next_at": None}
            if fault:
                fields["last_fault"] = plain(fault)
            going = and_(schedules.c.id == plain(schedule_id), schedules.c.enabled.is_(True))
            done = connection.execute(update(schedules).where(going).values(fields)).rowcount > 0
            owed = and_(scheduled_runs.c.schedule_id == plain(schedule_id), _pending)
            over = {"state": ScheduledState.REFUSED, "fault": plain(fault) or "the schedule was paused"}
            connection.execute(update(scheduled_runs).where(owed).values(**over, ended_at=now(connection)))
            if done:
                insert_messages(connection, messages)
            return done

        return self._database.write(work)

    def due(self) -> tuple[Schedule, ...]:
        """Return schedules whose time has come, those that wait longest first."""

        def work(connection: Connection) -> tuple[Schedule, ...]:
            wanted = select(schedules).where(schedules.c.enabled.is_(True), schedules.c.next_at <= now(connection))
            found = connection.execute(wanted.order_by(schedules.c.next_at).limit(_BATCH)).mappings()
            return tuple(map(_schedule, found))

        return self._database.read(work)

    def advance(self, schedule: Schedule, next_at: float | None) -> bool:
        """Add the run of a schedule that is due, and set its next time; False if another worker did, or it changed.

        Times that were missed while no worker was there are one run, and a run that still waits to be submitted is not
        joined by another.
        """
        run_id = new_id()
        same = and_(
            schedules.c.id == schedule.id,
            schedules.c.enabled.is_(True),
            schedules.c.next_at == schedule.next_at,
        )

        def work(connection: Connection) -> bool:
            moved = update(schedules).where(same).values(next_at=next_at, last_at=schedule.next_at)
            if not connection.execute(moved).rowcount:
                return False
            waits = select(scheduled_runs.c.id).where(scheduled_runs.c.schedule_id == schedule.id, _pending)
            if connection.scalar(waits.limit(1)) is None and schedule.next_at is not None:
                owed = ScheduledRun(id=run_id, schedule_id=schedule.id, due_at=schedule.next_at)
                connection.execute(insert(scheduled_runs).values(values_of(owed, state=owed.state.value)))
            return True

        return self._database.write(work)


class ScheduledRuns:
    """The runs that schedules owe, and those that they submitted last."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, schedule_id: str, *, limit: int = KEPT) -> tuple[ScheduledRun, ...]:
        """Return the runs of a schedule, the newest first."""
        wanted = select(scheduled_runs).where(scheduled_runs.c.schedule_id == plain(schedule_id))
        wanted = wanted.order_by(scheduled_runs.c.due_at.desc(), scheduled_runs.c.id.desc()).limit(limit)
        return tuple(map(_scheduled, self._database.all(wanted)))

    def schedule_of(self, run_id: str) -> Schedule | None:
        """Return the schedule that submitted a run; None if there is none, or it is long ago."""
        wanted = select(schedules).join(scheduled_runs, scheduled_runs.c.schedule_id == schedules.c.id)
        row = self._database.one(wanted.where(scheduled_runs.c.run_id == plain(run_id)))
        return None if row is None else _schedule(row)

    def claim(self, worker_id: str, lease_s: float) -> tuple[ScheduledRun, Schedule] | None:
        """Lease the run that waits longest for `lease_s` seconds, with its schedule; None if nothing waits.

        One whose workers have all died is refused.
        """
        at = self._database.read(now)
        until = at + lease_s
        mine = select(scheduled_runs).where(
            scheduled_runs.c.claimed_by == worker_id, scheduled_runs.c.lease_until == until, _pending
        )

        def work(connection: Connection) -> tuple[ScheduledRun, Schedule] | None:
            taken = connection.execute(mine).mappings().first()
            while taken is None:
                waiting = owed_runs(at).order_by(scheduled_runs.c.due_at, scheduled_runs.c.id).limit(1)
                found = connection.execute(waiting.with_for_update(skip_locked=True)).mappings().first()
                if found is None:
                    return None
                here = scheduled_runs.c.id == found["id"]
                if found["tries"] >= MOST_TRIES:
                    words = f"{MOST_TRIES} workers ended while they submitted it; ask the server's administrators"
                    _end(connection, _scheduled(found), ScheduledState.REFUSED, words)
                    continue
                fields = {"claimed_by": worker_id, "lease_until": until, "tries": found["tries"] + 1}
                connection.execute(update(scheduled_runs).where(here).values(fields))
                taken = connection.execute(mine).mappings().first()
            owner = select(schedules).where(schedules.c.id == taken["schedule_id"])
            return _scheduled(taken), _schedule(connection.execute(owner).mappings().one())

        return self._database.write(work)

    def choose(self, owed: ScheduledRun, commit: str) -> bool:
        """Store the commit that a claimed run is of, so that every try submits the same; False if the claim is lost."""
        chosen = update(scheduled_runs).where(_held(owed)).values(commit_id=plain(commit))
        return self._database.execute(chosen) > 0

    def submitted(self, owed: ScheduledRun, run_id: str) -> None:
        """Store the run that was submitted, and forget runs of the schedule from long ago."""
        self._database.write(lambda connection: _end(connection, owed, ScheduledState.SUBMITTED, "", run_id))

    def refused(self, owed: ScheduledRun, fault: str, messages: Sequence[Delivery] = ()) -> None:
        """Store why a run cannot be submitted, and queue messages about it."""

        def work(connection: Connection) -> None:
            if _end(connection, owed, ScheduledState.REFUSED, plain(fault)):
                insert_messages(connection, messages)

        self._database.write(work)

    def retry(self, owed: ScheduledRun, fault: str, after_s: float) -> None:
        """Return a claimed run to the queue, to be tried again after some seconds."""

        def work(connection: Connection) -> None:
            fields = {"claimed_by": None, "lease_until": None, "tries": max(owed.tries - 1, 0), "fault": plain(fault)}
            later = update(scheduled_runs).where(_held(owed)).values(**fields, retry_at=now(connection) + after_s)
            if connection.execute(later).rowcount:
                told = update(schedules).where(schedules.c.id == owed.schedule_id)
                connection.execute(told.values(last_fault=plain(fault)))

        self._database.write(work)


def owed_runs(at: float) -> Select[Any]:
    """Return the query for the scheduled runs that a worker can submit."""
    free = or_(scheduled_runs.c.claimed_by.is_(None), scheduled_runs.c.lease_until < at)
    ripe = or_(scheduled_runs.c.retry_at.is_(None), scheduled_runs.c.retry_at <= at)
    return select(scheduled_runs).where(_pending, free, ripe)


def add_runs_of_sync(
    database: Database, connection: Connection, repository_id: str, branch: str, commit: str, run_ids: str
) -> None:
    """Add a run of each schedule that waits for a new commit of a branch.

    Called in the transaction that stores the sync; `run_ids` is a new id, the same whenever that is repeated.
    """
    followed = and_(schedules.c.branch == "", repositories.c.branch == plain(branch))
    wanted = (
        select(schedules.c.id)
        .join(repositories, repositories.c.workspace_id == schedules.c.workspace_id)
        .where(repositories.c.id == plain(repository_id), schedules.c.trigger == "sync", schedules.c.enabled.is_(True))
        .where(or_(schedules.c.branch == plain(branch), followed))
    )
    at = now(connection)
    for schedule_id in connection.scalars(wanted).all():
        owed = ScheduledRun(
            id=foreign_id(run_ids, schedule_id), schedule_id=schedule_id, commit_id=plain(commit), due_at=at
        )
        row = database.insert(scheduled_runs).values(values_of(owed, state=owed.state.value))
        connection.execute(row.on_conflict_do_nothing())
        connection.execute(update(schedules).where(schedules.c.id == schedule_id).values(last_at=at))
        newest = select(scheduled_runs.c.id).where(scheduled_runs.c.schedule_id == schedule_id, _pending)
        newest = newest.order_by(scheduled_runs.c.due_at.desc(), scheduled_runs.c.id.desc()).limit(MOST_WAITING)
        late = and_(
            scheduled_runs.c.schedule_id == schedule_id,
            _pending,
            scheduled_runs.c.id.not_in(newest.scalar_subquery()),
        )
        over = {"state": ScheduledState.REFUSED.value, "fault": _OVERTAKEN, "ended_at": at}
        connection.execute(update(scheduled_runs).where(late).values(over))


def is_name_taken(error: IntegrityError) -> bool:
    """Return whether an insertion failed for its name, rather than because what it refers to is gone."""
    return "unique" in str(error.orig).casefold()


_pending = scheduled_runs.c.state == ScheduledState.PENDING.value


def _held(owed: ScheduledRun) -> ColumnElement[bool]:
    return and_(scheduled_runs.c.id == owed.id, _pending, scheduled_runs.c.claimed_by == owed.claimed_by)


def _end(
    connection: Connection, owed: ScheduledRun, state: ScheduledState, fault: str, run_id: str | None = None
) -> bool:
    """Store the end of a scheduled run; return whether it was pending and, to be refused, still claimed."""
    over = {"state": state.value, "fault": fault, "run_id": run_id, "ended_at": now(connection)}
    over |= {"lease_until": None, "retry_at": None}
    # What was submitted was submitted, even if the schedule was paused or another worker took over meanwhile.
    held = scheduled_runs.c.id == owed.id
    if state is ScheduledState.REFUSED:
        held = _held(owed) if owed.claimed_by is not None else and_(held, _pending)
    if not connection.execute(update(scheduled_runs).where(held).values(over)).rowcount:
        return False
    last = {"last_fault": fault} | ({} if run_id is None else {"last_run": run_id})
    connection.execute(update(schedules).where(schedules.c.id == owed.schedule_id).values(last))
    own = scheduled_runs.c.schedule_id == owed.schedule_id
    kept = select(scheduled_runs.c.id).where(own, ~_pending)
    kept = kept.order_by(scheduled_runs.c.due_at.desc(), scheduled_runs.c.id.desc()).limit(KEPT)
    old = delete(scheduled_runs).where(own, ~_pending, scheduled_runs.c.id.not_in(kept.scalar_subquery()))
    connection.execute(old)
    return True


def _values(schedule: Schedule) -> dict[str, Any]:
    return values_of(schedule, overrides=plain(json_text(schedule.overrides)))


def _schedule(row: RowMapping) -> Schedule:
    overrides = msgspec.json.decode(row["overrides"], type=dict[str, Any])
    return record_of(Schedule, row, overrides=overrides, enabled=bool(row["enabled"]))


def _scheduled(row: RowMapping) -> ScheduledRun:
    return record_of(ScheduledRun, row, state=ScheduledState(row["state"]))
