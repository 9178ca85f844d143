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

    name: Name = Field(description="what people call it; two teams may have the same name", examples=["Red pandas"])
    slug: str | None = Field(
        default=None,
        min_length=1,
        max_length=50,
        pattern="[A-Za-z0-9]",
        description="a name for addresses, made of the other one where it is left out",
        examples=["red-pandas"],
    )


class TeamChange(BaseModel):
    """Changes of a team; fields that are left out remain unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Blue whales"}]})

    name: Name | None = Field(default=None, description="another name; the slug stays")
    budget_usd: float | None = Field(
        default=None,
        ge=0,
        le=1e9,
        description="what the team may spend in 24 hours, null: the platform's setting; only for administrators",
    )


class JoinInput(BaseModel):
    """The join code of a team."""

    code: Code = Field(description="4 to 8 letters and digits in any case", examples=["7KQM2XWB"])


class TransferInput(BaseModel):
    """The new owner of a team."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"new_owner_user_id": 7}]})

    new_owner_user_id: int = Field(ge=-(2**31), lt=2**31, description="the user id of somebody in the team")


class JoinedTeam(BaseModel):
    """A team that the caller joined, or was already a member of."""

    team_id: str = Field(description="the id of the team")
    name: str = Field(description="what people call it")
    member_count: int = Field(description="how many are in it, the owner among them")
    max_members: int = Field(description="how many may be in it")
    role: TeamRole = Field(description="what the caller is in it")


class TeamDocument(JoinedTeam):
    """A team as the caller sees it."""

    slug: str = Field(description="its name for addresses, which no other team has")
    join_code: str | None = Field(default=None, description="the code that lets people in; null unless you own it")
    created_at: datetime | None = Field(default=None, description="when it was made")
    budget_usd: float | None = Field(
        default=None, description="what it may spend in 24 hours; null where the platform's setting holds"
    )


class TeamMember(BaseModel):
    """A member of a team."""

    user_id: int = Field(description="their user id")
    username: str = Field(description="their name")
    role: TeamRole = Field(description="owner or member")
    joined_at: datetime = Field(description="since when they are in it")


class JoinCode(BaseModel):
    """The new join code of a team; the old one is invalid."""

    join_code: str = Field(description="the code that lets people in", examples=["7KQM2XWB"])


class Said(BaseModel):
    """Confirmation of an action."""

    detail: str = Field(description="what was done")
