"""What the tasks of lm-evaluation-harness score, and what becomes a number of the run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import finite

NONE = "none"
"""The filter of tasks that name none."""
GENERATED = "acc_generated"
"""The metric of choices that are asked with letters."""
_MEANS = frozenset({"mean", "nanmean"})
_RATES = frozenset({"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "em", GENERATED})
"""Metrics that are between 0 and 1 for each document."""
_LEAST = {"perplexity": 1.0, "weighted_perplexity": 1.0, "bits_per_byte": 0.0}
"""What aggregations cannot fall below."""
_PAIRS = frozenset({"f1_score", "matthews_corrcoef"})
"""Aggregations of pairs of what is right and what was said."""


@dataclass(frozen=True)
class TaskValue:
    """A value that a task gives for each document, under one filter.

    `whole` makes the number of all documents from the values; None for a plain mean. `better`: whether higher is, None
    if the task does not say.
    """

    metric: str
    filter: str = NONE
    whole: Callable[[Sequence[Any]], Any] | None = None
    better: bool | None = None

    @property
    def key(self) -> str:
        """Its name as the harness writes it, without the filter where there is none."""
        return self.metric if self.filter == NONE else f"{self.metric},{self.filter}"

    @property
    def name(self) -> str:
        """The name of the score of one document.

        Where the number of the run is no mean of the documents, that of one document has another name: what their
        function makes of it alone, or, of a pair, whether both are equal.
        """
        if self.whole is None:
            return self.key
        more = "agreement" if self._paired else "document"
        return f"{self.metric}.{more}" if self.filter == NONE else f"{self.metric}.{more},{self.filter}"

    def number(self, given: Any) -> float | None:
        """Return the score of a document with this value, None if it has no number."""
        if self.whole is None:
            return finite(given)
        try:
            if self._paired:
                right, said = given
                return float(said in right if isinstance(right, list | tuple) else said == right)
            return finite(self.whole([given]))
        except Exception:  # noqa: BLE001 -- foreign code, of which nothing says that one document is enough
            return None

    def metric_of(self, prefix: str, where: Mapping[str, str]) -> dict[str, Any]:
        """Return the metric of these scores: their mean, over the tasks `where`."""
        least = None if self.whole is None else _LEAST.get(getattr(self.whole, "__name__", ""))
        rate = self._paired or (self.whole is None and self.metric in _RATES)
        found: dict[str, Any] = {"name": prefix + self.name, "score": prefix + self.name, "where": dict(where)}
        found |= {"low": 0.0, "high": 1.0} if rate else {"low": least} if least is not None else {}
        better = True if self._paired else self.better
        return found | ({"directed": False} if better is None else {"higher_is_better": better})

    @property
    def _paired(self) -> bool:
        return getattr(self.whole, "__name__", "") in _PAIRS


def values_of(task: Any) -> list[TaskValue]:
    """Return the values that a task declares: its metrics in their order, each under all filters."""
    better, filters = task.higher_is_better(), [one.name for one in task._filters]
    declared = [(metric, whole) for metric, whole in task.aggregation().items() if metric != "bypass"]
    return [
        TaskValue(metric, name, whole_of(whole), better.get(metric)) for metric, whole in declared for name in filters
    ]


def whole_of(aggregation: Any) -> Callable[[Sequence[Any]], Any] | None:
    """Return an aggregation if it is no mean."""
    return None if aggregation is None or getattr(aggregation, "__name__", "") in _MEANS else aggregation


def group_values(group: Any, members: Iterable[Sequence[TaskValue]]) -> list[TaskValue]:
    """Return the values whose mean over all documents of its tasks is what a group reports."""
    found: dict[str, TaskValue] = {}
    values = [value for one in members for value in one]
    for wanted in group.aggregate_metric_list or ():
        if callable(wanted.aggregation) or not wanted.weight_by_size:
            continue
        named = [one for one in values if one.metric == wanted.metric]
        chosen = [one for one in named if wanted.filter_list is None or one.filter in wanted.filter_list]
        if all(one.whole is None for one in chosen):
            found |= {one.key: one for one in chosen if one.key not in found}
    return list(found.values())


@dataclass(frozen=True)
class WholeValue:
    """A number that is made of all documents at once: of a task, or of the tasks of a group by their own numbers."""

    name: str
    value: TaskValue
    where: Mapping[str, str]
    tasks: tuple[str, ...]
    weighted: bool = False
    combine: Callable[[Sequence[Any]], Any] | None = None

    def number(self, values: Mapping[str, Sequence[Any]], sizes: Mapping[str, int]) -> dict[str, Any]:
        """Return the number as core.score.WholeNumber, given the values of the documents of each task."""
        known = [task for task in self.tasks if values.get(task)]
        count = sum(len(values[task]) for task in known)
        found: dict[str, Any] = {"name": self.name, "value": None, "count": count, "where": dict(self.where)}
        found |= {"directed": False} if self.value.better is None else {"higher_is_better": self.value.better}
        try:
            numbers = [_aggregated(self.value, values[task]) for task in known]
            if numbers:
                found["value"] = finite(self._combined(numbers, [sizes[task] for task in known]))
        except Exception:  # noqa: BLE001 -- foreign code; a number that it cannot make is missing
            found["value"] = None
        return found

    def _combined(self, numbers: Sequence[float], sizes: Sequence[int]) -> Any:
        if self.combine is not None:
            return self.combine(numbers)
        weights = sizes if self.weighted else [1] * len(sizes)
        return sum(number * weight for number, weight in zip(numbers, weights, strict=True)) / sum(weights)


def _aggregated(value: TaskValue, items: Sequence[Any]) -> float:
    if value.whole is None:
        return float(sum(items) / len(items))
    return float(value.whole([tuple(item) if isinstance(item, list) else item for item in items]))


def whole_values(
    tasks: Mapping[str, Sequence[TaskValue]], groups: Mapping[str, Any], members: Mapping[str, Sequence[str]]
) -> list[WholeValue]:
    """Return the numbers of a run that are no means over its documents."""
    found = []
    for group, one in groups.items():
        for wanted in one.aggregate_metric_list or ():
            own = [value for name in members[group] for value in tasks[name] if value.metric == wanted.metric]
            chosen = [value for value in own if wanted.filter_list is None or value.filter in wanted.filter_list]
            combine = wanted.aggregation if callable(wanted.aggregation) else None
            if combine is None and wanted.weight_by_size and all(value.whole is None for value in chosen):
                continue
            for value in {value.key: value for value in chosen}.values():
                having = tuple(name for name in members[group] if value.key in {one.key for one in tasks[name]})
                where = {"task": having[0]} if len(having) == 1 else {f"group {group}": group}
                found.append(
                    WholeValue(f"{group}/{value.key}", value, where, having, bool(wanted.weight_by_size), combine)
                )
    for name, values in tasks.items():
        prefix, where = (f"{name}/", {"task": name}) if len(tasks) > 1 else ("", {})
        found += [WholeValue(prefix + one.key, one, where, (name,)) for one in values if one.whole is not None]
    return found


def score_of(value: TaskValue, given: Mapping[str, Any], broken: str) -> dict[str, Any]:
    """Return the score of a document without its name: of the value in `given`, unless it could not be computed."""
    if broken:
        return {"missing": "grader_error", "explanation": broken}
    if value.key not in given:
        # The harness leaves such a document out of the metric, too.
        return {"missing": "skipped", "explanation": f"the task gives no {value.metric} for this document"}
    number = value.number(given[value.key])
    if number is None:
        return {"missing": "value_unusable", "explanation": f"{value.metric} is {given[value.key]!r:.200}"}
    return {"value": number}
