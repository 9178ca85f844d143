"""Documents of the gallery of public runs."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from mesocosm.server.schemas.environment import CheckState
from mesocosm.server.schemas.metric import MetricDocument


class GalleryRun(BaseModel):
    """A public run."""

    run_id: str = Field(description="id of the run")
    domain_id: str = Field(description="the domain that it is of")
    domain_name: str = Field(description="title of the domain")
    model: str = Field(description="the model")
    binding_vow_version: str = Field(description="the version of the binding vow")
    primary_score: float | None = Field(description="the primary metric of its domain; null: nothing was scored")
    primary: MetricDocument | None = Field(description="this metric with its interval")
    num_episodes: int = Field(description="finished episodes")
    created_at: datetime = Field(description="when it was asked for")
    actor_label: Literal["Guest", "Member"] = Field(description="who asked for it")
    protocol: int | None = Field(
        default=None,
        description="version of the domain's protocol that an official run is played by; null: not official",
    )
    check: CheckState | None = Field(
        default=None,
        description="the author's check of the version of the environment that was played; none: it is at an address",
    )
