"""Documents of the gallery of public runs."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from mesocosm.server.schemas.environment import CheckState
from mesocosm.server.schemas.metric import MetricDocument


class GalleryRun(BaseModel):
    """A public run."""

    run_id: str = Field(description="ID of the run.")
    domain_id: str = Field(description="ID of the domain.")
    domain_name: str = Field(description="Title of the domain.")
    model: str = Field(description="The model.")
    binding_vow_version: str = Field(description="Version of the binding vow.")
    primary_score: float | None = Field(description="Value of the domain's primary metric; null if nothing was scored.")
    primary: MetricDocument | None = Field(description="The primary metric with its interval.")
    num_episodes: int = Field(description="Number of finished episodes.")
    created_at: datetime = Field(description="When the run was submitted.")
    actor_label: Literal["Guest", "Member"] = Field(description="Who submitted the run.")
    protocol: int | None = Field(
        default=None,
        description="Version of the domain's protocol that an official run uses; null: not official.",
    )
    check: CheckState | None = Field(
        default=None,
        description="The author's check of the environment version that was used; null if the domain was "
        "registered with a URL.",
    )
