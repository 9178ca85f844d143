"""Documents of runs that were played elsewhere and are pushed to a server."""

from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, Field, StringConstraints, field_validator, model_validator

from mesocosm.server.schemas.dataset import Sha256
from mesocosm.server.schemas.document import Document

RunImportStatus = Literal["uploading", "processing", "imported", "error"]

LocalRunId = Annotated[str, StringConstraints(pattern="^[0-9A-Za-z][0-9A-Za-z_.-]{0,99}$")]
HostName = Annotated[str, StringConstraints(max_length=255, pattern=r"^[^\x00-\x1f\x7f/\\@]*$")]


class RunImportInput(BaseModel):
    """The bundle of a run that was played elsewhere. The run stays private to its owner, team or workspace."""

    run_id: LocalRunId = Field(
        description="ID of the run where it was played.", examples=["019a1f20-5a00-7000-8000-000000000001"]
    )
    host: HostName = Field(default="", description="Name of the machine that pushes it.", examples=["laptop"])
    size: int = Field(ge=1, le=2**50, description="Size of the bundle in bytes.", examples=[2048])
    digest: Sha256 = Field(description="SHA-256 of the bundle, in hexadecimal.", examples=["0" * 64])
    team_id: str | None = Field(
        default=None, max_length=200, description="ID of the team that will own the run; null: the caller alone."
    )
    workspace: str | None = Field(
        default=None, max_length=300, description="ID or name of the workspace that the run is put into; null: none."
    )


FolderPath = Annotated[
    str, StringConstraints(max_length=1_024, pattern=r"^[^/\\\x00-\x1f\x7f]+(/[^/\\\x00-\x1f\x7f]+)*$")
]
RowRanges = Annotated[
    str, StringConstraints(max_length=200_000, pattern=r"^(\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*)?$")
]
_LONGEST_NAME = 255
_Word = Annotated[str, StringConstraints(max_length=1_000)]


class FolderFileInput(BaseModel):
    """A file of the folder of a run."""

    path: FolderPath = Field(description="Path in the folder.")
    size: int = Field(ge=0, le=2**50, description="Size in bytes.")
    digest: Sha256 = Field(description="SHA-256, in hexadecimal.")

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, path: str) -> str:
        parts = path.split("/")
        if {".", ".."} & set(parts):
            raise ValueError("it leads out of the folder")
        if any(len(part.encode()) > _LONGEST_NAME for part in parts):
            raise ValueError(f"a name in it has more than {_LONGEST_NAME} bytes")
        return path


class LocalEvaluationInput(BaseModel):
    """A run that the program `osmosis` of osmosis-ai has run, with the files that it uploads."""

    run_id: LocalRunId = Field(description="ID of the run where it was run.")
    manifest_digest: Sha256 = Field(description="SHA-256 of the manifest of the run.")
    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    started_at: AwareDatetime
    completed_at: AwareDatetime
    rollout: _Word
    entrypoint: _Word
    model: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    dataset: _Word
    dataset_digest: Sha256
    rows: RowRanges = Field(description="Indices of the selected rows in the dataset, as `0-2,7`.")
    source: _Word = Field(description="Digest of the code of the rollout.")
    n: int = Field(ge=1, le=1_000, description="Attempts at each row.")
    pass_threshold: float = Field(allow_inf_nan=False)
    branch: _Word = ""
    commit: _Word = ""
    configuration: _Word = ""
    dirty: bool = False
    sdk: _Word = ""
    replaces: bool = Field(default=False, description="Replace the results that were uploaded before.")
    files: list[FolderFileInput] = Field(min_length=1, max_length=50_000)

    @model_validator(mode="after")
    def _different_paths(self) -> "LocalEvaluationInput":
        paths = {file.path for file in self.files}
        if len(paths) < len(self.files):
            raise ValueError("two files have the same path")
        folders = {str(folder) for path in paths for folder in PurePosixPath(path).parents}
        if both := paths & folders:
            raise ValueError(f"{min(both)} is a file and a folder")
        if not {"index.jsonl", "progress.json"} <= paths:
            raise ValueError("index.jsonl and progress.json are needed")
        return self


class FolderFileDocument(Document):
    """A file of the folder of a run, with the numbers of its parts."""

    path: str
    size: int
    digest: str
    parts: list[int]
    present: bool = Field(description="Whether all its parts are there.")


class ImportProblem(Document):
    """Something that is wrong with a bundle, and what to do."""

    path: str
    message: str
    fix: str


class RunImportDocument(Document):
    """An import of a run: its upload in parts, and what came of it."""

    id: str
    status: RunImportStatus = Field(
        description="`processing`: a worker checks the bundle; `error`: it was refused, and `problems` says why."
    )
    checking: bool = Field(description="Whether a worker is checking it now; false while it waits for one.")
    local_run_id: str = Field(description="ID of the run where it was played.")
    run_id: str | None = Field(description="ID of the run on this server; null until it is imported.")
    host: str
    size: int
    digest: str
    workspace_id: str | None
    team_id: str | None
    part_size: int = Field(description="Size of every part but the last.")
    part_count: int = Field(description="Number of parts.")
    present: list[int] = Field(description="Numbers of the parts that are there, which need not be sent.")
    problems: list[ImportProblem]
    created_at: datetime
    ended_at: datetime | None


class RunImportItem(Document):
    """An import of a run, as a row of a list."""

    id: str
    status: RunImportStatus
    local_run_id: str = Field(description="ID of the run where it was played.")
    run_id: str | None = Field(description="ID of the run on this server; null until it is imported.")
    host: str
    size: int
    workspace_id: str | None
    team_id: str | None
    created_at: datetime
    ended_at: datetime | None


class RunImportPage(Document):
    """A page of imports, newest first; `next_cursor` is null on the last page."""

    items: list[RunImportItem]
    next_cursor: str | None


class RunImportPart(Document):
    """A part that the server has."""

    number: int
    size: int
    digest: str = Field(description="SHA-256 of the part, in hexadecimal.")


class Imported(Document):
    """Where a run comes from that was played elsewhere, and what was checked. Outsiders do not see who pushed it."""

    at: datetime = Field(description="When it was first pushed.")
    last_at: datetime = Field(description="When the state that is here was pushed.")
    by: str | None = Field(description="Who pushed it; null for outsiders.")
    host: str | None = Field(description="Name of the machine that pushed it; null for outsiders.")
    run_id: str | None = Field(description="ID of the run where it was played; null for outsiders.")
    signature: str = Field(description="Signature of the run where it was played, which is also its signature here.")
    chain: str | None = Field(
        description="End of the chain of checksums over its episodes, as it was there and verified here "
        "(`COUNT:DIGEST`); null for outsiders."
    )
    recomputed: bool = Field(
        description="Whether every number was computed again here, from the recorded episodes. False only for runs "
        "that had been imported there from a file without the data for that."
    )
