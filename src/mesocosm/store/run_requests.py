"""Runs submitted to a server: their owners, their visibility, and which one a worker runs next."""

import time
from collections.abc import Collection, Mapping
from heapq import heapify, heappop, heappush
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, insert, select, update

from mesocosm.core.run import Run, RunStatus
from mesocosm.store.clock import now
from mesocosm.store.database import Database
from mesocosm.store.rows import SUMMARY, json_text, plain, run_from, values_of
from mesocosm.store.schema import episodes, runs
from mesocosm.store.tenancy import attempts, requests

SUSPECT = 2
"""After this many workers died while executing a run without progress, it is executed alone."""

OPEN = ("queued", "claimed")
"""States of requests with a run still to be executed."""

PRIVATE, PUBLIC = "private", "gallery_public"
DECLARED = "visibility"
"""Key of the visibility that was declared before the run began, in the configuration of a request."""
"""`PRIVATE`: visible to its owner and their team. `PUBLIC`: visible to everybody once it has finished."""

_DAY = 86_400.0
_MICRO = 1_000_000
_MOST_KEPT = 2_000_000_000


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A submitted run. Times are UNIX seconds.

    `actor` is `user:ID`, `guest:ID` or `system:WORD`; `purpose` run, test or full_bench; `state` queued, claimed, ended
    or cancelled; `config` a RunConfig as JSON. `protocol` is the version of the domain's protocol for an official run,
    None for every other run.
    """

    run_id: str
    actor: str
    actor_name: str = ""
    team_id: str | None = None
    domain_id: str
    environment_id: str | None = None
    environment_version: int | None = None
    vow_version: str
    model: str
    visibility: str = PRIVATE
    purpose: str = "run"
    job_id: str | None = None
    config: dict[str, Any] = {}
    state: str = "queued"
    created_at: float
    ended_at: float | None = None
    expires_at: float | None = None
    claimed_by: str | None = None
    lease_until: float | None = None
    tries: int = 0
    reason: str = ""
    protocol: int | None = None

    @property
    def official(self) -> bool:
        """Whether it is run under the protocol of its domain."""
        return self.protocol is not None

    @property
    def open(self) -> bool:
        """Whether its run is still to be executed."""
        return self.state in OPEN


class Spent(msgspec.Struct, frozen=True):
    """The cost of runs in USD, of calls with a known price; `unknown` if there were also calls without one."""

    usd: float
    unknown: bool


class RunRequestFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of run requests: all given conditions must match. `public` means finished and visible to everybody.

    `seen_by` (an actor) and `seen_teams` keep requests of one of them, and public ones. `cursor` is the run id of the
    last request of the previous page; `before` is a UNIX time.
    """

    actor: str | None = None
    team_id: str | None = None
    domain_id: str | None = None
    environment_id: str | None = None
    job_id: str | None = None
    purposes: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    public: bool = False
    seen_by: str | None = None
    seen_teams: tuple[str, ...] = ()
    cursor: str | None = None
    before: float | None = None


class RunRequests:
    """Runs that were submitted to a server."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, order: RunRequest) -> None:
        """Insert the request of a stored run; do nothing if it has one."""
        row = request_values(order)
        statement = self._database.insert(requests).values(row).on_conflict_do_nothing()
        self._database.execute(statement)

    def get(self, run_id: str) -> RunRequest | None:
        """Return the request of a run, None if it has none."""
        return self.of([run_id]).get(run_id)

    def of(self, run_ids: Collection[str]) -> dict[str, RunRequest]:
        """Return the requests of these runs; runs without one are left out."""
        rows = self._database.among(select(requests), requests.c.run_id, list(map(plain, run_ids)))
        return {row["run_id"]: request_from(row) for row in rows}

    def list(self, wanted: RunRequestFilter | None = None, *, limit: int = 100) -> tuple[RunRequest, ...]:
        """Return requests, newest first."""
        query = _narrowed(select(requests), wanted or RunRequestFilter())
        query = query.order_by(requests.c.run_id.desc()).limit(limit)
        return tuple(map(request_from, self._database.all(query)))

    def count(self, wanted: RunRequestFilter) -> int:
        """Return the number of matching requests."""
        query = _narrowed(select(func.count()).select_from(requests), wanted)
        return self._database.scalar(query) or 0

    def runs(self, run_ids: Collection[str]) -> dict[str, Run]:
        """Return these runs without their `info`; unknown ids are left out."""
        rows = self._database.among(select(*SUMMARY), runs.c.id, list(map(plain, run_ids)))
        return {row["id"]: run_from(row) for row in rows}

    def found(self, run_id: str, *, whole: bool = True) -> tuple[Run, RunRequest | None] | None:
        """Return a run (without its `info` unless `whole`) and its request; None if there is no run with this id."""
        columns = (runs,) if whole else SUMMARY
        wanted, asked = select(*columns).where(runs.c.id == plain(run_id)), select(requests)
        asked = asked.where(requests.c.run_id == plain(run_id))

        def work(connection: Connection) -> tuple[Run, RunRequest | None] | None:
            run = connection.execute(wanted).mappings().one_or_none()
            order = connection.execute(asked).mappings().one_or_none()
            return None if run is None else (run_from(run), None if order is None else request_from(order))

        return self._database.read(work)

    def mean_rewards(self, run_ids: Collection[str]) -> dict[str, float]:
        """Return the mean total reward over the stored episodes of each run; runs without one are left out."""
        query = select(episodes.c.run_id, func.avg(episodes.c.total_reward)).group_by(episodes.c.run_id)
        query = query.where(episodes.c.run_id.in_([plain(run_id) for run_id in run_ids]))
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return {run_id: float(mean) for run_id, mean in rows if mean is not None}

    def set_visibility(self, run_id: str, visibility: str) -> bool:
        """Make a run public (`gallery_public`) or `private`; return whether its request exists."""
        return self._change(run_id, visibility=visibility)

    def claim(
        self, worker_id: str, lease_s: float, per_actor: int, *, playing: Collection[str] = (), moving: bool = False
    ) -> RunRequest | None:
        """Lease a request to this worker and return it, None if there is nothing to run.

        Fair between people: first the actor with the fewest claimed runs, then the one who has waited longest; at most
        `per_actor` claimed runs each. An actor's test episodes precede their other runs. Requests with an expired lease
        of another worker can be claimed again.

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
        mine = (requests.c.run_id == run_id) & (requests.c.claimed_by == worker_id) & (requests.c.state == "claimed")
        cleared = {"tries": 1} if moved else {}

        def work(connection: Connection) -> int:
            renewed = update(requests).where(mine).values(lease_until=now(connection) + lease_s, **cleared)
            return connection.execute(renewed).rowcount

        return self._database.write(work) > 0

    def renew_all(self, run_ids: Collection[str], worker_id: str, lease_s: float) -> None:
        """Extend the leases of all these runs that this worker still has, in one transaction."""
        mine = (
            requests.c.run_id.in_(list(run_ids))
            & (requests.c.claimed_by == worker_id)
            & (requests.c.state == "claimed")
        )

        def work(connection: Connection) -> None:
            connection.execute(update(requests).where(mine).values(lease_until=now(connection) + lease_s))

        self._database.write(work)

    def give_back(self, run_id: str, worker_id: str) -> bool:
        """Return a claimed request to the queue when a worker shuts down; return whether this worker had it."""
        mine = (requests.c.run_id == run_id) & (requests.c.claimed_by == worker_id) & (requests.c.state == "claimed")
        new: dict[str, Any] = {"state": "queued", "claimed_by": None, "lease_until": None}
        statement = update(requests).where(mine).values({**new, "tries": requests.c.tries - 1})
        return self._database.execute(statement) > 0

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
        return self._change(run_id, requests.c.state.not_in(OPEN), **new, lease_until=None)

    def spent(self, *, actor: str | None = None, team_id: str | None = None, since: float) -> Spent:
        """Return the cost of runs submitted by an actor, or for a team, since a UNIX time; includes deleted runs."""
        whose = requests.c.team_id == team_id if team_id is not None else requests.c.actor == actor
        query = (
            select(func.coalesce(func.sum(runs.c.cost_usd), 0.0), func.coalesce(func.sum(runs.c.cost_unknown), 0))
            .join(requests, requests.c.run_id == runs.c.id)
            .where(whose, requests.c.created_at >= since)
        )
        key = f"spent:team:{team_id}" if team_id is not None else f"spent:{actor}"
        gone = select(func.coalesce(func.sum(attempts.c.count), 0))
        gone = gone.where(attempts.c.key == key, attempts.c.stretch >= int(since // 3600))

        def work(connection: Connection) -> Spent:
            usd, unknown = connection.execute(query).one()
            return Spent(float(usd) + (connection.scalar(gone) or 0) / _MICRO, bool(unknown))

        return self._database.read(work)

    def remember_cost(self, order: RunRequest, usd: float) -> None:
        """Record the cost of a run about to be deleted, so that deleting runs does not restore a budget."""
        micro = min(round(usd * _MICRO), _MOST_KEPT)
        keys = [f"spent:{order.actor}", *([f"spent:team:{order.team_id}"] if order.team_id else [])]
        row = {"stretch": int(order.created_at // 3600), "count": micro, "until": order.created_at + 2 * _DAY}

        def work(connection: Connection) -> None:
            gone = update(requests).where(requests.c.run_id == order.run_id, requests.c.reason != _REMEMBERED)
            if not connection.execute(gone.values(reason=_REMEMBERED)).rowcount:
                return
            for key in keys:
                new = self._database.insert(attempts).values(key=key, **row)
                more = {"count": attempts.c.count + new.excluded.count}
                connection.execute(new.on_conflict_do_update(index_elements=["key", "stretch"], set_=more))

        self._database.write(work)

    def left(self) -> tuple[str, ...]:
        """Return the runs that are still pending or running although their requests are closed."""
        going = runs.c.status.in_((RunStatus.PENDING.value, RunStatus.RUNNING.value))
        query = (
            select(requests.c.run_id)
            .join(runs, runs.c.id == requests.c.run_id)
            .where(going, requests.c.state.not_in(OPEN))
        )
        return self._database.read(lambda connection: tuple(connection.scalars(query)))

    def expired(self, at: float, *, limit: int = 100) -> tuple[RunRequest, ...]:
        """Return expired requests of guests, oldest first, for cleanup."""
        query = select(requests).where(requests.c.expires_at.is_not(None), requests.c.expires_at <= at)
        query = query.order_by(requests.c.run_id).limit(limit)
        return tuple(map(request_from, self._database.all(query)))

    def _change(self, run_id: str, *conditions: ColumnElement[bool], **new: Any) -> bool:
        statement = update(requests).where(requests.c.run_id == plain(run_id), *conditions).values(new)
        return self._database.execute(statement) > 0


_CLAIMING = 0x6D65736F
_FINISHED = runs.c.status == RunStatus.FINISHED.value
_REMEMBERED = "deleted"


def _next(connection: Connection, at: float, per_actor: int, playing: Collection[str]) -> Mapping[str, Any] | None:
    lapsed = (requests.c.state == "claimed") & (requests.c.lease_until < at) & requests.c.run_id.not_in(list(playing))
    ready = (requests.c.state == "queued") | lapsed
    busy = select(requests.c.actor, func.count()).where(requests.c.state == "claimed", requests.c.lease_until >= at)
    held = {row[0]: int(row[1]) for row in connection.execute(busy.group_by(requests.c.actor))}
    waiting = select(requests.c.actor, func.min(requests.c.created_at)).where(ready).group_by(requests.c.actor)
    fair = [
        (held.get(actor, 0), since, actor)
        for actor, since in connection.execute(waiting)
        if held.get(actor, 0) < per_actor
    ]
    if not fair:
        return None
    mine = select(requests).where(ready, requests.c.actor == min(fair)[2])
    first = mine.order_by((requests.c.purpose != "test"), requests.c.created_at, requests.c.run_id).limit(1)
    row = connection.execute(first).mappings().one_or_none()
    return None if row is None else dict(row)


def _narrowed(query: Select[Any], wanted: RunRequestFilter) -> Select[Any]:
    for name in ("actor", "team_id", "domain_id", "environment_id", "job_id"):
        value = getattr(wanted, name)
        if value is not None:
            query = query.where(requests.c[name] == plain(value))
    if wanted.purposes:
        query = query.where(requests.c.purpose.in_(wanted.purposes))
    if wanted.states:
        query = query.where(requests.c.state.in_(wanted.states))
    if wanted.public:
        query = query.where(public_request())
    if wanted.seen_by is not None:
        mine = (requests.c.actor == wanted.seen_by) | requests.c.team_id.in_(wanted.seen_teams)
        query = query.where(mine | public_request())
    if wanted.cursor is not None:
        query = query.where(requests.c.run_id < plain(wanted.cursor))
    if wanted.before is not None:
        query = query.where(requests.c.created_at < wanted.before)
    return query


def is_public(visibility: str, status: str) -> bool:
    """Return whether a run is public: its owner made it so, and it has finished.

    `public_request` is the same in SQL.
    """
    return visibility == PUBLIC and status == RunStatus.FINISHED


def public_request() -> ColumnElement[bool]:
    """Return the condition that the run of a request is public."""
    return and_(requests.c.visibility == PUBLIC, exists().where(runs.c.id == requests.c.run_id, _FINISHED))


def public_pair() -> ColumnElement[bool]:
    """Return the condition, on requests joined with their runs, that the run is public."""
    return and_(requests.c.visibility == PUBLIC, _FINISHED)


def insert_request(connection: Connection, order: RunRequest) -> None:
    """Insert a request in the caller's transaction."""
    connection.execute(insert(requests).values(request_values(order)))


def request_values(order: RunRequest) -> dict[str, Any]:
    """Return a request as column values."""
    return values_of(order, config=json_text(order.config))


def request_from(row: Mapping[Any, Any]) -> RunRequest:
    """Return the request of a row."""
    config = row["config"]
    return RunRequest(**{**row, "config": msgspec.json.decode(config) if isinstance(config, str) else config})


MOST = 2_000
"""Maximum waiting runs to read for computing a position in the queue."""


class Waiting(msgspec.Struct, frozen=True):
    """The position of a run in the queue, from 1 (None: far behind), and the number of waiting runs."""

    position: int | None
    length: int


class WaitingRuns:
    """The queue of waiting runs, in the order of `RunRequests.claim`."""

    def __init__(self, database: Database) -> None:
        self._database = database

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
            columns = (
                requests.c.actor,
                requests.c.purpose != "test",
                requests.c.created_at,
                requests.c.run_id,
            )
            rows = connection.execute(select(*columns).where(waits).order_by(requests.c.created_at).limit(MOST)).all()
            busy = select(requests.c.actor, func.count()).where(
                requests.c.state == "claimed", requests.c.lease_until >= time.time()
            )
            held = {row[0]: int(row[1]) for row in connection.execute(busy.group_by(requests.c.actor))}
            order = _in_turn([(row[0], bool(row[1]), float(row[2]), row[3]) for row in rows], held)
            return Waiting(order.index(run_id) + 1 if run_id in order else None, length)

        return self._database.read(work)


def _in_turn(rows: list[tuple[str, bool, float, str]], held: dict[str, int]) -> list[str]:
    """Return run ids in the order in which they would be claimed. Rows are (actor, is no test, time, run id)."""
    theirs: dict[str, list[tuple[bool, float, str]]] = {}
    for actor, ordinary, since, run_id in rows:
        theirs.setdefault(actor, []).append((ordinary, since, run_id))
    for line in theirs.values():
        line.sort(reverse=True)
    first = [(held.get(actor, 0), min(item[1] for item in line), actor) for actor, line in theirs.items()]
    heapify(first)
    found = []
    while first:
        count, _, actor = heappop(first)
        line = theirs[actor]
        found.append(line.pop()[2])
        if line:
            heappush(first, (count + 1, min(item[1] for item in line), actor))
    return found
