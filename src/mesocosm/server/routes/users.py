"""`/api/admin/users`: accounts, for those who run the platform; what was done; the keys of tokens."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.auth.people import People
from mesocosm.server.problems import refused
from mesocosm.server.routes.signing_in import kept_by_nobody
from mesocosm.server.schemas.account import (
    AuditPage,
    AuditRow,
    BudgetInput,
    KeyRotated,
    RoleInput,
    RotateInput,
    UserCreated,
    UserInput,
    UserPage,
    UserRow,
)
from mesocosm.server.schemas.document import instant, moment
from mesocosm.store.audit import Entry
from mesocosm.store.users import User

router = APIRouter(prefix="/api/admin", tags=["admin"], dependencies=[Depends(kept_by_nobody)])

Limit = Annotated[int, Query(ge=1, le=100, description="How many at most.")]


def _people(request: Request, caller: Caller, service: Served) -> People:
    return People(service.accounts, caller.actor, service.accounts.address(request))


Hands = Annotated[People, Depends(_people)]


@router.get("/users", responses=refused(401, 403), **access(Access.ADMIN))
def list_users(
    service: Served,
    limit: Limit = 100,
    cursor: Annotated[int | None, Query(description="The number of the last one seen.")] = None,
) -> UserPage:
    """Return people, newest first."""
    found = service.accounts.users.list(limit=limit + 1, cursor=cursor)
    shown = found[:limit]
    return UserPage(
        users=[UserRow(**_fields(user)) for user in shown],
        next_cursor=shown[-1].id if len(found) > limit else None,
    )


@router.post("/users", status_code=201, responses=refused(401, 403, 409, 503), **access(Access.ADMIN))
def add_user(body: UserInput, people: Hands) -> UserCreated:
    """Add somebody; without a password one is made up, and shown this once."""
    user, password = people.add(body.username, body.password, body.role)
    return UserCreated(**_fields(user), password=password)


@router.post("/users/{user_id}/disable", responses=refused(401, 403, 404, 409), **access(Access.ADMIN))
def disable_user(user_id: int, people: Hands) -> UserRow:
    """Keep somebody out: every token and sign-in of theirs ends. What is theirs stays."""
    return UserRow(**_fields(people.disable(user_id)))


@router.post("/users/{user_id}/enable", responses=refused(401, 403, 404), **access(Access.ADMIN))
def enable_user(user_id: int, people: Hands) -> UserRow:
    """Let somebody in again."""
    return UserRow(**_fields(people.enable(user_id)))


@router.post("/users/{user_id}/role", responses=refused(401, 403, 404, 409), **access(Access.ADMIN))
def set_role(user_id: int, body: RoleInput, people: Hands) -> UserRow:
    """Give somebody another role."""
    return UserRow(**_fields(people.set_role(user_id, body.role)))


@router.post("/users/{user_id}/budget", responses=refused(401, 403, 404), **access(Access.ADMIN))
def set_budget(user_id: int, body: BudgetInput, people: Hands) -> UserRow:
    """Set what somebody may spend in 24 hours."""
    return UserRow(**_fields(people.set_budget(user_id, body.budget_usd)))


@router.post("/users/{user_id}/reset", responses=refused(401, 403, 404, 503), **access(Access.ADMIN))
def reset_password(user_id: int, people: Hands) -> UserCreated:
    """Give somebody a password that is made up and shown this once; every sign-in and token of theirs ends."""
    user, password = people.reset(user_id)
    return UserCreated(**_fields(user), password=password)


@router.post("/users/{user_id}/sessions/end", responses=refused(401, 403, 404), **access(Access.ADMIN))
def end_sessions(user_id: int, people: Hands) -> UserRow:
    """End every sign-in of somebody; personal tokens stay."""
    return UserRow(**_fields(people.end_sessions(user_id)))


@router.post("/keys/rotate", responses=refused(401, 403), **access(Access.ADMIN))
def rotate_keys(people: Hands, body: RotateInput | None = None) -> KeyRotated:
    """Sign tokens with a new key. What older ones signed expires by itself, or ends at once."""
    return KeyRotated(key_id=people.rotate_keys(at_once=body is not None and body.at_once))


@router.get("/audit", responses=refused(401, 403), **access(Access.ADMIN))
def list_audit(
    service: Served,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(description="The id of the last one seen.", max_length=100)] = None,
) -> AuditPage:
    """Return who did what, newest first."""
    found = service.accounts.audit.list(cursor, limit + 1)
    shown = found[:limit]
    return AuditPage(
        entries=[_entry(entry) for entry in shown], next_cursor=shown[-1].id if len(found) > limit else None
    )


def _entry(entry: Entry) -> AuditRow:
    return AuditRow(
        id=entry.id,
        at=instant(entry.at),
        actor=entry.actor,
        action=entry.action,
        object=entry.target,
        detail=dict(entry.detail),
        address=entry.address,
    )


def _fields(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "username": user.username,
        "role": user.role,
        "disabled": user.disabled,
        "oidc": user.subject is not None,
        "budget_usd": user.budget_usd,
        "created_at": instant(user.created_at),
        "last_login_at": moment(user.last_login_at),
    }
