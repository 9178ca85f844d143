"""Documents of runs that were played elsewhere and are pushed to a server."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

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
