"""Notifications of workspaces, and the messages that are queued for them.

Runs of workspaces are noted in `unannounced_runs` until their end is announced: the transaction that queues the
messages deletes the note, so each end is announced once, whatever dies in between.
"""

import time
from collections.abc import Collection, Sequence
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
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from mesocosm.core.ids import new_id
from mesocosm.core.run import RunStatus
from mesocosm.store.bell import ring
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.rows import json_text, plain, record_of, values_of
from mesocosm.store.run_requests import OPEN
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import deliveries, notifications, requests, unannounced_runs

KEPT = 100
"""Number of earlier messages of a notification to keep."""

NotificationFormat = Literal["mesocosm", "slack"]

_GOING = (RunStatus.PENDING.value, RunStatus.RUNNING.value)
_events = msgspec.json.Decoder(tuple[str, ...])


class DeliveryState(StrEnum):
    """State of a message; the last two are final."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """An address that is told about events of a workspace; `host` is the part of its URL that may be shown."""

    id: str
    workspace_id: str
    name: str
    host: str
    format: NotificationFormat
    events: tuple[str, ...]
    created_by: int | None = None
    created_at: float = 0.0


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A message for a notification. Times are UNIX seconds.

    `status` is the HTTP status of the last attempt, None if there was no answer; `answer` is what came back, or what
    went wrong.
    """

    id: str
    notification_id: str
    event: str
    run_id: str | None = None
    body: str
    state: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    status: int | None = None
    answer: str = ""
    created_at: float = 0.0
    next_at: float | None = None
    ended_at: float | None = None
    claimed_by: str | None = None
    lease_until: float | None = None


class Notifications:
    """The notifications of workspaces. Names are unique in a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, wanted: Notification, most: int) -> Notification | None:
        """Store a notification, with its id, and return it; None if the workspace has `most` already.

        Raises IntegrityError if the name is taken, or the workspace or the account is gone.
        """
        here = notifications.c.workspace_id == plain(wanted.workspace_id)
        row = msgspec.structs.replace(wanted, created_at=time.time())

        def work(connection: Connection) -> Notification | None:
            if connection.scalar(select(notifications.c.id).where(notifications.c.id == row.id)) is not None:
                return row
            if (connection.scalar(select(func.count()).select_from(notifications).where(here)) or 0) >= most:
                return None
            connection.execute(insert(notifications).values(values_of(row, events=json_text(row.events))))
            return row

        return self._database.write(work)

    def get(self, workspace_id: str, reference: str) -> Notification | None:
        """Return a notification of a workspace by its id or name; None if there is none."""
        which = or_(notifications.c.id == plain(reference), notifications.c.name == plain(reference))
        wanted = select(notifications).where(notifications.c.workspace_id == plain(workspace_id), which)
        row = self._database.one(wanted.order_by(notifications.c.id != plain(reference)).limit(1))
        return None if row is None else _notification(row)

    def list(self, workspace_id: str) -> tuple[Notification, ...]:
        """Return the notifications of a workspace by name."""
        wanted = select(notifications).where(notifications.c.workspace_id == plain(workspace_id))
        return tuple(map(_notification, self._database.all(wanted.order_by(notifications.c.name))))

    def delete(self, notification_id: str) -> bool:
        """Delete a notification with its messages; return whether it existed."""
        return self._database.execute(delete(notifications).where(notifications.c.id == plain(notification_id))) > 0


class Deliveries:
    """Messages for notifications."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ended(self, limit: int) -> tuple[str, ...]:
        """Return the ids of runs of workspaces that have ended and are not announced."""
        wanted = (
            select(unannounced_runs.c.run_id)
            .join(requests, requests.c.run_id == unannounced_runs.c.run_id)
            .join(runs, runs.c.id == unannounced_runs.c.run_id)
            .where(requests.c.state.not_in(OPEN), runs.c.status.not_in(_GOING))
            .order_by(unannounced_runs.c.run_id)
            .limit(limit)
        )
        return self._database.read(lambda connection: tuple(connection.scalars(wanted)))

    def announce(self, run_id: str, messages: Sequence[Delivery]) -> bool:
        """Queue the messages about the end of a run; False if another worker did, or it goes on again."""

        def work(connection: Connection) -> bool:
            # Whoever resumes the run changes its request first, so that either of the two waits for the other.
            state = connection.scalar(select(requests.c.state).where(requests.c.run_id == run_id).with_for_update())
            gone = delete(unannounced_runs).where(unannounced_runs.c.run_id == run_id)
            if state in OPEN or not connection.execute(gone).rowcount:
                return False
            insert_messages(connection, messages)
            return True

        return self._database.write(work)

    def add(self, message: Delivery) -> Delivery:
        """Queue one message and return it. Raises IntegrityError if its notification is gone."""
        row = msgspec.structs.replace(message, id=new_id())

        def work(connection: Connection) -> Delivery:
            at = now(connection)
            made = msgspec.structs.replace(row, created_at=at, next_at=at)
            new = self._database.insert(deliveries).values(_values(made)).on_conflict_do_nothing()
            connection.execute(new)
            ring(connection)
            return made

        return self._database.write(work)

    def get(self, notification_id: str, message_id: str) -> Delivery | None:
        """Return a message of a notification; None if there is none."""
        here = and_(deliveries.c.notification_id == plain(notification_id), deliveries.c.id == plain(message_id))
        row = self._database.one(select(deliveries).where(here))
        return None if row is None else _delivery(row)

    def list(self, notification_id: str, *, limit: int = KEPT) -> tuple[Delivery, ...]:
        """Return the messages of a notification, the newest first."""
        wanted = select(deliveries).where(deliveries.c.notification_id == plain(notification_id))
        wanted = wanted.order_by(deliveries.c.created_at.desc(), deliveries.c.id.desc()).limit(limit)
        return tuple(map(_delivery, self._database.all(wanted)))

    def last(self, notification_ids: Collection[str]) -> dict[str, Delivery]:
        """Return the newest message of each notification that has any."""
        found: dict[str, Delivery] = {}
        for notification_id in notification_ids:
            for message in self.list(notification_id, limit=1):
                found[notification_id] = message
        return found

    def claim(self, worker_id: str, lease_s: float) -> tuple[Delivery, Notification] | None:
        """Lease the next message for `lease_s` seconds, with its notification; None if nothing is due.

        Each notification gets one message at a time, and those with fewer attempts come first: an address that does not
        answer delays no other.
        """
        at = self._database.read(now)
        until = at + lease_s
        mine = select(deliveries).where(deliveries.c.claimed_by == worker_id, deliveries.c.lease_until == until, _waits)

        def work(connection: Connection) -> tuple[Delivery, Notification] | None:
            taken = connection.execute(mine).mappings().first()
            if taken is None:
                wanted = (
                    due_messages(at).order_by(deliveries.c.attempts, deliveries.c.next_at, deliveries.c.id).limit(1)
                )
                found = connection.execute(wanted.with_for_update(of=deliveries, skip_locked=True)).mappings().first()
                if found is None:
                    return None
                # The attempt counts from here, so that one that kills its worker is not repeated for ever.
                fields = {"claimed_by": worker_id, "lease_until": until, "attempts": found["attempts"] + 1}
                connection.execute(update(deliveries).where(deliveries.c.id == found["id"]).values(fields))
                taken = connection.execute(mine).mappings().one()
            owner = select(notifications).where(notifications.c.id == taken["notification_id"])
            return _delivery(taken), _notification(connection.execute(owner).mappings().one())

        return self._database.write(work)

    def save(self, message: Delivery, *, after_s: float | None = None) -> bool:
        """Store the outcome of an attempt; False if the claim was lost. `after_s`: it is tried again after so long."""
        mine = and_(deliveries.c.id == message.id, deliveries.c.claimed_by == message.claimed_by, _waits)
        told = {"status": message.status, "answer": plain(message.answer), "lease_until": None, "claimed_by": None}

        def work(connection: Connection) -> bool:
            at = now(connection)
            if after_s is None:
                over = {"state": message.state.value, "ended_at": at, "next_at": None}
            else:
                over = {"next_at": at + after_s}
            if not connection.execute(update(deliveries).where(mine).values(**told, **over)).rowcount:
                return False
            own = deliveries.c.notification_id == message.notification_id
            kept = select(deliveries.c.id).where(own, ~_waits)
            kept = kept.order_by(deliveries.c.created_at.desc(), deliveries.c.id.desc()).limit(KEPT)
            connection.execute(delete(deliveries).where(own, ~_waits, deliveries.c.id.not_in(kept.scalar_subquery())))
            return True

        return self._database.write(work)


def note_unannounced(database: Database, connection: Connection, run_id: str) -> None:
    """Note that the end of a run of a workspace is to be announced. Part of the transaction that queues the run."""
    connection.execute(database.insert(unannounced_runs).values(run_id=run_id).on_conflict_do_nothing())


def insert_messages(connection: Connection, messages: Sequence[Delivery]) -> None:
    """Queue messages, those of notifications that are gone left out. Part of the transaction that they are about."""
    wanted = {message.notification_id for message in messages}
    living = set(connection.scalars(select(notifications.c.id).where(notifications.c.id.in_(wanted))))
    at = now(connection)
    rows = [
        _values(msgspec.structs.replace(message, id=new_id(), created_at=at, next_at=at))
        for message in messages
        if message.notification_id in living
    ]
    if rows:
        connection.execute(insert(deliveries), rows)
        ring(connection)


def due_messages(at: float) -> Select[Any]:
    """Return the query for the messages that a worker can send."""
    other = deliveries.alias()
    same = other.c.notification_id == deliveries.c.notification_id
    busy = exists(select(other.c.id).where(same, other.c.state == DeliveryState.PENDING, other.c.lease_until >= at))
    free = or_(deliveries.c.claimed_by.is_(None), deliveries.c.lease_until < at)
    return select(deliveries).where(_waits, deliveries.c.next_at <= at, free, ~busy)


_waits: ColumnElement[bool] = deliveries.c.state == DeliveryState.PENDING.value


def _values(message: Delivery) -> dict[str, Any]:
    return values_of(message, state=message.state.value)


def _notification(row: RowMapping) -> Notification:
    return record_of(Notification, row, events=_events.decode(row["events"]))


def _delivery(row: RowMapping) -> Delivery:
    return record_of(Delivery, row, state=DeliveryState(row["state"]))
