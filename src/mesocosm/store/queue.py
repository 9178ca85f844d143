"""The queue of runs: which are admitted, who is next, and the leases of the workers that run them.

Admission spends cooldown, quota and places in the queue in the transaction that stores the run.
"""

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, func, insert, select, update

from mesocosm.core.ids import digest
from mesocosm.core.run import Run, RunStatus
from mesocosm.store.bell import ring
from mesocosm.store.clock import now
from mesocosm.store.commit_statuses import note_commit_status
from mesocosm.store.database import Database
from mesocosm.store.notifications import note_unannounced
from mesocosm.store.rows import plain
from mesocosm.store.run_index import insert_run
from mesocosm.store.run_requests import OPEN, RunRequest, request_from, request_values
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import attempts, cooldowns, requests

SUSPECT = 2
"""After this many workers died while executing a run without progress, it is executed alone."""

MOST = 2_000
"""Maximum waiting runs to read for computing a position in the queue."""

_CLAIMING = 0x6D65736F
_DAY = 86_400


class AdmissionTerms(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on runs of an actor: seconds between two, runs per UTC day, runs queued or running (None: no limit)."""

    cooldown_s: float = 0.0
    per_day: int | None = None
    waiting: int | None = None


class Bound(StrEnum):
    """The limit that rejects a run."""

    COOLDOWN = "cooldown"
    QUOTA = "quota"
    QUEUE = "queue"


class Denial(msgspec.Struct, frozen=True):
    """Why a run was rejected, and after how many seconds it would be accepted (0: depends on other runs)."""

    bound: Bound
    seconds: float = 0.0


class Allowance(msgspec.Struct, frozen=True):
    """How much of its limits an actor has used: runs today, runs queued or running, seconds of cooldown left."""

    today: int = 0
    waiting: int = 0
    cooldown_s: float = 0.0


class Waiting(msgspec.Struct, frozen=True):
    """The position of a run in the queue, from 1 (None: far behind), and the number of waiting runs."""

    position: int | None
    length: int


class RunQueue:
    """The runs of a server that wait, and those that workers have claimed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def used(self, actor: str, terms: AdmissionTerms) -> Allowance:
        """Return how much of its limits an actor has used; `cooldown_s` is 0 if `terms` have no cooldown."""

        def work(connection: Connection) -> Allowance:
            at = time.time()
            return Allowance(_today(connection, actor, at), _open(connection, actor), _cooldown(connection, actor, at))

        used = self._database.read(work)
        return used if terms.cooldown_s else msgspec.structs.replace(used, cooldown_s=0.0)

    def admit(self, order: RunRequest, run: Run, terms: AdmissionTerms) -> Denial | None:
        """Store a run with its request and spend the quota and cooldown of its actor.

        Otherwise return why it was denied. Repeating the call for a stored request changes nothing and returns None.
        """

        def work(connection: Connection) -> Denial | None:
            if self._database.postgres:
                # Two concurrent requests must not both take the last free slot.
                keys = (f"orders:{order.actor}", run.signature)
                connection.execute(select(*(func.pg_advisory_xact_lock(int(digest(key)[:15], 16)) for key in keys)))
            if connection.scalar(select(requests.c.run_id).where(requests.c.run_id == order.run_id)) is not None:
                return None
            at = time.time()
            denial = _denial(connection, order.actor, terms, at)
            if denial is not None:
                return denial
            self._spend(connection, order.actor, terms, at)
            last = connection.scalar(select(func.max(runs.c.attempt)).where(runs.c.signature == run.signature))
            run.attempt = (last or 0) + 1
            insert_run(self._database, connection, run)
            connection.execute(insert(requests).values(request_values(order)))
            if order.workspace_id is not None:
                note_unannounced(self._database, connection, order.run_id)
                if order.commit_id:
                    note_commit_status(self._database, connection, order.run_id)
            ring(connection)
            return None

        return self._database.write(work)

    def claim(
        self, worker_id: str, lease_s: float, per_actor: int, *, playing: Collection[str] = (), moving: bool = False
    ) -> RunRequest | None:
        """Lease a request to this worker and return it, None if there is nothing to run.

        Fair between people: first the actor with the fewest claimed runs, then the one whose last run ended longest
        ago, then the one who has waited longest; at most `per_actor` claimed runs each. An actor's test episodes
        precede their other runs. Requests with an expired lease of another worker can be claimed again.

        `playing` are the runs that this worker executes; it does not get them again if it renewed them too late. If the
        next run may have killed its workers (`SUSPECT`), a worker with other runs gets nothing unless they are all
        `moving` (an episode of each has ended there): otherwise runs without progress would be blamed for a crash of
        that one.
        """
        taken: list[str] = []

        def work(connection: Connection) -> RunRequest | None:
            at = now(connection)
            if self._database.postgres:
                connection.execute(select(func.pg_advisory_xact_lock(_CLAIMING)))
            if taken:
                # The claim was committed, but the connection was lost before we learned of it.
                known = (
                    connection.execute(select(requests).where(requests.c.run_id == taken[0])).mappings().one_or_none()
                )
                if known is not None and known["claimed_by"] == worker_id:
                    return request_from(known)
                taken.clear()
            row = _next(connection, at, per_actor, playing)
            if row is None or (playing and not moving and row["tries"] >= SUSPECT):
                return None
            taken.append(row["run_id"])
            new = {"state": "claimed", "claimed_by": worker_id, "lease_until": at + lease_s, "tries": row["tries"] + 1}
            connection.execute(update(requests).where(requests.c.run_id == row["run_id"]).values(new))
            return request_from({**row, **new})

        return self._database.write(work)

    def renew(self, run_id: str, worker_id: str, lease_s: float, *, moved: bool = False) -> bool:
        """Extend a lease; False if it was lost. `moved`: the run made progress, so reset its count of tries."""
        mine = (requests.c.run_id == run_id) & _claimed_by(worker_id)
        cleared = {"tries": 1} if moved else {}

        def work(connection: Connection) -> int:
            renewed = update(requests).where(mine).values(lease_until=now(connection) + lease_s, **cleared)
            return connection.execute(renewed).rowcount

        return self._database.write(work) > 0

    def renew_all(self, run_ids: Collection[str], worker_id: str, lease_s: float) -> None:
        """Extend the leases of all these runs that this worker still has, in one transaction."""
        mine = requests.c.run_id.in_(list(run_ids)) & _claimed_by(worker_id)

        def work(connection: Connection) -> None:
            connection.execute(update(requests).where(mine).values(lease_until=now(connection) + lease_s))

        self._database.write(work)

    def give_back(self, run_id: str, worker_id: str) -> bool:
        """Return a claimed request to the queue when a worker shuts down; return whether this worker had it."""
        mine = (requests.c.run_id == run_id) & _claimed_by(worker_id)
        new: dict[str, Any] = {"state": "queued", "claimed_by": None, "lease_until": None}
        statement = update(requests).where(mine).values({**new, "tries": requests.c.tries - 1})

        def work(connection: Connection) -> bool:
            ring(connection)
            return connection.execute(statement).rowcount > 0

        return self._database.write(work)

    def end(self, run_id: str, state: str = "ended", reason: str = "", worker_id: str | None = None) -> bool:
        """Mark an open request (with `worker_id`, only one of that worker) as ended or cancelled.

        Return whether it was.
        """
        mine = () if worker_id is None else (requests.c.claimed_by == worker_id,)
        new = {"state": state, "reason": plain(reason), "ended_at": time.time(), "lease_until": None}
        return self._change(run_id, requests.c.state.in_(OPEN), *mine, **new)

    def cancel(self, run_id: str, reason: str = "cancelled") -> RunRequest | None:
        """Mark an open request as cancelled; return it as it was before, None if it was not open or is unknown."""
        cancelled: list[RunRequest] = []

        def work(connection: Connection) -> RunRequest | None:
            query = select(requests).where(requests.c.run_id == run_id).with_for_update()
            row = connection.execute(query).mappings().one_or_none()
            if row is None or row["state"] not in OPEN:
                return cancelled[0] if cancelled else None
            new = {"state": "cancelled", "reason": plain(reason), "ended_at": time.time(), "lease_until": None}
            connection.execute(update(requests).where(requests.c.run_id == run_id).values(new))
            cancelled.append(request_from(row))
            return cancelled[0]

        return self._database.write(work)

    def reopen(self, run_id: str) -> bool:
        """Queue a closed request again, for its pending episodes; return whether it was closed."""
        new: dict[str, Any] = {"state": "queued", "reason": "", "ended_at": None, "claimed_by": None, "tries": 0}
        closed = and_(requests.c.run_id == plain(run_id), requests.c.state.not_in(OPEN))
        shared = select(requests.c.workspace_id, requests.c.commit_id).where(requests.c.run_id == plain(run_id))

        def work(connection: Connection) -> bool:
            if not connection.execute(update(requests).where(closed).values(**new, lease_until=None)).rowcount:
                return False
            row = connection.execute(shared).one()
            if row.workspace_id is not None:
                note_unannounced(self._database, connection, run_id)
                if row.commit_id:
                    note_commit_status(self._database, connection, run_id)
            ring(connection)
            return True

        return self._database.write(work)

    def left(self) -> tuple[str, ...]:
        """Return the runs that are still pending or running although their requests are closed."""
        going = runs.c.status.in_((RunStatus.PENDING.value, RunStatus.RUNNING.value))
        query = (
            select(requests.c.run_id)
            .join(runs, runs.c.id == requests.c.run_id)
            .where(going, requests.c.state.not_in(OPEN))
        )
        return self._database.read(lambda connection: tuple(connection.scalars(query)))

    def place(self, run_id: str) -> Waiting | None:
        """Return the position of a run in the queue if no request were added and no run ended.

        None if it is not waiting.
        """

        def work(connection: Connection) -> Waiting | None:
            mine = select(requests.c.state).where(requests.c.run_id == plain(run_id))
            if connection.scalar(mine) != "queued":
                return None
            waits = requests.c.state == "queued"
            length = connection.scalar(select(func.count()).select_from(requests).where(waits)) or 0
            columns = (requests.c.actor, requests.c.purpose != "test", requests.c.created_at, requests.c.run_id)
            rows = connection.execute(select(*columns).where(waits).order_by(requests.c.created_at).limit(MOST)).all()
            at = time.time()
            waiting = [(row[0], bool(row[1]), float(row[2]), row[3]) for row in rows]
            order = _in_turn(waiting, _held(connection, at), _served(connection, {row[0] for row in rows}, at))
            return Waiting(order.index(run_id) + 1 if run_id in order else None, length)

        return self._database.read(work)

    def _spend(self, connection: Connection, actor: str, terms: AdmissionTerms, at: float) -> None:
        if terms.cooldown_s:
            until = self._database.insert(cooldowns).values(actor=actor, until=at + terms.cooldown_s)
            new = {"until": until.excluded.until}
            connection.execute(until.on_conflict_do_update(index_elements=["actor"], set_=new))
        if terms.per_day is not None:
            day = int(at // _DAY)
            one = {"key": _key(actor), "stretch": day, "count": 1, "until": float((day + 2) * _DAY)}
            counted = self._database.insert(attempts).values(one)
            more = {"count": attempts.c.count + 1}
            connection.execute(counted.on_conflict_do_update(index_elements=["key", "stretch"], set_=more))

    def _change(self, run_id: str, *conditions: ColumnElement[bool], **new: Any) -> bool:
        statement = update(requests).where(requests.c.run_id == plain(run_id), *conditions).values(new)
        return self._database.execute(statement) > 0


def _denial(connection: Connection, actor: str, terms: AdmissionTerms, at: float) -> Denial | None:
    if terms.per_day is not None and _today(connection, actor, at) >= terms.per_day:
        return Denial(Bound.QUOTA, (at // _DAY + 1) * _DAY - at)
    if terms.waiting is not None and _open(connection, actor) >= terms.waiting:
        return Denial(Bound.QUEUE)
    if terms.cooldown_s:
        seconds = _cooldown(connection, actor, at)
        if seconds > 0:
            return Denial(Bound.COOLDOWN, seconds)
    return None


def _today(connection: Connection, actor: str, at: float) -> int:
    day = int(at // _DAY)
    today = select(attempts.c.count).where(attempts.c.key == _key(actor), attempts.c.stretch == day)
    return connection.scalar(today) or 0


def _open(connection: Connection, actor: str) -> int:
    mine = select(func.count()).select_from(requests).where(requests.c.actor == actor, requests.c.state.in_(OPEN))
    return connection.scalar(mine) or 0


def _cooldown(connection: Connection, actor: str, at: float) -> float:
    until = connection.scalar(select(cooldowns.c.until).where(cooldowns.c.actor == actor))
    return max(until - at, 0.0) if until is not None else 0.0


def _key(actor: str) -> str:
    return f"runs:{plain(actor)}"


def midnight(now: float) -> str:
    """Return the start of the next UTC day in ISO 8601, to the minute."""
    return datetime.fromtimestamp((now // _DAY + 1) * _DAY, UTC).isoformat(timespec="minutes")


def _next(connection: Connection, at: float, per_actor: int, playing: Collection[str]) -> Mapping[str, Any] | None:
    lapsed = (requests.c.state == "claimed") & (requests.c.lease_until < at) & requests.c.run_id.not_in(list(playing))
    ready = (requests.c.state == "queued") | lapsed
    held = _held(connection, at)
    waiting = select(requests.c.actor, func.min(requests.c.created_at)).where(ready).group_by(requests.c.actor)
    fair = [(actor, since) for actor, since in connection.execute(waiting) if held.get(actor, 0) < per_actor]
    if not fair:
        return None
    served = _served(connection, {actor for actor, _ in fair}, at)
    first = min(fair, key=lambda one: (held.get(one[0], 0), served.get(one[0], 0.0), one[1], one[0]))
    mine = select(requests).where(ready, requests.c.actor == first[0])
    oldest = mine.order_by((requests.c.purpose != "test"), requests.c.created_at, requests.c.run_id).limit(1)
    row = connection.execute(oldest).mappings().one_or_none()
    return None if row is None else dict(row)


def _held(connection: Connection, at: float) -> dict[str, int]:
    """Return the number of claimed runs of each actor that has any."""
    busy = select(requests.c.actor, func.count()).where(requests.c.state == "claimed", requests.c.lease_until >= at)
    return {row[0]: int(row[1]) for row in connection.execute(busy.group_by(requests.c.actor))}


def _served(connection: Connection, actors: Collection[str], at: float) -> dict[str, float]:
    """Return when the last run of the last day of each of these actors ended here."""
    recent = (requests.c.actor.in_(list(actors)), requests.c.created_at > at - _DAY)
    ended = (requests.c.state == "ended", requests.c.kind != "imported")
    last = select(requests.c.actor, func.max(requests.c.ended_at)).where(*recent, *ended).group_by(requests.c.actor)
    return {row[0]: float(row[1] or 0.0) for row in connection.execute(last)}


def _claimed_by(worker_id: str) -> ColumnElement[bool]:
    return (requests.c.claimed_by == worker_id) & (requests.c.state == "claimed")


def _in_turn(rows: list[tuple[str, bool, float, str]], held: dict[str, int], served: dict[str, float]) -> list[str]:
    """Return run ids in the order in which they would be claimed. Rows are (actor, is no test, time, run id)."""
    theirs: dict[str, list[tuple[bool, float, str]]] = {}
    for actor, ordinary, since, run_id in rows:
        theirs.setdefault(actor, []).append((ordinary, since, run_id))
    for line in theirs.values():
        line.sort(reverse=True)
    first = [
        (held.get(actor, 0), served.get(actor, 0.0), min(item[1] for item in line), actor)
        for actor, line in theirs.items()
    ]
    heapify(first)
    found = []
    while first:
        count, last, _, actor = heappop(first)
        line = theirs[actor]
        found.append(line.pop()[2])
        if line:
            heappush(first, (count + 1, last, min(item[1] for item in line), actor))
    return found
