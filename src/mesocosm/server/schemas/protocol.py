"""Documents of domain protocols and official leaderboards."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.leaderboard import LeaderboardEntry

_EXAMPLE: dict[str, Any] = {"episodes": 20, "trials": 1, "max_steps": 50, "temperature": 0.0, "max_tokens": 1024}


class OfficialProtocolInput(BaseModel):
    """Terms of official runs of a domain. The server draws the seeds of each run when it is submitted."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    episodes: int = Field(default=20, ge=1, le=10_000, description="number of seeds of a run")
    trials: int = Field(default=1, ge=1, le=100, description="repetitions of every seed")
    max_steps: int | None = Field(
        default=None, ge=1, le=1_000_000, description="steps of an episode at most; null: what the platform allows"
    )
    temperature: float = Field(default=0.0, ge=0, le=2, allow_inf_nan=False, description="sampling temperature")
    max_tokens: int = Field(default=4096, ge=1, le=1_000_000, description="tokens per reply at most")
    on_malformed: Literal["auto", "pass", "ask", "fail"] = Field(
        default="auto",
        description="what becomes of a reply without a valid action; auto: what the environment declares",
    )


class OfficialProtocol(OfficialProtocolInput):
    """A stored protocol. It never changes: new terms are a new version with its own leaderboard."""

    model_config = ConfigDict(extra="ignore")

    domain_id: str = Field(description="the domain")
    version: int = Field(description="counts the protocols of the domain, from 1 on")
    vow_version: str = Field(description="version of the domain's binding vow")
    environment_id: str | None = Field(default=None, description="the environment; null: it is at the domain's address")
    environment_version: int | None = Field(default=None, description="the version of it that every run plays")
    digest: str = Field(
        description="changes with the environment, or with what the domain says of the one it points to"
    )
    created_at: datetime = Field(description="since when it holds")


class AttemptCounts(BaseModel):
    """Official runs of one participant with one model under one protocol, by outcome.

    A participant is an account. An unfinished run may be resumed; a deleted one stays counted.
    """

    total: int = Field(description="all of them")
    finished: int = Field(description="those that were played to their end")
    going: int = Field(description="those that wait or are played")
    unfinished: int = Field(description="those that were cancelled, failed, or lack too many values")
    deleted: int = Field(description="those that were deleted")


class OfficialEntry(LeaderboardEntry):
    """All finished official runs of one participant with one model and one agent configuration.

    It is ranked only if every attempt of that participant with that model is finished or in progress.
    """

    attempts: AttemptCounts = Field(description="what became of this participant's attempts with this model")


class OfficialAttempts(BaseModel):
    """A participant's attempts with a model if none of them is finished."""

    model: str = Field(description="the model")
    attempts: AttemptCounts = Field(description="what became of them")


class OfficialBoard(BaseModel):
    """The official leaderboard of a domain under one protocol."""

    protocol: OfficialProtocol | None = Field(description="the protocol; null: the domain has no official board")
    versions: list[int] = Field(description="the versions there are, the newest first; each has a board of its own")
    entries: list[OfficialEntry] = Field(description="entries, best first, those that take no place last")
    others: list[OfficialAttempts] = Field(description="attempts of those of whom no run is finished")
