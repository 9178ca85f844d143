"""Comparisons of runs as tables, Markdown and JSON."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import click

from mesocosm.cli.command import CommonOptions, plural
from mesocosm.cli.render import ROLLOUT, counted, interval, number, table, table_line
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import number_text
from mesocosm.engine.comparison.differences import differences
from mesocosm.engine.comparison.runs import ComparedRuns, RunComparison, RunPair

TaskNames = Callable[[str, Sequence[str]], Mapping[str, str]]
"""Returns the names of tasks of a run by their digests, for example `store.episodes.task_ids`."""

COLUMNS = ("benchmark", "run", "score", "95 % interval", "delta", "95 % interval of delta", "p", "n", "")
WHOLE = frozenset({RunStatus.FINISHED, RunStatus.PENDING, RunStatus.RUNNING})
"""Statuses that are not shown, because they add nothing or the group's note repeats them."""
FLIPPED = 20
"""Maximum number of flipped tasks in the document of a pair."""
MOST_SHOWN, MOST_LISTED = 12, 5_000
"""Maximum number of tasks in a line, and in a document."""


def rows(found: RunComparison) -> Iterator[list[str]]:
    """Yield a row for each run; the first run of a benchmark is the baseline of the others."""
    for group in found.groups:
        for place, run in enumerate(group.runs):
            score = group.scores[place]
            own = "–" if score is None else bounds(score.low, score.high, weak=score.weak)
            value = number(None if score is None else score.value)
            pair = next((pair for pair in group.pairs if pair.b == run.id), None)
            twins = sum(named(other) == named(run) for other in group.runs) > 1
            who = f"{named(run)} · {run.id}" if twins else named(run)
            yield [group.runs[0].benchmark if not place else "", who, value, own, *_against(group, pair, place)]


def tell(found: RunComparison, names: TaskNames, chosen: CommonOptions) -> None:
    """Print the table of a comparison, and notes on it."""
    table(COLUMNS, rows(found), chosen, right=(2, 4, 6, 7), spare=(3,))
    for line in dict.fromkeys([*flipped_lines(found, names), *notes(found)]):
        click.echo(line)


def _against(group: ComparedRuns, pair: RunPair | None, place: int) -> list[str]:
    if not place:
        return ["", "", "", "", "baseline" if len(group.runs) > 1 else "alone"]
    if pair is None:
        return ["–", "–", "–", "–", "cannot be compared"]
    delta = pair.contrast.delta
    return [
        signed(delta.value),
        bounds(delta.low, delta.high, weak=delta.weak),
        p_value(pair.p_adjusted),
        count(pair),
        verdict(group, pair),
    ]


def verdict(group: ComparedRuns, pair: RunPair) -> str:
    """Return the verdict on a pair: a tie unless the interval excludes 0 and the test rejects."""
    if pair.winner == "tie":
        return "tie"
    directed = group.metric is not None and group.metric.directed
    if not directed:
        return "higher" if pair.contrast.delta.value > 0 else "lower"
    return "better" if pair.winner == "b" else "worse"


def count(pair: RunPair) -> str:
    """Return the number of items: pairs, or those of each run if they share none."""
    contrast = pair.contrast
    return f"{contrast.n_a:,}" if contrast.paired else f"{contrast.n_a:,} | {contrast.n_b:,}"


def signed(value: float | None) -> str:
    """Return a difference with four decimals and a sign, or `n/a`."""
    if value is None:
        return "n/a"
    return number_text(value, signed=value > 0)


def bounds(low: float | None, high: float | None, *, weak: bool = False) -> str:
    """Return `[low, high]`, followed by `weak` if it is, or a dash if a bound is unknown."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    return interval(low, high, weak=weak)


def p_value(value: float) -> str:
    """Return a formatted p value."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def named(run: Run) -> str:
    """Return the name of a run in a comparison."""
    return run.name or f"{run.model}{f' · {run.agent}' if run.agent not in {'chat', 'loop', 'program'} else ''}"


def notes(found: RunComparison) -> Iterator[str]:
    """Yield notes on the numbers, by benchmark, and other differences between the runs."""
    for group in found.groups:
        if group.note:
            yield f"{group.runs[0].benchmark}: {group.note}"
        yield from lacking(group)
        for pair in group.pairs:
            contrast = pair.contrast
            if pair.winner == "tie" and _apart(pair):
                yield doubtful(group, pair)
            elif pair.winner == "tie" and contrast.smallest is not None and math.isfinite(contrast.smallest):
                yield (
                    f"{group.runs[0].benchmark}: with n = {count(pair)} a difference of {contrast.smallest:.4f} would "
                    "have shown (80 % power)"
                )
    for group in found.groups:
        which = f"{group.runs[0].benchmark}: " if len(found.groups) > 1 else ""
        unlike = found.differences if len(found.groups) == 1 else differences(group.runs)
        other_models = any(one.field == "model" for one in unlike)
        for difference in unlike:
            if other_models and difference.field == "provenance.server.served":
                continue  # Each server calls its model by the name that was asked for.
            values = ", ".join(_shown(value) for value in difference.values)
            yield f"{which}they differ in {_CALLED.get(difference.field, difference.field)}: {values}"


def doubtful(group: ComparedRuns, pair: RunPair) -> str:
    """Return why a difference is a tie although its interval excludes 0."""
    return (
        f"{group.runs[0].benchmark}: the interval of {named_of(group, pair)}'s difference excludes 0, but "
        f"the test does not reject (p = {p_value(pair.p_adjusted)}): a tie until more is known"
    )


def doubts(group: ComparedRuns) -> Iterator[str]:
    """Yield why differences are ties although their intervals exclude 0."""
    yield from (doubtful(group, pair) for pair in group.pairs if pair.winner == "tie" and _apart(pair))


def lacking(group: ComparedRuns) -> Iterator[str]:
    """Yield for each incomplete run of a benchmark its status, and why some of its episodes have no value."""
    for run, score in zip(group.runs, group.scores, strict=True):
        caveats = [] if run.status in WHOLE else [f"is {run.status}"]
        if score is not None and score.missing:
            caveats.append(f"has {counted(score)}")
        if caveats:
            yield f"{group.runs[0].benchmark}: {named(run)} {' and '.join(caveats)}"


def named_of(group: ComparedRuns, pair: RunPair) -> str:
    """Return the name of the later run of a pair."""
    return next(named(run) for run in group.runs if run.id == pair.b)


def _apart(pair: RunPair) -> bool:
    low, high = pair.contrast.delta.low, pair.contrast.delta.high
    return low is not None and high is not None and (low > 0 or high < 0)


_CALLED = {
    "selection.trials": "tries of each row or task (n)",
    "inputs.rollout source": "the rollout's source",
    "provenance.server.served": "the model name that the server replies with",
    "provenance.server.address": "the server",
}
"""Readable names of settings."""


def _shown(value: Any) -> str:
    return "–" if value is None else str(value)[:60]


def markdown(found: RunComparison) -> str:
    """Return the comparison as Markdown, for a comment on a change."""
    lines = [table_line(COLUMNS), "|" + "---|" * len(COLUMNS), *map(table_line, rows(found))]
    remarks = [f"* {note}" for note in notes(found)]
    return "\n".join([*lines, "", *remarks]).rstrip() + "\n"


def document(found: RunComparison, names: TaskNames) -> dict[str, Any]:
    """Return the comparison as JSON, with the flipped tasks of each pair by name."""
    return {
        "runs": [_run(run) for run in found.runs],
        "differences": [{"field": one.field, "values": list(one.values)} for one in found.differences],
        "benchmarks": [_group(group, lambda pair: flipped_tasks(pair, names)) for group in found.groups],
    }


def compare_path(found: RunComparison) -> str:
    """Return the path of a comparison's page in the viewer."""
    return f"/compare?{urlencode([('run', run.id) for run in found.runs])}"


def _run(run: Run) -> dict[str, Any]:
    return {"id": run.id, "name": run.name, "benchmark": run.benchmark, "model": run.model, "agent": run.agent}


def _group(group: ComparedRuns, flipped: Callable[[RunPair], list[dict[str, Any]]]) -> dict[str, Any]:
    scores = [None if score is None else score.value for score in group.scores]
    return {
        "benchmark": group.runs[0].benchmark,
        "metric": None if group.metric is None else group.metric.name,
        "runs": [run.id for run in group.runs],
        "scores": scores,
        "pairs": [{**pair_document(pair), "flipped_tasks": flipped(pair)} for pair in group.pairs],
        "note": group.note,
    }


def pair_document(pair: RunPair) -> dict[str, Any]:
    """Return a pair as JSON; an unknown bound is null."""
    contrast = pair.contrast
    delta, counts = contrast.delta, contrast.counts
    return {
        "a": pair.a,
        "b": pair.b,
        "paired": contrast.paired,
        "delta": delta.value,
        "low": _finite(delta.low),
        "high": _finite(delta.high),
        "weak": delta.weak,
        "p_value": contrast.found.p_value,
        "p_adjusted": pair.p_adjusted,
        "test": contrast.found.test,
        "n_a": contrast.n_a,
        "n_b": contrast.n_b,
        "winner": pair.winner,
        "smallest_difference": None if contrast.smallest is None else _finite(contrast.smallest),
        "tasks": {
            "a_better": counts.a_better,
            "b_better": counts.b_better,
            "same": counts.same,
            "flipped": counts.flipped,
            "only_a": counts.only_a,
            "only_b": counts.only_b,
        },
        "flipped": [task.digest for task in contrast.tasks if task.flipped][:FLIPPED],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def flipped_tasks(pair: RunPair, names: TaskNames) -> list[dict[str, Any]]:
    """Return the flipped tasks of a pair with their scores in both runs, at most `MOST_LISTED`."""
    found = [task for task in pair.contrast.tasks if task.flipped][:MOST_LISTED]
    called = names(pair.b, [task.digest for task in found])
    return [{"task": called.get(task.digest, ""), "digest": task.digest, "a": task.a, "b": task.b} for task in found]


def every_flipped(found: RunComparison, names: TaskNames) -> Iterator[str]:
    """Yield a line for each flipped task of each pair: its name and both scores."""
    for group in found.groups:
        for pair in group.pairs:
            tasks = flipped_tasks(pair, names)
            yield f"\n{group.runs[0].benchmark}: {plural(len(tasks), 'task')} flipped"
            yield from (f"  {one['task'] or one['digest']}  {number(one['a'])} → {number(one['b'])}" for one in tasks)


def flipped_lines(found: RunComparison, names: TaskNames) -> Iterator[str]:
    """Yield for each pair the tasks that only one of its runs passes."""
    for group in found.groups:
        for pair in group.pairs:
            flipped = flipped_tasks(pair, names)
            gained = [one["task"] for one in flipped if (one["b"] or 0) > (one["a"] or 0)]
            lost = [one["task"] for one in flipped if (one["b"] or 0) < (one["a"] or 0)]
            which = f"{group.runs[0].benchmark}: " if len(found.groups) > 1 or len(group.pairs) > 1 else ""
            unit = "row" if group.runs[0].kind == ROLLOUT else "task"
            for run, tasks in zip(reversed(_both_names(group, pair)), (gained, lost), strict=True):
                if tasks:
                    passes = "passes" if len(tasks) == 1 else "pass"
                    yield f"{which}{plural(len(tasks), unit)} {passes} only in {run}: {_listed(tasks)}"


def _both_names(group: ComparedRuns, pair: RunPair) -> tuple[str, str]:
    names = {run.id: named(run) for run in group.runs}
    first, later = names[pair.a], names[pair.b]
    return (first, later) if first != later else ("the first run", "the later run")


def _listed(names: list[str]) -> str:
    some = ", ".join(sorted(names, key=_order)[:MOST_SHOWN])
    return some if len(names) <= MOST_SHOWN else f"{some}, … (--json lists them)"


def _order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (2**63, name)
