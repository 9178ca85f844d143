"""Documents of snapshots that people upload."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from mesocosm.server.schemas.document import Document
from mesocosm.server.schemas.repository import RolloutDocument, SyncedConfigurationDocument, SyncFaultDocument

MIB = 1 << 20
LARGEST_FILE = 32 * MIB
"""Maximum size of one file of an upload in bytes; larger ones are datasets."""
LARGEST_LISTING = 8 * MIB
LARGEST_BODY = LARGEST_FILE + MIB
"""Maximum size of the body of one request with contents."""
USUAL_BODY = 8 * MIB
"""Size up to which a client puts contents together into one body."""
LONGEST_CHANGES = 70_000
_LENGTH_BYTES = 4

SnapshotDigest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")]


class SnapshotInput(BaseModel):
    """A workspace directory to upload, and where it comes from."""

    digest: SnapshotDigest = Field(
        description="Digest of the list of its files: the first 32 hexadecimal digits of its SHA-256.",
        examples=["0" * 32],
    )
    repository: str = Field(
        default="", max_length=500, description="`host/owner/repo` that it is a part of; empty if none is known."
    )
    branch: str = Field(default="", max_length=250, description="Branch that is checked out.", examples=["main"])
    commit: str = Field(
        default="",
        max_length=64,
        pattern=r"^([0-9a-f]{40}([0-9a-f]{24})?)?$",
        description="All digits of the commit that is checked out.",
    )
    dirty: bool = Field(default=False, description="Whether it has changes that are not committed.")
    changes: str = Field(
        default="", max_length=LONGEST_CHANGES, description="These changes as a patch, which may be cut."
    )


class SnapshotUploadDocument(Document):
    """An upload of a snapshot: what is still to be sent."""

    id: str = Field(description="ID of the snapshot in its workspace.")
    digest: str = Field(description="Digest of the list of its files.")
    completed: bool = Field(description="Whether all of it is there.")
    missing: list[str] = Field(description="Digests of contents to send; at first that of the list of files alone.")


class SnapshotDocument(Document):
    """A workspace directory that somebody uploaded."""

    id: str = Field(description="ID of the snapshot in its workspace.")
    digest: str = Field(description="Digest of the list of its files; equal directories have equal ones.")
    files: int = Field(description="Number of files.")
    size: int = Field(description="Size of all files in bytes.")
    repository: str = Field(description="`host/owner/repo` that it is a part of; empty if none is known.")
    branch: str = Field(description="Branch that was checked out; empty outside of a repository.")
    commit: str = Field(description="Commit that was checked out; empty outside of a repository.")
    dirty: bool = Field(description="Whether it had changes that were not committed.")
    changes: str = Field(description="These changes as a patch, which may be cut.")
    rollouts: list[RolloutDocument] = Field(description="Rollouts found.")
    configurations: list[SyncedConfigurationDocument] = Field(description="Configurations found.")
    faults: list[SyncFaultDocument] = Field(description="What to mend in them.")
    created_by: int | None = Field(description="User ID of who uploaded it.")
    created_at: datetime = Field(description="When the upload began.")


def pack_contents(contents: list[bytes]) -> bytes:
    """Return the body of a request with contents: each after its length in four bytes, the most significant first."""
    return b"".join(len(content).to_bytes(_LENGTH_BYTES) + content for content in contents)


def unpack_contents(body: bytes) -> list[bytes]:
    """Return the contents in a body. Raises ValueError if it ends within one."""
    found, place = [], 0
    while place < len(body):
        begin = place + _LENGTH_BYTES
        end = begin + int.from_bytes(body[place:begin])
        if begin > len(body) or end > len(body):
            raise ValueError("the body ends within a content")
        found.append(body[begin:end])
        place = end
    return found
