"""Samples whose score is missing or left out are found by cause and by outcome; labels are searched."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.score import Score
from mesocosm.store import Store, episode_query
from mesocosm.store.filters import EpisodeFilter

if TYPE_CHECKING:
    from tests.store.conftest import Samples

INFO = {
    "metrics": [
        {"name": "reward", "score": "reward", "primary": True},
        {"name": "pass_rate", "score": "reward", "aggregation": "pass_rate", "threshold": 0.5, "inclusive": True},
    ]
}
FAILED = Failure(Cause.RATE_LIMITED, Boundary.MODEL, "too many")
MADE: list[dict[str, Any]] = [
    {"scores": (Score("reward", 0.25),), "labels": {"subject": "Algebra"}},
    {"scores": (Score("reward", 0.5),), "labels": {"subject": "Number \\ theory"}},
    {"scores": (Score("reward", missing=Cause.GRADER_ERROR),)},
    {"scores": (Score("reward", missing=Cause.SKIPPED),)},
    {"scores": (Score("reward", missing=Cause.RATE_LIMITED),)},
    {"scores": (Score("reward", missing=Cause.RATE_LIMITED),), "status": EpisodeStatus.FAILED, "failure": FAILED},
    {"scores": (Score("reward", worst=True),)},
]


@pytest.fixture(scope="module")
def run_id(shared_store: Store, samples: "Samples") -> str:
    """Return a run with samples of every kind, in this order."""
    run = samples.held(shared_store, info=INFO)
    entries = [samples.entry(run.id, n, **given) for n, given in enumerate(MADE)]
    asyncio.run(samples.write(shared_store, run.id, entries))
    return run.id


@pytest.fixture(params=["few", "many"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the run as one of few episodes, then as one of more than are looked at together."""
    if request.param == "many":
        monkeypatch.setattr(episode_query, "FEW", 0)


@pytest.mark.usefixtures("size")
@pytest.mark.parametrize(
    ("wanted", "indexes"),
    [
        (EpisodeFilter(causes=("grader_error",)), [2]),
        (EpisodeFilter(causes=("skipped",)), [3]),
        (EpisodeFilter(causes=("rate_limited",)), [4, 5]),
        (EpisodeFilter(causes=("grader_error", "rate_limited")), [2, 4, 5]),
        (EpisodeFilter(causes=("workflow_failed",)), []),
        (EpisodeFilter(outcome="missing"), [2, 4, 5]),
        (EpisodeFilter(outcome="skipped"), [3]),
        (EpisodeFilter(outcome="pass"), [1]),
        (EpisodeFilter(outcome="fail"), [0, 6]),
        (EpisodeFilter(text="algebra"), [0]),
        (EpisodeFilter(text="number \\"), [1]),
    ],
)
def test_filters_find_samples(shared_store: Store, run_id: str, wanted: EpisodeFilter, indexes: list[int]) -> None:
    for sort in ("position", "-duration"):
        found = shared_store.episodes.search(run_id, wanted, sort=sort).items
        assert sorted(episode.index for episode in found) == indexes
    assert shared_store.episodes.count(run_id, wanted)[0] == len(indexes)


def test_what_a_grader_left_out_is_not_counted_as_missing(shared_store: Store, run_id: str) -> None:
    assert shared_store.episodes.series(run_id).histogram.n_missing == 3
