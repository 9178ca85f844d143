"""Teams of a server."""

from typing import Any
from uuid import UUID

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.core.failure import UsageError
from mesocosm.server.schemas.environment import SubmittedEnvironment
from mesocosm.server.schemas.team import JoinCode, JoinedTeam, TeamChange, TeamDocument, TeamInput, TeamMember


class TeamsResource(Resource):
    """Teams of the caller. Not available to guests."""

    def create(self, name: str, slug: str | None = None) -> TeamDocument:
        """Create a team owned by the caller."""
        return self._one(TeamDocument, "POST", "/api/teams", TeamInput(name=name, slug=slug))

    def join(self, code: str) -> JoinedTeam:
        """Join a team by its code, in upper or lower case."""
        return self._one(JoinedTeam, "POST", "/api/teams/join", {"code": code.upper()})

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> tuple[TeamDocument, ...]:
        """Return the caller's teams, newest first, all without a `limit`; `cursor` is the last id of a page."""
        return self._many(TeamDocument, "/api/teams", {"limit": limit, "cursor": cursor})

    def get(self, team_id: str) -> TeamDocument:
        """Return one team."""
        return self._one(TeamDocument, "GET", _path(team_id))

    def change(self, team_id: str, **changes: Any) -> TeamDocument:
        """Change the name of a team, or as an administrator its budget (`budget_usd`; None: the server's default)."""
        body = TeamChange(**changes).model_dump(mode="json", exclude_unset=True)
        return self._one(TeamDocument, "PATCH", _path(team_id), body)

    def delete(self, team_id: str) -> None:
        """Delete a team; its runs remain. Only for its owner."""
        self._done("DELETE", _path(team_id))

    def new_code(self, team_id: str) -> JoinCode:
        """Replace the join code of a team; the old one becomes invalid. Only for its owner."""
        return self._one(JoinCode, "POST", f"{_path(team_id)}/join-code/regenerate")

    def members(self, team_id: str) -> tuple[TeamMember, ...]:
        """Return the members of a team."""
        return self._many(TeamMember, f"{_path(team_id)}/members")

    def remove(self, team_id: str, user_id: int) -> None:
        """Remove a member. Only for the team's owner."""
        self._done("DELETE", f"{_path(team_id)}/members/{user_id}")

    def leave(self, team_id: str) -> None:
        """Leave a team that another user owns."""
        self._done("DELETE", f"{_path(team_id)}/members/me")

    def transfer(self, team_id: str, user_id: int) -> None:
        """Transfer a team to another member. Only for its owner."""
        self._done("POST", f"{_path(team_id)}/transfer", {"new_owner_user_id": user_id})

    def environments(
        self, team_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> tuple[SubmittedEnvironment, ...]:
        """Return the environments of a team, newest first; `cursor` is the last id of the previous page."""
        return self._many(SubmittedEnvironment, f"{_path(team_id)}/environments", {"limit": limit, "cursor": cursor})


def checked_team_id(team_id: str) -> str:
    """Return `team_id`. Raises UsageError if it is not the id of a team, for example a name."""
    try:
        UUID(team_id)
    except ValueError:
        raise UsageError(f"{team_id!r} is not a team id; mesocosm team list shows the ids of yours") from None
    return team_id


def _path(team_id: str) -> str:
    return f"/api/teams/{segment(checked_team_id(team_id))}"
