"""Comparisons for people: tables, Markdown, JSON, and the address of the page that shows one."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from mesocosm.cli.main import CommonOptions
from mesocosm.cli.render import counted, number, table_line
from mesocosm.core.run import Run, RunStatus
from mesocosm.engine.comparison.differences import differences
from mesocosm.engine.comparison.runs import ComparedRuns, RunComparison, RunPair

if TYPE_CHECKING:
    from mesocosm.store import Store

COLUMNS = ("benchmark", "run", "score", "95 % interval", "delta", "95 % interval of it", "p", "n", "")
WHOLE = frozenset({RunStatus.FINISHED, RunStatus.PENDING, RunStatus.RUNNING})
"""Statuses that are not shown, because they are empty or repeated by the note of a group."""
FLIPPED = 20
"""Flipped tasks that are listed for a pair."""


def rows(found: RunComparison) -> Iterator[list[str]]:
    """Yield a row for each run: the first of a benchmark is what the others are compared with."""
    for group in found.groups:
        for place, run in enumerate(group.runs):
            score = group.scores[place]
            own = "–" if score is None else bounds(score.low, score.high)
            value = number(None if score is None else score.value)
            pair = next((pair for pair in group.pairs if pair.b == run.id), None)
            twins = sum(named(other) == named(run) for other in group.runs) > 1
            who = f"{named(run)} · {run.id}" if twins else named(run)
            yield [group.runs[0].benchmark if not place else "", who, value, own, *_against(group, pair, place)]


def _against(group: ComparedRuns, pair: RunPair | None, place: int) -> list[str]:
    if not place:
        return ["", "", "", "", "baseline" if len(group.runs) > 1 else "alone"]
    if pair is None:
        return ["–", "–", "–", "–", "cannot be compared"]
    delta = pair.contrast.delta
    return [
        signed(delta.value),
        bounds(delta.low, delta.high),
        p_value(pair.p_adjusted),
        count(pair),
        verdict(group, pair),
    ]


def verdict(group: ComparedRuns, pair: RunPair) -> str:
    """Return who won, in a word: a tie unless the interval excludes 0 and the test rejects."""
    if pair.winner == "tie":
        return "tie"
    directed = group.metric is not None and group.metric.directed
    if not directed:
        return "higher" if pair.contrast.delta.value > 0 else "lower"
    return "better" if pair.winner == "b" else "worse"


def count(pair: RunPair) -> str:
    """Return the number of items: pairs, or those of each run where they share none."""
    contrast = pair.contrast
    return f"{contrast.n_a:,}" if contrast.paired else f"{contrast.n_a:,} | {contrast.n_b:,}"


def signed(value: float | None) -> str:
    """Return a difference with four decimals, `+` where it is positive, `n/a` for none."""
    if value is None:
        return "n/a"
    return f"+{value:.4f}" if value > 0 else f"{value:.4f}"


def bounds(low: float | None, high: float | None) -> str:
    """Return `[low, high]`, or a dash where nothing is known."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    return f"[{number(low)}, {number(high)}]"


def p_value(value: float) -> str:
    """Return a p value as it is printed."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def named(run: Run) -> str:
    """Return what a run is called beside others."""
    return run.name or f"{run.model}{f' · {run.agent}' if run.agent not in {'chat', 'loop', 'program'} else ''}"


def notes(found: RunComparison) -> Iterator[str]:
    """Yield what must be known beside the numbers: per benchmark, and what else the runs differ in."""
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
        for difference in differences(group.runs):
            values = ", ".join(_shown(value) for value in difference.values)
            yield f"{which}they differ in {_CALLED.get(difference.field, difference.field)}: {values}"


def doubtful(group: ComparedRuns, pair: RunPair) -> str:
    """Return why a difference with an interval that excludes 0 is a tie."""
    return (
        f"{group.runs[0].benchmark}: the interval of {named_of(group, pair)}'s difference excludes 0, but "
        f"the test does not reject (p = {p_value(pair.p_adjusted)}): a tie until more is known"
    )


def doubts(group: ComparedRuns) -> Iterator[str]:
    """Yield why differences with an interval that excludes 0 are ties."""
    yield from (doubtful(group, pair) for pair in group.pairs if pair.winner == "tie" and _apart(pair))


def lacking(group: ComparedRuns) -> Iterator[str]:
    """Yield for each run of a benchmark that is not whole its status, and why some of its episodes have no value."""
    for run, score in zip(group.runs, group.scores, strict=True):
        told = [] if run.status in WHOLE else [f"is {run.status}"]
        if score is not None and score.missing:
            told.append(f"has {counted(score)}")
        if told:
            yield f"{group.runs[0].benchmark}: {named(run)} {' and '.join(told)}"


def named_of(group: ComparedRuns, pair: RunPair) -> str:
    """Return what the later run of a pair is called."""
    return next(named(run) for run in group.runs if run.id == pair.b)


def _apart(pair: RunPair) -> bool:
    low, high = pair.contrast.delta.low, pair.contrast.delta.high
    return low is not None and high is not None and (low > 0 or high < 0)


_CALLED = {"selection.trials": "tries of each row or task (n)", "inputs.rollout source": "the rollout's source"}
"""Settings with names that mean little to readers."""


def _shown(value: Any) -> str:
    return "–" if value is None else str(value)[:60]


def markdown(found: RunComparison) -> str:
    """Return the comparison as Markdown, for a comment on a change."""
    lines = [table_line(COLUMNS), "|" + "---|" * len(COLUMNS), *map(table_line, rows(found))]
    remarks = [f"* {note}" for note in notes(found)]
    return "\n".join([*lines, "", *remarks]).rstrip() + "\n"


def document(found: RunComparison, store: "Store") -> dict[str, Any]:
    """Return the comparison as JSON, with the flipped tasks of each pair by name."""
    from mesocosm.cli import flipped

    return {
        "runs": [_run(run) for run in found.runs],
        "differences": [{"field": one.field, "values": list(one.values)} for one in found.differences],
        "benchmarks": [_group(group, lambda pair: flipped.tasks(pair, store)) for group in found.groups],
    }


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


def page(run_ids: Sequence[str], store: "Store", chosen: CommonOptions) -> str:
    """Return the address of the page that compares runs where a viewer runs, else the command that starts one."""
    return address(f"/compare?{urlencode([('run', run_id) for run_id in run_ids])}", store, chosen)


def comparison_page(comparison_id: str, store: "Store", chosen: CommonOptions) -> str:
    """Return the same for the page of a stored comparison of two models."""
    return address(f"/compare?{urlencode({'comparison': comparison_id})}", store, chosen)


def address(path: str, store: "Store", chosen: CommonOptions) -> str:
    """Return the address of a page of the viewer where one runs, else the command that starts one."""
    from mesocosm.cli import link

    viewer = link.running(chosen.results(), link.place_name(store))
    return f"{viewer.url}{path}" if viewer is not None else f"mesocosm view    and open {path}"
