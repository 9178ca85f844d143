"""Documents of rows that are added to a dataset from the episodes of a run."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from mesocosm.datasets.splits import split_name
from mesocosm.server.schemas.dataset import DatasetStatus
from mesocosm.server.schemas.query import EpisodeFilterQuery

SplitName = Annotated[str, StringConstraints(max_length=200), AfterValidator(split_name)]
MOST_ADDED = 10_000
"""Maximum number of episodes whose tasks are added at once."""


class DatasetRowsInput(BaseModel):
    """Episodes of a run whose tasks are added to a dataset as rows."""

    model_config = ConfigDict(extra="forbid")

    run: str = Field(
        min_length=1, max_length=200, description="ID of the run.", examples=["019ab2f0-7c11-7a3e-9b5e-0c2f4d6a8e10"]
    )
    episodes: list[Annotated[str, StringConstraints(min_length=1, max_length=200)]] | None = Field(
        default=None, min_length=1, max_length=MOST_ADDED, description="IDs of episodes; by default those of `where`."
    )
    where: EpisodeFilterQuery | None = Field(
        default=None, description="Filter and order of the episodes; by default all."
    )
    split: SplitName = Field(default="", description="Split of the rows; empty: none.")


class DatasetAddition(BaseModel):
    """Rows that a worker adds to a dataset as a new version. Those that it has already are left out then."""

    id: str = Field(description="ID of the dataset.")
    name: str = Field(description="Name of the dataset.")
    version: int = Field(description="Number of the version; it is `cancelled` if no row is new.")
    status: DatasetStatus = Field(description="State of the version.")
    rows: int = Field(description="Rows to add: one for each task of the episodes.")
    without_task: int = Field(description="Episodes that never asked a model, of which no row can be made.")
    altered: int = Field(description="Rows that are not as they were run, because their record hides something.")
