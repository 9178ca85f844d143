"""Teams: those of a caller, actions of all members, and actions of the owner only."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Self

from sqlalchemy.exc import IntegrityError

from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.environments import submission
from mesocosm.server.environments.documents import environment_documents
from mesocosm.server.leaderboards.boards import team_board
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.environment import SubmittedEnvironment
from mesocosm.server.schemas.leaderboard import TeamLeaderboardEntry
from mesocosm.server.schemas.team import JoinCode, JoinedTeam, TeamChange, TeamDocument, TeamMember, TeamRole
from mesocosm.server.service import Service
from mesocosm.server.web.client_address import counted
from mesocosm.store import teams
from mesocosm.store.teams import Joining, slug_of

_HOUR = 3_600.0
_CLASSROOM = 5
"""Ratio of the limit per address to the limit per member: a whole class may share an address."""


class OwnTeams(GrantedObject):
    """The teams of the caller."""

    def list(self, limit: int | None, cursor: str | None) -> Sequence[TeamDocument]:
        """Return the teams that the caller is a member of, the newest first; `cursor` is the last id seen."""
        found = self._store.teams.memberships_of(self._viewer.user_id, limit=limit, cursor=cursor)
        return [_document(self._service, one.team, one.role, one.members) for one in found]

    def create(self, name: str, slug: str | None) -> TeamDocument:
        """Create a team that the caller owns. Raises Refusal 409 if the slug is taken or the account is gone."""
        user_id = self._viewer.user_id
        try:
            team = self._store.teams.add(name, user_id, slug)
        except IntegrityError as error:
            raise _no_account() from error
        if team is None:
            taken = slug_of(slug or "")
            raise Refusal(409, f"the slug {taken!r} is taken; choose another, or leave it out to derive one")
        self._store.audit.note(f"user:{user_id}", "team.create", f"team:{team.id}", {"name": team.name})
        return _document(self._service, team, "owner", 1)

    def join(self, code: str) -> JoinedTeam:
        """Add the caller to the team of a join code. Nothing changes if they are a member already.

        Raises Refusal: 404 for a wrong code, 409 for a full team, 429 after too many wrong codes, even if this one is
        right.
        """
        user_id, settings, address = self._viewer.user_id, self._service.settings, counted(self._viewer.address)
        limits = {f"join:user:{user_id}": settings.joins_per_hour}
        if address:
            limits[f"join:address:{address}"] = settings.joins_per_hour * _CLASSROOM
        if wait := self._store.rate_limits.allow_all(limits, _HOUR):
            seconds = math.ceil(wait)
            words = f"too many wrong join codes; wait {seconds} s, and ask the owner of the team for the code"
            raise Refusal(429, words, headers={"Retry-After": str(seconds)})
        try:
            outcome, team = self._store.teams.join(code, user_id, settings.team_size)
        except IntegrityError as error:
            raise _no_account() from error
        if team is None:
            raise Refusal(404, "no team has this join code; ask the owner of the team for the current one")
        self._store.rate_limits.take_back(limits, _HOUR)
        if outcome is Joining.FULL:
            raise Refusal(409, f"the team {team.name!r} is full: a team has at most {settings.team_size} members")
        if outcome is Joining.JOINED:
            self._store.audit.note(f"user:{user_id}", "team.join", f"team:{team.id}", address=address)
        own = self._store.teams.membership(team.id, user_id)
        if own is None:
            raise Refusal(404, f"the team {team.name!r} was deleted, or its owner removed you again")
        return _joined(self._service, own.team, own.role, own.members)

    def leave(self, team_id: str) -> None:
        """Remove the caller from a team. Raises Refusal 409 for its owner, and if the caller is not a member."""
        own = self._store.teams.membership(team_id, self._viewer.user_id)
        if own is None:
            raise Refusal(409, "you are not in that team")
        if own.role == "owner":
            raise Refusal(409, f"you own the team {own.team.name!r}; transfer it to another member first, or delete it")
        self._store.teams.remove(team_id, self._viewer.user_id)
        self._store.audit.note(self._viewer.caller.actor, "team.leave", f"team:{team_id}")


class VisibleTeam(GrantedObject):
    """A team that the caller is a member of; for administrators, any team."""

    def __init__(self, service: Service, viewer: Viewer, team: teams.Team, role: TeamRole, members: int) -> None:
        super().__init__(service, viewer)
        self._team = team
        self._role: TeamRole = role
        self._members = members

    @classmethod
    def find(cls, service: Service, viewer: Viewer, team_id: str) -> Self:
        """Return a team.

        Raises Refusal: 403 if the caller is not a member, even if the team does not exist; 404 for administrators if
        it does not exist.
        """
        store, caller = service.store.teams, viewer.caller
        own = store.membership(team_id, caller.user_id) if caller.member and caller.user_id is not None else None
        if own is not None:
            return cls(service, viewer, own.team, own.role, own.members)
        if not viewer.sees_all:
            raise Refusal(403, f"you are not in a team {team_id}; ask its owner for the join code")
        team = store.get(team_id)
        if team is None:
            raise Refusal(404, f"there is no team {team_id}")
        return cls(service, viewer, team, "admin", len(store.members(team_id)))

    def document(self) -> TeamDocument:
        """Return the team."""
        return _document(self._service, self._team, self._role, self._members)

    def members(self) -> list[TeamMember]:
        """Return its members, the owner first."""
        return [
            TeamMember(
                user_id=member.user_id, username=member.username, role=member.role, joined_at=_time(member.joined_at)
            )
            for member in self._store.teams.members(self._team.id)
        ]

    def leaderboard(self, domain_id: str | None, limit: int) -> list[TeamLeaderboardEntry]:
        """Return the leaderboard over all completed runs of the team."""
        return team_board(self._service, self._team.id, domain_id, limit)

    def environments(self, limit: int, cursor: str | None) -> list[SubmittedEnvironment]:
        """Return the environments of the team, the newest first; `cursor` is the last id seen."""
        rows = self._store.environments.list_of(team_ids=[self._team.id], limit=limit, cursor=cursor)
        return environment_documents(self._service, rows)


class OwnedTeam(VisibleTeam):
    """A team that the caller owns; for administrators, any team."""

    def __init__(self, service: Service, viewer: Viewer, team: teams.Team, role: TeamRole, members: int) -> None:
        """Raise Refusal 403 if the caller is only a member."""
        if role == "member" and not viewer.sees_all:
            raise Refusal(403, f"only the owner of the team {team.name!r} may do that")
        super().__init__(service, viewer, team, role, members)

    def change(self, given: TeamChange) -> TeamDocument:
        """Rename the team, or set its budget. Raises Refusal 403 for a budget unless the caller is an administrator."""
        if "budget_usd" in given.model_fields_set:
            if not self._viewer.sees_all:
                raise Refusal(403, "only administrators may set the budget of a team; ask them for more")
            self._store.teams.set_budget(self._team.id, given.budget_usd)
            self._note("budget", {"budget_usd": given.budget_usd})
        if given.name is not None:
            self._store.teams.rename(self._team.id, given.name)
            self._note("rename", {"from": self._team.name, "to": given.name})
        return VisibleTeam.find(self._service, self._viewer, self._team.id).document()

    def delete(self) -> None:
        """Delete the team and its environments, and cancel their open runs. Runs stay with their requesters."""
        for environment in self._store.environments.list_of(team_ids=[self._team.id]):
            submission.delete(self._service, environment, self._viewer.caller.actor)
        self._store.teams.delete(self._team.id)
        self._note("delete", {"name": self._team.name})

    def new_join_code(self) -> JoinCode:
        """Replace the join code; the old one becomes invalid. Raises Refusal 404 if the team was deleted."""
        code = self._store.teams.new_code(self._team.id)
        if code is None:
            raise Refusal(404, f"the team {self._team.id} was deleted")
        self._note("code")
        return JoinCode(join_code=code)

    def remove(self, user_id: int) -> None:
        """Remove a member. Raises Refusal 404 if the user is not a member, and for the owner."""
        if not self._store.teams.remove(self._team.id, user_id):
            owner = self._store.teams.role(self._team.id, user_id) == "owner"
            why = "owns the team; transfer it first" if owner else f"is not in the team {self._team.name!r}"
            raise Refusal(404, f"user {user_id} {why}")
        self._note("remove", {"user_id": user_id})

    def transfer(self, user_id: int) -> None:
        """Make a member the owner; the old owner stays a member. Raises Refusal 422 if the user is not a member."""
        owner = next(member for member in self._store.teams.members(self._team.id) if member.role == "owner")
        if not self._store.teams.transfer(self._team.id, owner.user_id, user_id):
            raise Refusal(422, f"user {user_id} is not in the team {self._team.name!r}; let them join it first")
        self._note("transfer", {"from": owner.user_id, "to": user_id})

    def _note(self, action: str, detail: dict[str, object] | None = None) -> None:
        self._store.audit.note(self._viewer.caller.actor, f"team.{action}", f"team:{self._team.id}", detail or {})


def _document(service: Service, team: teams.Team, role: TeamRole, members: int) -> TeamDocument:
    return TeamDocument(
        **_joined(service, team, role, members).model_dump(),
        slug=team.slug,
        join_code=team.join_code if role == "owner" else None,
        created_at=_time(team.created_at),
        budget_usd=team.budget_usd,
    )


def _joined(service: Service, team: teams.Team, role: TeamRole, members: int) -> JoinedTeam:
    most = service.settings.team_size
    return JoinedTeam(team_id=team.id, name=team.name, member_count=members, max_members=most, role=role)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _no_account() -> Refusal:
    return Refusal(409, "you have no account here any more, or accounts are switched off; teams need them")
