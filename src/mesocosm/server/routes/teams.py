"""`/api/teams`: Teams."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response

from mesocosm.compat.swecc.documents import RunListItem
from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.environments.documents import environment_documents
from mesocosm.server.leaderboards.boards import team_board
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.listing import run_items
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
from mesocosm.server.teams import (
    Standing,
    as_member,
    as_owner,
    delete_team,
    join_team,
    make_team,
    membership_of,
    user_id_of,
)
from mesocosm.server.web.address import client_address, counted
from mesocosm.store.run_requests import RunRequestFilter

router = APIRouter(prefix="/api/teams", tags=["teams"])

TeamId = Annotated[UUID, Path(description="the id of a team")]
Limit = Annotated[int, Query(ge=1, le=100, description="how many")]
Cursor = Annotated[str | None, Query(max_length=200, description="the id of the last one of the page before")]
UserId = Annotated[int, Path(ge=-(2**31), lt=2**31, description="the user id of somebody in the team")]


@router.post("", status_code=201, response_model=TeamDocument, responses=refused(409), **access(Access.MEMBER))
def create_team(body: TeamInput, caller: Caller, service: Served) -> TeamDocument:
    """Make a team that the caller owns. 409 where the slug is taken."""
    return _document(service, make_team(service, user_id_of(caller), body.name, body.slug))


@router.get("", response_model=list[TeamDocument], **access(Access.MEMBER))
def list_teams(
    caller: Caller,
    service: Served,
    limit: Annotated[int | None, Query(ge=1, le=100, description="how many; all where left out")] = None,
    cursor: Cursor = None,
) -> list[TeamDocument]:
    """List the teams that the caller is in, the newest first."""
    found = service.store.teams.memberships_of(user_id_of(caller), limit=limit, cursor=cursor)
    return [_document(service, Standing(one.team, one.role, one.members)) for one in found]


@router.post("/join", response_model=JoinedTeam, responses=refused(404, 409, 429), **access(Access.MEMBER))
def join(body: JoinInput, caller: Caller, service: Served, request: Request) -> JoinedTeam:
    """Join the team of a code; who is in it already stays in it.

    404 for a wrong code, 409 for a full team, 429 with Retry-After for somebody who tries too many codes.
    """
    address = client_address(request, service.settings.trusted_proxies)
    return _joined(service, join_team(service, user_id_of(caller), body.code, counted(address)))


@router.get("/{team_id}", response_model=TeamDocument, **access(Access.INSIDER))
def get_team(team_id: TeamId, caller: Caller, service: Served) -> TeamDocument:
    """Return a team. 403 for who is not in it, whether it exists or not."""
    return _document(service, as_member(service, caller, str(team_id)))


@router.patch("/{team_id}", response_model=TeamDocument, **access(Access.OWNER))
def change_team(team_id: TeamId, body: TeamChange, caller: Caller, service: Served) -> TeamDocument:
    """Rename a team (its owner), or set what it may spend in 24 hours (administrators)."""
    team = as_owner(service, caller, str(team_id)).team
    if "budget_usd" in body.model_fields_set:
        if not caller.admin:
            raise Refusal(403, "only those who run this platform may set a team's budget; ask them for more")
        service.store.teams.set_budget(team.id, body.budget_usd)
        service.store.audit.note(caller.actor, "team.budget", f"team:{team.id}", {"budget_usd": body.budget_usd})
    if body.name is not None:
        service.store.teams.rename(team.id, body.name)
        service.store.audit.note(caller.actor, "team.rename", f"team:{team.id}", {"from": team.name, "to": body.name})
    return _document(service, as_owner(service, caller, team.id))


@router.delete("/{team_id}", status_code=204, response_class=Response, **access(Access.OWNER))
def remove_team(team_id: TeamId, caller: Caller, service: Served) -> None:
    """Delete a team with its environments. Its runs stay with those who started them."""
    delete_team(service, caller, as_owner(service, caller, str(team_id)).team)


@router.post("/{team_id}/join-code/regenerate", response_model=JoinCode, **access(Access.OWNER))
def regenerate_code(team_id: TeamId, caller: Caller, service: Served) -> JoinCode:
    """Make a new join code; the old one ends at once."""
    team = as_owner(service, caller, str(team_id)).team
    code = service.store.teams.new_code(team.id)
    if code is None:
        raise Refusal(404, f"there is no team {team.id} any more")
    service.store.audit.note(caller.actor, "team.code", f"team:{team.id}")
    return JoinCode(join_code=code)


@router.get("/{team_id}/members", response_model=list[TeamMember], **access(Access.INSIDER))
def list_members(team_id: TeamId, caller: Caller, service: Served) -> list[TeamMember]:
    """List who is in a team, the owner first."""
    team = as_member(service, caller, str(team_id)).team
    return [
        TeamMember(
            user_id=member.user_id,
            username=member.username,
            role=member.role,
            joined_at=_time(member.joined_at),
        )
        for member in service.store.teams.members(team.id)
    ]


@router.delete("/{team_id}/members/me", response_model=Said, responses=refused(409), **access(Access.INSIDER))
def leave_team(team_id: TeamId, caller: Caller, service: Served) -> Said:
    """Leave a team. 409 for its owner, who has to transfer or delete it, and for who is not in it."""
    own = membership_of(service, caller, str(team_id))
    if own is None:
        raise Refusal(409, "you are not in that team")
    if own.role == "owner":
        raise Refusal(409, f"you own the team {own.team.name!r}; transfer it to somebody in it first, or delete it")
    service.store.teams.remove(own.team.id, user_id_of(caller))
    service.store.audit.note(caller.actor, "team.leave", f"team:{own.team.id}")
    return Said(detail="left")


@router.delete("/{team_id}/members/{user_id}", response_model=Said, **access(Access.OWNER))
def remove_member(team_id: TeamId, user_id: UserId, caller: Caller, service: Served) -> Said:
    """Take somebody out of a team. 404 for who is not in it, and for its owner."""
    team = as_owner(service, caller, str(team_id)).team
    if not service.store.teams.remove(team.id, user_id):
        own = service.store.teams.role(team.id, user_id) == "owner"
        why = "owns the team; transfer it first" if own else f"is not in the team {team.name!r}"
        raise Refusal(404, f"user {user_id} {why}")
    service.store.audit.note(caller.actor, "team.remove", f"team:{team.id}", {"user_id": user_id})
    return Said(detail="removed")


@router.post("/{team_id}/transfer", response_model=Said, **access(Access.OWNER))
def transfer_team(team_id: TeamId, body: TransferInput, caller: Caller, service: Served) -> Said:
    """Make somebody in the team its owner; the old owner stays a member. 422 for who is not in it."""
    team = as_owner(service, caller, str(team_id)).team
    owner = next(member for member in service.store.teams.members(team.id) if member.role == "owner")
    if not service.store.teams.transfer(team.id, owner.user_id, body.new_owner_user_id):
        raise Refusal(422, f"user {body.new_owner_user_id} is not in the team {team.name!r}; let them join it first")
    detail = {"from": owner.user_id, "to": body.new_owner_user_id}
    service.store.audit.note(caller.actor, "team.transfer", f"team:{team.id}", detail)
    return Said(detail="transferred")


@router.get("/{team_id}/runs", response_model=list[RunListItem], **access(Access.INSIDER))
def list_runs(
    team_id: TeamId, caller: Caller, service: Served, limit: Limit = 100, cursor: Cursor = None
) -> list[RunListItem]:
    """List the runs of a team, the newest first."""
    team = as_member(service, caller, str(team_id)).team
    orders = service.store.run_requests.list(RunRequestFilter(team_id=team.id, cursor=cursor), limit=limit)
    return run_items(service, caller, orders)


@router.get("/{team_id}/leaderboard", response_model=list[TeamLeaderboardEntry], **access(Access.INSIDER))
def get_leaderboard(
    team_id: TeamId,
    caller: Caller,
    service: Served,
    limit: Limit = 50,
    domain_id: Annotated[str | None, Query(max_length=200, description="only runs of this domain")] = None,
) -> list[TeamLeaderboardEntry]:
    """Return the leaderboard over all completed runs of a team, private ones too; ranks hold within a domain."""
    team = as_member(service, caller, str(team_id)).team
    return team_board(service, team.id, domain_id, limit)


@router.get("/{team_id}/environments", response_model=list[SubmittedEnvironment], **access(Access.INSIDER))
def list_environments(
    team_id: TeamId, caller: Caller, service: Served, limit: Limit = 100, cursor: Cursor = None
) -> list[SubmittedEnvironment]:
    """List the environments that belong to a team, the newest first."""
    team = as_member(service, caller, str(team_id)).team
    rows = service.store.environments.list_of(team_ids=[team.id], limit=limit, cursor=cursor)
    return environment_documents(service, rows)


def _document(service: Served, standing: Standing) -> TeamDocument:
    team = standing.team
    return TeamDocument(
        **_joined(service, standing).model_dump(),
        slug=team.slug,
        join_code=team.join_code if standing.role == "owner" else None,
        created_at=_time(team.created_at),
        budget_usd=team.budget_usd,
    )


def _joined(service: Served, standing: Standing) -> JoinedTeam:
    return JoinedTeam.model_validate(
        {
            "team_id": standing.team.id,
            "name": standing.team.name,
            "member_count": standing.members,
            "max_members": service.settings.team_size,
            "role": standing.role,
        }
    )


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
