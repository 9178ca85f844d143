"""Scores of a list of episodes as the original computes them: only one number per metric.

Runs have more: intervals, and counts of missing values (see `mesocosm run show`).
"""

import logging
from collections.abc import Sequence

from bench_common.core.run import Episode
from bench_common.core.scoring import MetricDef, ScoringConfig
from mesocosm.environments.scoring import number
from mesocosm.stats import aggregate

_SCOREABLE = ("completed", "truncated", "timeout")

_log = logging.getLogger(__name__)


def compute_scores(scoring: ScoringConfig, episodes: Sequence[Episode]) -> dict[str, float]:
    """Return the value of every metric by name; the last metric of a name counts."""
    return {metric.name: compute_metric(metric, episodes) for metric in scoring.metrics}


def compute_metric(metric: MetricDef, episodes: Sequence[Episode]) -> float:
    """Return the metric over completed, truncated and timed-out episodes; 0.0 if none of them has a value.

    A field's value is a finite number, a numeric text, a boolean, or true, false, yes, no as text in any case. Episodes
    without such a value are left out, and their number is logged.
    """
    scoreable = [episode for episode in episodes if episode.status in _SCOREABLE]
    values = [value for episode in scoreable if (value := _value(metric, episode)) is not None]
    if len(values) < len(scoreable):
        _log.warning(
            "metric %s: %d of %d have no usable value", metric.name, len(scoreable) - len(values), len(scoreable)
        )
    return aggregate(metric.aggregation, values, threshold=metric.pass_threshold).value if values else 0.0


def _value(metric: MetricDef, episode: Episode) -> float | None:
    if metric.type == "episode_reward":
        return number(episode.total_reward)
    if metric.type == "terminal_field" and metric.field:
        return number(episode.terminal_info.get(metric.field))
    return None
