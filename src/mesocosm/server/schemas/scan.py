"""Scans: a question that a model answers about the transcript of every episode of a run."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.document import Document

_EXAMPLE: dict[str, Any] = {
    "question": "What goes wrong first?",
    "answers": ["misread", "slip", "wrong-plan"],
    "name": "cause",
    "where": ["wrong"],
    "limit": 100,
    "model": "openai/gpt-5-mini",
    "budget_usd": 2.0,
}


class ScanInput(BaseModel):
    """A scan to start. Unknown fields are rejected, because they would have no effect."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    question: str = Field(min_length=1, max_length=10_000, description="The question about each transcript.")
    model: str = Field(min_length=1, max_length=300, description="The model that reads and answers.")
    answers: list[str] = Field(
        default=[], max_length=50, description="Answers to choose from; empty: yes and no, or a number."
    )
    number: bool = Field(default=False, description="Whether the answer is a number from 0 to 1.")
    name: str = Field(
        default="",
        max_length=100,
        description="What its scores are called after `scan:`; empty: the first words of the question.",
    )
    where: list[str] = Field(
        default=[],
        max_length=20,
        description="Only such episodes: `wrong`, `passed`, `failed`, `missing`, a label `NAME=VALUE`, `cause=`, "
        "`mistake=`, `behaviour=`, `text=`.",
    )
    limit: int | None = Field(default=None, ge=1, description="Only so many of them, drawn at random; null: all.")
    seed: int = Field(
        default=0,
        ge=0,
        lt=2**63,
        description="Which are drawn: the same seed draws the same, and a larger limit contains a smaller one.",
    )
    budget_usd: float | None = Field(
        default=None,
        gt=0,
        le=1e6,
        allow_inf_nan=False,
        description="Cost in USD at which it stops; null: at what is left of the budgets.",
    )
    parallel: int = Field(default=4, ge=1, le=1_000, description="Maximum number of episodes at a time.")


class ScanForecast(Document):
    """What a scan may read, write and cost. Numbers of tokens are rough: four characters are taken for one."""

    name: str = Field(description="What its scores are called after `scan:`.")
    model: str
    episodes: int = Field(description="Number of episodes that it reads.")
    prompt_tokens: int
    completion_tokens: int
    usd: float | None = Field(description="Cost in USD; null if the price of the model is not known.")
    budget_usd: float | None = Field(description="Cost at which it stops; null if nothing limits it.")
    warnings: list[str]
