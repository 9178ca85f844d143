"""`/api/workspaces/{workspace}/secrets`: secrets of a workspace and of its members. No answer has a value."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.routes.workspaces import WorkspaceReference
from mesocosm.server.schemas.workspace_secret import (
    NAME_LENGTH,
    NAME_PATTERN,
    MissingSecrets,
    Scope,
    SecretInput,
    SecretName,
    WorkspaceSecret,
)

router = APIRouter(prefix="/api/workspaces/{workspace}/secrets", tags=["workspaces"])

Name = Annotated[
    str, Path(pattern=NAME_PATTERN, max_length=NAME_LENGTH, description="Name of the secret.", examples=["API_KEY"])
]


@router.get("", response_model=list[WorkspaceSecret], **access(Access.INSIDER))
def list_secrets(
    workspace: WorkspaceReference,
    grant: Granted,
    scope: Annotated[Scope | None, Query(description="Only this scope; both by default.")] = None,
) -> Sequence[WorkspaceSecret]:
    """List the secrets of a workspace and the caller's own in it, by name, without their values. At most 400."""
    return grant.workspace(workspace).secrets().list(scope)


@router.get("/missing", response_model=MissingSecrets, responses=refused(503), **access(Access.INSIDER))
def list_missing_secrets(
    workspace: WorkspaceReference,
    grant: Granted,
    name: Annotated[list[SecretName], Query(min_length=1, max_length=200, description="Names that a run needs.")],
) -> MissingSecrets:
    """Return which of the names have no value for a run of the caller.

    503 if the server lacks the key that encrypted one of them.
    """
    return grant.working_workspace(workspace).secrets().missing(name)


@router.put(
    "/workspace/{name}", response_model=WorkspaceSecret, responses=refused(404, 409, 503), **access(Access.OWNER)
)
def set_workspace_secret(
    workspace: WorkspaceReference, name: Name, body: SecretInput, grant: Granted
) -> WorkspaceSecret:
    """Set a secret that every run of the workspace gets, in place of an old value. For its admins and owners."""
    return grant.managed_workspace(workspace).secrets().set(name, body.value)


@router.put(
    "/personal/{name}", response_model=WorkspaceSecret, responses=refused(404, 409, 503), **access(Access.INSIDER)
)
def set_personal_secret(
    workspace: WorkspaceReference, name: Name, body: SecretInput, grant: Granted
) -> WorkspaceSecret:
    """Set a secret that runs of the caller get, instead of the workspace's of that name. For members, not viewers."""
    return grant.working_workspace(workspace).secrets().set_personal(name, body.value)


@router.delete(
    "/workspace/{name}", status_code=204, response_class=Response, responses=refused(404), **access(Access.OWNER)
)
def delete_workspace_secret(workspace: WorkspaceReference, name: Name, grant: Granted) -> None:
    """Delete a secret of the workspace. For its admins and owners."""
    grant.managed_workspace(workspace).secrets().delete(name)


@router.delete(
    "/personal/{name}", status_code=204, response_class=Response, responses=refused(404), **access(Access.INSIDER)
)
def delete_personal_secret(workspace: WorkspaceReference, name: Name, grant: Granted) -> None:
    """Delete a secret of the caller."""
    grant.workspace(workspace).secrets().delete_personal(name)
