"""Finished episodes as results need them."""

from typing import TYPE_CHECKING, Any

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.ports import ResultRow
from mesocosm.core.score import Score
from mesocosm.store import Store

if TYPE_CHECKING:
    from tests.store.conftest import Samples

INFO = {"metrics": [{"name": "reward", "score": "reward", "primary": True}]}
FAILED = Failure(Cause.WORKFLOW_FAILED, Boundary.AGENT, "raised")


def told(row: ResultRow) -> tuple[object, ...]:
    return (row.score, row.outcome, row.failure, row.missing, row.duration, row.labels)


async def test_every_finished_episode_is_told_in_short_in_the_order_of_the_plan(
    store: Store, samples: "Samples"
) -> None:
    run = samples.held(store, info=INFO)
    given: list[dict[str, Any]] = [
        {"scores": (Score("reward", 0.5), Score("other", missing=Cause.VALUE_MISSING)), "labels": {"level": "5"}},
        {"scores": (Score("reward", worst=True),), "status": EpisodeStatus.FAILED, "failure": FAILED},
        {"scores": (Score("reward", missing=Cause.GRADER_ERROR),)},
        {"scores": (Score("reward", missing=Cause.SKIPPED),), "ended_at": None},
        {"status": EpisodeStatus.RUNNING, "scores": ()},
    ]
    entries = [samples.entry(run.id, number, **fields) for number, fields in enumerate(given)]
    await samples.write(store, run.id, list(reversed(entries)))

    assert [told(row) for row in store.episodes.result_rows(run.id, "reward")] == [
        (0.5, "scored", None, None, 1.0, '{"level":"5"}'),
        (None, "worst", "workflow_failed", None, 1.0, None),
        (None, "missing", None, "grader_error", 1.0, None),
        (None, "skipped", None, None, None, None),
    ]


async def test_without_a_named_score_the_only_one_tells_why_it_is_missing(store: Store, samples: "Samples") -> None:
    run = samples.held(store)
    await samples.write(store, run.id, [samples.entry(run.id, 0, scores=(Score("any", missing=Cause.UNVERIFIED),))])

    (row,) = store.episodes.result_rows(run.id, "")

    assert (row.outcome, row.missing) == ("missing", "unverified")
