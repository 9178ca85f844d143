"""`/api/workspaces`: workspaces and their members."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.runs.run_detail import read_run
from mesocosm.server.schemas.limits import BudgetDocument
from mesocosm.server.schemas.run import RunDetail
from mesocosm.server.schemas.workspace import (
    WorkspaceChange,
    WorkspaceDocument,
    WorkspaceInput,
    WorkspaceMember,
    WorkspaceMemberInput,
    WorkspaceRoleInput,
)
from mesocosm.server.web.answer import answer

router = APIRouter(prefix="/api/workspaces", tags=["workspaces"])

WorkspaceReference = Annotated[str, Path(max_length=200, description="ID or name of the workspace.")]
UserId = Annotated[int, Path(ge=-(2**31), lt=2**31, description="User ID of a member.")]


@router.post("", status_code=201, response_model=WorkspaceDocument, responses=refused(409), **access(Access.MEMBER))
def create_workspace(body: WorkspaceInput, grant: Granted) -> WorkspaceDocument:
    """Create a workspace owned by the caller. 409 if the name is taken on this server."""
    return grant.workspaces().create(body.name)


@router.get("", response_model=list[WorkspaceDocument], **access(Access.MEMBER))
def list_workspaces(
    grant: Granted,
    limit: Annotated[int | None, Query(ge=1, le=100, description="Maximum number; all by default.")] = None,
    cursor: Annotated[str | None, Query(max_length=200, description="ID of the last item of the page before.")] = None,
) -> Sequence[WorkspaceDocument]:
    """List the workspaces of the caller, for administrators of the server all, newest first."""
    return grant.workspaces().list(limit, cursor)


@router.get("/{workspace}", response_model=WorkspaceDocument, **access(Access.INSIDER))
def get_workspace(workspace: WorkspaceReference, grant: Granted) -> WorkspaceDocument:
    """Return a workspace. 404 for callers who are not members, whether it exists or not."""
    return grant.workspace(workspace).document()


@router.get("/{workspace}/budget", response_model=BudgetDocument, **access(Access.INSIDER))
def get_budget(workspace: WorkspaceReference, grant: Granted) -> BudgetDocument:
    """Return the budget of a workspace for the runs of 24 hours together, and what is left of it."""
    return grant.workspace(workspace).budget()


@router.patch("/{workspace}", response_model=WorkspaceDocument, responses=refused(409), **access(Access.OWNER))
def change_workspace(workspace: WorkspaceReference, body: WorkspaceChange, grant: Granted) -> WorkspaceDocument:
    """Rename a workspace (its admins and owners), or set its budget for 24 hours (administrators of the server).

    409 if the name is taken on this server.
    """
    return grant.managed_workspace(workspace).change(body)


@router.delete("/{workspace}", status_code=204, response_class=Response, **access(Access.OWNER))
def remove_workspace(workspace: WorkspaceReference, grant: Granted) -> None:
    """Delete a workspace with its datasets and secrets. Only its owners may."""
    grant.owned_workspace(workspace).delete()


@router.get("/{workspace}/runs/{workspace_run}", response_model=RunDetail, **access(Access.INSIDER))
def get_named_run(
    workspace: WorkspaceReference,
    workspace_run: Annotated[str, Path(max_length=200, description="ID or name of a run of the workspace.")],
    grant: Granted,
) -> Response:
    """Return a run of a workspace by its id or its name there."""
    return answer(read_run(grant.run(grant.workspace(workspace).run_id(workspace_run))))


@router.get("/{workspace}/members", response_model=list[WorkspaceMember], **access(Access.INSIDER))
def list_members(workspace: WorkspaceReference, grant: Granted) -> list[WorkspaceMember]:
    """List the members of a workspace, owners first."""
    return grant.workspace(workspace).members()


@router.post(
    "/{workspace}/members",
    status_code=201,
    response_model=WorkspaceMember,
    responses=refused(409, 429),
    **access(Access.OWNER),
)
def add_member(workspace: WorkspaceReference, body: WorkspaceMemberInput, grant: Granted) -> WorkspaceMember:
    """Add a user by name (admins and owners of the workspace; only owners add owners).

    Has no effect for members with this role, 409 for members with another one. 404 without an active account of this
    name, 429 with `Retry-After` after too many of these.
    """
    return grant.managed_workspace(workspace).add(body.username, body.role)


@router.delete(
    "/{workspace}/members/me",
    status_code=204,
    response_class=Response,
    responses=refused(409),
    **access(Access.INSIDER),
)
def leave_workspace(workspace: WorkspaceReference, grant: Granted) -> None:
    """Leave a workspace. 409 for its last owner, who must make another one or delete it."""
    grant.workspace(workspace).leave()


@router.patch(
    "/{workspace}/members/{user_id}", response_model=WorkspaceMember, responses=refused(409), **access(Access.OWNER)
)
def change_member(
    workspace: WorkspaceReference, user_id: UserId, body: WorkspaceRoleInput, grant: Granted
) -> WorkspaceMember:
    """Give a member another role (admins and owners of the workspace; only owners make owners, or change them).

    404 for users who are not members, 409 for the last owner.
    """
    return grant.managed_workspace(workspace).set_role(user_id, body.role)


@router.delete(
    "/{workspace}/members/{user_id}",
    status_code=204,
    response_class=Response,
    responses=refused(409),
    **access(Access.OWNER),
)
def remove_member(workspace: WorkspaceReference, user_id: UserId, grant: Granted) -> None:
    """Remove a member (admins and owners of the workspace; only owners remove owners).

    404 for users who are not members, 409 for the last owner.
    """
    grant.managed_workspace(workspace).remove(user_id)
