"""Check uploaded snapshots: their paths, sizes and links, and what is in them."""

from collections.abc import Iterator, Mapping

from mesocosm.core.ids import new_id
from mesocosm.core.snapshot import Snapshot, SnapshotFile
from mesocosm.sandboxes.disk import DEEPEST, remove
from mesocosm.server.builds.checkout import MOST_FILES
from mesocosm.server.builds.inspection import LARGEST, Inspection, inspect_workspace
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.sync import syncs_folder, write_snapshot
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.snapshot import LARGEST_FILE, MIB
from mesocosm.server.settings import Settings
from mesocosm.store.snapshots import Snapshots

_LONGEST_NAME, _LONGEST_PATH, _LONGEST_TARGET = 255, 4_096, 4_096
_NAMED = 3


def check_listing(settings: Settings, snapshot: Snapshot) -> None:
    """Raise Refusal (413, 422) unless a snapshot can be kept: its paths, and the number and sizes of its files."""
    files = snapshot.files
    if not files:
        raise Refusal(422, "the folder has no files that are uploaded")
    if len(files) > MOST_FILES:
        raise Refusal(413, f"the folder has {len(files):,} files, more than the {MOST_FILES:,} that are taken")
    paths = {file.path for file in files}
    if len(paths) < len(files):
        raise Refusal(422, "the list has a path twice")
    for file in files:
        if (fault := _path_fault(file.path, paths)) is not None:
            raise Refusal(422, f"the file {file.path[:200]!a} {fault}")
        if file.size < 0 or (file.link and file.size > _LONGEST_TARGET):
            raise Refusal(422, f"the file {file.path} has an impossible size")
        if file.size > LARGEST_FILE:
            raise Refusal(
                413,
                f"{file.path} has {file.size:,} bytes, and a file of an upload at most {LARGEST_FILE:,}; upload data "
                "as a dataset, or name the file in .gitignore",
            )
    if snapshot.size > settings.source_mb * MIB:
        largest = sorted(files, key=lambda file: file.size, reverse=True)[:_NAMED]
        named = ", ".join(f"{file.path} ({file.size:,} bytes)" for file in largest)
        raise Refusal(
            413,
            f"the folder has {snapshot.size:,} bytes, and the limit is {settings.source_mb} MiB; upload data as a "
            f"dataset, or name large files in .gitignore: {named}",
        )


def check_links(snapshot: Snapshot, targets: Mapping[str, bytes]) -> None:
    """Raise Refusal 422 for a link to a place outside the folder; `targets` has the contents of links by digest."""
    links = {file.path for file in snapshot.files if file.link}
    for file in snapshot.files:
        if file.link and not _stays_inside(file.path, targets[file.digest], links):
            raise Refusal(422, f"{file.path} is a link to a place outside the folder; put the file itself there")


def inspect_snapshot(settings: Settings, snapshots: Snapshots, snapshot: Snapshot) -> Inspection:
    """Return what a stored snapshot has. Only what is read for that is written to the disk, for a moment."""
    folder = syncs_folder(settings) / f"upload-{new_id()}"
    try:
        folder.mkdir(parents=True)
        write_snapshot(snapshots, snapshot, folder, has_content=_is_inspected)
        return inspect_workspace(folder, BuildLog(folder).clean)
    finally:
        remove(folder)


def _is_inspected(file: SnapshotFile) -> bool:
    return file.link or (file.path.endswith(".toml") and file.size <= LARGEST)


def _path_fault(path: str, paths: set[str]) -> str | None:
    """Return what is wrong with a path; None if nothing is."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "is no path within the folder"
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in path):
        return "has control characters in its name; rename it"
    if any(part.lower() == ".git" for part in parts):
        return "belongs to a repository itself; leave it out"
    if len(path.encode()) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        return "has a name that is too long; rename it"
    if len(parts) > DEEPEST:
        return f"lies more than {DEEPEST} levels deep; move it up"
    return "lies below a file of the list" if any(above in paths for above in _above(parts)) else None


def _above(parts: list[str]) -> Iterator[str]:
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _stays_inside(path: str, target: bytes, links: set[str]) -> bool:
    """Return whether a link leads to a place inside, without passing through another link, which could leave it."""
    try:
        text = target.decode()
    except UnicodeDecodeError:
        return False
    if not text or "\0" in text or text.startswith("/"):
        return False
    place = path.split("/")[:-1]
    for part in text.split("/"):
        if "/".join(place) in links:
            return False
        if part == "..":
            if not place:
                return False
            place.pop()
        elif part not in ("", "."):
            place.append(part)
    return True
