"""`/api/me`: who asks, and what is theirs."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.auth.principal import Kind, Principal, Role
from mesocosm.server.problems import refused
from mesocosm.server.routes.signing_in import kept_by_nobody
from mesocosm.server.schemas import account as documents
from mesocosm.server.service import Service
from mesocosm.store.quota_usage import Held, TeamHeld
from mesocosm.store.users import User

router = APIRouter(prefix="/api/me", tags=["me"], dependencies=[Depends(kept_by_nobody)])

Include = Annotated[str, Query(description="`context`: also what is theirs; for members.", max_length=200)]


@router.get("", responses=refused(), **access(Access.PUBLIC))
def get_me(caller: Caller, service: Served, include: Include = "") -> documents.Me:
    """Return who asks. Who is not known is `anonymous`; why, says the header `X-Mesocosm-Auth`."""
    wanted = caller.member and "context" in include.split(",")
    return described(caller, _context(service, caller) if wanted else None)


@router.get("/context", responses=refused(401, 403), **access(Access.MEMBER))
def get_context(caller: Caller, service: Served) -> documents.AccountContext:
    """Return how much is the member's own, and what their teams have."""
    return _context(service, caller)


def described(caller: Principal, context: documents.AccountContext | None = None) -> documents.Me:
    """Return somebody as a document."""
    given: dict[str, Any] = {
        "type": caller.kind.value,
        "user_id": caller.user_id,
        "username": caller.username,
        "guest_session_id": caller.guest_id,
        "role": caller.role.value if caller.member else None,
        "scope": caller.scope,
        "way": caller.way,
        "context": context,
    }
    return documents.Me(**given)


def member_of(user: User, way: str) -> Principal:
    """Return a member as somebody who asks."""
    return Principal(Kind.MEMBER, user.id, user.username, role=Role(user.role), way=way)


def _context(service: Service, caller: Principal) -> documents.AccountContext:
    holdings = service.store.quota_usage
    user_id = caller.user_id or 0
    most = service.settings.team_size
    listed = [_team(held, most) for held in holdings.teams(user_id)]
    return documents.AccountContext(solo=_counted(holdings.solo(user_id)), teams=listed)


def _counted(held: Held) -> documents.Holdings:
    return documents.Holdings(env_count=held.environments, run_count=held.runs)


def _team(team: TeamHeld, most: int) -> documents.TeamContext:
    return documents.TeamContext(
        team_id=team.id,
        name=team.name,
        slug=team.slug,
        role=team.role,
        member_count=team.members,
        max_members=most,
        join_code=team.join_code if team.role == "owner" else None,
        env_count=team.held.environments,
        run_count=team.held.runs,
    )
