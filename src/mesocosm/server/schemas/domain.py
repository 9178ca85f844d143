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

    status: DomainStatus = Field(default=DomainStatus.DRAFT, description="draft, published or archived")
    environment_id: str | None = Field(default=None, description="the submitted environment that it was made from")
    team_id: str | None = Field(default=None, description="the team that this environment belongs to")
    check: EnvironmentCheck | None = Field(
        default=None, description="the author's check of the environment that is played; none: it is at an address"
    )
    created_at: datetime | None = Field(default=None, description="when it was registered")
    updated_at: datetime | None = Field(default=None, description="when it was changed the last time")
    published_at: datetime | None = Field(default=None, description="when it was published the first time; null: never")


class DomainInput(DomainConfig):
    """A domain to register. The caller becomes its owner."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str = Field(
        min_length=1,
        max_length=200,
        pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="what it is to be addressed by: letters, digits, dots, underscores and hyphens",
    )
    name: DomainName = Field(description="its title")
    owner_id: str = Field(default="", description="ignored: the owner is who asks")
    tags: list[_Tag] = Field(default=[], max_length=50, description="words to find it by")
    detail: str = Field(default="", max_length=100_000, description="what it is about")
    pricing: str = Field(default="free", max_length=200, description="a word about its price")
    version_history: list[VersionEntry] = Field(
        default=[], max_length=1_000, description="versions of the vow, oldest first"
    )
    image_url: str | None = Field(default=None, max_length=2_000, description="a picture of it")
    profile_picture_url: str | None = Field(default=None, max_length=2_000, description="a small picture of it")


class DomainChange(BaseModel):
    """Changes of a domain; fields that are left out remain unchanged."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Guess a number", "tags": ["numbers"]}]})

    id: str | None = Field(default=None, max_length=200, description="its id, as in the address; it cannot change")
    name: DomainName | None = Field(default=None, description="its title")
    binding_vow: BindingVow | None = Field(default=None, description="what the environment promises")
    endpoint: EnvironmentEndpoint | None = Field(default=None, description="how it is reached")
    scoring: ScoringConfig | None = Field(default=None, description="what is measured")
    tags: list[_Tag] | None = Field(default=None, max_length=50, description="words to find it by")
    detail: str | None = Field(default=None, max_length=100_000, description="what it is about")
    pricing: str | None = Field(default=None, max_length=200, description="a word about its price")
    version_history: list[VersionEntry] | None = Field(
        default=None, max_length=1_000, description="words for versions of the vow; versions already known stay listed"
    )
    image_url: _Url | None = Field(default=None, description="a picture of it; null: none")
    profile_picture_url: _Url | None = Field(default=None, description="a small picture of it; null: none")
    has_gold_benchmark: bool | None = Field(default=None, description="whether there are reference results")
