"""Uploads of snapshots in both databases."""

import msgspec
import pytest
from sqlalchemy.exc import IntegrityError

from mesocosm.core.entry import Blob
from mesocosm.core.ids import digest_bytes
from mesocosm.core.snapshot import Snapshot, SnapshotFile, snapshot_of
from mesocosm.store import Store
from mesocosm.store.repositories import SyncFault
from mesocosm.store.snapshot_uploads import SnapshotUpload

ONE, TWO = b"one", b"two!"


def of(*contents: bytes) -> Snapshot:
    """Return the snapshot of files with these contents."""
    return snapshot_of(
        SnapshotFile(str(place), digest_bytes(content), len(content)) for place, content in enumerate(contents)
    )


def begin(store: Store, workspace: str, *contents: bytes, **given: object) -> SnapshotUpload:
    wanted = SnapshotUpload(id="", workspace_id=workspace, digest=of(*contents).digest)
    return store.snapshot_uploads.begin(msgspec.structs.replace(wanted, **given))


def send(store: Store, upload: SnapshotUpload, *contents: bytes) -> bool:
    return store.snapshot_uploads.add(
        upload, [Blob(digest_bytes(one), "application/octet-stream", one) for one in contents]
    )


@pytest.fixture
def reefs(store: Store) -> str:
    """Return the id of a workspace."""
    made = store.workspaces.add("Reefs", store.users.add("ada").id)
    assert made is not None
    return made.id


@pytest.fixture
def atolls(store: Store) -> str:
    """Return the id of another workspace."""
    made = store.workspaces.add("Atolls", store.users.add("ben").id)
    assert made is not None
    return made.id


def test_an_upload_is_found_again_by_what_it_is_of(store: Store, reefs: str, atolls: str) -> None:
    first = begin(store, reefs, ONE, commit_id="a" * 40)
    assert begin(store, reefs, ONE, commit_id="a" * 40) == first
    others = {
        begin(store, reefs, TWO, commit_id="a" * 40).id,
        begin(store, reefs, ONE, commit_id="b" * 40).id,
        begin(store, reefs, ONE, commit_id="a" * 40, dirty=True).id,
        begin(store, atolls, ONE, commit_id="a" * 40).id,
    }
    assert len(others - {first.id}) == 4
    assert store.snapshot_uploads.get(reefs, first.id) == first
    assert store.snapshot_uploads.get(atolls, first.id) is None
    with pytest.raises(IntegrityError):
        begin(store, "none", ONE)


def test_contents_are_those_of_the_upload_and_of_its_workspace(store: Store, reefs: str, atolls: str) -> None:
    uploads, wanted = store.snapshot_uploads, [digest_bytes(ONE), digest_bytes(TWO)]
    upload = begin(store, reefs, ONE, TWO)
    assert uploads.listing(upload) is None
    assert send(store, upload, of(ONE, TWO).listing, ONE)
    assert uploads.listing(upload) == of(ONE, TWO).listing
    assert uploads.present(upload, wanted) == {digest_bytes(ONE): 3}
    assert uploads.present(begin(store, reefs, ONE), wanted) == {}
    assert send(store, upload, ONE, TWO)
    snapshot = store.snapshots.add(of(ONE, TWO).files, lambda _: b"")
    faults = (SyncFault("x", "is wrong"),)
    assert uploads.complete(msgspec.structs.replace(upload, faults=faults), snapshot)
    assert not uploads.complete(upload, snapshot)
    assert not send(store, upload, ONE)
    done = uploads.get(reefs, upload.id)
    assert done is not None
    assert (done.snapshot, done.faults) == (snapshot.digest, faults)
    assert uploads.present(begin(store, reefs, ONE), wanted) == {digest_bytes(ONE): 3, digest_bytes(TWO): 4}
    assert uploads.present(begin(store, atolls, ONE), wanted) == {}


def test_equal_files_count_once(store: Store, reefs: str, atolls: str) -> None:
    first = begin(store, reefs, ONE)
    send(store, first, of(ONE).listing, ONE)
    store.snapshot_uploads.complete(first, store.snapshots.add(of(ONE).files, lambda _: b""))
    listings = len(of(ONE).listing)
    assert store.snapshot_uploads.used(reefs) == listings + 3
    second = begin(store, reefs, ONE, TWO)
    send(store, second, ONE, TWO)
    assert store.snapshot_uploads.used(reefs) == listings + 7
    assert store.snapshot_uploads.used(atolls) == 0


def test_only_unfinished_uploads_are_dropped(store: Store, reefs: str) -> None:
    done, left = begin(store, reefs, ONE), begin(store, reefs, TWO)
    send(store, done, of(ONE).listing, ONE)
    send(store, left, of(TWO).listing, TWO)
    store.snapshot_uploads.complete(done, store.snapshots.add(of(ONE).files, lambda _: b""))
    assert store.snapshot_uploads.drop_abandoned() == 0
    assert store.snapshot_uploads.drop_abandoned(-60.0) == 1
    assert store.snapshot_uploads.get(reefs, left.id) is None
    assert store.snapshot_uploads.get(reefs, done.id) is not None
    assert not send(store, left, TWO)
    assert store.snapshots.drop_unused(-60.0) == 0
