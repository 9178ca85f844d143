"""The scoring definition of an environment: metrics over episodes, and which one is primary."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field

from mesocosm.core.failure import Problem
from mesocosm.core.reading import format_value, join, nearest, no_such_word, not_an_object, read_fields, unknown_keys
from mesocosm.core.score import Metric
from mesocosm.core.vow import RewardSpec

AGGREGATIONS = ("mean", "median", "max", "min", "sum", "pass_rate")
SOURCES = ("episode_reward", "terminal_field", "trajectory_judge", "human_judge")
_JUDGED = frozenset({"trajectory_judge", "human_judge"})


class MetricDef(BaseModel):
    """One metric: the source of an episode's value, and how values are aggregated.

    `pass_rate` is the share of values strictly above `pass_threshold`.
    """

    name: str = Field(description="a name of your choice, such as success_rate")
    type: Literal["episode_reward", "terminal_field", "trajectory_judge", "human_judge"] = Field(
        description=f"one of {', '.join(SOURCES)}"
    )
    aggregation: Literal["mean", "median", "max", "min", "sum", "pass_rate"] = Field(
        description=f"one of {', '.join(AGGREGATIONS)}"
    )
    field: str | None = Field(default=None, description="the name of a key of the last step's `info`")
    judge_config: dict[str, Any] | None = Field(default=None, description="an object, or null")
    pass_threshold: float = Field(default=0.0, description="a number")
    higher_is_better: bool | None = Field(default=None, description="true, false, or null where it is not known")

    @property
    def judged(self) -> bool:
        """Whether the value needs a judge. Such metrics are accepted, but their scores are missing."""
        return self.type in _JUDGED


class ScoringConfig(BaseModel):
    """The metrics of an environment. `higher_is_better` is the direction of the primary metric."""

    primary_metric: str = Field(description="the name of one of the metrics")
    higher_is_better: bool = Field(default=True, description="true or false")
    metrics: list[MetricDef] = Field(description="a list of objects with `name`, `type` and `aggregation`")

    def metric(self, name: str) -> MetricDef | None:
        """Return the metric called `name`, the last one of several; None if there is none."""
        return next((metric for metric in reversed(self.metrics) if metric.name == name), None)

    def metrics_for_core(self, reward: RewardSpec) -> tuple[Metric, ...]:
        """Return the metrics as the engine computes them; the score of a metric has the metric's name.

        Values are bounded by the declared reward range, and by 0 and 1 for the pass rate of a terminal field. A metric
        of the same value as the primary one shares its direction, unless it declares its own. More reward and more
        passes are better; metrics of any other value are not `directed`.
        """
        distinct = {metric.name: metric for metric in self.metrics}
        return tuple(self._for_core(metric, reward) for metric in distinct.values())

    def _for_core(self, metric: MetricDef, reward: RewardSpec) -> Metric:
        low = high = None
        if metric.type == "episode_reward":
            low, high = reward.low, reward.high
        elif metric.type == "terminal_field" and metric.aggregation == "pass_rate":
            low, high = 0.0, 1.0
        primary = self.metric(self.primary_metric)
        alike = primary is not None and (metric.type, metric.field) == (primary.type, primary.field)
        declared = metric.higher_is_better
        if declared is None and alike:
            declared = self.higher_is_better
        evident = metric.type == "episode_reward" or metric.aggregation == "pass_rate"
        return Metric(
            name=metric.name,
            score=metric.name,
            aggregation=metric.aggregation,
            threshold=metric.pass_threshold,
            higher_is_better=True if declared is None else declared,
            directed=evident or declared is not None,
            low=low,
            high=high,
            primary=metric.name == self.primary_metric,
        )


_SYNONYMS = {
    **dict.fromkeys(("average", "avg", "arithmetic_mean"), "mean"),
    **dict.fromkeys(("accuracy", "rate", "success_rate", "win_rate", "pass", "share", "proportion"), "pass_rate"),
    **dict.fromkeys(("total", "add"), "sum"),
    **dict.fromkeys(("best", "maximum"), "max"),
    **dict.fromkeys(("worst", "minimum"), "min"),
}
_WORDS = {
    **dict.fromkeys(("source", "kind"), "type"),
    **dict.fromkeys(("threshold", "pass_at"), "pass_threshold"),
    **dict.fromkeys(("key", "info_field", "terminal_field"), "field"),
    **dict.fromkeys(("id", "metric"), "name"),
    **dict.fromkeys(("agg", "reduce"), "aggregation"),
}
_HARMLESS = frozenset({"description", "notes", "comment", "title", "label", "unit", "ranking"})
_METRIC = {"name": "unnamed", "type": "episode_reward", "aggregation": "mean"}


def read_scoring(raw: object, path: str = "scoring") -> tuple[ScoringConfig | None, list[Problem]]:
    """Read a scoring definition from JSON. Return it with all errors and warnings; it is None if there is an error.

    Accept any JSON value and never raise.
    """
    if isinstance(raw, ScoringConfig):
        raw = raw.model_dump(mode="json", exclude_none=True)
    if not isinstance(raw, Mapping):
        return None, [not_an_object(raw, path, "the scoring")]
    problems: list[Problem] = []
    parts = dict(raw)
    if isinstance(raw.get("metrics"), list):
        parts["metrics"] = _metrics(raw["metrics"], join(path, "metrics"), problems)
    reading = read_fields(ScoringConfig, parts, path, {"primary_metric": "", "metrics": []})
    problems += reading.problems
    problems += unknown_keys(
        raw, ScoringConfig.model_fields, path, harmless=_HARMLESS, renamed={"primary": "primary_metric"}
    )
    if reading.value is not None and not any(problem.path.endswith(".name") for problem in problems):
        problems += _primary(reading.value, path)
    broken = any(problem.severity == "error" for problem in problems)
    return (None if broken else reading.value), problems


def _primary(scoring: ScoringConfig, path: str) -> Iterator[Problem]:
    names = [metric.name for metric in scoring.metrics]
    if not names:
        yield Problem(join(path, "metrics"), "is empty", "define at least the primary metric")
    elif scoring.primary_metric not in names:
        near = nearest(scoring.primary_metric, names)
        fix = f"did you mean {near!r}?" if near else f"choose one of {', '.join(names)}"
        message = f"{format_value(scoring.primary_metric)} is the name of no metric"
        yield Problem(join(path, "primary_metric"), message, fix)


def _metrics(raw: list[Any], path: str, problems: list[Problem]) -> list[MetricDef]:
    found: list[MetricDef] = []
    for index, given in enumerate(raw):
        place = join(path, index)
        item = given.model_dump(exclude_none=True) if isinstance(given, MetricDef) else given
        if not isinstance(item, Mapping):
            problems.append(not_an_object(item, place, "the metric"))
            continue
        reading = read_fields(MetricDef, item, place, _METRIC)
        problems += [_with_synonym(problem, item, place) for problem in reading.problems]
        problems += unknown_keys(item, MetricDef.model_fields, place, harmless=_HARMLESS, renamed=_WORDS)
        faulty = {problem.path for problem in reading.problems}
        problems += [rule for rule in _rules(reading.partial, place) if rule.path not in faulty]
        if reading.value is not None and any(other.name == reading.value.name for other in found):
            message = f"{reading.value.name!r} is the name of an earlier metric too; this one replaces it"
            problems.append(Problem(join(place, "name"), message, "give each metric its own name", "warning"))
        found.append(reading.partial)
    return found


def _with_synonym(problem: Problem, item: Mapping[str, Any], path: str) -> Problem:
    """Replace the fix for an unknown aggregation by the synonym's meaning: `average` is `mean`, not `max`."""
    if problem.path != join(path, "aggregation") or not isinstance(item.get("aggregation"), str):
        return problem
    return no_such_word(problem.path, item["aggregation"], list(AGGREGATIONS), _SYNONYMS)


def _rules(metric: MetricDef, path: str) -> Iterator[Problem]:
    if not metric.name.strip():
        yield Problem(join(path, "name"), "must not be empty", "name the metric")
    if metric.type == "terminal_field" and not (metric.field or "").strip():
        message = "is required for a terminal_field metric: it names the value to read"
        yield Problem(join(path, "field"), message, "name a key that the last step's `info` always has")
    if metric.judged:
        message = f"{metric.type} metrics are accepted but not computed: their scores will be missing"
        yield Problem(join(path, "type"), message, "use episode_reward or terminal_field", "warning")
