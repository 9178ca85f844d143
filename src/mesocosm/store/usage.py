"""How much domains and environments are used, and how many environments and runs users and teams have."""

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, case, func, select

from mesocosm.core.run import RunStatus
from mesocosm.store.database import Database
from mesocosm.store.rows import plain
from mesocosm.store.run_requests import PRIVATE
from mesocosm.store.schema import runs
from mesocosm.store.tenancy import environments, memberships, requests, teams


class UsageGroup(msgspec.Struct, frozen=True):
    """Runs in the same state: their number, their finished episodes and their scores.

    `example` is one of the runs: its public status is that of all. `scored` of them have a primary score; the sum of
    these is `total`. `own` says whether the requesting actor started them. Runs of workspaces are private here, and
    nobody's own.
    """

    example: str
    visibility: str
    own: bool
    count: int
    episodes: int
    scored: int
    total: float
    least: float | None
    most: float | None
    higher_is_better: bool


class Usages:
    """Counts of runs by what they were started on; test episodes are left out."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_domain(self, domain_id: str, actor: str) -> tuple[UsageGroup, ...]:
        """Return the runs of a domain in groups, as seen by `actor`."""
        return self._groups("domain_id", domain_id, actor)

    def of_environment(self, environment_id: str, actor: str) -> tuple[UsageGroup, ...]:
        """Return the runs of an environment in groups, as seen by `actor`."""
        return self._groups("environment_id", environment_id, actor)

    def _groups(self, column: str, value: str, actor: str) -> tuple[UsageGroup, ...]:
        done = runs.c.completed + runs.c.truncated + runs.c.timeout + runs.c.failed
        loose = requests.c.workspace_id.is_(None)
        own = case((and_(requests.c.actor == plain(actor), loose), 1), else_=0).label("own")
        visibility = case((loose, requests.c.visibility), else_=PRIVATE).label("shown")
        # Group by label: PostgreSQL does not recognise an expression with parameters as the selected one.
        alike = (
            *("own", "shown"),
            *(requests.c.state, runs.c.status, runs.c.started_at.is_(None)),
            *(done < runs.c.planned, runs.c.higher_is_better),
        )
        score = case((and_(runs.c.status == RunStatus.FINISHED.value), runs.c.score))
        wanted = (
            select(
                func.min(runs.c.id),
                visibility,
                own,
                func.count(),
                func.coalesce(func.sum(done), 0),
                func.count(score),
                func.coalesce(func.sum(score), 0.0),
                func.min(score),
                func.max(score),
                runs.c.higher_is_better,
            )
            .join(requests, requests.c.run_id == runs.c.id)
            .where(requests.c[column] == plain(value), requests.c.purpose != "test")
            .group_by(*alike)
        )
        rows = self._database.read(lambda connection: connection.execute(wanted).all())
        return tuple(
            UsageGroup(
                example=row[0],
                visibility=row[1],
                own=bool(row[2]),
                count=row[3],
                episodes=int(row[4]),
                scored=row[5],
                total=float(row[6]),
                least=row[7],
                most=row[8],
                higher_is_better=row[9] is not False,
            )
            for row in rows
        )


class OwnedCounts(msgspec.Struct, frozen=True):
    """Numbers of environments and runs."""

    environments: int
    runs: int


class TeamUsage(msgspec.Struct, frozen=True):
    """A user's team: the user's role, the number of members, and what the team owns."""

    id: str
    name: str
    slug: str
    join_code: str
    role: str
    members: int
    held: OwnedCounts


class QuotaUsage:
    """Numbers of environments and runs by owner, for quotas."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def solo(self, user_id: int) -> OwnedCounts:
        """Return what a user owns outside of teams and workspaces."""
        actor = f"user:{user_id}"
        built = environments.c.holder_key == actor
        played = and_(requests.c.actor == actor, requests.c.team_id.is_(None), requests.c.workspace_id.is_(None))
        return self._database.read(lambda connection: _held(connection, built, played))

    def teams(self, user_id: int) -> tuple[TeamUsage, ...]:
        """Return the teams of a user, the last joined first."""
        mates = memberships.alias()
        size = select(func.count()).where(mates.c.team_id == teams.c.id).scalar_subquery()
        wanted = (
            select(teams.c.id, teams.c.name, teams.c.slug, teams.c.join_code, memberships.c.role, size.label("members"))
            .join(memberships, memberships.c.team_id == teams.c.id)
            .where(memberships.c.user_id == user_id)
            .order_by(memberships.c.joined_at.desc(), teams.c.id.desc())
        )

        def work(connection: Connection) -> tuple[TeamUsage, ...]:
            rows = connection.execute(wanted).mappings().all()
            return tuple(TeamUsage(**row, held=_of_team(connection, row["id"])) for row in rows)

        return self._database.read(work)


def _of_team(connection: Connection, team_id: str) -> OwnedCounts:
    return _held(
        connection,
        environments.c.holder_key == f"team:{team_id}",
        and_(requests.c.team_id == team_id, requests.c.workspace_id.is_(None)),
    )


def _held(connection: Connection, built: ColumnElement[bool], played: ColumnElement[bool]) -> OwnedCounts:
    there = select(func.count()).where(built, environments.c.deleted_at.is_(None))
    runs = select(func.count()).where(played, requests.c.purpose == "run")
    return OwnedCounts(connection.scalar(there) or 0, connection.scalar(runs) or 0)
