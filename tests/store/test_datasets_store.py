"""Datasets in the store: versions by content, parts, leases of checks, and which parts are kept."""

import hashlib
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from sqlalchemy import update

from mesocosm.core.entry import Blob, Entry
from mesocosm.core.failure import UnknownName
from mesocosm.core.ids import digest_bytes
from mesocosm.store import Store, datasets, open_store, parts
from mesocosm.store.datasets import DatasetFile, DatasetState, DatasetVersion, Upload, pieces
from mesocosm.store.objects import open_objects
from mesocosm.store.tenancy import dataset_versions

if TYPE_CHECKING:
    from tests.store.conftest import Samples

PART = 10
ROOM = 1_000
DATA = b"0123456789abcdefghij12345"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "PART_BYTES", PART)


@pytest.fixture
def here(store: Store) -> str:
    workspace = store.workspaces.add("Reefs", None)
    assert workspace is not None
    return workspace.id


def file_of(data: bytes = DATA, **given: Any) -> DatasetFile:
    fields = {"name": "hard", "file_name": "hard.csv", "format": "csv", "size": len(data)}
    return DatasetFile(**{**fields, "digest": hashlib.sha256(data).hexdigest(), **given})


def begun(store: Store, here: str, data: bytes = DATA, *, room: int = ROOM, **given: Any) -> Upload:
    return store.datasets.begin(here, file_of(data, **given), by=None, most_bytes=room)


def opened(store: Store, here: str, data: bytes = DATA, **given: Any) -> DatasetVersion:
    version = begun(store, here, data, **given).version
    assert version is not None
    return version


def send(store: Store, version: DatasetVersion, data: bytes = DATA) -> None:
    for number in range(1, version.part_count + 1):
        assert store.datasets.add_part(version, number, data[(number - 1) * PART : number * PART])


def finish(store: Store, state: DatasetState = DatasetState.UPLOADED, worker: str = "w") -> DatasetVersion:
    claimed = store.datasets.claim_check(worker, 30.0)
    assert claimed is not None
    assert store.datasets.finish_check(claimed, state=state, overtaken='{"late": 1}', rows=3)
    return claimed


def uploaded(store: Store, here: str, data: bytes = DATA, **given: Any) -> DatasetVersion:
    version = opened(store, here, data, **given)
    send(store, version, data)
    assert store.datasets.submit(version)
    finish(store)
    return version


def content(store: Store, version: DatasetVersion) -> bytes:
    digests = list(store.datasets.parts(version.dataset_id, version.version).values())
    return b"".join(pieces(store.datasets, digests, PART, 0, version.size))


def blob_count(store: Store) -> int:
    with store.database.once() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM blobs").scalar_one())


def age(store: Store, version: DatasetVersion, seconds: float) -> None:
    before = time.time() - seconds
    mine = (dataset_versions.c.dataset_id == version.dataset_id, dataset_versions.c.version == version.version)
    store.database.execute(update(dataset_versions).where(*mine).values(updated_at=before, ended_at=before))


def state(store: Store, version: DatasetVersion) -> str:
    found = store.datasets.version(version.dataset_id, version.version)
    assert found is not None
    return found.state.value


def test_a_file_comes_back_as_it_was_sent(store: Store, here: str) -> None:
    version = uploaded(store, here)
    assert content(store, version) == DATA
    dataset = store.datasets.get(here, "HARD")
    assert dataset is not None
    assert (dataset.id, dataset.version, dataset.name) == (version.dataset_id, 1, "hard")


@pytest.mark.parametrize(("begin", "end"), [(0, 25), (3, 4), (9, 11), (10, 20), (24, 25), (5, 25)])
def test_any_range_of_a_file_is_read(store: Store, here: str, begin: int, end: int) -> None:
    version = uploaded(store, here)
    digests = list(store.datasets.parts(version.dataset_id, 1).values())
    assert b"".join(pieces(store.datasets, digests, PART, begin, end)) == DATA[begin:end]


def test_the_same_bytes_are_the_same_version_and_nothing_is_sent_twice(store: Store, here: str) -> None:
    version = opened(store, here)
    store.datasets.add_part(version, 2, DATA[10:20])
    again = opened(store, here)
    assert (again.version, list(store.datasets.parts(version.dataset_id, 1))) == (1, [2])
    send(store, version)
    store.datasets.submit(version)
    assert opened(store, here).state is DatasetState.PROCESSING
    finish(store)
    for overwrite in (False, True):
        same = opened(store, here, overwrite=overwrite)
        assert (same.version, same.state) == (1, DatasetState.UPLOADED)


def test_other_bytes_need_overwrite_and_are_the_next_version(store: Store, here: str) -> None:
    first = uploaded(store, here)
    refused = begun(store, here, b"other")
    assert refused.version is None
    assert refused.dataset is not None
    assert refused.dataset.id == first.dataset_id
    before = store.datasets.get(here, "hard")
    second = uploaded(store, here, b"other", overwrite=True)
    after = store.datasets.get(here, "hard")
    assert before is not None
    assert after is not None
    assert (second.dataset_id, second.version, after.version) == (first.dataset_id, 2, 2)
    assert after.updated_at > before.updated_at
    assert content(store, first) == DATA


def test_an_older_content_is_a_new_version_whose_parts_are_there(store: Store, here: str) -> None:
    uploaded(store, here)
    uploaded(store, here, b"other", overwrite=True)
    third = opened(store, here, overwrite=True)
    assert (third.version, third.state) == (3, DatasetState.UPLOADING)
    assert list(store.datasets.parts(third.dataset_id, 3)) == [1, 2, 3]
    assert store.datasets.submit(third)
    finish(store)
    assert content(store, third) == DATA


def test_other_roles_of_columns_are_another_version(store: Store, here: str) -> None:
    uploaded(store, here)
    assert begun(store, here, columns='{"user_prompt":"q"}').version is None
    assert opened(store, here, columns='{"user_prompt":"q"}', overwrite=True).version == 2


def test_one_of_two_that_did_not_want_to_overwrite_is_told(store: Store, here: str) -> None:
    first, second = opened(store, here), opened(store, here, b"other")
    assert (first.version, second.version) == (1, 2)
    for version, data in ((first, DATA), (second, b"other")):
        send(store, version, data)
        assert store.datasets.submit(version)
    finish(store)
    finish(store)
    found = store.datasets.version(second.dataset_id, 2)
    assert found is not None
    assert (found.state, found.faults) == (DatasetState.ERROR, '{"late": 1}')
    dataset = store.datasets.get(here, "hard")
    assert dataset is not None
    assert dataset.version == 1


def test_a_version_is_not_checked_before_all_parts_are_there(store: Store, here: str) -> None:
    version = opened(store, here)
    store.datasets.add_part(version, 1, DATA[:10])
    assert not store.datasets.submit(version)
    assert store.datasets.claim_check("w", 30.0) is None
    assert not store.workers.waiting()
    send(store, version)
    assert store.datasets.submit(version)
    assert store.datasets.submit(version)
    assert store.workers.waiting()


def test_an_uploaded_version_takes_no_part(store: Store, here: str) -> None:
    version = uploaded(store, here)
    assert not store.datasets.add_part(version, 1, b"x" * 10)
    assert not store.datasets.abort(version)
    assert content(store, version) == DATA


def test_a_workspace_has_room_for_so_much(store: Store, here: str) -> None:
    first = uploaded(store, here, room=40)
    refused = begun(store, here, b"x" * 16, name="other", room=40)
    assert (refused.version, refused.dataset, refused.used) == (None, None, 25)
    assert store.datasets.get(here, "other") is None
    second = opened(store, here, b"x" * 15, name="other", room=40)
    assert begun(store, here, b"y", name="third", room=40).version is None
    store.datasets.abort(second)
    assert begun(store, here, b"y", name="third", room=40).version is not None
    dataset = store.datasets.get(here, first.dataset_id)
    assert dataset is not None
    store.datasets.delete(dataset)
    assert begun(store, here, b"x" * 16, name="fourth", room=40).deleted == 25


def test_another_workspace_has_datasets_and_room_of_its_own(store: Store, here: str) -> None:
    version = uploaded(store, here, room=25)
    other = store.workspaces.add("Dunes", None)
    assert other is not None
    assert store.datasets.get(other.id, "hard") is None
    assert store.datasets.get(other.id, version.dataset_id) is None
    assert store.datasets.list(other.id) == ()
    theirs = opened(store, other.id, room=25)
    assert theirs.dataset_id != version.dataset_id
    assert store.datasets.parts(theirs.dataset_id, 1) == {}, "what another workspace has must be sent"


def test_parts_of_an_aborted_upload_go_and_those_that_others_need_stay(store: Store, here: str) -> None:
    kept = uploaded(store, here)
    half = opened(store, here, DATA[:10] + b"other", name="other")
    send(store, half, DATA[:10] + b"other")
    assert blob_count(store) == 4
    assert store.datasets.abort(half)
    assert blob_count(store) == 3
    assert content(store, kept) == DATA
    assert store.datasets.get(here, "other") is None


async def test_a_part_stays_though_a_run_with_the_same_content_goes(
    store: Store, here: str, samples: "Samples"
) -> None:
    run = samples.held(store)
    blob = Blob(digest_bytes(DATA[:10]), "text/plain", DATA[:10])
    await samples.write(store, run.id, [Entry(samples.episode(run.id), (), [blob])])
    store.leases.release(run.id, store.leases.owner())
    version = uploaded(store, here)
    store.runs.delete(run.id)
    assert content(store, version) == DATA
    store.workspaces.delete(here)
    assert blob_count(store) == 0


def test_parts_in_an_object_store_stay_as_long_as_a_version_has_them(
    store: Store, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "PART_BYTES", 10_000)
    store.database.objects = open_objects(f"memory://{here}")
    contents = [random.Random(seed).randbytes(10_000) for seed in (1, 2)]
    kept, given_up = (opened(store, here, data, name=f"of {data[0]}", room=50_000) for data in contents)
    for version, data in zip((kept, given_up), contents, strict=True):
        assert store.datasets.add_part(version, 1, data)
    assert store.datasets.submit(kept)
    finish(store)
    assert store.blobs.drop_outside(-60.0) == 0
    store.datasets.abort(given_up)
    assert store.blobs.drop_outside(-60.0) == 1
    assert store.datasets.read_part(store.datasets.parts(kept.dataset_id, 1)[1]) == contents[0]


def test_an_upload_is_abandoned_a_day_after_its_last_part(store: Store, here: str) -> None:
    living, left, late = (opened(store, here, name.encode() * 12, name=name) for name in "abc")
    done = uploaded(store, here)
    for version, name in ((living, b"a"), (left, b"b"), (late, b"c")):
        send(store, version, name * 12)
    for version in (left, late, done):
        age(store, version, 90_000)
    store.datasets.add_part(late, 1, b"c" * 10)
    assert store.datasets.drop_abandoned() == 1
    assert store.datasets.drop_abandoned() == 0
    assert store.datasets.get(here, "b") is None
    assert [state(store, version) for version in (living, late, done)] == ["uploading", "uploading", "uploaded"]
    assert content(store, done) == DATA
    with pytest.raises(UnknownName):
        store.datasets.read_part(digest_bytes(b"b" * 10))


def test_parts_of_an_error_are_kept_for_a_day_so_that_it_is_checked_again_without_sending(
    store: Store, here: str
) -> None:
    version = opened(store, here)
    send(store, version)
    store.datasets.submit(version)
    finish(store, DatasetState.ERROR)
    again = opened(store, here)
    assert (again.version, again.state) == (1, DatasetState.UPLOADING)
    assert store.datasets.submit(again)
    finish(store, DatasetState.ERROR)
    age(store, version, 90_000)
    assert store.datasets.drop_abandoned() == 1
    assert (state(store, version), blob_count(store)) == ("error", 0)
    assert store.datasets.used(here) == 0
    assert store.datasets.drop_abandoned() == 0


def test_a_check_whose_worker_died_is_taken_over_and_in_the_end_given_up(store: Store, here: str) -> None:
    version = opened(store, here)
    send(store, version)
    store.datasets.submit(version)
    first = store.datasets.claim_check("dead", -1.0)
    second = store.datasets.claim_check("alive", 30.0)
    assert first is not None
    assert second is not None
    assert store.datasets.claim_check("third", 30.0) is None
    assert not store.datasets.renew_check(first, 30.0)
    assert not store.datasets.finish_check(first, state=DatasetState.UPLOADED, overtaken="", rows=9)
    assert state(store, version) == "processing"
    assert store.datasets.renew_check(second, -1.0)
    assert store.datasets.claim_check("third", -1.0) is not None
    assert store.datasets.claim_check("fourth", 30.0) is None
    found = store.datasets.version(version.dataset_id, 1)
    assert found is not None
    assert found.state is DatasetState.ERROR
    assert "3 checks of this file" in found.faults


def test_a_worker_that_leaves_returns_its_check(store: Store, here: str) -> None:
    version = opened(store, here)
    send(store, version)
    store.datasets.submit(version)
    for _ in range(5):
        claimed = store.datasets.claim_check("w", 30.0)
        assert claimed is not None
        store.datasets.release_check(claimed)
    store.workers.end("w")
    finish(store)
    assert state(store, version) == "uploaded"


def test_a_dataset_that_is_deleted_while_it_is_checked_stays_deleted(store: Store, here: str) -> None:
    version = opened(store, here)
    send(store, version)
    store.datasets.submit(version)
    claimed = store.datasets.claim_check("w", 30.0)
    dataset = store.datasets.get(here, "hard")
    assert claimed is not None
    assert dataset is not None
    assert store.datasets.delete(dataset)
    assert not store.datasets.delete(dataset)
    assert not store.datasets.renew_check(claimed, 30.0)
    assert not store.datasets.finish_check(claimed, state=DatasetState.UPLOADED, overtaken="", rows=1)
    assert (store.datasets.get(here, "hard"), blob_count(store)) == (None, 0)


def test_a_deleted_dataset_keeps_its_versions_for_runs_and_frees_its_name(store: Store, here: str) -> None:
    version = uploaded(store, here)
    dataset = store.datasets.get(here, "hard")
    assert dataset is not None
    store.datasets.delete(dataset)
    assert store.datasets.get(here, "hard") is None
    assert store.datasets.list(here) == ()
    assert content(store, version) == DATA
    again = opened(store, here)
    assert again.dataset_id != version.dataset_id


def test_names_differ_in_more_than_case(store: Store, here: str) -> None:
    uploaded(store, here)
    assert begun(store, here, b"x", name="HARD").version is None
    other = opened(store, here, b"x", name="Straße")
    dataset = store.datasets.get(here, "STRASSE")
    assert dataset is not None
    assert dataset.id == other.dataset_id
    assert not store.datasets.rename(dataset, "Hard")
    assert store.datasets.rename(dataset, "soft")
    assert store.datasets.get(here, "straße") is None


def test_datasets_are_listed_newest_first_in_pages(store: Store, here: str) -> None:
    for name in "abcde":
        opened(store, here, name=name)
    first = store.datasets.list(here, limit=2)
    rest = store.datasets.list(here, cursor=first[-1].id)
    assert [one.name for one in (*first, *rest)] == ["e", "d", "c", "b", "a"]


def test_many_uploads_at_once_make_one_dataset_and_stay_within_the_room(store: Store, here: str) -> None:
    ready = threading.Barrier(8)

    def upload(number: int) -> Upload:
        ready.wait()
        return begun(store, here, bytes([number]) * 10, name="one", room=40)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(upload, range(8)))
    taken = [one.version for one in found if one.version is not None]
    assert len({version.dataset_id for version in taken}) == 1
    assert sorted(version.version for version in taken) == [1, 2, 3, 4]
    assert store.datasets.used(here) == 40


def test_the_same_part_may_be_sent_by_several_at_once_and_again(store: Store, here: str) -> None:
    version = opened(store, here)
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: store.datasets.add_part(version, 1, DATA[:10]), range(16)))
    assert all(done)
    store.datasets.add_part(version, 1, b"x" * 10)
    store.datasets.add_part(version, 1, DATA[:10])
    assert blob_count(store) == 1
    send(store, version)
    assert content(store, version) == DATA


@pytest.mark.parametrize("method", ["add", "insert"])
def test_what_breaks_in_the_middle_leaves_nothing_half_written(
    store: Store, here: str, place: str, method: str
) -> None:
    version = opened(store, here)
    store.datasets.add_part(version, 1, DATA[:10])

    class Killed(BaseException):
        pass

    def kill(*_: Any, **__: Any) -> None:
        raise Killed

    target = store.database if method == "add" else parts
    with patch.object(target, method, kill), pytest.raises(Killed):
        store.datasets.add_part(version, 2, DATA[10:20])
    other = open_store(place)
    try:
        assert list(other.datasets.parts(version.dataset_id, 1)) == [1]
        assert blob_count(other) == 1
        again = opened(other, here)
        assert again.version == 1
        send(other, again)
        assert other.datasets.submit(again)
        finish(other)
        assert content(other, again) == DATA
    finally:
        other.close()
