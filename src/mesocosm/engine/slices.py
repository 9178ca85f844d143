"""Results of a run split by one label of its tasks, or by trial."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from mesocosm.core.failure import Cause, UnknownName
from mesocosm.core.ports import ResultRow, ScoreRow
from mesocosm.core.run import Run
from mesocosm.core.score import Metric, MetricResult
from mesocosm.engine.metrics import declared_worst, measure
from mesocosm.engine.results import TRIAL, VALUES, Samples, declared_metrics, pass_metric
from mesocosm.stats import usable

SHOWN = VALUES
"""Maximum values of a label to show: those with the most samples."""

_labels = msgspec.json.Decoder(dict[str, str])
_SCORED, _WORST, _MISSING, _SKIPPED = range(4)


@dataclass(frozen=True, slots=True)
class Slice:
    """The samples with one value of a label; `value` is None for samples without the label.

    `reward` and `pass_rate` are computed as for the whole run: failures of the agent count as the worst value of the
    run. `failed` is the number of samples without a reward; the `missing` ones among them have no value at all.
    `skipped` ones are only counted in `samples`.
    """

    value: str | None
    samples: int
    reward: MetricResult
    pass_rate: MetricResult | None
    failed: int
    missing: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices by one label, those with the most samples first, and how many `more` values there are."""

    by: str
    slices: tuple[Slice, ...]
    more: int


@dataclass(slots=True)
class _Seen:
    """The samples of a run as arrays: label value, cluster, result and reward of each."""

    values: dict[str | None, int] = field(default_factory=dict)
    clusters: dict[str, int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    of: "array[int]" = field(default_factory=lambda: array("q"))
    cluster: "array[int]" = field(default_factory=lambda: array("q"))
    became: "array[int]" = field(default_factory=lambda: array("b"))
    reward: "array[float]" = field(default_factory=lambda: array("d"))


def slices(run: Run, episodes: Samples, by: str, *, only: str | None = None) -> Slices:
    """Return the results for each value of the label `by`, the 100 with the most samples, or only for the value `only`.

    `by` may be `trial`, which counts from 1. Intervals are clustered by task. Raises UnknownName if no stored sample
    has the label, or the run has no primary metric.
    """
    primary = next((metric for metric in declared_metrics(run) if metric.primary), None)
    if primary is None:
        raise UnknownName(f"run {run.id} declares no primary metric, so there is no score to take apart")
    seen = _read(episodes.result_rows(run.id, primary.score), by)
    if by not in seen.names:
        known = ", ".join(sorted(seen.names)[:20])
        there = f"there are: {known}" if known else "its tasks have none"
        if not seen.of:
            raise UnknownName(
                f"no sample of run {run.name or run.id} is finished yet, so there is nothing to take apart"
            )
        raise UnknownName(f"no sample of run {run.name or run.id} has a label {by!r}; {there}")
    graded = array("d", (value for value, became in zip(seen.reward, seen.became, strict=True) if became == _SCORED))
    rate = pass_metric(run, graded)
    worst = _worst(primary, graded)
    counts = Counter(seen.of)
    words = list(seen.values)
    asked = counts if only is None else [place for place in counts if words[place] == only]
    shown = sorted(asked, key=lambda place: (-counts[place], words[place] is None, words[place] or ""))[:SHOWN]
    members: dict[int, array[int]] = {place: array("q") for place in shown}
    for number, place in enumerate(seen.of):
        if place in members:
            members[place].append(number)
    found = tuple(_slice(seen, words[place], members[place], primary, rate, worst) for place in shown)
    return Slices(by, found, len(asked) - len(shown))


def _read(rows: Iterable[ResultRow], by: str) -> _Seen:
    seen = _Seen()
    values, clusters = seen.values, seen.clusters
    for task, cluster, score, outcome, _, _, _, labels, trial in rows:
        named = _labels.decode(labels) if labels else {}
        if by == TRIAL:
            named.setdefault(TRIAL, str(trial + 1))
        if named.keys() - seen.names and len(seen.names) < 1_000:
            seen.names.update(named)
        if by in named:
            seen.names.add(by)
        value = named.get(by)
        seen.of.append(values.setdefault(value, len(values)))
        seen.cluster.append(clusters.setdefault(cluster or task, len(clusters)))
        if score is not None and usable(score):
            seen.became.append(_SCORED)
            seen.reward.append(score)
            continue
        seen.reward.append(0.0)
        if outcome == "worst":
            seen.became.append(_WORST)
        else:
            seen.became.append(_SKIPPED if outcome == "skipped" else _MISSING)
    return seen


def _worst(metric: Metric, graded: "array[float]") -> float | None:
    """Return the value of an agent's failure in the whole run: a slice alone may not contain the worst value."""
    if not metric.directed:
        return None
    declared = declared_worst(metric)
    if metric.aggregation == "pass_rate":
        return declared
    known = [*graded] if declared is None else [declared, *graded]
    if not known:
        return None
    return min(known) if metric.higher_is_better else max(known)


def _slice(
    seen: _Seen,
    value: str | None,
    members: "array[int]",
    primary: Metric,
    rate: Metric | None,
    worst: float | None,
) -> Slice:
    became = Counter(seen.became[number] for number in members)
    counted = len(members) - became[_SKIPPED]
    (reward,) = measure([primary], _rows(seen, members, primary.score, worst), counted)
    passed = None
    if rate is not None:
        (passed,) = measure([rate], _rows(seen, members, rate.score, declared_worst(rate)), counted)
    missing = became[_MISSING] + (became[_WORST] if worst is None else 0)
    return Slice(value, len(members), reward, passed, became[_WORST] + became[_MISSING], missing, became[_SKIPPED])


def _rows(seen: _Seen, members: "array[int]", name: str, worst: float | None) -> Iterator[ScoreRow]:
    for number in members:
        became = seen.became[number]
        if became == _SKIPPED:
            continue
        value = seen.reward[number] if became == _SCORED else worst if became == _WORST else None
        missing = Cause.VALUE_MISSING if value is None else None
        yield ScoreRow(str(seen.cluster[number]), "", 0, name, value, missing, worst=False)
