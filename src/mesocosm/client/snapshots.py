"""Snapshots of workspace directories: uploading what is on the disk."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mesocosm.client.datasets import persistently
from mesocosm.client.local_tree import LocalTree, read_local_tree
from mesocosm.client.packing import SECRET_FILES, PackedFolder, pack_folder
from mesocosm.client.resource import Resource
from mesocosm.client.workspaces import workspace_path
from mesocosm.core.snapshot import SnapshotFile
from mesocosm.rollouts.source import read_changes
from mesocosm.server.schemas.snapshot import (
    USUAL_BODY,
    SnapshotDocument,
    SnapshotInput,
    SnapshotUploadDocument,
    pack_contents,
)


class SnapshotsResource(Resource):
    """Snapshots that members of a workspace uploaded."""

    def begin(self, workspace: str, wanted: SnapshotInput) -> SnapshotUploadDocument:
        """Begin an upload; the answer says what to send. Not for viewers."""
        return self._one(SnapshotUploadDocument, "POST", _path(workspace), wanted)

    def put_contents(self, workspace: str, snapshot_id: str, contents: Sequence[bytes]) -> SnapshotUploadDocument:
        """Send contents; the answer says what is missing then."""
        answer = self._api.call("PUT", f"{_path(workspace, snapshot_id)}/contents", pack_contents(list(contents)))
        return SnapshotUploadDocument.model_validate(answer)

    def complete(self, workspace: str, snapshot_id: str) -> SnapshotDocument:
        """End an upload. 409 if something is missing."""
        return self._one(SnapshotDocument, "POST", f"{_path(workspace, snapshot_id)}/complete")

    def get(self, workspace: str, snapshot_id: str) -> SnapshotDocument:
        """Return a snapshot with what was found in it."""
        return self._one(SnapshotDocument, "GET", _path(workspace, snapshot_id))

    def upload(
        self,
        workspace: str,
        folder: Path,
        *,
        tree: LocalTree | None = None,
        sent: Callable[[int, int], object] = lambda *_: None,
        told: Callable[[str], object] = lambda _: None,
    ) -> SnapshotDocument:
        """Upload a workspace directory as it is on the disk, and return it as a snapshot with its id.

        Only contents that the workspace does not have on the server are sent. Files that .gitignore names and those
        that usually hold secrets are left out. `tree` is the state of the folder if it is known already; `sent` gets
        the bytes that were sent and their total, `told` lines about files that are left out and about waiting. Raises
        UsageError if a file cannot be read or changes meanwhile.
        """
        packed = pack_folder(folder)
        for reason in packed.left_out:
            told(f"not uploaded: {reason}")
        wanted = _input(packed, tree or read_local_tree(folder))
        begun = persistently(lambda: self.begin(workspace, wanted), told)
        if begun.completed:
            return self.get(workspace, begun.id)
        if begun.missing == [packed.snapshot.digest]:
            begun = self._put(workspace, begun.id, [packed.snapshot.listing], told)
        files = {file.digest: file for file in packed.snapshot.files}
        missing = [files[digest] for digest in begun.missing if digest in files]
        total, done = sum(file.size for file in missing), 0
        for bundle in _bundles(missing):
            self._put(workspace, begun.id, [packed.content(file) for file in bundle], told)
            done += sum(file.size for file in bundle)
            sent(done, total)
        return persistently(lambda: self.complete(workspace, begun.id), told)

    def _put(
        self, workspace: str, snapshot_id: str, contents: Sequence[bytes], told: Callable[[str], object]
    ) -> SnapshotUploadDocument:
        return persistently(lambda: self.put_contents(workspace, snapshot_id, contents), told)


def _input(packed: PackedFolder, tree: LocalTree) -> SnapshotInput:
    return SnapshotInput(
        digest=packed.snapshot.digest,
        repository=tree.identity,
        branch=tree.branch,
        commit=tree.commit,
        dirty=tree.is_dirty,
        changes=read_changes(packed.root, SECRET_FILES) if tree.is_dirty and tree.commit else "",
    )


def _bundles(files: Sequence[SnapshotFile]) -> Iterator[list[SnapshotFile]]:
    """Yield the files in groups for one request each."""
    bundle, size = list[SnapshotFile](), 0
    for file in files:
        if bundle and size + file.size > USUAL_BODY:
            yield bundle
            bundle, size = [], 0
        bundle.append(file)
        size += file.size
    if bundle:
        yield bundle


def _path(workspace: str, snapshot_id: str = "") -> str:
    base = f"{workspace_path(workspace)}/snapshots"
    return f"{base}/{snapshot_id}" if snapshot_id else base
