"""How many environments and runs a member has alone, and each of their teams."""

import msgspec
from sqlalchemy import ColumnElement, Connection, func, select

from mesocosm.store.database import Database
from mesocosm.store.tenancy import environments, memberships, orders, teams


class Held(msgspec.Struct, frozen=True):
    """Numbers of environments and runs."""

    environments: int
    runs: int


class TeamHeld(msgspec.Struct, frozen=True):
    """A team of somebody with their role in it, its number of members, and what it has."""

    id: str
    name: str
    slug: str
    join_code: str
    role: str
    members: int
    held: Held


class QuotaUsage:
    """How much is whose."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def solo(self, user_id: int) -> Held:
        """Return what belongs to somebody alone."""
        actor = f"user:{user_id}"
        built = environments.c.holder_key == actor
        played = (orders.c.actor == actor) & orders.c.team_id.is_(None)
        return self._database.read(lambda connection: _held(connection, built, played))

    def teams(self, user_id: int) -> tuple[TeamHeld, ...]:
        """Return the teams of somebody, the last joined first."""
        mates = memberships.alias()
        size = select(func.count()).where(mates.c.team_id == teams.c.id).scalar_subquery()
        wanted = (
            select(teams.c.id, teams.c.name, teams.c.slug, teams.c.join_code, memberships.c.role, size.label("members"))
            .join(memberships, memberships.c.team_id == teams.c.id)
            .where(memberships.c.user_id == user_id)
            .order_by(memberships.c.joined_at.desc(), teams.c.id.desc())
        )

        def work(connection: Connection) -> tuple[TeamHeld, ...]:
            rows = connection.execute(wanted).mappings().all()
            return tuple(TeamHeld(**row, held=_of_team(connection, row["id"])) for row in rows)

        return self._database.read(work)


def _of_team(connection: Connection, team_id: str) -> Held:
    return _held(connection, environments.c.holder_key == f"team:{team_id}", orders.c.team_id == team_id)


def _held(connection: Connection, built: ColumnElement[bool], played: ColumnElement[bool]) -> Held:
    there = select(func.count()).where(built, environments.c.deleted_at.is_(None))
    runs = select(func.count()).where(played, orders.c.purpose == "run")
    return Held(connection.scalar(there) or 0, connection.scalar(runs) or 0)
