"""Comparisons of runs on the same rows, and sweeps over models and prompts."""

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from mesocosm.api.evaluate import evaluated_together
from mesocosm.api.places import named_run, store_at
from mesocosm.api.results import Episode, GateFailed, Run, Runs, store_of, stored_of
from mesocosm.api.running import call_site
from mesocosm.api.values import Table, Value, value_of
from mesocosm.api.waiting import waited
from mesocosm.core.failure import UsageError
from mesocosm.core.score import interval_text, number_text
from mesocosm.engine import session

if TYPE_CHECKING:
    from mesocosm.engine.comparison.runs import RunComparison, RunPair

LISTED = ("model", "judge", "temperature")
"""Arguments of `sweep` that may be lists."""
LABELLED = ("prompt", "system", "agent")
"""Arguments of `sweep` that may be mappings from a label to a value."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs: `difference` is b minus a, with its interval; `winner` the label of the better one, or `tie`.

    `p_value` is corrected for the number of pairs (Holm).
    """

    a: str
    b: str
    difference: Value
    p_value: float
    winner: str


class Comparison:
    """Runs compared with the first one, row by row. Printed as a table with the differences.

    >>> found = sweep(rows, prompt="{question}", grader="exact", model=["builtin/oracle", "builtin/empty"]).compare()
    >>> found.pairs[0].difference
    -1.0000 [-1.0000, 0.3152] weak n=2/2
    >>> [before.answer for before, after in found.flipped()]
    ['2', '4']
    """

    def __init__(
        self, runs: Sequence[Run], labels: Sequence[str], found: "RunComparison", *, paired: bool = True
    ) -> None:
        self.runs: Runs = Runs(runs, labels)
        self.paired = paired
        self._found = found
        self._labels = {run.id: label for run, label in zip(runs, labels, strict=True)}

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every later run with the baseline."""
        return tuple(self._pair(pair) for group in self._found.groups for pair in group.pairs)

    @property
    def differs(self) -> Table:
        """What in the configurations differs: one row for each setting."""
        return Table(
            {"setting": one.field, **dict(zip(self._labels.values(), one.values, strict=True))}
            for one in self._found.differences
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the differences should know."""
        return tuple(self._labelled(group.note) for group in self._found.groups if group.note)

    def flipped(self) -> list[tuple[Episode, Episode]]:
        """Return what one run has right and the other wrong, as pairs of the baseline's episode and the other's."""
        found: list[tuple[Episode, Episode]] = []
        for group in self._found.groups:
            for pair in group.pairs:
                digests = {one.digest for one in pair.contrast.tasks if one.flipped}
                before = {one.place: one for one in _episodes(self._run(pair.a), digests)}
                after = {one.place: one for one in _episodes(self._run(pair.b), digests)}
                found += [(before[place].episode, after[place].episode) for place in before if place in after]
        return found

    def fail_if(self, *conditions: str) -> Self:
        """Return the comparison if no condition holds, such as `"regression p<0.05"` or `"worse-by<0.02"`.

        Raises GateFailed if one holds or cannot be decided, UsageError for what is no condition or no metric of them.
        """
        __tracebackhide__ = True  # pytest then shows the line of the test
        from mesocosm.engine.comparison.gate import check_run_metrics, judge_comparison, read_condition

        read = [read_condition(text) for text in conditions]
        check_run_metrics(read, self._found.runs)
        store = store_of(self.runs[0])
        broken = [one for one in judge_comparison(self._found, read, store.episodes) if one.broken]
        if broken:
            raise GateFailed("\n".join(f"{one.condition}: {one.broken} ({one.answer})" for one in broken))
        return self

    def __repr__(self) -> str:
        """Return scores, differences and notes."""
        lines: list[str] = []
        width = max(len(label) for label in self._labels.values())
        for group in self._found.groups:
            name = group.metric.name if group.metric is not None else "no metric"
            lines.append(f"{group.runs[0].benchmark}, {name}")
            for run, result in zip(group.runs, group.scores, strict=True):
                value = value_of(result)
                said = "– (nothing scored)" if value is None else f"{number_text(value)} {value.interval}"
                lines.append(f"  {self._labels[run.id]:<{width}}  {said}".rstrip())
            several = len(group.pairs) > 1
            for pair in map(self._pair, group.pairs):
                which = f" {pair.b} - {pair.a}" if several else ""
                p_value = "p<0.001" if pair.p_value < 0.001 else f"p={pair.p_value:.4f}"
                lines.append(f"  difference{which} {_signed(pair.difference)}  {p_value}  {pair.winner}")
            if group.note:
                lines.append(f"  note: {self._labelled(group.note)}")
        return "\n".join(lines)

    def _labelled(self, note: str) -> str:
        for run_id, label in self._labels.items():
            note = note.replace(run_id, label)
        return note

    def _pair(self, pair: "RunPair") -> Pair:
        delta = pair.contrast.delta
        n = min(pair.contrast.n_a, pair.contrast.n_b)
        value = Value(
            delta.value,
            low=delta.low if math.isfinite(delta.low) else None,
            high=delta.high if math.isfinite(delta.high) else None,
            n=n,
            planned=n,
            missing={},
            method=delta.method,
            weak=delta.weak,
            pessimistic=None if pair.pessimistic is None else pair.pessimistic.delta.value,
        )
        a, b = self._labels[pair.a], self._labels[pair.b]
        return Pair(a, b, value, pair.p_adjusted, {"a": a, "b": b}.get(pair.winner, "tie"))

    def _run(self, run_id: str) -> Run:
        return next(run for run in self.runs if run.id == run_id)


@dataclass(frozen=True, slots=True)
class _Placed:
    place: tuple[str, int]
    episode: Episode


def _episodes(run: Run, digests: set[str]) -> Iterator[_Placed]:
    for episode in run.episodes() if digests else ():
        if episode.task_digest in digests:
            yield _Placed((episode.task_digest, episode.trial), episode)


def compare(
    *given: Run | str,
    metric: str = "",
    baseline: Run | str | None = None,
    paired: bool = True,
    labels: Mapping[Run, str] | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Compare runs, given as such or by name, with the first one or the `baseline`, row by row.

    A difference counts if its interval excludes 0 and a paired test agrees. Raises UsageError for runs on other rows
    (`paired=False` compares those as independent samples), UnknownName for an unknown run or metric. `labels` are what
    runs are called; by default what differs between them.

    >>> rows = [{"question": f"{n} + {n}?", "answer": str(2 * n)} for n in range(12)]
    >>> good = evaluate(rows, prompt="{question}", grader="numeric", model="builtin/oracle")
    >>> bad = evaluate(rows, prompt="{question}", grader="numeric", model="builtin/empty")
    >>> compare(bad, good).pairs[0].winner
    'builtin/oracle'
    """
    from mesocosm.engine.comparison.runs import compare_runs

    opened = next((store_of(one) for one in given if isinstance(one, Run)), None) or store_at(store, create=False)
    runs = [one if isinstance(one, Run) else Run(opened, named_run(opened, one)) for one in given]
    if baseline is not None:
        first = baseline if isinstance(baseline, Run) else Run(opened, named_run(opened, baseline))
        runs = [first, *(one for one in runs if one.id != first.id)]
    ids = [one.id for one in runs]
    if len(ids) < 2 or len(set(ids)) < len(ids):
        raise UsageError("compare needs at least two different runs")
    other = next((one for one in runs if one.benchmark != runs[0].benchmark), None)
    if other is not None and paired:
        raise UsageError(
            f"run {other.id} is on {other.benchmark!r}, the baseline on {runs[0].benchmark!r}; runs on the same "
            "rows are compared row by row"
        )
    found = compare_runs(opened.episodes.score_rows, [stored_of(one.reload()) for one in runs], metric)
    unpaired = next((pair for group in found.groups for pair in group.pairs if not pair.contrast.paired), None)
    if unpaired is not None and paired:
        raise UsageError(
            f"runs {unpaired.a} and {unpaired.b} share no scored row, so they cannot be compared row by row; "
            "paired=False compares them as independent samples"
        )
    names = labels_of(runs) if labels is None else [labels.get(one, one.id) for one in runs]
    return Comparison(runs, names, found, paired=paired)


def labels_of(runs: Sequence[Run]) -> list[str]:
    """Return short labels that tell runs apart: what differs between them, else their names or ids."""
    for names in (
        [run.name for run in runs],
        [run.model for run in runs],
        [run.agent for run in runs],
        [f"{run.model} {run.agent}" for run in runs],
    ):
        if all(names) and len(set(names)) == len(names):
            return names
    return [run.id for run in runs]


def sweep(what: Any, **arguments: Any) -> Runs:
    """Evaluate every combination and return the runs, which `compare()` compares row by row.

    Takes the arguments of `evaluate`; `model`, `judge` and `temperature` may be lists, `prompt`, `system` and `agent`
    mappings from a label to a value. The runs go at once: `parallel` and the budgets in `limits` are for all of them
    together, rates for each server. Each run has an equal part of `parallel`, so that a slow model delays no other.
    Raises as `evaluate` does; if a model refuses the key, once the other runs have ended.

    >>> rows = [{"question": "1 + 1?", "answer": "2"}]
    >>> found = sweep(rows, prompt="{question}", grader="numeric", model=["builtin/oracle", "builtin/empty"])
    >>> found.best().model
    'builtin/oracle'
    """
    where = call_site()
    return waited(lambda control: _swept(what, arguments, where, control))


async def asweep(what: Any, **arguments: Any) -> Runs:
    """Do what `sweep` does, awaited.

    >>> import asyncio
    >>> len(asyncio.run(asweep(rows, prompt={"a": "{question}", "b": "{question}!"}, model="builtin/oracle")))
    2
    """
    return await _swept(what, arguments, call_site(), session.Control())


async def _swept(what: Any, given: Mapping[str, Any], where: str, control: session.Control) -> Runs:
    axes = list(_axes(given))
    if not isinstance(what, str) and hasattr(what, "__next__"):
        what = list(what)  # an iterator would be used up by the first run
    combinations = list(itertools.product(*(options for _, options in axes)))
    changes = [{name: value for (name, _), (_, value) in zip(axes, chosen, strict=True)} for chosen in combinations]
    runs = await evaluated_together([{"what": what, **given, **changed} for changed in changes], where, control)
    words = [" ".join(label for label, _ in chosen) for chosen in combinations]
    return Runs(runs, [label or run.model for label, run in zip(words, runs, strict=True)])


def _axes(given: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Yield each argument with several values, as label and value. Raises UsageError for one without any."""
    for name in (*LISTED, *LABELLED):
        value = given.get(name)
        if name in LISTED and isinstance(value, Sequence) and not isinstance(value, str):
            options = [(f"{value_:g}" if isinstance(value_, float) else str(value_), value_) for value_ in value]
        elif name in LABELLED and isinstance(value, Mapping):
            options = [(str(label), value_) for label, value_ in value.items()]
        else:
            continue
        if not options:
            raise UsageError(f"{name}= has no value to sweep over")
        yield name, options


def _signed(difference: Value) -> str:
    bounds = interval_text(difference.low, difference.high, weak=difference.weak, signed=True)
    return f"{number_text(difference, signed=True)} {bounds}".rstrip()
