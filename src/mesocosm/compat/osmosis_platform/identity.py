"""Who calls, and which workspaces they have, for the `osmosis` command line."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request

from mesocosm.compat.osmosis_platform.scope import GIT, workspace_with
from mesocosm.compat.osmosis_platform.workspace import repository_name
from mesocosm.server.permissions.grant import Grant, Granted
from mesocosm.server.permissions.route_access import Access, Served, access
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.workspace import WorkspaceDocument
from mesocosm.server.web.requests import base_url

router = APIRouter(prefix="/api/cli", include_in_schema=False)


@router.get("/verify", **access(Access.MEMBER))
def verify(request: Request, grant: Granted) -> dict[str, Any]:
    """Return the caller, with the workspace of the repository in which the command was called."""
    caller = grant.caller
    # Accounts have no mail address, and the command line wants one.
    user = {"id": str(caller.user_id), "email": caller.username, "name": caller.username}
    repository = request.headers.get(GIT, "")
    found = workspace_with(grant, repository) if repository else None
    if found is None:
        return {"user": user}
    return {"user": user, "workspace": {"id": found.id, "name": found.name, "role": found.role}}


@router.get("/workspaces", **access(Access.MEMBER))
def list_workspaces(grant: Granted) -> dict[str, Any]:
    """List the caller's workspaces with their repositories."""
    return {"workspaces": [_workspace(grant, one) for one in grant.workspaces().list(None, None)]}


def _workspace(grant: Grant, found: WorkspaceDocument) -> dict[str, Any]:
    try:
        name = repository_name(grant.workspace(found.id).repository().document().identity)
    except Refusal as refusal:
        if refusal.status != 404:
            raise
        name = ""
    connected = {"repo_full_name": name} if name else None
    return {"id": found.id, "name": found.name, "role": found.role, "connected_repo": connected}


@router.post("/device/authorize", **access(Access.PUBLIC))
def authorize_device(request: Request, service: Served) -> dict[str, Any]:
    """Refuse a login through a browser, and name the other way."""
    account = f"{base_url(request, service.settings)}/account"
    words = f"create a token at {account}, then call: osmosis auth login --token TOKEN"
    raise Refusal(400, f"this server has no login of programs through a browser; {words}")


@router.delete("/tokens/{token_id}", **access(Access.MEMBER))
def delete_token(token_id: Annotated[str, Path(max_length=100)], grant: Granted) -> dict[str, Any]:
    """Delete one of the caller's tokens."""
    grant.account().delete_token(token_id)
    return {}
