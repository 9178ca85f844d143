"""Documents of domain protocols and official leaderboards."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.leaderboard import LeaderboardEntry

_EXAMPLE: dict[str, Any] = {"episodes": 20, "trials": 1, "max_steps": 50, "temperature": 0.0, "max_tokens": 1024}


class OfficialProtocolInput(BaseModel):
    """Terms of official runs of a domain. The server draws the seeds of each run when it is submitted."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    episodes: int = Field(default=20, ge=1, le=10_000, description="Number of seeds per run.")
    trials: int = Field(default=1, ge=1, le=100, description="Number of episodes per seed.")
    max_steps: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Maximum number of steps per episode; null: the server's limit."
    )
    temperature: float = Field(default=0.0, ge=0, le=2, allow_inf_nan=False, description="Sampling temperature.")
    max_tokens: int = Field(default=4096, ge=1, le=1_000_000, description="Maximum number of tokens per reply.")
    on_malformed: Literal["auto", "pass", "ask", "fail"] = Field(
        default="auto",
        description="How to handle a reply without a valid action; `auto`: as the environment declares.",
    )


class OfficialProtocol(OfficialProtocolInput):
    """A stored protocol. It never changes: new terms are a new version with its own leaderboard."""

    model_config = ConfigDict(extra="ignore")

    domain_id: str = Field(description="ID of the domain.")
    version: int = Field(description="Number of the protocol within the domain, counting from 1.")
    vow_version: str = Field(description="Version of the domain's binding vow.")
    environment_id: str | None = Field(
        default=None, description="ID of the environment; null if the domain was registered with a URL."
    )
    environment_version: int | None = Field(
        default=None,
        description="Version of the environment that every run uses; null if the domain was registered with a URL.",
    )
    digest: str = Field(
        description="Digest of the environment's content; for a domain registered with a URL, of what the "
        "domain declares."
    )
    created_at: datetime = Field(description="When it took effect.")


class AttemptCounts(BaseModel):
    """Official runs of one participant with one model under one protocol, by outcome.

    A participant is an account. An unfinished run may be resumed; a deleted one stays counted.
    """

    total: int = Field(description="Number of all runs.")
    finished: int = Field(description="Number of finished runs.")
    going: int = Field(description="Number of waiting and running ones.")
    unfinished: int = Field(description="Number of runs that were cancelled, failed, or lack too many values.")
    deleted: int = Field(description="Number of deleted runs.")


class OfficialEntry(LeaderboardEntry):
    """All finished official runs of one participant with one model and one agent configuration.

    It is ranked only if every attempt of that participant with that model is finished or in progress.
    """

    attempts: AttemptCounts = Field(description="Outcomes of this participant's attempts with this model.")


class OfficialAttempts(BaseModel):
    """A participant's attempts with a model if none of them is finished."""

    model: str = Field(description="The model.")
    attempts: AttemptCounts = Field(description="Outcomes of the attempts.")


class OfficialBoard(BaseModel):
    """The official leaderboard of a domain under one protocol."""

    protocol: OfficialProtocol | None = Field(
        description="The protocol; null if the domain has no official leaderboard."
    )
    versions: list[int] = Field(description="All protocol versions, newest first; each has its own leaderboard.")
    entries: list[OfficialEntry] = Field(description="Entries, best first, unranked ones last.")
    others: list[OfficialAttempts] = Field(description="Attempts of participants without a finished run.")
