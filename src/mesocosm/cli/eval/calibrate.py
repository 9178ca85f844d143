"""`mesocosm eval calibrate RUN --labels FILE`: compare a grader's scores with labels from people."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import FiniteFloat, MesocosmCommand, options, plural
from mesocosm.cli.render import emit, interval, number
from mesocosm.cli.results import find_run, open_results

if TYPE_CHECKING:
    from mesocosm.core.episode import Episode
    from mesocosm.core.run import Run
    from mesocosm.rollouts.calibration import Calibration, Matched
    from mesocosm.stats.interval import Interval
    from mesocosm.store import Store

_PAGE = 200
_NAMED = 10
"""Maximum number of listed tasks for which labels and run do not match."""


@click.command(cls=MesocosmCommand)
@click.argument("run", metavar="RUN")
@click.option(
    "--labels",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="CSV or JSONL with columns row (or task), score, and trial where rows were tried several times.",
)
@click.option("--score", default="", help="The run's score to compare [that of its primary metric].")
@click.option("--scale", nargs=2, type=FiniteFloat(), default=(0.0, 1.0), help="Lowest and highest human score [0 1].")
@click.option(
    "--threshold", type=FiniteFloat(), default=0.5, help="Score at which the grader lets an answer pass [0.5]."
)
@click.option(
    "--human-threshold",
    type=FiniteFloat(),
    default=None,
    help="The same for human labels, on their scale [its midpoint].",
)
def calibrate(
    run: str, labels: Path, score: str, scale: tuple[float, float], threshold: float, human_threshold: float | None
) -> int:
    """Compare the scores of a run with human labels of the same answers.

    Shown are agreement at the threshold, Cohen's kappa, correlations, the grader's bias, and the threshold at which
    both agree most. Trials of one row are one cluster.

    \b
    mesocosm eval calibrate last --labels labels.csv --scale 1 5 --threshold 0.7
    """
    from mesocosm.datasets.opening import open_table
    from mesocosm.rollouts.calibration import calibrate as calibrated
    from mesocosm.rollouts.calibration import matched, read_labels

    low, high = scale
    given = read_labels(open_table(labels).rows, str(labels), low=low, high=high)
    bar = 0.5 if human_threshold is None else (human_threshold - low) / (high - low)
    chosen = options()
    store = open_results(chosen, create=False)
    try:
        found = find_run(store, run)
        name = score or _primary(found)
        joined = matched(given, _episodes(store, found.id), name)
    finally:
        store.close()
    if not joined.pairs:
        raise _unmatched(found.id, name, joined)
    result = calibrated(joined.pairs, threshold=threshold, human_threshold=bar)
    if chosen.json:
        _emit(found.id, name, joined, result)
    else:
        _tell(found.id, name, joined, result)
    return 0


def _primary(run: "Run") -> str:
    """Return the score behind the primary metric of a run."""
    metrics = run.info.get("metrics") or [{}]
    primary = next((metric for metric in metrics if metric.get("primary")), metrics[0])
    return str(primary.get("score", "reward"))


def _unmatched(run: str, score: str, joined: "Matched") -> Exception:
    from mesocosm.core.failure import UsageError

    why = f"of the labelled tasks, {len(joined.unknown)} are not in the run ({_listed(joined.unknown)})"
    if joined.unscored:
        why += f" and {len(joined.unscored)} have no score {score!r} ({_listed(joined.unscored)})"
    return UsageError(f"run {run} cannot be calibrated: {why}; rows are named as `mesocosm run show {run}` names them")


def _episodes(store: "Store", run_id: str) -> "Iterator[Episode]":
    cursor: str | None = None
    while True:
        page = store.episodes.list(run_id, cursor=cursor, limit=_PAGE)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _tell(run: str, score: str, joined: "Matched", found: "Calibration") -> None:
    cells = found.confusion
    lines = [
        ("agreement", f"{_spelled(found.agreement)}  at threshold {found.threshold:g}"),
        ("kappa", _spelled(found.kappa)),
        ("Spearman", _spelled(found.spearman)),
        ("Pearson", _spelled(found.pearson)),
        ("bias", f"{_spelled(found.bias)}  grader minus people"),
        ("passed", f"both {cells.both}, grader only {cells.grader_only}, people only {cells.human_only}"),
        ("failed", f"both {cells.neither}"),
        (
            "threshold",
            f"{found.suggested.threshold:.4g} agrees most: {number(found.suggested.agreement)}, in these labels",
        ),
    ]
    click.echo(f"{score} of run {run} beside {plural(found.n, 'label')} of {plural(found.tasks, 'task')}\n")
    for name, text in lines:
        click.echo(f"  {name:<10} {text}")
    for line in (*found.warnings, *_misses(score, joined)):
        click.echo(f"warning: {line}", err=True)


def _misses(score: str, joined: "Matched") -> Iterator[str]:
    if joined.unknown:
        yield f"{plural(len(joined.unknown), 'label')} of no episode of the run: {_listed(joined.unknown)}"
    if joined.unscored:
        count = plural(len(joined.unscored), "labelled episode")
        yield f"{count} without a score {score!r}: {_listed(joined.unscored)}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _spelled(found: "Interval | None") -> str:
    return "–" if found is None else f"{number(found.value)} {interval(found.low, found.high, weak=found.weak)}"


def _emit(run: str, score: str, joined: "Matched", found: "Calibration") -> None:
    from dataclasses import asdict

    emit({"run": run, "score": score, **asdict(found), "unknown": joined.unknown, "unscored": joined.unscored})
