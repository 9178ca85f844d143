"""Compare runs by benchmark, each with the first one of its benchmark, from stored data alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.ports import ScoreRow
from mesocosm.core.reading import nearest
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import Metric, MetricResult
from mesocosm.engine.comparison.differences import Difference, differences
from mesocosm.engine.comparison.pair import (
    ContrastOptions,
    MissingValues,
    PairedContrast,
    Winner,
    contrast,
    pessimistic,
)
from mesocosm.engine.comparison.sample import Sample, Tasks, read_sample
from mesocosm.engine.metrics import PARTS, expected, measure
from mesocosm.stats import holm

FEWEST, MOST = 2, 20
"""Minimum and maximum number of runs to compare at once."""

_GOING_ON = frozenset({RunStatus.PENDING, RunStatus.RUNNING})


Rows = Callable[[str, str], Iterator[ScoreRow]]
"""Yields the scores with a name of a run (by id); may yield other scores too."""


@dataclass(frozen=True, slots=True)
class RunPair:
    """Run `b` compared with the baseline `a`, with Holm's p value; `pessimistic` counts missing values against b."""

    a: str
    b: str
    contrast: PairedContrast
    p_adjusted: float
    winner: Winner
    pessimistic: PairedContrast | None = None


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """Runs of one benchmark, baseline first, in one metric.

    `names` are all metrics they share, `scores` their results.
    """

    runs: tuple[Run, ...]
    metric: Metric | None
    names: tuple[str, ...]
    scores: tuple[MetricResult | None, ...]
    pairs: tuple[RunPair, ...]
    same_content: bool
    note: str


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A comparison of two or more runs."""

    runs: tuple[Run, ...]
    differences: tuple[Difference, ...]
    groups: tuple[ComparedRuns, ...]


def compare(
    get_run: Callable[[str], Run],
    rows: Rows,
    run_ids: Sequence[str],
    metric: str = "",
    *,
    level: float = 0.95,
    pairs: int = 0,
) -> RunComparison:
    """Compare 2 to 20 runs; runs of one benchmark are compared in pairs with the first of them.

    `get_run` and `rows` read runs and scores, for example `store.runs.get` and `store.episodes.score_rows`.

    `metric` is the name of a metric, by default the primary one; a benchmark without it is compared in its primary
    metric, with a note. Every score row is read once. `pairs` is the number of pairs to correct for if these runs are
    only part of them. Raises UsageError for a wrong number of runs or a run given twice, UnknownName for an unknown run
    or metric.
    """
    return compare_runs(rows, chosen(get_run, run_ids), metric, level=level, pairs=pairs)


def compare_runs(
    rows: Rows, runs: Sequence[Run], metric: str = "", *, level: float = 0.95, pairs: int = 0
) -> RunComparison:
    """Compare runs returned by `chosen`, as `compare` does."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.benchmark, []).append(run)
    known = {name for members in groups.values() for name in _common(members)}
    if metric and metric not in known:
        names = ", ".join(sorted(known)) or "none"
        near = nearest(metric, sorted(known))
        hint = f"; did you mean {near!r}?" if near else ""
        raise UnknownName(f"these runs have no metric {metric!r} in common; they have: {names}{hint}")
    together = max(pairs, sum(len(members) - 1 for members in groups.values()))
    found = adjusted([_group(rows, members, metric, level, together) for members in groups.values()])
    return RunComparison(tuple(runs), differences(runs), found)


def adjusted(groups: Sequence[ComparedRuns]) -> tuple[ComparedRuns, ...]:
    """Return groups with Holm's p values over the pairs of all groups, and with the winners according to these."""
    p_values = iter(holm([pair.contrast.found.p_value for group in groups for pair in group.pairs]))
    return tuple(
        replace(group, pairs=tuple(_won(pair, next(p_values), group.metric) for pair in group.pairs))
        for group in groups
    )


def _won(pair: RunPair, p_value: float, metric: Metric | None) -> RunPair:
    higher = metric is None or metric.higher_is_better
    return replace(pair, p_adjusted=p_value, winner=pair.contrast.winner(p_value, higher_is_better=higher))


def chosen(get_run: Callable[[str], Run], run_ids: Sequence[str]) -> tuple[Run, ...]:
    """Return the runs to compare by id or unique prefix. Raises UsageError and UnknownName as `compare` does."""
    if not FEWEST <= len(run_ids) <= MOST:
        raise UsageError(f"{FEWEST} to {MOST} runs can be compared, not {len(run_ids)}")
    runs = tuple(map(get_run, run_ids))
    ids = [run.id for run in runs]
    twice = next((run_id for run_id in ids if ids.count(run_id) > 1), None)
    if twice is not None:
        raise UsageError(f"run {twice} was given twice; a run differs from others only")
    return runs


def metrics_of(run: Run) -> dict[str, Metric]:
    """Return the metrics of a run by name: as declared by its benchmark, else derived from its results."""
    declared = msgspec.convert(run.info.get("metrics", []), tuple[Metric, ...])
    if declared:
        return {metric.name: metric for metric in declared}
    return {
        result.name: Metric(
            result.name,
            result.name,
            result.aggregation,
            higher_is_better=result.higher_is_better,
            primary=result.primary,
            directed=result.directed,
        )
        for result in run.metrics
    }


def _common(runs: Sequence[Run]) -> dict[str, Metric]:
    """Return the metrics that all runs have, as declared by the first one."""
    others = [metrics_of(run) for run in runs[1:]]
    return {name: found for name, found in metrics_of(runs[0]).items() if all(name in other for other in others)}


def _group(rows: Rows, runs: Sequence[Run], wanted: str, level: float, together: int) -> ComparedRuns:
    known = _common(runs)
    primary = next((found for found in known.values() if found.primary), next(iter(known.values()), None))
    metric = known.get(wanted, primary)
    same_content = len({run.rules for run in runs}) == 1
    if metric is None:
        notes = ["these runs have no metric in common"]
        return ComparedRuns(tuple(runs), None, (), (None,) * len(runs), (), same_content, _sentences(notes))
    pairs, notes, scores = _measured(rows, runs, metric, level, together)
    if wanted and metric.name != wanted:
        notes.insert(0, f"there is no metric {wanted} here, so this is {metric.name}")
    if not same_content:
        played = {run.benchmark_digest for run in runs}
        notes.append(
            "the runs used different content of the benchmark"
            if len(played) > 1
            else "the runs were scored by different rules: one of them was rescored"
        )
    if any(metrics_of(run)[metric.name] != metric for run in runs):
        notes.append("the runs declare this metric differently; the first one's declaration holds for all")
    if metric.aggregation not in {"mean", "pass_rate"}:
        notes.append(f"the metric is a {metric.aggregation} of scores, while the test compares their means")
    return ComparedRuns(tuple(runs), metric, tuple(known), scores, pairs, same_content, _sentences(notes))


Scores = tuple[MetricResult | None, ...]


def _open_ended(run: Run) -> bool:
    """Return whether somebody may have looked at a run, and may have ended it for what was there to see."""
    return going_on(run) or run.status is RunStatus.STOPPED


def _cut(run: Run) -> bool:
    return run.status in {RunStatus.PARTIAL, RunStatus.STOPPED, RunStatus.FAILED}


def _measured(
    rows: Rows, runs: Sequence[Run], metric: Metric, level: float, together: int
) -> tuple[tuple[RunPair, ...], list[str], Scores]:
    notes = [
        f"run {_named(run)} is still going on: this is what is stored of it so far" for run in runs if going_on(run)
    ]
    notes += [
        f"run {_named(run)} is {run.status}, so its number is of a part of its episodes" for run in runs if _cut(run)
    ]
    notes += [f"run {_named(run)} is in doubt: {run.doubt}" for run in runs if run.doubt]
    scores = tuple(_score(rows, run, metric) for run in runs)
    if len(runs) == 1:
        return (), ["it is the only run of this benchmark here, so there is nothing to compare it with", *notes], scores
    tasks = Tasks()
    base = read_sample(rows(runs[0].id, metric.score), metric, tasks)
    pairs: list[RunPair] = []
    assumed = {base.worst}
    for run, result in zip(runs[1:], scores[1:], strict=True):
        other = read_sample(rows(run.id, metric.score), metric, tasks)
        assumed.add(other.worst)
        asked: ContrastOptions = {
            "higher_is_better": metric.higher_is_better,
            "level": level,
            "pairs": together,
            "open_ended": _open_ended(runs[0]) or _open_ended(run),
        }
        try:
            found = contrast(base, other, tasks, **asked)
        except ValueError as error:
            notes.append(f"run {_named(run)} cannot be compared with {_named(runs[0])}: {_reason(base, other, error)}")
            continue
        if not found.paired and run.rules != runs[0].rules:
            notes.append(
                f"run {_named(run)} cannot be compared with {_named(runs[0])}: they share no task, and the content of "
                "the benchmark was another"
            )
            continue
        lacking = _lacking(scores[0], result, metric)
        worst = None
        if found.paired and lacking.a + lacking.b:
            worst = pessimistic(base, other, tasks, lacking, **asked)
        pairs.append(RunPair(runs[0].id, run.id, found, found.found.p_value, "tie", worst))
        if asked["open_ended"]:
            notes.append(_looked_at(runs[0], run, found, bounded=base.bounded))
        notes += _kept_in_mind(runs[0], run, found)
    if tasks.clustered:
        notes.append(
            "tasks that ask the same, or are variants of one item, count as one item: differences and intervals are "
            "over items, not tasks"
        )
    if len(assumed - {None}) > 1:
        notes.append("the benchmark declares no worst value, so failures count as the worst value of their own run")
    return tuple(pairs), notes, scores


def _lacking(a: MetricResult | None, b: MetricResult | None, metric: Metric) -> MissingValues:
    low, high = (0.0, 1.0) if metric.aggregation == "pass_rate" else (metric.low, metric.high)
    missing_a, missing_b = (0 if result is None else sum(result.missing.values()) for result in (a, b))
    return MissingValues(missing_a, missing_b, low, high)


def _looked_at(a: Run, b: Run, found: PairedContrast, *, bounded: bool) -> str:
    both = f"{_named(a)} and {_named(b)}"
    if not found.paired:
        return f"no test of {both} is valid before both have ended, as they share no task"
    if not bounded:
        return f"no test of {both} is valid before both have ended, as the metric declares no bounds"
    return f"the p value of {both} stays valid however often you look at it; at their end it is usually smaller"


def _kept_in_mind(a: Run, b: Run, found: PairedContrast) -> Iterator[str]:
    counts = found.counts
    if not found.paired:
        yield f"runs {_named(a)} and {_named(b)} share no scored task, so they are compared as independent samples"
        return
    common = counts.a_better + counts.b_better + counts.same
    if 2 * common < common + max(counts.only_a, counts.only_b):
        yield f"runs {_named(a)} and {_named(b)} share {common:,} tasks, less than half of what one of them scored"
    if counts.only_a or counts.only_b:
        yield (
            f"the difference is over the {common:,} tasks that both scored; the scores of {_named(a)} and {_named(b)} "
            f"are over all of theirs ({common + counts.only_a:,} and {common + counts.only_b:,})"
        )


def _reason(a: Sample, b: Sample, error: ValueError) -> str:
    if a.scored and b.scored:
        return str(error)
    return f"the {'second' if a.scored else 'first'} has no scored task"


def _score(rows: Rows, run: Run, metric: Metric) -> MetricResult | None:
    """Return the stored result; for a run in progress, compute it from its episodes so far."""
    if going_on(run):
        return measure([metric], rows(run.id, metric.score), expected(run), parts=run.info.get(PARTS))[0]
    return next((result for result in run.metrics if result.name == metric.name), None)


def going_on(run: Run) -> bool:
    """Return whether a run is pending or running, so that more episodes may be stored."""
    return run.status in _GOING_ON


def _named(run: Run) -> str:
    return run.name or run.id


def _sentences(notes: Sequence[str]) -> str:
    return "".join(f"{note[0].upper()}{note[1:]}. " for note in notes).strip()
