"""Documents of domains, which runs are started on.

Unknown keys are ignored, so that older programs can read newer responses.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from mesocosm.core.scoring import ScoringConfig
from mesocosm.core.vow import BindingVow
from mesocosm.environments.domain import DomainConfig, EnvironmentEndpoint, VersionEntry
from mesocosm.server.schemas.environment import EnvironmentCheck

_EXAMPLE: dict[str, Any] = {
    "id": "guess-the-number",
    "name": "Guess the number",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "binary", "range": {"low": 0, "high": 1}},
        "episode": {"max_steps": 10},
    },
    "endpoint": {"mode": "remote", "url": "https://environments.example.org/guess"},
    "scoring": {
        "primary_metric": "success_rate",
        "metrics": [{"name": "success_rate", "type": "episode_reward", "aggregation": "pass_rate"}],
    },
    "tags": ["numbers"],
}

DomainName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
_Url = Annotated[str, StringConstraints(max_length=2_000)]
_Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class DomainStatus(StrEnum):
    """Status of a domain."""

    DRAFT = "draft"
    TESTING = "testing"
    PUBLISHED = "published"
    ARCHIVED = "archived"


class Domain(DomainConfig):
    """A stored domain."""

    status: DomainStatus = Field(default=DomainStatus.DRAFT, description="Status of the domain.")
    environment_id: str | None = Field(
        default=None,
        description="ID of the submitted environment that it was created from; null: it was registered with a URL.",
    )
    team_id: str | None = Field(default=None, description="ID of the team that owns this environment.")
    check: EnvironmentCheck | None = Field(
        default=None,
        description="The author's check of the environment version in use; null if the domain was registered "
        "with a URL.",
    )
    created_at: datetime | None = Field(default=None, description="When it was registered.")
    updated_at: datetime | None = Field(default=None, description="When it was last changed.")
    published_at: datetime | None = Field(default=None, description="When it was first published; null: never.")


class DomainInput(DomainConfig):
    """A domain to register. The caller becomes its owner."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str = Field(
        min_length=1,
        max_length=200,
        pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="ID in URLs: letters, digits, dots, underscores and hyphens.",
    )
    name: DomainName = Field(description="Title.")
    owner_id: str = Field(default="", description="Ignored: the caller becomes the owner.")
    tags: list[_Tag] = Field(default=[], max_length=50, description="Tags to search by.")
    detail: str = Field(default="", max_length=100_000, description="Description.")
    pricing: str = Field(default="free", max_length=200, description="Note about the price.")
    version_history: list[VersionEntry] = Field(
        default=[], max_length=1_000, description="Versions of the vow, oldest first."
    )
    image_url: str | None = Field(default=None, max_length=2_000, description="URL of an image.")
    profile_picture_url: str | None = Field(default=None, max_length=2_000, description="URL of a small image.")


class DomainChange(BaseModel):
    """Changes of a domain; fields that are left out remain unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Guess a number", "tags": ["numbers"]}]})

    id: str | None = Field(
        default=None, max_length=200, description="Must equal the ID in the path: it cannot be changed."
    )
    name: DomainName | None = Field(default=None, description="Title.")
    binding_vow: BindingVow | None = Field(default=None, description="The contract of the environment.")
    endpoint: EnvironmentEndpoint | None = Field(default=None, description="How to reach the environment.")
    scoring: ScoringConfig | None = Field(default=None, description="The metrics.")
    tags: list[_Tag] | None = Field(default=None, max_length=50, description="Tags to search by.")
    detail: str | None = Field(default=None, max_length=100_000, description="Description.")
    pricing: str | None = Field(default=None, max_length=200, description="Note about the price.")
    version_history: list[VersionEntry] | None = Field(
        default=None,
        max_length=1_000,
        description="Changes to the notes on versions of the vow; known versions stay listed.",
    )
    image_url: _Url | None = Field(default=None, description="URL of an image; null removes it.")
    profile_picture_url: _Url | None = Field(default=None, description="URL of a small image; null removes it.")
    has_gold_benchmark: bool | None = Field(default=None, description="Whether there are reference results.")
