"""Who calls, which workspaces they have, and how they log in, for the `osmosis` command line."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, Field

from mesocosm.compat.osmosis_platform.scope import GIT, workspace_with
from mesocosm.compat.osmosis_platform.workspace import repository_name
from mesocosm.server.permissions.grant import Grant, Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.account import PersonalTokenDocument
from mesocosm.server.schemas.workspace import WorkspaceDocument
from mesocosm.server.web.answer import not_cached
from mesocosm.server.web.cookies import bearer_token

router = APIRouter(prefix="/api/cli", include_in_schema=False, dependencies=[Depends(not_cached)])

DAYS = 90
"""Lifetime of a token that a login through a browser makes."""

_NEVER = "9999-12-31T00:00:00+00:00"
"""The command line takes a token without an end for one of 90 days."""
_CLONED_FROM = "github.com/"


class DeviceName(BaseModel):
    """The machine of a program that wants to log in."""

    device_name: str = Field(default="", alias="deviceName", max_length=1_000)


class DeviceCode(BaseModel):
    """The secret of a program that waits for its login."""

    device_code: str = Field(max_length=1_000)


class Quickstart(BaseModel):
    """The workspace in which somebody went through the first steps."""

    workspace_id: str = Field(alias="organizationId", max_length=100)


@router.get("/verify", **access(Access.MEMBER))
def verify(request: Request, grant: Granted) -> dict[str, Any]:
    """Return the caller, with the workspace of the repository in which the command was called."""
    caller = grant.caller
    answer: dict[str, Any] = {"user": _user(caller.user_id, caller.username)}
    account, secret = grant.account(), bearer_token(request.headers) or ""
    if token := account.token_in_use(secret):
        answer |= {"token_id": token.id, "expires_at": _end(token)}
    elif ends := account.access_ends(secret):
        answer["expires_at"] = ends.isoformat()
    repository = request.headers.get(GIT, "")
    found = workspace_with(grant, repository) if repository else None
    if found is not None:
        answer["workspace"] = {"id": found.id, "name": found.name, "role": found.role}
    return answer


def _end(token: PersonalTokenDocument) -> str:
    return token.expires_at.isoformat() if token.expires_at else _NEVER


def _user(user_id: int | None, username: str | None) -> dict[str, Any]:
    # Accounts have no mail address, and the command line wants one.
    return {"id": str(user_id), "email": username, "name": username}


@router.get("/workspaces", **access(Access.MEMBER))
def list_workspaces(grant: Granted) -> dict[str, Any]:
    """List the caller's workspaces with their repositories."""
    return {"workspaces": [_workspace(grant, one) for one in grant.workspaces().list(None, None)]}


def _workspace(grant: Grant, found: WorkspaceDocument) -> dict[str, Any]:
    identity = _repository(grant, found.id)
    connected = {"repo_full_name": repository_name(identity)} if identity else None
    return {"id": found.id, "name": found.name, "role": found.role, "connected_repo": connected}


def _repository(grant: Grant, workspace_id: str) -> str:
    """Return the identity of the repository of a workspace, empty if there is none."""
    try:
        return grant.workspace(workspace_id).repository().document().identity
    except Refusal as refusal:
        if refusal.status != 404:
            raise
        return ""


@router.post("/device/authorize", **access(Access.PUBLIC))
def authorize_device(body: DeviceName, request: Request, grant: Granted) -> dict[str, Any]:
    """Start a login that a person confirms in a browser."""
    started = grant.authentication().start_device(request, body.device_name)
    return {
        "device_code": started.device_code,
        "user_code": started.user_code,
        "verification_uri": started.page,
        "verification_uri_complete": started.page_with_code,
        "expires_in": round(started.expires_at.timestamp() - time.time()),
        "interval": started.interval_seconds,
    }


@router.post("/device/token", **access(Access.PUBLIC))
def create_device_token(body: DeviceCode, grant: Granted) -> dict[str, Any]:
    """Return a personal token once a person has let the program log in, else the word of what to do."""
    answer, made = grant.authentication().create_device_token(body.device_code, DAYS)
    if made is not None:
        user = _user(made.user_id, made.username)
        return {"token": made.token.token, "token_id": made.token.id, "expires_at": _end(made.token), "user": user}
    words = {"pending": "authorization_pending", "denied": "access_denied"}
    raise Refusal(400, "slow_down" if answer.slow_down else words.get(answer.state, "expired_token"))


@router.delete("/tokens/{token_id}", **access(Access.MEMBER))
def delete_token(token_id: Annotated[str, Path(max_length=100)], grant: Granted) -> dict[str, Any]:
    """Delete one of the caller's tokens."""
    grant.account().delete_token(token_id)
    return {}


@router.get("/quickstart", **access(Access.MEMBER))
def get_quickstart(
    workspace_id: Annotated[str, Query(alias="organizationId", max_length=100)], grant: Granted
) -> dict[str, Any]:
    """Return whether a workspace has a repository. Payment is no matter of this server.

    Raises Refusal 409 for a repository that the command line would look for at the wrong host.
    """
    grant.workspace(workspace_id)
    identity = _repository(grant, workspace_id)
    name = repository_name(identity) if identity else None
    if name and identity != f"{_CLONED_FROM}{name}":
        origin = f"git remote set-url origin https://{_CLONED_FROM}{name}.git"
        words = f"quickstart clones from github.com, and the repository of this workspace is {identity}"
        raise Refusal(409, f"{words}; clone it yourself, then call: {origin}")
    return {"repo": {"connected": bool(name), "full_name": name}, "billing_ready": True, "completed": False}


@router.post("/quickstart", **access(Access.MEMBER))
def end_quickstart(body: Quickstart, grant: Granted) -> dict[str, Any]:
    """Accept that somebody went through the first steps in a workspace. Nothing depends on it."""
    grant.workspace(body.workspace_id)
    return {}
