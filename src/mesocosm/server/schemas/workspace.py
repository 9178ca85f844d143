"""Documents of workspaces."""

import unicodedata
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

WorkspaceRole = Literal["viewer", "member", "admin", "owner"]
"""Roles in a workspace, rising: each may do what those before it may."""

_UNREADABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def _checked(name: str) -> str:
    """Return a name in its composed form. Raises ValueError if it cannot be one segment of a path, or looks like an id.

    A name that looks like an id could be given to programs in place of a deleted workspace.
    """
    name = unicodedata.normalize("NFC", name).strip()
    if not name or "/" in name or name in {".", ".."}:
        raise ValueError("must be text without slashes, other than . and ..")
    if any(unicodedata.category(letter) in _UNREADABLE for letter in name):
        raise ValueError("must not contain control characters or invisible ones")
    try:
        UUID(unicodedata.normalize("NFKC", name))
    except ValueError:
        return name
    raise ValueError("must not look like an id")


WorkspaceName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64), AfterValidator(_checked)
]
"""1 to 64 characters without slashes, control characters or invisible ones."""


class WorkspaceInput(BaseModel):
    """A workspace to create."""

    name: WorkspaceName = Field(
        description="Name, unlike all others on the server in more than case; without slashes and control characters.",
        examples=["Coral reefs"],
    )


class WorkspaceChange(BaseModel):
    """Changes of a workspace; fields that are left out remain unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Tide pools"}]})

    name: WorkspaceName | None = Field(default=None, description="New name; the id stays.")
    budget_usd: float | None = Field(
        default=None,
        ge=0,
        le=1e9,
        description="US dollars in 24 hours; null: the server's default. Administrators of the server only.",
    )


class WorkspaceMemberInput(BaseModel):
    """A user to add to a workspace."""

    username: str = Field(description="User name; case is ignored.", min_length=1, max_length=64, examples=["ada"])
    role: WorkspaceRole = Field(default="member", description="Role in the workspace.")


class WorkspaceRoleInput(BaseModel):
    """Another role of a member."""

    role: WorkspaceRole = Field(description="New role in the workspace.", examples=["admin"])


class WorkspaceDocument(BaseModel):
    """A workspace as the caller sees it."""

    id: str = Field(description="ID of the workspace.")
    name: str = Field(description="Name of the workspace.")
    role: WorkspaceRole | None = Field(
        description="Role of the caller; null for administrators of the server who are not members."
    )
    members: int = Field(description="Number of members.")
    budget_usd: float | None = Field(default=None, description="US dollars in 24 hours; null: the server's default.")
    created_at: datetime = Field(description="When the workspace was created.")


class WorkspaceMember(BaseModel):
    """A member of a workspace."""

    user_id: int = Field(description="User ID.")
    username: str = Field(description="User name.")
    role: WorkspaceRole = Field(description="Role in the workspace.")
    disabled: bool = Field(description="Whether the account is disabled, and therefore has no access.")
    joined_at: datetime = Field(description="When the member was added.")
