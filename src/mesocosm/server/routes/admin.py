"""`/api/admin`: accounts, signing keys, the audit log and the state of the server, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.account import (
    AuditPage,
    BudgetInput,
    KeyRotated,
    RoleInput,
    RotateInput,
    UserCreated,
    UserInput,
    UserPage,
    UserRow,
)
from mesocosm.server.schemas.model import ManagedModelDocument, ManagedModelList, ModelInput
from mesocosm.server.schemas.system import StatusDocument
from mesocosm.server.web.answer import not_cached

router = APIRouter(prefix="/api/admin", tags=["admin"], dependencies=[Depends(not_cached)])

Limit = Annotated[int, Query(ge=1, le=100, description="Maximum number of items per page.")]


@router.get("/status", response_model=StatusDocument, **access(Access.ADMIN))
def get_status(grant: Granted) -> StatusDocument:
    """Return counts of all objects, the queue, the workers and the latest failures."""
    return grant.administration().status()


@router.get("/users", responses=refused(401, 403), **access(Access.ADMIN))
def list_users(
    grant: Granted,
    limit: Limit = 100,
    cursor: Annotated[int | None, Query(description="ID of the last item of the previous page.")] = None,
) -> UserPage:
    """List accounts, newest first."""
    return grant.administration().users(limit, cursor)


@router.post("/users", status_code=201, responses=refused(401, 403, 409, 503), **access(Access.ADMIN))
def add_user(body: UserInput, grant: Granted) -> UserCreated:
    """Create an account. Without a password, one is generated and returned once."""
    return grant.administration().add(body.username, body.password, body.role)


@router.post("/users/{user_id}/disable", responses=refused(401, 403, 404, 409), **access(Access.ADMIN))
def disable_user(user_id: int, grant: Granted) -> UserRow:
    """Disable an account: all its tokens and logins become invalid. Its objects remain."""
    return grant.administration().disable(user_id)


@router.post("/users/{user_id}/enable", responses=refused(401, 403, 404), **access(Access.ADMIN))
def enable_user(user_id: int, grant: Granted) -> UserRow:
    """Enable an account again."""
    return grant.administration().enable(user_id)


@router.post("/users/{user_id}/role", responses=refused(401, 403, 404, 409), **access(Access.ADMIN))
def set_role(user_id: int, body: RoleInput, grant: Granted) -> UserRow:
    """Change the role of an account."""
    return grant.administration().set_role(user_id, body.role)


@router.post("/users/{user_id}/budget", responses=refused(401, 403, 404), **access(Access.ADMIN))
def set_budget(user_id: int, body: BudgetInput, grant: Granted) -> UserRow:
    """Set the budget of an account for 24 hours."""
    return grant.administration().set_budget(user_id, body.budget_usd)


@router.post("/users/{user_id}/reset", responses=refused(401, 403, 404, 503), **access(Access.ADMIN))
def reset_password(user_id: int, grant: Granted) -> UserCreated:
    """Generate a new password and return it once. All logins and tokens of the account become invalid."""
    return grant.administration().reset_password(user_id)


@router.post("/users/{user_id}/sessions/end", responses=refused(401, 403, 404), **access(Access.ADMIN))
def end_sessions(user_id: int, grant: Granted) -> UserRow:
    """End all logins of an account; personal tokens stay valid."""
    return grant.administration().end_sessions(user_id)


@router.get("/models", responses=refused(401, 403), **access(Access.ADMIN))
def list_managed_models(grant: Granted) -> ManagedModelList:
    """List the models of the server with their prices, limits and workspaces. Keys are never shown."""
    return grant.administration().models()


ManagedName = Annotated[str, Path(max_length=300, description="Name of the model, `provider/name`.")]


@router.put("/models/{name:path}", responses=refused(401, 403, 503), **access(Access.ADMIN))
def set_model(name: ManagedName, body: ModelInput, grant: Granted) -> ManagedModelDocument:
    """Add a model, or change one. Runs that are going on keep what they were started with, except its key and price.

    With another `served_as` the stored key is removed unless `key` is given: a key belongs to its address.
    """
    return grant.administration().set_model(name, body)


@router.delete("/models/{name:path}", status_code=204, responses=refused(401, 403, 404), **access(Access.ADMIN))
def delete_model(name: ManagedName, grant: Granted) -> None:
    """Remove a model that was added here, or undo the changes of one of the settings. Its stored key is deleted."""
    grant.administration().delete_model(name)


@router.post("/keys/rotate", responses=refused(401, 403), **access(Access.ADMIN))
def rotate_keys(grant: Granted, body: RotateInput | None = None) -> KeyRotated:
    """Sign tokens with a new key. Tokens of older keys expire by themselves, or with `at_once` become invalid now."""
    return grant.administration().rotate_keys(at_once=body is not None and body.at_once)


@router.get("/audit", responses=refused(401, 403), **access(Access.ADMIN))
def list_audit(
    grant: Granted,
    limit: Limit = 100,
    cursor: Annotated[
        str | None, Query(description="ID of the last item of the previous page.", max_length=100)
    ] = None,
) -> AuditPage:
    """List recorded changes, newest first."""
    return grant.administration().audit(cursor, limit)
