"""Snapshots that members of a workspace upload: a directory as it is on their disk, instead of a commit."""

from collections.abc import Sequence
from typing import Self

import msgspec
from sqlalchemy.exc import IntegrityError

from mesocosm.core.entry import Blob
from mesocosm.core.ids import digest_bytes
from mesocosm.core.snapshot import Snapshot, SnapshotFile, read_listing
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.builds.snapshot_check import check_links, check_listing, inspect_snapshot
from mesocosm.server.permissions import GrantedObject
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import instant
from mesocosm.server.schemas.repository import RolloutDocument, SyncedConfigurationDocument, SyncFaultDocument
from mesocosm.server.schemas.snapshot import (
    LARGEST_LISTING,
    MIB,
    SnapshotDocument,
    SnapshotInput,
    SnapshotUploadDocument,
    unpack_contents,
)
from mesocosm.server.service import Service
from mesocosm.store.snapshot_uploads import SnapshotUpload
from mesocosm.store.snapshots import CONTENT, LISTING
from mesocosm.store.workspaces import Workspace


class WorkingSnapshots(GrantedObject):
    """The snapshots of a workspace in which the caller may submit."""

    def __init__(self, service: Service, viewer: Viewer, workspace: Workspace) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace

    def begin(self, given: SnapshotInput) -> SnapshotUploadDocument:
        """Begin an upload, or return an equal one of the workspace, and say what is to be sent.

        Raises Refusal: 404 if the workspace was deleted, 409 on a server of one person.
        """
        if self._service.local:
            raise Refusal(409, "snapshots are uploaded to servers only; here the files are read where they are")
        wanted = SnapshotUpload(
            id="",
            workspace_id=self._workspace.id,
            digest=given.digest,
            repository=given.repository,
            branch=given.branch,
            commit_id=given.commit,
            dirty=given.dirty,
            changes=given.changes,
            created_by=self._viewer.account_id,
        )
        try:
            begun = self._store.snapshot_uploads.begin(wanted)
        except IntegrityError as error:
            raise Refusal(404, f"the workspace {self._workspace.name!r} was deleted") from error
        return WorkingSnapshot(self._service, self._viewer, self._workspace, begun).upload()


class VisibleSnapshot(GrantedObject):
    """A snapshot of a workspace that the caller is a member of."""

    def __init__(self, service: Service, viewer: Viewer, workspace: Workspace, upload: SnapshotUpload) -> None:
        super().__init__(service, viewer)
        self._workspace = workspace
        self._upload = upload

    @classmethod
    def find(cls, service: Service, viewer: Viewer, workspace: Workspace, snapshot_id: str) -> Self:
        """Return a snapshot by its id. Raises Refusal 404."""
        found = service.store.snapshot_uploads.get(workspace.id, snapshot_id)
        if found is None:
            raise Refusal(
                404, f"the workspace {workspace.name!r} has no snapshot {snapshot_id[:200]!r}; upload it first"
            )
        return cls(service, viewer, workspace, found)

    def document(self) -> SnapshotDocument:
        """Return the snapshot with what was found in it. Raises Refusal 409 until all of it is there."""
        upload = self._upload
        if upload.snapshot is None:
            raise Refusal(409, f"the snapshot {upload.id} is still uploaded; send what is missing, then complete it")
        snapshot = self._store.snapshots.get(upload.snapshot)
        return SnapshotDocument(
            id=upload.id,
            digest=snapshot.digest,
            files=len(snapshot.files),
            size=snapshot.size,
            repository=upload.repository,
            branch=upload.branch,
            commit=upload.commit_id,
            dirty=upload.dirty,
            changes=upload.changes,
            rollouts=[RolloutDocument.of(one) for one in upload.rollouts],
            configurations=[SyncedConfigurationDocument.of(one) for one in upload.configurations],
            faults=[
                SyncFaultDocument(path=one.path, line=one.line or None, message=one.message, fix=one.fix)
                for one in upload.faults
            ],
            created_by=upload.created_by,
            created_at=instant(upload.created_at),
        )


class WorkingSnapshot(VisibleSnapshot):
    """A snapshot of a workspace in which the caller may submit."""

    def upload(self) -> SnapshotUploadDocument:
        """Return what is to be sent."""
        upload = self._upload
        missing = [] if upload.snapshot is not None else self._missing(self._listed())
        return SnapshotUploadDocument(
            id=upload.id, digest=upload.digest, completed=upload.snapshot is not None, missing=missing
        )

    def add(self, body: bytes) -> SnapshotUploadDocument:
        """Store contents, the list of files before others.

        Raises Refusal: 409 if the upload is completed or was removed, 413 if there is no room, 422 for what was not
        asked for, and for files that are not taken.
        """
        if self._upload.snapshot is not None:
            raise self._over()
        try:
            contents = unpack_contents(body)
        except ValueError as error:
            raise Refusal(422, f"{error}; send it again, in full") from None
        snapshot = self._listed()
        if snapshot is None:
            self._add_listing(contents)
        else:
            wanted = set(self._missing(snapshot))
            found = {digest_bytes(content): content for content in contents}
            if not found.keys() <= wanted | {file.digest for file in snapshot.files}:
                raise Refusal(422, "a content belongs to no file of the snapshot: it changed, or came damaged")
            self._add([Blob(digest, CONTENT, found[digest]) for digest in sorted(found.keys() & wanted)])
        return self.upload()

    def complete(self) -> SnapshotDocument:
        """Store the snapshot with what is found in it, and return it. Nothing changes if that was done before.

        Raises Refusal: 409 if contents are missing, 422 for links to other places.
        """
        if self._upload.snapshot is None:
            snapshot = self._listed()
            missing = self._missing(snapshot)
            if snapshot is None or missing:
                raise Refusal(
                    409, f"{len(missing):,} contents of the snapshot are missing; send them, then complete it"
                )
            self._check(snapshot)
            self._keep(snapshot)
        return self.document()

    def _keep(self, snapshot: Snapshot) -> None:
        kept = self._store.snapshots.add(snapshot.files, self._gone)
        found = inspect_snapshot(self._service.settings, self._store.snapshots, kept)
        upload = msgspec.structs.replace(
            self._upload, rollouts=found.rollouts, configurations=found.configurations, faults=found.faults
        )
        if self._store.snapshot_uploads.complete(upload, kept):
            detail = {"digest": kept.digest, "commit": upload.commit_id, "dirty": upload.dirty}
            self._store.audit.note(
                self._viewer.caller.actor, "snapshot.upload", f"workspace:{self._workspace.id}", detail
            )
        # Somebody may have completed it at the same time.
        found_again = self._store.snapshot_uploads.get(self._workspace.id, upload.id)
        if found_again is None or found_again.snapshot is None:
            raise Refusal(409, f"the upload {upload.id} was removed meanwhile; upload it again")
        self._upload = found_again

    def _check(self, snapshot: Snapshot) -> None:
        sizes = self._store.snapshot_uploads.present(self._upload, {file.digest for file in snapshot.files})
        for file in snapshot.files:
            if sizes.get(file.digest) != file.size:
                raise Refusal(422, f"{file.path} has another size than the list says; it changed, so upload it again")
        check_links(
            snapshot, {file.digest: self._store.snapshots.content(file) for file in snapshot.files if file.link}
        )

    def _listed(self) -> Snapshot | None:
        listing = self._store.snapshot_uploads.listing(self._upload)
        return None if listing is None else read_listing(listing)

    def _missing(self, snapshot: Snapshot | None) -> list[str]:
        if snapshot is None:
            return [self._upload.digest]
        wanted = list(dict.fromkeys(file.digest for file in snapshot.files))
        present = self._store.snapshot_uploads.present(self._upload, wanted)
        return [digest for digest in wanted if digest not in present]

    def _add_listing(self, contents: Sequence[bytes]) -> None:
        if len(contents) != 1 or digest_bytes(contents[0]) != self._upload.digest:
            raise Refusal(422, "send the list of files first, alone, as its digest says")
        if len(contents[0]) > LARGEST_LISTING:
            raise Refusal(413, f"the list of files has more than {LARGEST_LISTING:,} bytes; leave some out")
        try:
            snapshot = read_listing(contents[0])
        except ValueError as error:
            raise Refusal(422, f"the list of files cannot be used: {error}") from None
        check_listing(self._service.settings, snapshot)
        self._check_room(snapshot)
        self._add([Blob(snapshot.digest, LISTING, contents[0])])

    def _check_room(self, snapshot: Snapshot) -> None:
        sizes = {file.digest: file.size for file in snapshot.files}
        present = self._store.snapshot_uploads.present(self._upload, sizes)
        more = sum(size for digest, size in sizes.items() if digest not in present)
        used, most = self._store.snapshot_uploads.used(self._workspace.id), self._service.settings.workspace_uploads_mb
        if used + more > most * MIB:
            raise Refusal(
                413,
                f"the files have {more:,} bytes that are new, and the uploads of the workspace {used:,} of the "
                f"{most * MIB:,} that they may have; connect a repository, or ask the administrators of the server",
            )

    def _add(self, contents: Sequence[Blob]) -> None:
        if not self._store.snapshot_uploads.add(self._upload, contents):
            raise self._over()

    def _over(self) -> Refusal:
        return Refusal(409, f"the upload {self._upload.id} is completed, or was removed; begin it again")

    def _gone(self, file: SnapshotFile) -> bytes:
        raise Refusal(409, f"the content of {file.path} was removed meanwhile; upload it again")
