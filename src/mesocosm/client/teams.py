"""Teams of a platform."""

from typing import Any
from uuid import UUID

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.core.failure import UsageError
from mesocosm.server.schemas.environment import SubmittedEnvironment
from mesocosm.server.schemas.team import JoinCode, JoinedTeam, TeamChange, TeamDocument, TeamInput, TeamMember


class TeamsResource(Resource):
    """The teams that the caller is in. Guests may not use any of this."""

    def create(self, name: str, slug: str | None = None) -> TeamDocument:
        """Make a team and own it."""
        return self._one(TeamDocument, "POST", "/api/teams", TeamInput(name=name, slug=slug))

    def join(self, code: str) -> JoinedTeam:
        """Come into a team by its code, in any case."""
        return self._one(JoinedTeam, "POST", "/api/teams/join", {"code": code.upper()})

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> tuple[TeamDocument, ...]:
        """Return the caller's teams, newest first, all without a `limit`; `cursor` is the last id seen."""
        return self._many(TeamDocument, "/api/teams", {"limit": limit, "cursor": cursor})

    def get(self, team_id: str) -> TeamDocument:
        """Return one team."""
        return self._one(TeamDocument, "GET", _path(team_id))

    def change(self, team_id: str, **changes: Any) -> TeamDocument:
        """Change its name, or as an administrator its budget (`budget_usd`, None: the platform's)."""
        body = TeamChange(**changes).model_dump(mode="json", exclude_unset=True)
        return self._one(TeamDocument, "PATCH", _path(team_id), body)

    def delete(self, team_id: str) -> None:
        """Delete a team; its runs stay. Only for its owner."""
        self._done("DELETE", _path(team_id))

    def new_code(self, team_id: str) -> JoinCode:
        """Give the team a new code; the old one ends. Only for its owner."""
        return self._one(JoinCode, "POST", f"{_path(team_id)}/join-code/regenerate")

    def members(self, team_id: str) -> tuple[TeamMember, ...]:
        """Return who is in it."""
        return self._many(TeamMember, f"{_path(team_id)}/members")

    def remove(self, team_id: str, user_id: int) -> None:
        """Remove a member. Only for its owner."""
        self._done("DELETE", f"{_path(team_id)}/members/{user_id}")

    def leave(self, team_id: str) -> None:
        """Leave a team that another user owns."""
        self._done("DELETE", f"{_path(team_id)}/members/me")

    def transfer(self, team_id: str, user_id: int) -> None:
        """Give a team to another member. Only for its owner."""
        self._done("POST", f"{_path(team_id)}/transfer", {"new_owner_user_id": user_id})

    def environments(
        self, team_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> tuple[SubmittedEnvironment, ...]:
        """Return the environments of a team, newest first; `cursor` is the last id seen."""
        return self._many(SubmittedEnvironment, f"{_path(team_id)}/environments", {"limit": limit, "cursor": cursor})


def checked_team_id(team_id: str) -> str:
    """Return the id of a team. Raises UsageError for anything else, such as its name."""
    try:
        UUID(team_id)
    except ValueError:
        raise UsageError(f"{team_id!r} is not a team id; mesocosm team list shows the ids of yours") from None
    return team_id


def _path(team_id: str) -> str:
    return f"/api/teams/{segment(checked_team_id(team_id))}"
