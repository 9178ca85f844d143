"""Runs submitted to a server: their owners, their visibility, and what they cost; `queue.py` has their queue."""

from collections.abc import Collection, Mapping
from typing import Any, Literal, Protocol

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, select, true, update

from mesocosm.core.run import Run, RunStatus
from mesocosm.store.database import Database
from mesocosm.store.rows import SUMMARY, json_text, plain, run_from, values_of
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import attempts, requests

RunKind = Literal["environment", "rollout", "benchmark", "scan", "imported"]
"""What a run is of; `scan`: a question about another run; `imported`: it was played elsewhere."""

OPEN = ("queued", "claimed")
"""States of requests with a run still to be executed."""

PRIVATE, PUBLIC = "private", "gallery_public"
DECLARED = "visibility"
"""Key of the visibility that was declared before the run began, in the configuration of a request."""
"""`PRIVATE`: visible to its owner and their team. `PUBLIC`: visible to everybody once it has finished.

A run in a workspace is visible to the members of the workspace, whatever its visibility.
"""

_DAY = 86_400.0
_MICRO = 1_000_000
_MOST_KEPT = 2_000_000_000


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A submitted run. Times are UNIX seconds.

    `actor` is `user:ID`, `guest:ID` or `system:WORD`; `purpose` run, test or full_bench; `state` queued, claimed, ended
    or cancelled; `config` what was asked for, as JSON: a RunConfig for an environment. `protocol` is the version of the
    domain's protocol for an official run, None for every other run. Only environments have a domain and a vow version.

    `name` is unique among the runs of its workspace. `snapshot` is the digest of the rollout's code, of the commit
    `commit_id` of `branch` if it was synced; `configuration` is the path of its configuration file.
    """

    run_id: str
    actor: str
    actor_name: str = ""
    team_id: str | None = None
    domain_id: str = ""
    environment_id: str | None = None
    environment_version: int | None = None
    vow_version: str = ""
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
    kind: RunKind = "environment"
    workspace_id: str | None = None
    name: str = ""
    commit_id: str = ""
    branch: str = ""
    configuration: str = ""
    dataset_id: str | None = None
    dataset_version: int | None = None
    snapshot: str | None = None

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

    `cursor` is the run id of the last request of the previous page; `before` is a UNIX time.
    """

    actor: str | None = None
    team_id: str | None = None
    workspace_id: str | None = None
    name: str | None = None
    domain_id: str | None = None
    environment_id: str | None = None
    job_id: str | None = None
    purposes: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    public: bool = False
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

    def list(
        self, wanted: RunRequestFilter | None = None, *, limit: int = 100, offset: int = 0
    ) -> tuple[RunRequest, ...]:
        """Return requests, newest first, without the first `offset`."""
        query = _narrowed(select(requests), wanted or RunRequestFilter())
        query = query.order_by(requests.c.run_id.desc()).limit(limit).offset(offset)
        return tuple(map(request_from, self._database.all(query)))

    def count(self, wanted: RunRequestFilter) -> int:
        """Return the number of matching requests."""
        query = _narrowed(select(func.count()).select_from(requests), wanted)
        return self._database.scalar(query) or 0

    def finished_before(self, request: RunRequest, *, same_model: bool = False) -> RunRequest | None:
        """Return the last earlier run of the same configuration in its workspace that finished; None without one.

        With `same_model`, only runs of its model count.
        """
        if request.workspace_id is None or not request.configuration:
            return None
        query = (
            select(requests)
            .join(runs, runs.c.id == requests.c.run_id)
            .where(requests.c.workspace_id == request.workspace_id, requests.c.kind == request.kind, _FINISHED)
            .where(requests.c.configuration == request.configuration, requests.c.created_at <= request.created_at)
            .where(requests.c.run_id != request.run_id, *([requests.c.model == request.model] if same_model else []))
            .order_by(requests.c.created_at.desc(), requests.c.run_id.desc())
            .limit(1)
        )
        row = self._database.one(query)
        return None if row is None else request_from(row)

    def of_experiment(
        self, signature: str, kind: RunKind, *, actor: str, workspace_id: str | None
    ) -> tuple[RunRequest, ...]:
        """Return the newest requests for runs of an experiment, at most twenty.

        They are those of a workspace, or else those of an actor that are in none.
        """
        whose = requests.c.actor == actor if workspace_id is None else true()
        query = (
            select(requests)
            .join(runs, runs.c.id == requests.c.run_id)
            .where(runs.c.signature == signature, requests.c.kind == kind)
            .where(requests.c.workspace_id == workspace_id, whose)
            .order_by(requests.c.created_at.desc(), requests.c.run_id.desc())
            .limit(20)
        )
        return tuple(map(request_from, self._database.all(query)))

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

    def set_visibility(self, run_id: str, visibility: str) -> bool:
        """Make a run public (`gallery_public`) or `private`; return whether its request exists."""
        statement = update(requests).where(requests.c.run_id == plain(run_id)).values(visibility=visibility)
        return self._database.execute(statement) > 0

    def spent(
        self, *, actor: str | None = None, team_id: str | None = None, workspace_id: str | None = None, since: float
    ) -> Spent:
        """Return the cost of runs since a UNIX time: of an actor, for a team, or in a workspace; with deleted runs."""
        if workspace_id is not None:
            whose, key = requests.c.workspace_id == workspace_id, f"spent:workspace:{workspace_id}"
        elif team_id is not None:
            whose, key = requests.c.team_id == team_id, f"spent:team:{team_id}"
        else:
            whose, key = requests.c.actor == actor, f"spent:{actor}"
        query = (
            select(func.coalesce(func.sum(runs.c.cost_usd), 0.0), func.coalesce(func.sum(runs.c.cost_unknown), 0))
            .join(requests, requests.c.run_id == runs.c.id)
            .where(whose, requests.c.kind != "imported", requests.c.created_at >= since)
        )
        gone = select(func.coalesce(func.sum(attempts.c.count), 0))
        gone = gone.where(attempts.c.key == key, attempts.c.stretch >= int(since // 3600))

        def work(connection: Connection) -> Spent:
            usd, unknown = connection.execute(query).one()
            return Spent(float(usd) + (connection.scalar(gone) or 0) / _MICRO, bool(unknown))

        return self._database.read(work)

    def remember_cost(self, order: RunRequest, usd: float) -> None:
        """Record the cost of a run about to be deleted, so that deleting runs does not restore a budget."""

        def work(connection: Connection) -> None:
            gone = update(requests).where(requests.c.run_id == order.run_id, requests.c.reason != _REMEMBERED)
            if connection.execute(gone.values(reason=_REMEMBERED)).rowcount:
                owners = (order.actor, order.team_id, order.workspace_id)
                self._add_cost(connection, owners, usd, order.created_at)

        self._database.write(work)

    def add_cost(
        self, actor: str, usd: float, at: float, *, team_id: str | None = None, workspace_id: str | None = None
    ) -> None:
        """Record a cost at a UNIX time that is no run's: of an actor, for a team and in a workspace, where given."""
        owners = (actor, team_id, workspace_id)
        self._database.write(lambda connection: self._add_cost(connection, owners, usd, at))

    def _add_cost(
        self, connection: Connection, owners: tuple[str, str | None, str | None], usd: float, at: float
    ) -> None:
        actor, team_id, workspace_id = owners
        keys = [f"spent:{actor}"]
        keys += [f"spent:team:{team_id}"] if team_id else []
        keys += [f"spent:workspace:{workspace_id}"] if workspace_id else []
        row = {"stretch": int(at // 3600), "count": min(round(usd * _MICRO), _MOST_KEPT), "until": at + 2 * _DAY}
        for key in keys:
            new = self._database.insert(attempts).values(key=key, **row)
            more = {"count": attempts.c.count + new.excluded.count}
            connection.execute(new.on_conflict_do_update(index_elements=["key", "stretch"], set_=more))

    def expired(self, at: float, *, limit: int = 100) -> tuple[RunRequest, ...]:
        """Return expired requests of guests, oldest first, for cleanup."""
        query = select(requests).where(requests.c.expires_at.is_not(None), requests.c.expires_at <= at)
        query = query.order_by(requests.c.run_id).limit(limit)
        return tuple(map(request_from, self._database.all(query)))


_FINISHED = runs.c.status == RunStatus.FINISHED.value
_SHOWN = and_(requests.c.visibility == PUBLIC, requests.c.workspace_id.is_(None))
_REMEMBERED = "deleted"


def _narrowed(query: Select[Any], wanted: RunRequestFilter) -> Select[Any]:
    for name in ("actor", "team_id", "workspace_id", "name", "domain_id", "environment_id", "job_id"):
        value = getattr(wanted, name)
        if value is not None:
            query = query.where(requests.c[name] == plain(value))
    if wanted.purposes:
        query = query.where(requests.c.purpose.in_(wanted.purposes))
    if wanted.states:
        query = query.where(requests.c.state.in_(wanted.states))
    if wanted.public:
        query = query.where(public_request())
    if wanted.cursor is not None:
        query = query.where(requests.c.run_id < plain(wanted.cursor))
    if wanted.before is not None:
        query = query.where(requests.c.created_at < wanted.before)
    return query


class Shown(Protocol):
    """What decides, beside its status, whether a run is public."""

    @property
    def visibility(self) -> str:
        """`private` or `gallery_public`."""
        ...

    @property
    def workspace_id(self) -> str | None:
        """The id of its workspace, or None."""
        ...


def is_public(shown: Shown, status: str) -> bool:
    """Return whether a run is public: its owner made it so, it has finished, and it is in no workspace.

    `public_request` is the same in SQL.
    """
    return shown.visibility == PUBLIC and shown.workspace_id is None and status == RunStatus.FINISHED


def public_request() -> ColumnElement[bool]:
    """Return the condition that the run of a request is public."""
    return and_(_SHOWN, exists().where(runs.c.id == requests.c.run_id, _FINISHED))


def public_pair() -> ColumnElement[bool]:
    """Return the condition, on requests joined with their runs, that the run is public."""
    return and_(_SHOWN, _FINISHED)


def request_values(order: RunRequest) -> dict[str, Any]:
    """Return a request as column values."""
    return values_of(order, config=json_text(order.config))


def request_from(row: Mapping[Any, Any]) -> RunRequest:
    """Return the request of a row."""
    config = row["config"]
    return RunRequest(**{**row, "config": msgspec.json.decode(config) if isinstance(config, str) else config})
