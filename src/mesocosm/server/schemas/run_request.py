"""Requests for runs and test episodes.

Unknown fields are ignored, so that older and newer programs can communicate. Unknown fields of an agent are rejected,
because a caller would expect them to change its behaviour.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mesocosm.server.schemas.document import Document

Visibility = Literal["private", "gallery_public"]
"""`private`: visible to the owner and their team; `gallery_public`: visible to everyone once the run has finished."""

Seed = Annotated[int, Field(ge=-(2**63), lt=2**64)]

_EXAMPLE: dict[str, Any] = {
    "domain_id": "f0a1c2d3-0000-4000-8000-000000000001",
    "binding_vow_version": "1.0.0",
    "agent_config": {"model": "openai/gpt-4o-mini", "temperature": 0.0, "max_tokens": 1024},
    "num_episodes": 10,
    "max_parallel": 2,
}


class TechniqueConfig(BaseModel):
    """A technique used in a run, with its parameters."""

    technique_id: str = Field(description="name of a technique that the domain's vow declares")
    params: dict[str, Any] = Field(default={}, description="parameters in place of those of the vow")


class AgentConfig(BaseModel):
    """The agent of a run."""

    model: str = Field(description="a model of GET /api/models, `provider/name`")
    system_prompt: str | None = Field(
        default=None, description="what the agent is told beside the environment's own words"
    )
    techniques: Sequence[TechniqueConfig] = Field(default=[], description="techniques with parameters of one's own")
    temperature: float = Field(default=0.0, description="temperature of sampling")
    max_tokens: int = Field(default=4096, description="tokens of one answer at most")


class TechniqueInput(TechniqueConfig):
    """A technique of a submitted run."""

    model_config = ConfigDict(extra="forbid")


class AgentInput(AgentConfig):
    """The agent of a submitted run. Unknown fields are rejected, because they would have no effect."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(min_length=1, max_length=300, description="a model of GET /api/models, `provider/name`")
    system_prompt: str | None = Field(default=None, max_length=50_000, description="what the agent is told in addition")
    techniques: list[TechniqueInput] = Field(
        default=[], max_length=50, description="techniques with parameters of one's own"
    )
    temperature: float = Field(default=0.0, ge=0, le=2, allow_inf_nan=False, description="temperature of sampling")
    max_tokens: int = Field(default=4096, ge=1, le=1_000_000, description="tokens of one answer at most")


class RunConfig(BaseModel):
    """Configuration of a run. With a `seed_set`, `num_episodes` is its length."""

    domain_id: str = Field(description="the domain to play")
    binding_vow_version: str = Field(description="version of the domain's vow; it must be the present one")
    agent_config: AgentConfig = Field(description="who plays")
    seed_set: list[int] | None = Field(default=None, description="one seed for each episode; 0, 1, … by default")
    num_episodes: int = Field(default=1, ge=1, description="how many episodes")
    max_parallel: int = Field(default=1, ge=1, description="how many of them at once")
    env_id: str | None = Field(default=None, description="the submitted environment, where the domain has several")

    @model_validator(mode="before")
    @classmethod
    def _as_many_as_seeds(cls, given: Any) -> Any:
        if isinstance(given, dict) and isinstance(given.get("seed_set"), list) and given.get("num_episodes") is None:
            return {**given, "num_episodes": max(len(given["seed_set"]), 1)}
        return given

    @model_validator(mode="after")
    def _one_seed_each(self) -> "RunConfig":
        if self.seed_set is not None and len(self.seed_set) != self.num_episodes:
            raise ValueError(f"seed_set has {len(self.seed_set)} seeds for {self.num_episodes} episodes")
        return self


class RunInput(RunConfig):
    """A run to submit."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    domain_id: str = Field(min_length=1, max_length=200, description="the domain to play")
    binding_vow_version: str = Field(max_length=100, description="version of the domain's vow; the present one")
    agent_config: AgentInput = Field(description="who plays")
    seed_set: list[Seed] | None = Field(default=None, description="one seed for each episode; 0, 1, … by default")
    max_parallel: int = Field(default=1, ge=1, le=1_000, description="how many of them at once")
    env_id: str | None = Field(
        default=None, max_length=200, description="the environment, where the domain has several"
    )
    team_id: str | None = Field(default=None, max_length=200, description="the team that the run belongs to")
    visibility: Visibility | None = Field(
        default=None, description="private by default; runs of guests are always public"
    )
    name: str = Field(default="", max_length=200, description="what the run is called in lists")
    tags: list[str] = Field(default=[], max_length=50, description="words to find it by")
    trials: int = Field(default=1, ge=1, le=100, description="how often each seed is played")
    outage_seconds: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="how long the run waits for a server that does not answer; at most, and by default, as the "
        "platform says",
    )
    max_missing: float | None = Field(
        default=None,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="share of episodes that may lack a value before the run is partial; at most, and by default, as "
        "the platform says",
    )
    official: bool = Field(
        default=False,
        description="play by the protocol of the domain, for its official board: the server draws the seeds, the run "
        "is public, and it counts as an attempt whatever becomes of it. What the protocol fixes is left out",
    )


class RunRequestDocument(Document):
    """The request for a run on a server, and its state. In lists `config` comes without the system prompt."""

    config: RunConfig
    state: Literal["queued", "claimed", "ended", "cancelled"] = Field(
        description="`claimed`: a worker plays it; `ended`: it was played, whatever came of it"
    )
    reason: str = Field(description="why it was cancelled or ended early")
    ended_at: datetime | None
    expires_at: datetime | None = Field(description="when the run of a guest is deleted")
    requester_id: str | None = Field(description="user id as text, or `guest:ID`; null for outsiders")
    purpose: Literal["run", "test", "full_bench"]
    environment_id: str | None = Field(description="the submitted environment")
    environment_version: int | None = Field(description="which submission of the environment")
    redacted: bool = Field(description="whether parts are hidden from the caller")


class RunUpdate(BaseModel):
    """Changes of a run; fields that are left out remain unchanged."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"visibility": "gallery_public"}]})

    visibility: Visibility | None = Field(default=None, description="who may see it")
    tags: list[str] | None = Field(default=None, max_length=50, examples=[["baseline", "temperature 0"]])


class RunLogLine(Document):
    """A line of the log of a run."""

    kind: Literal["state", "warning", "error"] = Field(description="what it is")
    at: datetime | None = Field(default=None, description="when, where that is known")
    text: str = Field(description="the words")


class RunLog(Document):
    """The log of a run: its progress, warnings and errors, oldest first."""

    run_id: str
    lines: list[RunLogLine]


class TestEpisodeInput(BaseModel):
    """A single episode for testing a domain."""

    __test__ = False

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "domain_id": "f0a1c2d3-0000-4000-8000-000000000001",
                    "binding_vow_version": "1.0.0",
                    "agent_config": {"model": "builtin/random"},
                    "seed": 3,
                }
            ]
        }
    )

    domain_id: str = Field(min_length=1, max_length=200, description="the domain to try")
    binding_vow_version: str | None = Field(
        default=None, max_length=100, description="version of its vow; the present one"
    )
    agent_config: AgentInput = Field(description="who plays")
    seed: Seed | None = Field(default=None, description="seed of the episode; 0 by default")
    env_id: str | None = Field(
        default=None, max_length=200, description="the environment, where the domain has several"
    )
    env_url: str | None = Field(
        default=None, max_length=2_000, description="play at this address in place of the domain's"
    )
    team_id: str | None = Field(default=None, max_length=200, description="the team that the episode belongs to")
