"""Domains as programs exchange them with a platform.

A domain is what a manifest becomes there. Unknown keys are ignored, so that older programs read newer answers.
"""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel

from mesocosm.core.scoring import ScoringConfig
from mesocosm.core.vow import BindingVow


class ResourceSpec(BaseModel):
    """Resources that an environment asks for, in the words of Kubernetes."""

    cpu: str = "2"
    memory: str = "4Gi"
    gpu: str | None = None
    timeout_seconds: int = 3600


class EnvironmentEndpoint(BaseModel):
    """How an environment is reached: at its own `url`, or started in a sandbox."""

    mode: Literal["remote", "sandbox"] = "remote"
    url: str | None = None
    image: str | None = None
    resources: ResourceSpec | None = None


class VersionEntry(BaseModel):
    """One entry of a domain's history; `date` is YYYY-MM-DD."""

    version: str
    date: str = ""
    changes: str = ""


class DomainStatus(StrEnum):
    """Life of a domain."""

    DRAFT = "draft"
    TESTING = "testing"
    PUBLISHED = "published"
    ARCHIVED = "archived"


class DomainConfig(BaseModel):
    """A domain as its author registers it."""

    id: str
    name: str
    owner_id: str = ""
    binding_vow: BindingVow
    endpoint: EnvironmentEndpoint
    scoring: ScoringConfig
    tags: list[str] = []
    detail: str = ""
    pricing: str = "free"
    version_history: list[VersionEntry] = []
    image_url: str | None = None
    profile_picture_url: str | None = None
    has_gold_benchmark: bool = False


class Domain(DomainConfig):
    """A domain as a platform keeps it."""

    status: DomainStatus = DomainStatus.DRAFT
