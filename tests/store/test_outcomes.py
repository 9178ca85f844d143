"""The episodes of a run by outcome: what its row counts is what a count of all its episodes comes to."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.store.conftest import all_pages

from mesocosm.core.episode import FINISHED, EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.run import RunStatus, ScoreBins
from mesocosm.core.score import Score
from mesocosm.store import Store
from mesocosm.store.writer import Writer

if TYPE_CHECKING:
    from tests.store.conftest import Samples

    from mesocosm.core.entry import Entry
    from mesocosm.core.run import Run

BROKEN = Failure(Cause.RATE_LIMITED, Boundary.MODEL, "too many")
REFUSED = Failure(Cause.REFUSED, Boundary.AGENT, "no")
MADE: list[dict[str, Any]] = [
    {"scores": (Score("reward", 0.25),)},
    {"scores": (Score("reward", 0.5),)},
    {"scores": (Score("reward", 0.75),)},
    {"scores": (Score("reward", missing=Cause.GRADER_ERROR),)},
    {"scores": (Score("reward", missing=Cause.SKIPPED),)},
    {"scores": (Score("reward", missing=Cause.RATE_LIMITED),), "status": EpisodeStatus.FAILED, "failure": BROKEN},
    {"scores": (Score("reward", worst=True),), "status": EpisodeStatus.FAILED, "failure": REFUSED},
    {"scores": (), "status": EpisodeStatus.CANCELLED, "failure": BROKEN},
]


def info(threshold: float) -> dict[str, Any]:
    """Return a description whose primary score passes above a threshold."""
    return {"metrics": [{"name": "reward", "score": "reward", "primary": True, "threshold": threshold}]}


def counted(store: Store, run_id: str, threshold: float) -> tuple[int, int, int]:
    """Count the stored episodes of a run by outcome, one by one."""
    passed = wrong = errors = 0
    for episode in all_pages(store.episodes.list, run_id=run_id):
        score = next((one for one in episode.scores if one.name == "reward"), None)
        if episode.status not in FINISHED or (score and score.missing is Cause.SKIPPED):
            continue
        if score is None or (score.value is None and not score.worst):
            errors += 1
        elif score.value is not None and score.value > threshold:
            passed += 1
        else:
            wrong += 1
    return passed, wrong, errors


def told(store: Store, run_id: str) -> tuple[int, int, int]:
    counts = store.runs.get(run_id).counts
    return counts.passed, counts.not_passed, counts.errors


@pytest.fixture
def run(store: Store, samples: "Samples") -> "Run":
    """Return a run with an episode of every kind."""
    made = samples.held(store, info=info(0.5))
    asyncio.run(samples.write(store, made.id, entries(samples, made.id)))
    return made


def entries(samples: "Samples", run_id: str) -> "list[Entry]":
    return [samples.entry(run_id, n, **given) for n, given in enumerate(MADE)]


def test_a_journal_counts_episodes_by_outcome(store: Store, run: "Run") -> None:
    assert told(store, run.id) == counted(store, run.id, 0.5) == (1, 3, 2)


def test_episodes_written_twice_count_once(store: Store, samples: "Samples") -> None:
    made = samples.held(store, info=info(0.5))
    same = entries(samples, made.id)
    writer = Writer(store.database, made.id, store.leases.owner())
    writer.commit(same)

    writer.commit(same)

    assert told(store, made.id) == counted(store, made.id, 0.5) == (1, 3, 2)


def test_an_episode_that_another_one_replaces_does_not_count(store: Store, samples: "Samples") -> None:
    made = samples.held(store, info=info(0.5))
    writer = Writer(store.database, made.id, store.leases.owner())
    writer.commit([samples.entry(made.id, 0, status=EpisodeStatus.RUNNING, scores=())])

    writer.commit([samples.entry(made.id, 0, **MADE[2])])
    writer.commit([samples.entry(made.id, 0, **MADE[0])])

    assert told(store, made.id) == counted(store, made.id, 0.5) == (1, 0, 0)


def test_an_episode_counts_when_it_is_over(store: Store, samples: "Samples") -> None:
    made = samples.held(store, info=info(0.5))
    writer = Writer(store.database, made.id, store.leases.owner())
    begun = samples.entry(made.id, 0, status=EpisodeStatus.RUNNING, scores=())
    writer.commit([begun])
    assert told(store, made.id) == (0, 0, 0)

    writer.commit([samples.entry(made.id, 0, **MADE[2], id=begun.episode.id)])

    assert told(store, made.id) == counted(store, made.id, 0.5) == (1, 0, 0)


@pytest.mark.parametrize(
    ("name", "left"), [("drop_failed", (1, 3, 1)), ("reset_failed", (1, 3, 1)), ("settle_pending", (1, 3, 3))]
)
def test_episodes_that_are_removed_or_settled_count_as_what_they_became(
    store: Store, run: "Run", name: str, left: tuple[int, int, int]
) -> None:
    getattr(store.episodes, name)(run.id)

    assert told(store, run.id) == left == counted(store, run.id, 0.5)


def test_rescored_episodes_count_by_their_new_scores(store: Store, run: "Run") -> None:
    found = store.episodes.list(run.id).items
    store.episodes.save_scores(run.id, [(found[0].id, (Score("reward", 1.0),)), (found[3].id, (Score("reward", 0.0),))])

    assert told(store, run.id) == counted(store, run.id, 0.5) == (2, 3, 1)


@pytest.mark.parametrize("with_state", [True, False])
def test_another_threshold_counts_anew(store: Store, run: "Run", *, with_state: bool) -> None:
    changed = store.runs.get(run.id)
    changed.info = info(0.2)
    if with_state:
        store.runs.save(changed, terms=True)
    else:
        store.runs.save_terms(changed)

    assert told(store, run.id) == counted(store, run.id, 0.2) == (3, 1, 2)


def test_an_imported_run_counts_what_came_with_it(store: Store, samples: "Samples") -> None:
    made = samples.run(info=info(0.5), status=RunStatus.FINISHED)
    store.bundles.insert(made, entries(samples, made.id)[:-1])

    assert told(store, made.id) == counted(store, made.id, 0.5) == (1, 3, 2)
    assert store.runs.get(made.id).bins is not None


def test_a_run_that_ended_tells_how_its_scores_are_spread(store: Store, run: "Run") -> None:
    run.ended_at = 5.0
    store.runs.save(run)

    bins = ScoreBins(0.0, 1.0, tuple(int(place in {4, 8, 12}) for place in range(16)))
    assert store.runs.get(run.id).bins == bins


def test_scores_of_0_and_1_have_no_spread(store: Store, samples: "Samples") -> None:
    made = samples.held(store, info=info(0.5))
    given = [samples.entry(made.id, n, scores=(Score("reward", float(n % 2)),)) for n in range(3)]
    asyncio.run(samples.write(store, made.id, given))
    made.ended_at = 5.0

    store.runs.save(made)

    assert store.runs.get(made.id).bins is None


def test_new_scores_leave_no_spread_of_the_old_ones(store: Store, run: "Run") -> None:
    run.ended_at = 5.0
    store.runs.save(run)

    store.episodes.save_scores(run.id, [(store.episodes.list(run.id).items[0].id, (Score("reward", 1.0),))])

    assert store.runs.get(run.id).bins is None
