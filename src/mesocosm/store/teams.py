"""Teams and their members."""

import re
import secrets
import time
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Literal, Protocol, TypeVar

import msgspec
from sqlalchemy import Connection, RowMapping, Select, and_, delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError

from mesocosm.core.ids import new_id
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, record_of
from mesocosm.store.tenancy import memberships, teams, users

CODE_LENGTH = 8
LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Alphabet of join codes: capitals and digits that cannot be confused with one another."""
SLUG_LENGTH = 50

_DRAWS = 8
_SLUGS = 1_000

Result_co = TypeVar("Result_co", covariant=True)


class _Work(Protocol[Result_co]):
    def __call__(self, connection: Connection, code: str) -> Result_co: ...


Role = Literal["owner", "member"]


class Team(msgspec.Struct, frozen=True):
    """A team. Times are UNIX seconds; `budget_usd` is per 24 hours, None for the server's default."""

    id: str
    name: str
    slug: str
    join_code: str
    code_at: float
    budget_usd: float | None
    created_at: float


class MemberRow(msgspec.Struct, frozen=True):
    """A member of a team; `role` is owner or member."""

    user_id: int
    username: str
    role: Role
    joined_at: float


class Membership(msgspec.Struct, frozen=True):
    """A team with the role of one of its members and its number of members."""

    team: Team
    role: Role
    members: int


class Joining(StrEnum):
    """Result of a request to join."""

    JOINED = "joined"
    ALREADY = "already"
    FULL = "full"
    UNKNOWN = "unknown"


class Teams:
    """Teams and their members. Every team has exactly one owner."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def role(self, team_id: str, user_id: int) -> Role | None:
        """Return `owner` or `member`; None if the user is not in the team or there is no such team."""
        wanted = select(memberships.c.role).where(
            memberships.c.team_id == plain(team_id), memberships.c.user_id == user_id
        )
        role: Role | None = self._database.scalar(wanted)
        return role

    def get(self, team_id: str) -> Team | None:
        """Return a team; None if the id is unknown."""
        return self._one(select(teams).where(teams.c.id == plain(team_id)))

    def teams_of(self, user_id: int) -> tuple[Team, ...]:
        """Return the teams of a user, newest first."""
        return tuple(membership.team for membership in self.memberships_of(user_id))

    def memberships_of(
        self, user_id: int, *, limit: int | None = None, cursor: str | None = None
    ) -> tuple[Membership, ...]:
        """Return a user's teams with role and size, newest first; `limit` None: all.

        `cursor` is the id of the last team of the previous page.
        """
        wanted = _memberships(user_id).order_by(teams.c.created_at.desc(), teams.c.id.desc()).limit(limit)
        if cursor is not None:
            seen = select(teams.c.created_at).where(teams.c.id == plain(cursor)).scalar_subquery()
            older = and_(teams.c.created_at == seen, teams.c.id < plain(cursor))
            wanted = wanted.where(or_(teams.c.created_at < seen, older))
        return tuple(map(_membership_from, self._database.all(wanted)))

    def membership(self, team_id: str, user_id: int) -> Membership | None:
        """Return a team with a user's role in it; None if the user is not a member."""
        wanted = _memberships(user_id).where(teams.c.id == plain(team_id))
        found = self._database.one(wanted)
        return None if found is None else _membership_from(found)

    def members(self, team_id: str) -> tuple[MemberRow, ...]:
        """Return the members of a team: the owner first, the others in the order in which they joined."""
        wanted = (
            select(memberships.c.user_id, users.c.username, memberships.c.role, memberships.c.joined_at)
            .join(users, users.c.id == memberships.c.user_id)
            .where(memberships.c.team_id == plain(team_id))
            .order_by(memberships.c.role != "owner", memberships.c.joined_at, memberships.c.user_id)
        )
        return self._database.read(lambda connection: tuple(MemberRow(*row) for row in connection.execute(wanted)))

    def add(self, name: str, owner_id: int, slug: str | None = None) -> Team | None:
        """Return a new team owned by a user; None if the given `slug` is taken.

        Without a slug, one is derived from the name, with a number appended if it is taken.
        """
        team_id, now = new_id(), time.time()
        wanted = None if slug is None else slug_of(slug)

        def work(connection: Connection, code: str) -> Team | None:
            known = connection.execute(select(teams).where(teams.c.id == team_id)).mappings().one_or_none()
            if known is not None:
                return _team_from(known)
            chosen = _free_slug(connection, slug_of(name)) if wanted is None else wanted
            if wanted is not None and _taken(connection, wanted):
                return None
            team = Team(team_id, plain(name), chosen, code, now, None, now)
            connection.execute(teams.insert().values(msgspec.structs.asdict(team)))
            connection.execute(
                memberships.insert().values(team_id=team_id, user_id=owner_id, role="owner", joined_at=now)
            )
            return team

        return self._with_code(work)

    def join(self, code: str, user_id: int, most: int) -> tuple[Joining, Team | None]:
        """Add a user to the team with join code `code` unless it has `most` members; existing members stay.

        The team's row is locked, so that two users cannot take the last place.
        """
        wanted = select(teams).where(teams.c.join_code == plain(code.upper())).with_for_update()
        now = time.time()

        def work(connection: Connection) -> tuple[Joining, Team | None]:
            found = connection.execute(wanted).mappings().one_or_none()
            if found is None:
                return Joining.UNKNOWN, None
            team = _team_from(found)
            inside = select(memberships.c.user_id).where(memberships.c.team_id == team.id)
            present = set(connection.scalars(inside))
            if user_id in present:
                return Joining.ALREADY, team
            if len(present) >= most:
                return Joining.FULL, team
            row = {"team_id": team.id, "user_id": user_id, "role": "member", "joined_at": now}
            connection.execute(memberships.insert().values(row))
            return Joining.JOINED, team

        return self._database.write(work)

    def new_code(self, team_id: str) -> str | None:
        """Replace the join code of a team and return the new one; None if there is no such team."""

        def work(connection: Connection, code: str) -> str | None:
            changed = update(teams).where(teams.c.id == plain(team_id)).values(join_code=code, code_at=time.time())
            return code if connection.execute(changed).rowcount else None

        return self._with_code(work)

    def rename(self, team_id: str, name: str) -> bool:
        """Rename a team; its slug stays. Return whether the team exists."""
        return self._change(team_id, name=plain(name))

    def set_budget(self, team_id: str, budget_usd: float | None) -> bool:
        """Set what a team may spend in 24 hours, None for the server's default. Return whether the team exists."""
        return self._change(team_id, budget_usd=budget_usd)

    def remove(self, team_id: str, user_id: int) -> bool:
        """Remove a member other than the owner from a team; return whether they were a member."""
        gone = delete(memberships).where(
            memberships.c.team_id == plain(team_id), memberships.c.user_id == user_id, memberships.c.role != "owner"
        )
        return self._database.execute(gone) > 0

    def transfer(self, team_id: str, owner_id: int, new_owner_id: int) -> bool:
        """Make a member the owner in place of `owner_id`, who stays a member.

        Return False and change nothing if the new owner is not a member, or `owner_id` is not the owner (any more).
        """
        held = select(teams.c.id).where(teams.c.id == plain(team_id)).with_for_update()
        here = memberships.c.team_id == plain(team_id)

        def work(connection: Connection) -> bool:
            connection.execute(held)
            roles = select(memberships.c.user_id, memberships.c.role).where(here)
            present = {int(row[0]): str(row[1]) for row in connection.execute(roles)}
            if present.get(new_owner_id) == "owner":
                return True
            if new_owner_id not in present or present.get(owner_id) != "owner":
                return False
            for user_id, role in ((owner_id, "member"), (new_owner_id, "owner")):
                connection.execute(update(memberships).where(here, memberships.c.user_id == user_id).values(role=role))
            return True

        return self._database.write(work)

    def delete(self, team_id: str) -> bool:
        """Delete a team with its memberships; its runs stay, without a team. Return whether the team existed."""
        gone = delete(teams).where(teams.c.id == plain(team_id))
        return self._database.execute(gone) > 0

    def _one(self, wanted: Select[tuple[object, ...]]) -> Team | None:
        found = self._database.one(wanted)
        return None if found is None else _team_from(found)

    def _change(self, team_id: str, **values: object) -> bool:
        changed = update(teams).where(teams.c.id == plain(team_id)).values(**values)
        return self._database.execute(changed) > 0

    def _with_code(self, work: _Work[Result_co]) -> Result_co:
        """Write with a new join code; draw another one if it, or a slug, was taken in the meantime."""
        for _ in range(_DRAWS - 1):
            with suppress(IntegrityError):
                return self._database.write(partial(work, code=new_code()))
        return self._database.write(partial(work, code=new_code()))


def new_code() -> str:
    """Return a random join code, one of 8.5e11, from the system's secure source."""
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))


def slug_of(name: str) -> str:
    """Return a name in lower case with hyphens for all but ASCII letters and digits; empty if nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:SLUG_LENGTH].strip("-")


def _free_slug(connection: Connection, base: str) -> str:
    base = base or "team"
    for number in range(_SLUGS):
        ending = f"-{number}" if number else ""
        slug = base[: SLUG_LENGTH - len(ending)] + ending
        if not _taken(connection, slug):
            return slug
    return f"{base[: SLUG_LENGTH - 9]}-{secrets.token_hex(4)}"


def _taken(connection: Connection, slug: str) -> bool:
    return connection.scalar(select(teams.c.id).where(teams.c.slug == slug)) is not None


def _memberships(user_id: int) -> Select[tuple[object, ...]]:
    other = memberships.alias()
    size = select(func.count()).where(other.c.team_id == teams.c.id).scalar_subquery()
    wanted = select(teams, memberships.c.role, size.label("members"))
    return wanted.join(memberships, memberships.c.team_id == teams.c.id).where(memberships.c.user_id == user_id)


def _membership_from(row: RowMapping) -> Membership:
    return Membership(_team_from(row), row["role"], row["members"])


def _team_from(row: RowMapping) -> Team:
    return record_of(Team, row)
