"""`/api/teams`: teams and their members."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.environment import SubmittedEnvironment
from mesocosm.server.schemas.leaderboard import TeamLeaderboardEntry
from mesocosm.server.schemas.team import (
    JoinCode,
    JoinedTeam,
    JoinInput,
    Said,
    TeamChange,
    TeamDocument,
    TeamInput,
    TeamMember,
    TransferInput,
)

router = APIRouter(prefix="/api/teams", tags=["teams"])

TeamId = Annotated[UUID, Path(description="ID of the team.")]
Limit = Annotated[int, Query(ge=1, le=100, description="Maximum number of items per page.")]
Cursor = Annotated[str | None, Query(max_length=200, description="ID of the last item of the previous page.")]
UserId = Annotated[int, Path(ge=-(2**31), lt=2**31, description="User ID of a member.")]


@router.post("", status_code=201, response_model=TeamDocument, responses=refused(409), **access(Access.MEMBER))
def create_team(body: TeamInput, grant: Granted) -> TeamDocument:
    """Create a team owned by the caller. 409 if the slug is taken."""
    return grant.teams().create(body.name, body.slug)


@router.get("", response_model=list[TeamDocument], **access(Access.MEMBER))
def list_teams(
    grant: Granted,
    limit: Annotated[int | None, Query(ge=1, le=100, description="Maximum number of teams; all by default.")] = None,
    cursor: Cursor = None,
) -> Sequence[TeamDocument]:
    """List the teams of the caller, newest first."""
    return grant.teams().list(limit, cursor)


@router.post("/join", response_model=JoinedTeam, responses=refused(404, 409, 429), **access(Access.MEMBER))
def join(body: JoinInput, grant: Granted) -> JoinedTeam:
    """Join a team by its code. Has no effect for members.

    404 for a wrong code, 409 for a full team, 429 with `Retry-After` after too many wrong codes.
    """
    return grant.teams().join(body.code)


@router.get("/{team_id}", response_model=TeamDocument, **access(Access.INSIDER))
def get_team(team_id: TeamId, grant: Granted) -> TeamDocument:
    """Return a team. 403 for callers who are not members, whether the team exists or not."""
    return grant.team(str(team_id)).document()


@router.patch("/{team_id}", response_model=TeamDocument, **access(Access.OWNER))
def change_team(team_id: TeamId, body: TeamChange, grant: Granted) -> TeamDocument:
    """Rename a team (its owner), or set its budget for 24 hours (administrators)."""
    return grant.own_team(str(team_id)).change(body)


@router.delete("/{team_id}", status_code=204, response_class=Response, **access(Access.OWNER))
def remove_team(team_id: TeamId, grant: Granted) -> None:
    """Delete a team with its environments. Its runs stay with the members who started them."""
    grant.own_team(str(team_id)).delete()


@router.post("/{team_id}/join-code/regenerate", response_model=JoinCode, **access(Access.OWNER))
def regenerate_code(team_id: TeamId, grant: Granted) -> JoinCode:
    """Replace the join code; the old one becomes invalid."""
    return grant.own_team(str(team_id)).new_join_code()


@router.get("/{team_id}/members", response_model=list[TeamMember], **access(Access.INSIDER))
def list_members(team_id: TeamId, grant: Granted) -> list[TeamMember]:
    """List the members of a team, the owner first."""
    return grant.team(str(team_id)).members()


@router.delete("/{team_id}/members/me", response_model=Said, responses=refused(409), **access(Access.INSIDER))
def leave_team(team_id: TeamId, grant: Granted) -> Said:
    """Leave a team. 409 for its owner, who must transfer or delete it, and for callers who are not members."""
    grant.teams().leave(str(team_id))
    return Said(detail="left")


@router.delete("/{team_id}/members/{user_id}", response_model=Said, **access(Access.OWNER))
def remove_member(team_id: TeamId, user_id: UserId, grant: Granted) -> Said:
    """Remove a member. 404 for users who are not members, and for the owner."""
    grant.own_team(str(team_id)).remove(user_id)
    return Said(detail="removed")


@router.post("/{team_id}/transfer", response_model=Said, **access(Access.OWNER))
def transfer_team(team_id: TeamId, body: TransferInput, grant: Granted) -> Said:
    """Make a member the owner; the previous owner stays a member. 422 for users who are not members."""
    grant.own_team(str(team_id)).transfer(body.new_owner_user_id)
    return Said(detail="transferred")


@router.get("/{team_id}/leaderboard", response_model=list[TeamLeaderboardEntry], **access(Access.INSIDER))
def get_leaderboard(
    team_id: TeamId,
    grant: Granted,
    limit: Limit = 50,
    domain_id: Annotated[str | None, Query(max_length=200, description="Only runs of this domain.")] = None,
) -> list[TeamLeaderboardEntry]:
    """Return the leaderboard over all completed runs of a team, including private ones; ranks apply within a domain."""
    return grant.team(str(team_id)).leaderboard(domain_id, limit)


@router.get("/{team_id}/environments", response_model=list[SubmittedEnvironment], **access(Access.INSIDER))
def list_environments(
    team_id: TeamId, grant: Granted, limit: Limit = 100, cursor: Cursor = None
) -> list[SubmittedEnvironment]:
    """List the environments of a team, newest first."""
    return grant.team(str(team_id)).environments(limit, cursor)
