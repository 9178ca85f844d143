"""How many environments and runs a member has alone, and each of their teams."""

import msgspec
from sqlalchemy import ColumnElement, Connection, func, select

from mesocosm.store.database import Database
from mesocosm.store.tenancy import environments, memberships, requests, teams


class OwnedCounts(msgspec.Struct, frozen=True):
    """Numbers of environments and runs."""

    environments: int
    runs: int


class TeamUsage(msgspec.Struct, frozen=True):
    """A team of somebody with their role in it, its number of members, and what it has."""

    id: str
    name: str
    slug: str
    join_code: str
    role: str
    members: int
    held: OwnedCounts


class QuotaUsage:
    """How much is whose."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def solo(self, user_id: int) -> OwnedCounts:
        """Return what belongs to somebody alone."""
        actor = f"user:{user_id}"
        built = environments.c.holder_key == actor
        played = (requests.c.actor == actor) & requests.c.team_id.is_(None)
        return self._database.read(lambda connection: _held(connection, built, played))

    def teams(self, user_id: int) -> tuple[TeamUsage, ...]:
        """Return the teams of somebody, the last joined first."""
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
    return _held(connection, environments.c.holder_key == f"team:{team_id}", requests.c.team_id == team_id)


def _held(connection: Connection, built: ColumnElement[bool], played: ColumnElement[bool]) -> OwnedCounts:
    there = select(func.count()).where(built, environments.c.deleted_at.is_(None))
    runs = select(func.count()).where(played, requests.c.purpose == "run")
    return OwnedCounts(connection.scalar(there) or 0, connection.scalar(runs) or 0)
