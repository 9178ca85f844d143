"""Rows added to datasets in the store: queued, put behind the newest version, and nothing left behind."""

import hashlib
from typing import Any

import pytest
from tests.store.test_datasets_store import (
    DATA,
    PART,
    ROOM,
    age,
    blob_count,
    content,
    file_of,
    opened,
    send,
    state,
    uploaded,
)

from mesocosm.store import Store, datasets
from mesocosm.store.datasets import MOST_CHECKS, DatasetState, DatasetVersion, Upload


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "PART_BYTES", PART)


@pytest.fixture
def reef(store: Store) -> str:
    workspace = store.workspaces.add("Reefs", None)
    assert workspace is not None
    return workspace.id


ROWS = b'{"prompt":[]}\n' * 3


def queue(store: Store, reef: str, rows: bytes = ROWS, *, room: int = ROOM, **given: Any) -> Upload:
    file = file_of(rows, digest="", overwrite=True, format="jsonl", **given)
    return store.datasets.add_rows(reef, file, rows, by=None, most_bytes=room)


def queued(store: Store, reef: str, rows: bytes = ROWS) -> DatasetVersion:
    version = queue(store, reef, rows).version
    assert version is not None
    return version


def claimed(store: Store) -> DatasetVersion:
    found = store.datasets.claim_check("w", 30.0)
    assert found is not None
    return found


def finished(store: Store, version: DatasetVersion, base: int | None, data: bytes = DATA, *, room: int = ROOM) -> str:
    """Do what a worker does with a claimed version whose file is `data`."""
    for number in range(-(-len(data) // PART)):
        assert store.datasets.put_checked(version, number + 1, data[number * PART : (number + 1) * PART])
    found = {"size": len(data), "digest": hashlib.sha256(data).hexdigest(), "rows": 3}
    done = DatasetState.UPLOADED
    return store.datasets.finish_addition(version, base, state=done, most_bytes=room, **found)


def test_added_rows_wait_for_a_worker_and_become_the_newest_version(store: Store, reef: str) -> None:
    uploaded(store, reef)
    version = queued(store, reef)
    assert (version.version, version.state, version.size) == (2, "processing", len(ROWS))
    mine = claimed(store)
    assert b"".join(map(store.datasets.read_part, store.datasets.added(mine).values())) == ROWS
    assert finished(store, mine, 1, DATA + b"more") == ""
    newest = store.datasets.newest(version.dataset_id)
    assert newest is not None
    assert (newest.version, newest.size, content(store, newest)) == (2, len(DATA) + 4, DATA + b"more")
    assert store.datasets.added(newest) == {}


def test_the_parts_that_a_version_shares_with_its_base_are_stored_once(store: Store, reef: str) -> None:
    uploaded(store, reef)
    before = blob_count(store)
    queued(store, reef)
    assert finished(store, claimed(store), 1, DATA + b"more") == ""
    assert blob_count(store) == before + 1


def test_a_name_that_is_free_becomes_a_dataset(store: Store, reef: str) -> None:
    version = queued(store, reef)
    assert store.datasets.newest(version.dataset_id) is None
    assert finished(store, claimed(store), None) == ""
    dataset = store.datasets.get(reef, "hard")
    assert dataset is not None
    assert dataset.version == 1


def test_an_addition_to_a_version_that_is_not_the_newest_any_more_is_refused(store: Store, reef: str) -> None:
    queued(store, reef)
    queued(store, reef)
    first, second = claimed(store), claimed(store)
    assert finished(store, first, None) == ""
    assert finished(store, second, None) == "moved"
    store.datasets.release_check(second)
    again = claimed(store)
    assert (again.version, again.tries) == (2, 1)
    assert finished(store, again, 1) == ""


def test_an_addition_that_a_higher_version_overtook_is_late(store: Store, reef: str) -> None:
    uploaded(store, reef)
    queued(store, reef)
    mine = claimed(store)
    uploaded(store, reef, b"others", overwrite=True)
    assert finished(store, mine, 1) == "late"


def test_an_addition_needs_room_for_the_whole_new_version(store: Store, reef: str) -> None:
    uploaded(store, reef)
    refused = queue(store, reef, room=len(DATA) + len(ROWS) - 1)
    assert (refused.dataset, refused.used) == (None, len(DATA))
    queued(store, reef)
    assert finished(store, claimed(store), 1, DATA * 2, room=3 * len(DATA) - 1) == "full"


def test_a_lost_claim_changes_nothing(store: Store, reef: str) -> None:
    version = queued(store, reef)
    mine = claimed(store)
    store.datasets.release_check(mine)
    assert not store.datasets.put_checked(mine, 1, DATA[:PART])
    assert store.datasets.finish_addition(mine, None, state=DatasetState.ERROR, most_bytes=ROOM) == "lost"
    assert (state(store, version), len(store.datasets.added(version))) == ("processing", -(-len(ROWS) // PART))


@pytest.mark.parametrize("ended", [DatasetState.CANCELLED, DatasetState.ERROR])
def test_an_addition_that_comes_to_nothing_leaves_no_bytes(store: Store, reef: str, ended: DatasetState) -> None:
    uploaded(store, reef)
    before = blob_count(store)
    version = queued(store, reef)
    mine = claimed(store)
    assert store.datasets.put_checked(mine, 1, b"half a file")
    assert store.datasets.finish_addition(mine, 1, state=ended, most_bytes=ROOM) == ""
    assert (state(store, version), blob_count(store)) == (ended.value, before)
    newest = store.datasets.newest(version.dataset_id)
    assert newest is not None
    assert newest.version == 1


def test_rows_of_a_check_that_never_ended_are_removed_after_a_day(store: Store, reef: str) -> None:
    version = queued(store, reef)
    for _ in range(MOST_CHECKS):
        assert store.datasets.claim_check("w", -1.0) is not None
    assert store.datasets.claim_check("w", 30.0) is None
    assert state(store, version) == "error"
    age(store, version, 90_000)
    assert store.datasets.drop_abandoned() == 1
    assert (blob_count(store), store.datasets.added(version), store.datasets.drop_abandoned()) == (0, {}, 0)


def test_a_dataset_that_is_being_uploaded_takes_no_rows(store: Store, reef: str) -> None:
    version = opened(store, reef)
    refused = queue(store, reef)
    assert refused.dataset is not None
    assert refused.version is None
    send(store, version)
    store.datasets.submit(version)
    assert queue(store, reef).version is None


def test_a_workspace_is_deleted_with_rows_that_wait(store: Store, reef: str) -> None:
    queued(store, reef)
    assert store.workspaces.delete(reef)
    assert blob_count(store) == 0
