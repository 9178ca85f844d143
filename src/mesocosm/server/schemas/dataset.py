"""Documents of the datasets of a workspace."""

import unicodedata
from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

DatasetStatus = Literal["uploading", "processing", "uploaded", "error", "cancelled"]
DatasetFormat = Literal["csv", "jsonl", "parquet"]

LONGEST_NAME = 100


def checked_dataset_name(name: str) -> str:
    """Return a name of a dataset. Raises ValueError if it cannot be one."""
    name = unicodedata.normalize("NFC", name.strip())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise ValueError(f"a name has 1 to {LONGEST_NAME} characters")
    if name in (".", "..") or any(char in "/\\" or not char.isprintable() for char in name):
        raise ValueError("a name has no slash, no backslash, no control characters, and is not . or ..")
    return name


DatasetName = Annotated[str, AfterValidator(checked_dataset_name)]
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Column = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class DatasetColumns(BaseModel):
    """Which column has which role; roles that are left out have the columns of their own names."""

    model_config = ConfigDict(extra="forbid")

    user_prompt: Column | None = Field(default=None, description="Column with the prompt.")
    system_prompt: Column | None = Field(default=None, description="Column with the system prompt.")
    ground_truth: list[Column] | None = Field(
        default=None, min_length=1, max_length=20, description="Columns with the ground truth; the first with a value."
    )
    metadata: Column | None = Field(default=None, description="Column with a JSON object for workflow and grader.")
    split: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        default=None, description="Column with the split that a row belongs to; empty: no column."
    )


class DatasetSource(BaseModel):
    """Where the rows of a version come from, if not from a file: the Hugging Face hub, or episodes of a run."""

    kind: Literal["hub", "run"] = Field(description="`hub` or `run`.")
    repository: str = Field(default="", max_length=300, description="Dataset on the hub, `org/name`.")
    revision: str = Field(default="", max_length=200, description="Commit on the hub.")
    config: str = Field(default="", max_length=200, description="Configuration on the hub.")
    split: str = Field(default="", max_length=200, description="Split on the hub.")
    run: str = Field(default="", max_length=200, description="ID of the run.")
    base: int | None = Field(default=None, description="Version to which the rows of the run were added.")
    added: int | None = Field(default=None, description="Rows that were added; null until checked.")
    duplicates: int | None = Field(default=None, description="Rows that were there already; null until checked.")


class DatasetInput(BaseModel):
    """A file to upload as a dataset, or as a new version of one."""

    file_name: str = Field(
        min_length=1, max_length=255, description="Name of the file; its ending is the format.", examples=["hard.jsonl"]
    )
    name: DatasetName | None = Field(default=None, description="Name of the dataset; by default the file's stem.")
    size: int = Field(ge=1, le=2**50, description="Size of the file in bytes.", examples=[2048])
    digest: Sha256 | None = Field(
        default=None,
        description="SHA-256 of the file, in hexadecimal. Without it an upload cannot be continued, and the "
        "same bytes are a further version.",
        examples=["0" * 64],
    )
    overwrite: bool = Field(default=False, description="Upload a new version if the name exists.")
    columns: DatasetColumns = Field(default_factory=DatasetColumns, description="Roles of columns.")
    source: DatasetSource | None = Field(default=None, description="Where the rows come from: `hub`; null for a file.")

    @model_validator(mode="after")
    def _named(self) -> "DatasetInput":
        if "/" in self.file_name or "\\" in self.file_name or not self.file_name.isprintable():
            raise ValueError("file_name is the name of a file, without a folder and without control characters")
        if self.name is None:
            self.name = checked_dataset_name(PurePosixPath(self.file_name).stem)
        if self.source is not None and self.source.kind != "hub":
            raise ValueError("a file comes from the hub or from nowhere; rows of a run are added by the server")
        return self


class DatasetChange(BaseModel):
    """Changes of a dataset."""

    name: DatasetName = Field(description="New name.", examples=["hard-questions"])


class DatasetFault(BaseModel):
    """Something that is wrong with a file."""

    path: str = Field(description="Row (counted from 1) and column, or line; empty for the whole file.")
    message: str = Field(description="What is wrong.")
    fix: str = Field(default="", description="What to do.")


class DatasetTextLengths(BaseModel):
    """Lengths of the texts of a column, in characters."""

    min: int = Field(description="Shortest.")
    median: float = Field(description="Median.")
    max: int = Field(description="Longest.")


class DatasetNumberRange(BaseModel):
    """The numbers of a column; in CSV only if every non-empty cell is a number."""

    min: float = Field(description="Smallest.")
    max: float = Field(description="Largest.")
    mean: float = Field(description="Mean.")


class DatasetColumn(BaseModel):
    """A column with its statistics."""

    name: str = Field(description="Name.")
    types: dict[str, int] = Field(description="Number of values by type: text, boolean, integer, number, list, object.")
    missing: int = Field(description="Rows without the column.")
    null: int = Field(description="Rows with null.")
    empty: int = Field(description="Rows with an empty text.")
    distinct: int = Field(description="Number of different values; a lower bound if `distinct_capped`.")
    distinct_capped: bool = Field(description="Whether there are more different values than were counted.")
    lengths: DatasetTextLengths | None = Field(default=None, description="Lengths of texts; null without texts.")
    range: DatasetNumberRange | None = Field(default=None, description="Numbers; null without numbers.")


class DatasetVersionItem(BaseModel):
    """A version of a dataset. An uploaded version never changes."""

    version: int = Field(description="Number of the version, from 1.")
    status: DatasetStatus = Field(
        description="`uploading`: parts are missing. `processing`: a worker checks it. `uploaded`: every row can be "
        "run. `error`: `faults` say why not. `cancelled`: the upload was given up."
    )
    file_name: str = Field(description="Name of the uploaded file.")
    format: DatasetFormat = Field(description="Format.")
    size: int = Field(description="Size in bytes.")
    digest: str = Field(description="SHA-256 of the file; empty until checked if it was not announced.")
    rows_digest: str = Field(description="SHA-256 of the rows as they are run, in any format; empty until checked.")
    rows: int | None = Field(description="Number of rows; null until checked.")
    creator: str = Field(description="User name of who uploaded it; empty if the account is gone.")
    created_at: datetime = Field(description="When its upload began.")
    ended_at: datetime | None = Field(description="When its check ended.")
    source: DatasetSource | None = Field(default=None, description="Where its rows come from; null for a file.")


class DatasetVersionDocument(DatasetVersionItem):
    """A version of a dataset with its columns and what is wrong with it."""

    mode: str = Field(default="", description="`prompt` or `metadata`: what every row has.")
    roles: dict[str, list[str]] = Field(default_factory=dict, description="Columns of each role.")
    columns: list[DatasetColumn] = Field(default_factory=list, description="Columns with their statistics.")
    splits: dict[str, int] = Field(
        default_factory=dict, description="Rows of each split; those of the empty name are in none."
    )
    duplicates: int = Field(default=0, description="Rows that repeat an earlier one.")
    warnings: list[str] = Field(default_factory=list, description="Irregularities.")
    faults: list[DatasetFault] = Field(default_factory=list, description="The first things that are wrong.")
    faults_total: int = Field(default=0, description="How many things are wrong.")


class DatasetItem(BaseModel):
    """A dataset of a workspace."""

    id: str = Field(description="ID of the dataset.")
    name: str = Field(description="Name, unique in the workspace regardless of case.")
    status: DatasetStatus = Field(description="`uploaded` if a version is, else the status of the newest version.")
    version: int | None = Field(description="Newest uploaded version, which runs use; null before there is one.")
    file_name: str = Field(description="Name of the file of that version, or else of the newest one.")
    format: DatasetFormat = Field(description="Format of that version.")
    size: int = Field(description="Size of that version in bytes.")
    rows: int | None = Field(description="Rows of that version; null until checked.")
    digest: str = Field(description="SHA-256 of the file of that version.")
    creator: str = Field(description="User name of who created the dataset; empty if the account is gone.")
    created_at: datetime = Field(description="When the dataset was created.")
    updated_at: datetime = Field(description="When its newest version was uploaded.")


class DatasetPage(BaseModel):
    """A page of datasets, newest first."""

    items: list[DatasetItem] = Field(description="The datasets.")
    next_cursor: str | None = Field(default=None, description="Cursor of the next page; null on the last page.")


class DatasetDocument(DatasetItem):
    """A dataset with its newest 100 versions, without those that were cancelled."""

    versions: list[DatasetVersionItem] = Field(description="Versions, newest first.")
    current: DatasetVersionDocument = Field(description="The version that was asked for, by default that of `version`.")


class DatasetUpload(BaseModel):
    """Where the parts of a file go. If `status` is `uploaded` or `processing`, nothing needs to be sent."""

    id: str = Field(description="ID of the dataset.")
    name: str = Field(description="Name of the dataset.")
    version: int = Field(description="Number of the version.")
    status: DatasetStatus = Field(description="State of the version.")
    part_size: int = Field(description="Size of each part but the last, in bytes.")
    part_count: int = Field(description="Number of parts, numbered from 1.")
    present: list[int] = Field(description="Numbers of the parts that the server has.")


class DatasetPart(BaseModel):
    """A part that the server has stored."""

    number: int = Field(description="Number of the part, from 1.")
    size: int = Field(description="Size in bytes.")
    digest: str = Field(description="SHA-256 of the part.")


class DatasetPreviewRow(BaseModel):
    """One of the first rows of a dataset."""

    row: int = Field(description="Index in the dataset, from 0.")
    cells: dict[str, Any] = Field(description="Values by column.")
    cut: list[str] = Field(default_factory=list, description="Columns of which only the beginning is shown, as text.")


class DatasetPreview(BaseModel):
    """The first rows of a version."""

    version: int = Field(description="Number of the version.")
    rows: int = Field(description="Number of rows of the whole version.")
    items: list[DatasetPreviewRow] = Field(description="The first rows.")
