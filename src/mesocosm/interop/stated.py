"""Numbers of a run that was read from a file."""

from collections.abc import Sequence

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.run import Counts
from mesocosm.core.score import MetricResult


def counts_of(outcomes: Sequence[EpisodeStatus], planned: int) -> Counts:
    """Return the number of episodes by their status."""
    return Counts(
        planned=planned,
        completed=outcomes.count(EpisodeStatus.COMPLETED),
        truncated=outcomes.count(EpisodeStatus.TRUNCATED),
        timeout=outcomes.count(EpisodeStatus.TIMEOUT),
        failed=outcomes.count(EpisodeStatus.FAILED),
    )


def stated_metric(
    name: str, value: float, episodes: int, *, primary: bool, higher_is_better: bool = True
) -> MetricResult:
    """Return a metric whose value a file states, without an interval."""
    return MetricResult(
        name,
        "imported",
        float(value),
        None,
        None,
        "as imported",
        episodes,
        episodes,
        episodes,
        higher_is_better=higher_is_better,
        primary=primary,
    )
