"""Documents of runs that were played elsewhere and are pushed to a server."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from mesocosm.server.schemas.dataset import Sha256
from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.run_request import Visibility

RunImportStatus = Literal["uploading", "processing", "imported", "error"]

LocalRunId = Annotated[str, StringConstraints(pattern="^[0-9A-Za-z][0-9A-Za-z_.-]{0,99}$")]
HostName = Annotated[str, StringConstraints(max_length=255, pattern=r"^[^\x00-\x1f\x7f/\\@]*$")]


class RunImportInput(BaseModel):
    """The bundle of a run that was played elsewhere."""

    run_id: LocalRunId = Field(
        description="ID of the run where it was played.", examples=["019a1f20-5a00-7000-8000-000000000001"]
    )
    host: HostName = Field(default="", description="Name of the machine that pushes it.", examples=["laptop"])
    size: int = Field(ge=1, le=2**50, description="Size of the bundle in bytes.", examples=[2048])
    digest: Sha256 = Field(description="SHA-256 of the bundle, in hexadecimal.", examples=["0" * 64])
    visibility: Visibility = Field(default="private", description="Who may see the run.")
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
    run_id: str | None = Field(description="ID of the run on this server; null until it is imported.")
    part_size: int = Field(description="Size of every part but the last.")
    part_count: int = Field(description="Number of parts.")
    present: list[int] = Field(description="Numbers of the parts that are there, which need not be sent.")
    problems: list[ImportProblem]
    created_at: datetime
    ended_at: datetime | None


class Imported(Document):
    """Where a run comes from that was played elsewhere. Outsiders see only that it was, and when it came."""

    at: datetime = Field(description="When it was first pushed.")
    by: str | None = Field(description="Who pushed it; null for outsiders.")
    host: str | None = Field(description="Name of the machine that pushed it; null for outsiders.")
    run_id: str | None = Field(description="ID of the run where it was played; null for outsiders.")
