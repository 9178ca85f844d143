"""The registration of a domain: binding vow, endpoint, scoring and description of an environment.

Unknown keys are ignored, so that older programs can read newer documents.
"""

from typing import Literal

from pydantic import BaseModel, Field

from mesocosm.core.scoring import ScoringConfig
from mesocosm.core.vow import BindingVow


class ResourceSpec(BaseModel):
    """Resources that an environment requests, in Kubernetes notation."""

    cpu: str = Field(default="2", max_length=50, description="processors")
    memory: str = Field(default="4Gi", max_length=50, description="memory")
    gpu: str | None = Field(default=None, max_length=200, description="graphics processors")
    timeout_seconds: int = Field(default=3600, ge=1, lt=2**31, description="how long an episode may take")


class EnvironmentEndpoint(BaseModel):
    """How to reach an environment: at its own `url`, or started in a sandbox."""

    mode: Literal["remote", "sandbox"] = Field(
        default="remote", description="remote: at its url; sandbox: by the server"
    )
    url: str | None = Field(default=None, max_length=2_000, description="an http(s) URL of the public internet")
    image: str | None = Field(default=None, max_length=2_000, description="kept for older programs; nothing reads it")
    resources: ResourceSpec | None = Field(default=None, description="kept for older programs; nothing reads it")


class VersionEntry(BaseModel):
    """One entry in the version history of a domain; `date` is YYYY-MM-DD."""

    version: str = Field(max_length=100, description="a version of the binding vow")
    date: str = Field(default="", max_length=40, description="since when, YYYY-MM-DD")
    changes: str = Field(default="", max_length=10_000, description="what is new in it")


class DomainConfig(BaseModel):
    """A domain as its author registers it."""

    id: str = Field(description="what it is addressed by")
    name: str = Field(description="its title")
    owner_id: str = Field(
        default="", description="the user id of its owner as text; taken from the token when registering"
    )
    binding_vow: BindingVow = Field(description="what the environment promises")
    endpoint: EnvironmentEndpoint = Field(description="how it is reached")
    scoring: ScoringConfig = Field(description="what is measured")
    tags: list[str] = Field(default=[], description="words to find it by")
    detail: str = Field(default="", description="what it is about")
    pricing: str = Field(default="free", description="a word about its price")
    version_history: list[VersionEntry] = Field(default=[], description="versions of the vow, the oldest first")
    image_url: str | None = Field(default=None, description="a picture of it")
    profile_picture_url: str | None = Field(default=None, description="a small picture of it")
    has_gold_benchmark: bool = Field(default=False, description="whether there are reference results")
