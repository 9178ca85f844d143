"""Workspaces of a server."""

from typing import Any

from mesocosm.client.resource import Resource
from mesocosm.client.transport import segment
from mesocosm.server.schemas.limits import BudgetDocument
from mesocosm.server.schemas.workspace import (
    WorkspaceChange,
    WorkspaceDocument,
    WorkspaceInput,
    WorkspaceMember,
    WorkspaceMemberInput,
    WorkspaceRole,
    WorkspaceRoleInput,
)


class WorkspacesResource(Resource):
    """Workspaces of the caller, each named by its id or name. Not available to guests."""

    def create(self, name: str) -> WorkspaceDocument:
        """Create a workspace owned by the caller."""
        return self._one(WorkspaceDocument, "POST", "/api/workspaces", WorkspaceInput(name=name))

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> tuple[WorkspaceDocument, ...]:
        """Return the caller's workspaces, newest first, all without a `limit`; `cursor` is the last id of a page.

        Administrators of the server get all workspaces, those of others with the role None.
        """
        return self._many(WorkspaceDocument, "/api/workspaces", {"limit": limit, "cursor": cursor})

    def get(self, workspace: str) -> WorkspaceDocument:
        """Return one workspace."""
        return self._one(WorkspaceDocument, "GET", workspace_path(workspace))

    def change(self, workspace: str, **changes: Any) -> WorkspaceDocument:
        """Change the name, or as an administrator of the server the budget (`budget_usd`; None: the default)."""
        body = WorkspaceChange(**changes).model_dump(mode="json", exclude_unset=True)
        return self._one(WorkspaceDocument, "PATCH", workspace_path(workspace), body)

    def budget(self, workspace: str) -> BudgetDocument:
        """Return the budget of a workspace for the runs of 24 hours together, and what is left of it."""
        return self._one(BudgetDocument, "GET", f"{workspace_path(workspace)}/budget")

    def delete(self, workspace: str) -> None:
        """Delete a workspace with its datasets and secrets. Only for its owners."""
        self._done("DELETE", workspace_path(workspace))

    def members(self, workspace: str) -> tuple[WorkspaceMember, ...]:
        """Return the members of a workspace, owners first."""
        return self._many(WorkspaceMember, f"{workspace_path(workspace)}/members")

    def add(self, workspace: str, username: str, role: WorkspaceRole = "member") -> WorkspaceMember:
        """Add a user by name. Only for admins and owners."""
        body = WorkspaceMemberInput(username=username, role=role)
        return self._one(WorkspaceMember, "POST", f"{workspace_path(workspace)}/members", body)

    def set_role(self, workspace: str, user_id: int, role: WorkspaceRole) -> WorkspaceMember:
        """Give a member another role. Only for admins and owners."""
        path = f"{workspace_path(workspace)}/members/{user_id}"
        return self._one(WorkspaceMember, "PATCH", path, WorkspaceRoleInput(role=role))

    def remove(self, workspace: str, user_id: int) -> None:
        """Remove a member. Only for admins and owners."""
        self._done("DELETE", f"{workspace_path(workspace)}/members/{user_id}")

    def leave(self, workspace: str) -> None:
        """Leave a workspace."""
        self._done("DELETE", f"{workspace_path(workspace)}/members/me")


def workspace_path(workspace: str) -> str:
    """Return the path of a workspace, given by id or name."""
    return f"/api/workspaces/{segment(workspace)}"
