"""Request bodies of an environment server. Unknown keys are ignored."""

from typing import Any

from pydantic import BaseModel, Field


class ResetRequest(BaseModel):
    """Start an episode."""

    episode_id: str = Field(description="Chosen by the caller; names the episode in all later calls.")
    seed: int | None = Field(default=None, description="Same seed, same episode.")
    scenario_params: dict[str, Any] = Field(
        default_factory=dict, description="Passed to the environment's `reset` by name."
    )


class StepRequest(BaseModel):
    """Apply one action in an episode."""

    episode_id: str
    action: Any = Field(description="Any JSON value, null included, but the key must be there.")


class CloseRequest(BaseModel):
    """End an episode."""

    episode_id: str


class RenderRequest(BaseModel):
    """Request a human-readable view of an episode."""

    episode_id: str
    mode: str = "text"


class OracleRequest(BaseModel):
    """Request the best action in the current state of an episode."""

    episode_id: str
