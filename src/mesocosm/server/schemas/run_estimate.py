"""Documents of what a run would come to."""

from typing import Literal

from pydantic import Field

from mesocosm.server.schemas.document import Document


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
