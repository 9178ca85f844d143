"""Runs of a server as needed by leaderboards and the gallery: finished runs with their scores."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, Literal

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, RowMapping, Select, and_, case, func, or_, select

from mesocosm.core.episode import FINISHED
from mesocosm.core.failure import UnknownName
from mesocosm.core.ports import ScoreRow
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.store.database import Database, batches
from mesocosm.store.rows import plain, record_of, run_from
from mesocosm.store.run_requests import DECLARED, OPEN, PUBLIC, is_public, public_pair
from mesocosm.store.schema import episodes, run_index, runs, scores
from mesocosm.store.tenancy import deleted_runs, domains, requests
from mesocosm.store.tenancy import environment_versions as versions

_FINISHED = sorted(status.value for status in FINISHED)
_DONE = runs.c.completed + runs.c.truncated + runs.c.timeout + runs.c.failed
_PLAYED_IN = and_(
    versions.c.environment_id == requests.c.environment_id, versions.c.version == requests.c.environment_version
)
_TRIED = and_(requests.c.state.not_in(OPEN), _DONE > 0, requests.c.purpose != "test")
"""Ended runs, whatever their result, that their owner could have learned from."""

_metrics = msgspec.json.Decoder(tuple[MetricResult, ...])
_objects = msgspec.json.Decoder(dict[str, Any])


class BoardScope(msgspec.Struct, frozen=True):
    """The runs of a board: public ones of a domain (under one protocol version, or unofficial), or all of a team.

    No board has runs of a workspace.
    """

    domain_id: str | None = None
    team_id: str | None = None
    protocol: int | None = None


class BoardStamp(msgspec.Struct, frozen=True):
    """Changes whenever the finished runs of a board or their results change.

    `tried` covers all ended runs of a domain.
    """

    runs: int
    tried: int
    changed_at: float
    changes: float


class Entrant(msgspec.Struct, frozen=True):
    """A finished run with the facts that decide which runs it is comparable with.

    `agent` is the requested configuration. `content` is the digest of its benchmark, `verdict` that on its environment
    version; `verdict` and `environment_version` are None if the environment is remote. `changed_at` (UNIX seconds) is
    the last write, such as a rescoring.
    """

    run_id: str
    changed_at: float
    domain_id: str
    vow_version: str
    content: str
    model: str
    actor: str
    team_id: str | None
    protocol: int | None
    agent: dict[str, Any]
    environment_version: int | None = None
    verdict: str | None = None

    @property
    def owner(self) -> str:
        """The owning team, else the person."""
        return self.team_id or self.actor


class Candidate(msgspec.Struct, frozen=True):
    """An ended run: shown, hidden or deleted. `declared` says that it was declared public before it began."""

    owner: str
    domain_id: str
    vow_version: str
    model: str
    shown: bool
    declared: bool


class OfficialAttempt(msgspec.Struct, frozen=True):
    """An official run: its actor, model and state."""

    actor: str
    model: str
    state: Literal["finished", "going", "unfinished", "deleted"]


class GalleryRow(msgspec.Struct, frozen=True):
    """A public run in the gallery; `metric` is its primary metric, `verdict` is as in Entrant."""

    run_id: str
    domain_id: str
    domain_name: str
    vow_version: str
    model: str
    actor: str
    created_at: float
    episodes: int
    metric: MetricResult | None
    protocol: int | None = None
    verdict: str | None = None


class Leaderboards:
    """Finished runs of a server, many at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stamp(self, field: BoardScope) -> BoardStamp:
        """Return the stamp of a board: it changes as soon as a run is added, removed, shown, hidden or rescored."""
        changed = run_index.c.changed_at
        wanted = _within(select(func.count(), func.max(changed), func.sum(changed)), field)
        number, newest, total = self._database.read(lambda connection: tuple(connection.execute(wanted).one()))
        tried = self._tried(field.domain_id) if field.protocol is None else self._attempted(field)
        return BoardStamp(number, tried, newest or 0.0, total or 0.0)

    def _attempted(self, field: BoardScope) -> int:
        """Return a number that changes as soon as an official run of a domain is submitted, ends or is deleted."""
        states = Counter(one.state for one in self.tries(field.domain_id or "", field.protocol or 0))
        return hash(frozenset(states.items()))

    def tries(self, domain_id: str, protocol: int) -> tuple[OfficialAttempt, ...]:
        """Return all official runs of a domain under one protocol version, in any state, including deleted ones."""
        c, left = requests.c, deleted_runs.c
        known = select(c.run_id, c.actor, c.model, c.state, c.visibility, c.workspace_id, runs.c.status)
        known = known.join(runs, runs.c.id == c.run_id).where(c.domain_id == plain(domain_id), c.protocol == protocol)
        gone = select(left.run_id, left.actor, left.model)
        gone = gone.where(left.domain_id == plain(domain_id), left.protocol == protocol)

        def work(connection: Connection) -> tuple[OfficialAttempt, ...]:
            deleted = {row.run_id: OfficialAttempt(row.actor, row.model, "deleted") for row in connection.execute(gone)}
            there = {
                row.run_id: OfficialAttempt(row.actor, row.model, _became(row)) for row in connection.execute(known)
            }
            # A run whose deletion was interrupted still has a row: the deletion takes precedence.
            return tuple((there | deleted).values())

        return self._database.read(work)

    def _tried(self, domain_id: str | None) -> int:
        """Return the number of ended runs of a domain: shown, hidden or deleted."""
        if domain_id is None:
            return 0
        known = select(func.count()).select_from(requests).join(runs, runs.c.id == requests.c.run_id)
        known = known.where(requests.c.domain_id == plain(domain_id), _TRIED)
        gone = select(func.count()).select_from(deleted_runs).where(deleted_runs.c.domain_id == plain(domain_id))

        def work(connection: Connection) -> int:
            return int(connection.execute(known).scalar_one()) + int(connection.execute(gone).scalar_one())

        return self._database.read(work)

    def candidates(self, domain_id: str) -> tuple[Candidate, ...]:
        """Return all ended runs of a domain, including deleted ones, without test episodes and official runs."""
        owner = func.coalesce(requests.c.team_id, requests.c.actor).label("owner")
        kind = (requests.c.domain_id, requests.c.vow_version, requests.c.model)
        wanted = select(owner, *kind, requests.c.visibility, requests.c.workspace_id, runs.c.status, requests.c.config)
        wanted = wanted.join(runs, runs.c.id == requests.c.run_id)
        wanted = wanted.where(requests.c.domain_id == plain(domain_id), _TRIED, requests.c.protocol.is_(None))
        left = deleted_runs.c
        theirs = func.coalesce(left.team_id, left.actor).label("owner")
        gone = select(theirs, left.domain_id, left.vow_version, left.model, left.declared)
        gone = gone.where(left.domain_id == plain(domain_id), left.protocol.is_(None))

        def work(connection: Connection) -> tuple[Candidate, ...]:
            known = (
                _candidate(row, shown=is_public(row, row.status), declared=_declared(row.config))
                for row in connection.execute(wanted)
            )
            deleted = (_candidate(row, shown=False, declared=row.declared) for row in connection.execute(gone))
            return (*known, *deleted)

        return self._database.read(work)

    def entrants(self, field: BoardScope) -> tuple[Entrant, ...]:
        """Return the runs of a board, newest first."""
        c, content = requests.c, runs.c.benchmark_digest.label("content")
        columns = (c.run_id, c.domain_id, c.vow_version, c.model, c.actor, c.team_id, c.protocol, c.environment_version)
        wanted = select(*columns, c.config.label("agent"), content, run_index.c.changed_at, versions.c.verdict)
        wanted = _within(wanted, field).outerjoin(versions, _PLAYED_IN).order_by(c.run_id.desc())
        return tuple(record_of(Entrant, row, agent=_agent(row["agent"])) for row in self._database.all(wanted))

    def runs(self, run_ids: Collection[str]) -> dict[str, Run]:
        """Return runs by id, with all columns; unknown ids are left out."""
        return {row["id"]: run_from(row) for row in self._database.among(select(runs), runs.c.id, run_ids)}

    def scores(self, run_ids: Collection[str]) -> Iterator[ScoreRow]:
        """Yield the scores of all finished episodes of some runs, in a fixed order."""
        columns = (episodes.c.task_digest, episodes.c.cluster, episodes.c.trial)
        values = (scores.c.name, scores.c.value, scores.c.missing, scores.c.worst)
        for some in batches(sorted(run_ids)):
            wanted = select(*columns, *values).join(scores, scores.c.episode_id == episodes.c.id)
            wanted = wanted.where(episodes.c.run_id.in_(some), episodes.c.status.in_(_FINISHED)).order_by(
                episodes.c.run_id, episodes.c.position, episodes.c.task_digest, episodes.c.trial
            )
            with self._database.once() as connection:
                for row in connection.execute(wanted):
                    yield ScoreRow(*row[:-1], worst=bool(row[-1]))

    def gallery(
        self, *, domain_id: str | None = None, by_score: bool = False, cursor: str | None = None, limit: int = 50
    ) -> tuple[GalleryRow, ...]:
        """Return public runs of published domains, newest first.

        With `by_score` the best come first, in the direction of their primary metric, and those without a score last.
        `cursor` is the run id of the last one of the previous page. Raises UnknownName if that run is not listed, so
        that it has no place by score.
        """
        quality = case((runs.c.higher_is_better.is_(False), -runs.c.score), else_=runs.c.score)
        columns = (requests, domains.c.name.label("title"), runs.c.metrics, _DONE.label("done"), versions.c.verdict)
        wanted = (
            select(*columns, quality.label("quality"))
            .join(runs, runs.c.id == requests.c.run_id)
            .outerjoin(versions, _PLAYED_IN)
            .join(domains, domains.c.id == requests.c.domain_id)
            .where(public_pair(), domains.c.status == "published")
        )
        if domain_id is not None:
            wanted = wanted.where(requests.c.domain_id == plain(domain_id))
        if cursor is not None:
            after = requests.c.run_id < plain(cursor)
            if by_score:
                last = self._database.one(wanted.where(requests.c.run_id == plain(cursor)))
                if last is None:
                    raise UnknownName(f"there is no public run {cursor!r} here to list from; begin with the first page")
                after = _below(quality, last["quality"], after)
            wanted = wanted.where(after)
        if by_score:
            wanted = wanted.order_by(quality.is_(None), quality.desc())
        wanted = wanted.order_by(requests.c.run_id.desc()).limit(limit)
        return tuple(map(_shown, self._database.all(wanted)))


def _within(wanted: Select[*tuple[Any, ...]], field: BoardScope) -> Select[*tuple[Any, ...]]:
    wanted = wanted.select_from(requests).join(runs, runs.c.id == requests.c.run_id)
    wanted = wanted.join(run_index, run_index.c.run_id == runs.c.id)
    # Whoever pushes a run played it, out of the server's sight.
    wanted = wanted.where(requests.c.kind != "imported")
    if field.team_id is None:
        wanted = wanted.where(public_pair(), requests.c.protocol.is_not_distinct_from(field.protocol))
    else:
        finished = runs.c.status == RunStatus.FINISHED.value
        theirs = and_(requests.c.team_id == field.team_id, requests.c.workspace_id.is_(None))
        wanted = wanted.where(finished, theirs, requests.c.purpose != "test")
    return wanted if field.domain_id is None else wanted.where(requests.c.domain_id == plain(field.domain_id))


def _below(quality: ColumnElement[Any], last: float | None, older: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return whether a run comes after one of quality `last`, with `older` deciding among equals."""
    if last is None:
        return and_(quality.is_(None), older)
    return or_(quality.is_(None), quality < last, and_(quality == last, older))


def _became(row: Row[*tuple[Any, ...]]) -> Literal["finished", "going", "unfinished"]:
    if row.state in OPEN or row.status == RunStatus.RUNNING:
        return "going"
    return "finished" if is_public(row, row.status) else "unfinished"


def _candidate(row: Row[*tuple[Any, ...]], *, shown: bool, declared: bool) -> Candidate:
    return Candidate(row.owner, row.domain_id, row.vow_version, row.model, shown, declared)


def _declared(config: str) -> bool:
    return _objects.decode(config).get(DECLARED) == PUBLIC


def _agent(config: str) -> dict[str, Any]:
    found = _objects.decode(config).get("agent_config")
    return found if isinstance(found, dict) else {}


def _shown(row: RowMapping) -> GalleryRow:
    primary = next((metric for metric in _metrics.decode(row["metrics"]) if metric.primary), None)
    return record_of(GalleryRow, row, domain_name=row["title"], episodes=row["done"], metric=primary)
