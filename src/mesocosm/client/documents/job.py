"""Test benches and full benches as programs exchange them with a platform."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.client.documents.run import Seed

JobStatus = Literal["queued", "running", "completed", "failed"]


class BenchStatus(BaseModel):
    """Whether benches are going on."""

    busy: bool = Field(description="whether a test bench runs or waits")
    queued: int = Field(default=0, description="runs that wait for a worker")
    running: int = Field(default=0, description="runs that are played")


class BenchTestInput(BaseModel):
    """One episode in a submitted environment."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"env_id": "0190…", "model": "builtin/random"}]})

    env_id: str = Field(min_length=1, max_length=200, description="the environment")
    model: str = Field(min_length=1, max_length=300, description="a model of GET /v1/models")
    num_episodes: int = Field(default=1, description="1")
    seed: Seed | None = Field(default=None, description="seed of the episode; 0 by default")


class ModelResult(BaseModel):
    """What one model reached in a full bench."""

    model: str = Field(description="the model")
    run_id: str | None = Field(default=None, description="its run")
    status: str = Field(default="pending", description="where that stands")
    scores: dict[str, float] = Field(default={}, description="metric names and their values")
    error: str = Field(default="", description="why there is no run")


class BenchJob(BaseModel):
    """A full bench: all models of the operator's list on one environment."""

    id: str = Field(description="id of the job")
    env_id: str = Field(description="the environment")
    domain_id: str | None = Field(default=None, description="its domain")
    status: JobStatus = Field(description="where it stands")
    created_at: datetime = Field(description="when it was asked for")
    completed_at: datetime | None = Field(default=None, description="when it ended")
    github_url: str = Field(default="", description="source of the environment")
    model_results: list[ModelResult | dict[str, Any]] = Field(default=[], description="what each model reached")


class JobResult(BaseModel):
    """How a full bench ended, told by the program that carried it out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"model_results": [{"model": "openai/gpt-4o", "scores": {"won": 0.8}}], "failed": False}]
        }
    )

    model_results: list[dict[str, Any]] = Field(default=[], max_length=1_000, description="what each model reached")
    failed: bool = Field(default=False, description="whether it came to nothing")
