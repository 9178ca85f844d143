"""Batch runs: a run of every model of the operator's list in one environment."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.document import Document

BatchStatus = Literal["queued", "running", "completed", "failed"]


class BatchRunInput(BaseModel):
    """The environment to run all models in."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"env_id": "0190…"}]})

    env_id: str = Field(min_length=1, max_length=200, description="ID of the environment.")


class ModelResult(Document):
    """The result of one model."""

    model: str
    run_id: str | None = Field(default=None, description="ID of the run of this model; null if there is none.")
    status: str = Field(default="pending", description="Status of the run.")
    scores: dict[str, float] = Field(default={}, description="Values of the metrics, by name.")
    error: str = Field(default="", description="Why there is no run.")


class BatchRunDocument(Document):
    """A batch run with the results of its models so far."""

    id: str
    env_id: str = Field(description="ID of the environment.")
    domain_id: str | None = Field(description="ID of the environment's domain.")
    status: BatchStatus
    created_at: datetime
    completed_at: datetime | None
    source: str = Field(description="Where the environment was submitted from.")
    model_results: list[ModelResult | dict[str, Any]] = Field(description="The result of each model so far.")


class BatchReport(BaseModel):
    """The results of a batch run, reported by the outside program that carried it out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"model_results": [{"model": "openai/gpt-4o", "scores": {"won": 0.8}}], "failed": False}]
        }
    )

    model_results: list[dict[str, Any]] = Field(default=[], max_length=1_000, description="The result of each model.")
    failed: bool = Field(default=False, description="Whether the batch run failed as a whole.")
