"""Labels of tasks stand beside their episodes, whatever way these come in."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from mesocosm.core.entry import Entry
from mesocosm.core.episode import EpisodeStatus
from mesocosm.store import Store, open_store
from mesocosm.store.filters import EpisodeFilter

if TYPE_CHECKING:
    from tests.store.conftest import Samples

LABELS = {"subject": "Algèbre\u0000", "level": "5"}
STORED = {"subject": "Algèbre\ufffd", "level": "5"}


async def test_labels_come_back_as_they_were(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, 0, labels=LABELS), samples.entry(run.id, 1)])

    first, second = store.episodes.list(run.id).items

    assert (first.labels, second.labels) == (STORED, {})
    assert store.episodes.get(first.id).labels == STORED
    assert [item.labels for item in store.episodes.search(run.id).items] == [STORED, {}]


async def test_an_episode_without_labels_takes_no_room_for_them(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, 0)])

    with store.database.once() as connection:
        assert connection.scalar(text("SELECT labels FROM episodes")) is None


async def test_an_episode_that_is_written_twice_keeps_its_labels(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    begun = samples.entry(run.id, 0, status=EpisodeStatus.RUNNING, ended_at=None, scores=(), labels={"level": "5"})
    journal = store.journal(run.id, store.leases.owner(), lambda _: None, lambda: None)
    journal.write(begun)
    await journal.drain()
    journal.write(Entry(samples.episode(run.id, 0, id=begun.episode.id, labels={"level": "5"})))
    await journal.close()

    (episode,) = store.episodes.list(run.id).items

    assert (episode.status, episode.labels) == (EpisodeStatus.COMPLETED, {"level": "5"})


async def test_a_bundle_keeps_labels(store: Store, samples: "Samples", tmp_path: Path) -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, 0, labels={"level": "5"}), samples.entry(run.id, 1)])
    store.leases.release(run.id, store.leases.owner())
    other = open_store(tmp_path / "other.sqlite")

    other.bundles.insert(store.runs.get(run.id), store.bundles.entries(run.id))

    assert [episode.labels for episode in other.episodes.list(run.id).items] == [{"level": "5"}, {}]
    other.close()


async def test_episodes_are_chosen_by_one_label(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    labels: tuple[dict[str, str], ...] = (
        {"level": "hard", "kind": "plus"},
        {"level": "harder"},
        {"kind": "hard", "sublevel": "hard"},
        {"kind": 'x,"level":"hard', "level": "Hard"},
        {"a=b": "c=d"},
        {},
    )
    await samples.write(store, run.id, [samples.entry(run.id, place, labels=one) for place, one in enumerate(labels)])

    def chosen(label: str) -> list[int]:
        wanted = EpisodeFilter(label=label)
        found = [item.index for item in store.episodes.search(run.id, wanted).items]
        assert store.episodes.count(run.id, wanted) == (len(found), True)
        return found

    assert chosen("level=hard") == [0]
    assert chosen("kind=plus") == [0]
    assert chosen("a=b=c=d") == [4]
    assert chosen("level=") == []
    assert chosen("hard") == []


async def test_episodes_are_chosen_by_trial_from_1_unless_they_have_a_label_of_this_name(
    store: Store, samples: "Samples"
) -> None:
    run = samples.held(store)
    given: list[dict[str, Any]] = [{}, {"trial": 1}, {"trial": 1, "labels": {"trial": "1"}}]
    await samples.write(store, run.id, [samples.entry(run.id, place, **one) for place, one in enumerate(given)])

    def chosen(label: str) -> list[int]:
        return [item.index for item in store.episodes.search(run.id, EpisodeFilter(label=label)).items]

    assert chosen("trial=1") == [0, 2]
    assert chosen("trial=2") == [1]
