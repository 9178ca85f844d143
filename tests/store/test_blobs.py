"""Large content is kept once, for as long as a run needs it."""

from typing import TYPE_CHECKING

import pytest

from mesocosm.core.entry import Blob, Entry
from mesocosm.core.failure import RunLeased, UnknownName
from mesocosm.core.ids import digest_bytes
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.store.conftest import Samples

DATA = bytes(range(256)) * 20
BLOB = Blob(digest_bytes(DATA), "image/png", DATA)


def stored(store: Store) -> int:
    with store.database.once() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM blobs").scalar_one())


async def test_a_blob_comes_back_by_its_digest(store: Store, samples: "Samples") -> None:
    run = samples.held(store)

    await samples.write(store, run.id, [Entry(samples.episode(run.id), (), [BLOB])])

    assert store.blobs.get(BLOB.digest) == BLOB
    assert list(store.blobs.of_run(run.id)) == [BLOB]


async def test_equal_content_is_kept_once(store: Store, samples: "Samples") -> None:
    runs = [samples.held(store), samples.held(store)]
    for run in runs:
        entries = [Entry(samples.episode(run.id, index), (), [BLOB, BLOB]) for index in range(3)]
        await samples.write(store, run.id, entries[:2])
        await samples.write(store, run.id, entries[2:])

    assert stored(store) == 1


async def test_a_blob_goes_with_the_last_run_that_needs_it(store: Store, samples: "Samples") -> None:
    runs = [samples.held(store), samples.held(store)]
    for run in runs:
        await samples.write(store, run.id, [Entry(samples.episode(run.id), (), [BLOB])])
        store.leases.release(run.id, store.leases.owner())

    store.runs.delete(runs[0].id)
    assert store.blobs.get(BLOB.digest) == BLOB
    store.runs.delete(runs[1].id)

    with pytest.raises(UnknownName, match=BLOB.digest):
        store.blobs.get(BLOB.digest)


async def test_what_only_one_run_needs_goes_with_it(store: Store, samples: "Samples") -> None:
    runs = [samples.held(store), samples.held(store)]
    own = Blob(digest_bytes(b"own"), "text/plain", b"own")
    await samples.write(store, runs[0].id, [Entry(samples.episode(runs[0].id), (), [BLOB, own])])
    await samples.write(store, runs[1].id, [Entry(samples.episode(runs[1].id), (), [BLOB])])
    store.leases.release(runs[0].id, store.leases.owner())

    store.runs.delete(runs[0].id)

    assert store.blobs.get(BLOB.digest) == BLOB
    assert stored(store) == 1


async def test_an_artifact_belongs_to_a_run_or_an_episode(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    entry = samples.entry(run.id)
    await samples.write(store, run.id, [entry])

    first = store.artifacts.add(run.id, "log.txt", b"text", content_type="text/plain")
    second = store.artifacts.add(run.id, "shot.png", DATA, content_type="image/png", episode_id=entry.episode.id)

    assert store.artifacts.of_run(run.id) == (first, second)
    assert store.blobs.get(first.digest) == Blob(digest_bytes(b"text"), "text/plain", b"text")
    assert second.episode_id == entry.episode.id


def test_an_artifact_of_an_unknown_run_or_episode_leaves_nothing_behind(store: Store, samples: "Samples") -> None:
    run = store.runs.add(samples.run())

    with pytest.raises(UnknownName, match="no run 'nothing'"):
        store.artifacts.add("nothing", "a", b"text", content_type="text/plain")
    with pytest.raises(UnknownName, match="no episode 'nothing'"):
        store.artifacts.add(run.id, "a", b"text", content_type="text/plain", episode_id="nothing")

    assert stored(store) == 0


async def test_a_deleted_run_leaves_nothing_behind(store: Store, samples: "Samples") -> None:
    run, other = samples.held(store), samples.held(store)
    for each in (run, other):
        await samples.write(store, each.id, [samples.entry(each.id, index) for index in range(3)])
        store.artifacts.add(each.id, "a", each.id.encode(), content_type="text/plain")
        store.leases.release(each.id, store.leases.owner())

    store.runs.delete(run.id[:-3])

    with store.database.once() as connection:
        rows = {
            table: connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()
            for table in ("runs", "episodes", "scores", "event_chunks", "blobs", "run_blobs", "artifacts")
        }
    assert rows == {
        "runs": 1,
        "episodes": 3,
        "scores": 6,
        "event_chunks": 3,
        "blobs": 1,
        "run_blobs": 1,
        "artifacts": 1,
    }
    assert len(store.episodes.finished_keys(other.id)) == 3


async def test_a_run_that_is_worked_on_is_not_deleted(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id)])

    with pytest.raises(RunLeased):
        store.runs.delete(run.id)

    assert len(store.episodes.finished_keys(run.id)) == 1


async def test_a_deletion_that_breaks_off_can_be_repeated(
    store: Store, samples: "Samples", monkeypatch: pytest.MonkeyPatch
) -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, index) for index in range(3)])
    store.leases.release(run.id, store.leases.owner())

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mesocosm.store.deletion._delete_slice", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.runs.delete(run.id)
    left = store.runs.get(run.id)
    assert (left.status, left.counts.done, left.holder) == ("stopped", 0, None)
    assert "delete it again" in left.error

    store.runs.delete(run.id)

    assert store.runs.list().items == ()
