"""Documents of what a run would come to."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.run_request import RunBody

_FORECAST_EXAMPLE: dict[str, Any] = {
    "runs": [
        {"kind": "benchmark", "benchmark": "gsm8k", "model": model, "max_examples": 200}
        for model in ("openai/gpt-5-mini", "openai/gpt-5")
    ]
}


class EstimatedRow(Document):
    """One of the first rows that would be run."""

    row: int = Field(description="Index in the dataset, from 0.")
    prompt: str = Field(description="Beginning of what it asks.")
    label: str = Field(description="Beginning of its ground truth; empty without one.")


class TokenPrice(Document):
    """Price of a model, in USD per 1,000 tokens."""

    input_usd: float = Field(description="For tokens of prompts.")
    output_usd: float = Field(description="For tokens of replies.")
    as_of: str = Field(description="Day of the price (ISO date); empty for models that cost nothing.")


class EstimateBasis(Document):
    """The run that an estimate is based on: the last one of the configuration that finished."""

    run_id: str
    name: str
    model: str = Field(description="Its model, which may be another.")
    samples: int = Field(description="Number of its finished samples.")


class RunEstimate(Document):
    """What an evaluation would come to. Nothing was submitted."""

    workspace: str = Field(description="ID of the workspace.")
    workspace_name: str = Field(description="Name of the workspace.")
    name: str = Field(description="Name of the run; empty if the server will choose one.")
    run_id: str | None = Field(description="ID of the run that this very request has made already; null if it is new.")
    configuration: str = Field(description="Path of the configuration; empty if that is not a file.")
    rollout: str = Field(description="Name of the rollout.")
    entrypoint: str = Field(description="Its entry file.")
    branch: str = Field(description="Branch of the code; empty if unknown.")
    commit: str = Field(description="Commit of the code; empty if unknown.")
    dirty: bool = Field(description="Whether the code was uploaded with changes that were not committed.")
    snapshot: str = Field(description="Digest of the code.")
    model: str = Field(description="Model that would be asked.")
    dataset: str = Field(description="Name of the dataset.")
    dataset_id: str = Field(description="ID of the dataset.")
    dataset_version: int = Field(description="Version of the dataset.")
    dataset_rows: int = Field(description="Number of rows of that version.")
    rows: int = Field(description="Number of chosen rows.")
    rows_chosen: str = Field(description="The choice of rows in words.")
    trials: int = Field(description="Attempts per row.")
    samples: int = Field(description="Planned samples: rows times attempts.")
    preview: list[EstimatedRow] = Field(
        description="First chosen rows, at most 5; of large datasets only those among the first 20 rows."
    )
    secrets: dict[str, Literal["workspace", "personal"]] = Field(
        description="Whose value each required secret would have, by name."
    )
    missing_secrets: list[str] = Field(
        description="Required secrets without a value: the run is refused until they are set."
    )
    price: TokenPrice | None = Field(description="Price of the model; null if it is unknown.")
    basis: EstimateBasis | None = Field(description="Run that the numbers of tokens are from; null without one.")
    tokens: int | None = Field(description="Estimated tokens, if samples are as in the basis; null without one.")
    usd: float | None = Field(description="Estimated cost; null if there is no basis, or a price is unknown.")
    budget_usd: float | None = Field(description="Most that the run may cost; null: unlimited.")
    notes: list[str] = Field(description="Remarks about the configuration.")
    warnings: list[str] = Field(description="Warnings that the run will have.")


class ForecastInput(BaseModel):
    """Runs to estimate, such as one for each of several models."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_FORECAST_EXAMPLE]})

    runs: list[RunBody] = Field(min_length=1, max_length=20, description="The runs, as they would be submitted.")


class Likely(Document):
    """An estimated number with the range in which it is in 95 of 100 runs, as far as episodes vary as in the basis."""

    value: float
    low: float
    high: float


class ForecastBasis(Document):
    """The earlier run that a forecast is made from: the newest finished one of the benchmark and the model."""

    run_id: str
    name: str
    episodes: int = Field(description="Number of its finished episodes.")
    created_at: datetime


class RunForecast(Document):
    """What one run would come to. Nothing was submitted."""

    model: str
    refused: str = Field(description="Why the server would refuse the run, and what to do; empty if it would not.")
    field: str = Field(description="Field of the request that the refusal is about; empty if it is about none.")
    tasks: int
    trials: int
    episodes: int = Field(description="Planned episodes: tasks times trials.")
    parallel: int = Field(description="Episodes at once, after the limits of the server and the model.")
    free: bool = Field(description="Whether the model costs nothing.")
    priced: bool = Field(description="Whether a price of the model is known.")
    basis: ForecastBasis | None = Field(description="Run that the numbers are from; null without one.")
    tokens: Likely | None = Field(description="Tokens; null without a basis.")
    usd: Likely | None = Field(description="Cost in USD; null without a basis or a price. 0 for a free model.")
    seconds: Likely | None = Field(description="Duration from its start; null without a basis.")
    note: str = Field(description="Why there is no estimate; empty if there is one.")
    budget_usd: float | None = Field(description="Cost at which the run stops; null: at none.")
    warnings: list[str] = Field(description="Warnings that the run would have.")
    command: str = Field(description="Command line that submits the same run.")


class Forecast(Document):
    """What several runs would come to together."""

    runs: list[RunForecast] = Field(description="The runs, in the order of the request.")
    usd: Likely | None = Field(description="Cost of those with an estimate; null if none has one.")
    unknown: int = Field(description="Number of runs whose cost is unknown.")
    workers: int = Field(description="Number of workers that are alive.")
    places: int = Field(description="Number of further runs that they would begin at once.")
    waiting: int = Field(description="Number of runs of all users that wait already.")
