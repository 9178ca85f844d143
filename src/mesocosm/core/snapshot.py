"""Snapshots of folders, addressed by content: the paths of their files, and the digest of each file."""

from collections.abc import Iterable

import msgspec

from mesocosm.core.ids import digest_bytes


class SnapshotFile(msgspec.Struct, frozen=True):
    """A file of a snapshot: its path with slashes, and the digest of its content, for a link of its target."""

    path: str
    digest: str
    size: int
    executable: bool = False
    link: bool = False


class Snapshot(msgspec.Struct, frozen=True):
    """The files of a workspace directory, by path; equal directories have equal digests."""

    digest: str
    files: tuple[SnapshotFile, ...]

    @property
    def size(self) -> int:
        """Number of bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def listing(self) -> bytes:
        """The list of its files as JSON; its digest is that of the snapshot."""
        return msgspec.json.encode(self.files)


def snapshot_of(files: Iterable[SnapshotFile]) -> Snapshot:
    """Return the snapshot of some files, with its digest."""
    found = Snapshot("", tuple(sorted(files, key=lambda file: file.path)))
    return msgspec.structs.replace(found, digest=digest_bytes(found.listing))


def read_listing(data: bytes) -> Snapshot:
    """Return the snapshot with a listing. Raises ValueError unless it is one, in the form that `listing` has."""
    try:
        found = snapshot_of(msgspec.json.decode(data, type=tuple[SnapshotFile, ...]))
    except msgspec.DecodeError as error:
        raise ValueError(f"it is not a list of files: {error}") from None
    if found.listing != data:
        raise ValueError("it is not in the form of a snapshot: sorted by path, without other fields")
    return found
