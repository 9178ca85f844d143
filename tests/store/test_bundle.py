"""Whole runs move between stores with nothing lost, as often as one likes."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from mesocosm.core.entry import Blob, Entry
from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import RunLeased, UnknownName, UsageError
from mesocosm.core.ids import digest_bytes
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import Score
from mesocosm.store import Store, open_store

if TYPE_CHECKING:
    from tests.store.conftest import Samples

BLOB = Blob(digest_bytes(b"picture"), "image/png", b"picture")


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Store]:
    """Return the store that runs come from: another one than `store`."""
    opened = open_store(tmp_path / "source.sqlite")
    yield opened
    opened.close()


@pytest.fixture
async def run(source: Store, samples: "Samples") -> Run:
    """Return a finished run with a long trace, a blob and artifacts."""
    run = samples.held(source, name="kept", tags=("a",), group_id="group", info={"id": "words"})
    long = samples.episode(run.id, 0)
    chunks = [samples.chunk(seq, seq * 4) for seq in range(20)]
    entries = [Entry(long, chunks, [BLOB])]
    entries += [samples.entry(run.id, index) for index in range(1, 12)]
    entries.append(Entry(samples.episode(run.id, 12, status=EpisodeStatus.FAILED, scores=())))
    await samples.write(source, run.id, entries)
    source.artifacts.add(run.id, "log", b"log", content_type="text/plain")
    source.artifacts.add(run.id, "picture", b"picture", content_type="image/png", episode_id=long.id)
    run = source.runs.get(run.id)
    run.status = RunStatus.FINISHED
    source.runs.save(run)
    source.leases.release(run.id, source.leases.owner())
    return source.runs.get(run.id)


def copy(source: Store, target: Store, run: Run) -> int:
    whole = msgspec.structs.replace(source.runs.get(run.id))
    return target.bundles.insert(
        whole, source.bundles.entries(run.id), source.blobs.of_run(run.id), source.artifacts.of_run(run.id)
    )


def contents(store: Store, run_id: str) -> list[object]:
    episodes = store.episodes.list(run_id, limit=1000).items
    chunks = [list(store.traces.chunks(episode.id)) for episode in episodes]
    return [store.runs.get(run_id), episodes, chunks, list(store.blobs.of_run(run_id)), store.artifacts.of_run(run_id)]


def test_a_copied_run_is_equal_in_everything(source: Store, store: Store, run: Run) -> None:
    assert copy(source, store, run) == 13

    assert contents(store, run.id) == contents(source, run.id)


def test_a_long_trace_is_handed_out_in_pieces(source: Store, run: Run) -> None:
    entries = list(source.bundles.entries(run.id))

    assert [len(entry.chunks) for entry in entries[:4]] == [8, 8, 4, 1]
    assert len({entry.episode.id for entry in entries}) == 13


def test_a_trace_may_come_in_any_number_of_pieces(store: Store, samples: "Samples") -> None:
    run = samples.run()
    episode = samples.episode(run.id, events=480)

    assert store.bundles.insert(run, (Entry(episode, [samples.chunk(seq, seq * 4)]) for seq in range(120))) == 1

    assert [event.seq for event in store.traces.events(episode.id)] == list(range(480))


def test_copying_again_changes_nothing(source: Store, store: Store, run: Run) -> None:
    copy(source, store, run)

    assert copy(source, store, run) == 0

    assert contents(store, run.id) == contents(source, run.id)


async def test_a_later_copy_brings_what_was_missing(source: Store, store: Store, samples: "Samples", run: Run) -> None:
    copy(source, store, run)
    source.leases.take(run.id, source.leases.owner())
    await samples.write(source, run.id, [samples.entry(run.id, index) for index in range(13, 17)])
    source.leases.release(run.id, source.leases.owner())
    changed = source.runs.get(run.id)
    changed.error = "later"
    source.runs.save(changed)

    assert copy(source, store, run) == 4

    assert contents(store, run.id) == contents(source, run.id)


async def went_on(place: Store, samples: "Samples", run: Run, *indexes: int) -> None:
    """Add finished episodes to a stored run."""
    place.leases.take(run.id, place.leases.owner())
    await samples.write(place, run.id, [samples.entry(run.id, index) for index in indexes])
    place.leases.release(run.id, place.leases.owner())


async def test_a_later_copy_that_was_scored_otherwise_is_refused(
    source: Store, store: Store, samples: "Samples", run: Run
) -> None:
    copy(source, store, run)
    before = contents(store, run.id)
    first, *_ = source.episodes.list(run.id).items
    source.episodes.save_scores(run.id, [(first.id, [Score("accuracy", 0.0)])])
    await went_on(source, samples, run, 13)

    with pytest.raises(UsageError, match=f"episode 0 of run {run.id} is scored here in another way"):
        copy(source, store, run)

    assert contents(store, run.id) == before


async def test_a_later_copy_brings_the_terms_that_its_numbers_are_measured_by(
    source: Store, store: Store, samples: "Samples", run: Run
) -> None:
    copy(source, store, run)
    await went_on(source, samples, run, 13)
    later = source.runs.get(run.id)
    later.info, later.spec = {"id": "words again"}, msgspec.structs.replace(later.spec, name="later")
    source.runs.save(later, terms=True)

    copy(source, store, run)

    assert contents(store, run.id) == contents(source, run.id)


@pytest.mark.parametrize("here", [1, 2, 3])
async def test_copies_that_each_have_episodes_of_their_own_are_not_put_together(
    source: Store, store: Store, samples: "Samples", run: Run, here: int
) -> None:
    copy(source, store, run)
    for place, indexes in ((store, range(13, 13 + here)), (source, range(20, 22))):
        await went_on(place, samples, run, *indexes)
    before = contents(store, run.id)

    with pytest.raises(UsageError, match="each with episodes that the other lacks"):
        copy(source, store, run)

    assert contents(store, run.id) == before


async def test_an_older_copy_takes_nothing_back(source: Store, store: Store, samples: "Samples", run: Run) -> None:
    copy(source, store, run)
    store.leases.take(run.id, store.leases.owner())
    await samples.write(store, run.id, [samples.entry(run.id, 13)])
    newer = store.runs.get(run.id)
    newer.error = "newer"
    store.runs.save(newer)
    store.leases.release(run.id, store.leases.owner())

    assert copy(source, store, run) == 0

    assert store.runs.get(run.id).counts.done == 14
    assert store.runs.get(run.id).error == "newer"


async def test_a_bundle_of_a_run_that_went_on_in_two_places_is_refused(
    source: Store, store: Store, samples: "Samples", run: Run
) -> None:
    copy(source, store, run)
    again = samples.entry(run.id, 5)
    with pytest.raises(UsageError, match="the two are no longer one run"):
        store.bundles.insert(source.runs.get(run.id), [again])
    with pytest.raises(UnknownName):
        store.episodes.get(again.episode.id)


def test_a_bundle_that_breaks_off_leaves_nothing(source: Store, store: Store, run: Run) -> None:
    def broken() -> Iterator[Entry]:
        yield from list(source.bundles.entries(run.id))[:-1]
        raise ValueError("the file is cut")

    with pytest.raises(ValueError, match="the file is cut"):
        store.bundles.insert(run, broken(), source.blobs.of_run(run.id))

    assert store.runs.list().items == ()
    with pytest.raises(UnknownName):
        store.blobs.get(BLOB.digest)


def test_a_run_that_is_worked_on_here_is_not_changed(source: Store, store: Store, run: Run) -> None:
    copy(source, store, run)
    store.leases.take(run.id, store.leases.owner())

    with pytest.raises(RunLeased):
        copy(source, store, run)
    store.leases.release(run.id, store.leases.owner())


def test_a_copy_is_held_by_nobody(source: Store, store: Store, run: Run) -> None:
    source.leases.take(run.id, source.leases.owner())

    copy(source, store, run)
    source.leases.release(run.id, source.leases.owner())

    assert store.runs.get(run.id).holder is None
    store.leases.take(run.id, store.leases.owner())


def test_another_experiment_of_that_id_is_refused(source: Store, store: Store, run: Run) -> None:
    copy(source, store, run)

    with pytest.raises(UsageError, match=f"run {run.id} exists here as another experiment"):
        store.bundles.insert(msgspec.structs.replace(run, signature="0" * 32), [])


async def test_leftovers_of_an_interrupted_copy_are_replaced(
    source: Store, store: Store, samples: "Samples", run: Run
) -> None:
    early = samples.episode(run.id, 70, status=EpisodeStatus.RUNNING, scores=(), events=0)
    store.bundles.insert(msgspec.structs.replace(run), [Entry(early, [samples.chunk()])])
    late = msgspec.structs.replace(early, status=EpisodeStatus.COMPLETED, events=8)

    assert store.bundles.insert(run, [Entry(late, [samples.chunk(), samples.chunk(1, 4)])]) == 1

    assert store.episodes.get(late.id) == late
    assert [event.seq for event in store.traces.events(late.id)] == list(range(8))
