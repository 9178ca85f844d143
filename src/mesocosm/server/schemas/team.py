"""Documents of teams."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255)]
Code = Annotated[str, StringConstraints(strip_whitespace=True, pattern="^[A-Za-z0-9]{4,8}$")]
TeamRole = Literal["owner", "member", "admin"]
"""`admin`: an administrator of the server who is not in the team."""


class TeamInput(BaseModel):
    """A team to create."""

    name: Name = Field(description="Display name; several teams may have the same name.", examples=["Red pandas"])
    slug: str | None = Field(
        default=None,
        min_length=1,
        max_length=50,
        pattern="[A-Za-z0-9]",
        description="Unique name in URLs; by default derived from `name`.",
        examples=["red-pandas"],
    )


class TeamChange(BaseModel):
    """Changes of a team; fields that are left out remain unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Blue whales"}]})

    name: Name | None = Field(default=None, description="New display name; the slug stays.")
    budget_usd: float | None = Field(
        default=None,
        ge=0,
        le=1e9,
        description="US dollars in 24 hours; null: the server's default. Administrators only.",
    )


class JoinInput(BaseModel):
    """The join code of a team."""

    code: Code = Field(description="4 to 8 letters and digits; case is ignored.", examples=["7KQM2XWB"])


class TransferInput(BaseModel):
    """The new owner of a team."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"new_owner_user_id": 7}]})

    new_owner_user_id: int = Field(ge=-(2**31), lt=2**31, description="User ID of a member of the team.")


class JoinedTeam(BaseModel):
    """A team that the caller joined, or was already a member of."""

    team_id: str = Field(description="ID of the team.")
    name: str = Field(description="Display name.")
    member_count: int = Field(description="Number of members, including the owner.")
    max_members: int = Field(description="Maximum number of members.")
    role: TeamRole = Field(description="Role of the caller in the team.")


class TeamDocument(JoinedTeam):
    """A team as the caller sees it."""

    slug: str = Field(description="Unique name in URLs.")
    join_code: str | None = Field(default=None, description="Code to join the team; null unless the caller owns it.")
    created_at: datetime | None = Field(default=None, description="When the team was created.")
    budget_usd: float | None = Field(default=None, description="US dollars in 24 hours; null: the server's default.")


class TeamMember(BaseModel):
    """A member of a team."""

    user_id: int = Field(description="User ID.")
    username: str = Field(description="User name.")
    role: TeamRole = Field(description="`owner` or `member`.")
    joined_at: datetime = Field(description="When the member joined.")


class JoinCode(BaseModel):
    """The new join code of a team; the old one is invalid."""

    join_code: str = Field(description="Code to join the team.", examples=["7KQM2XWB"])


class Said(BaseModel):
    """Confirmation of an action."""

    detail: str = Field(description="What was done.")
