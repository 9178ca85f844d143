"""Output for people: short numbers, plain tables, and the JSON forms of records."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from mesocosm.cli.command import CommonOptions, options, plural
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult, interval_text, number_text
from mesocosm.interop.record import run_document

if TYPE_CHECKING:
    from mesocosm.cli.gate_options import GateResult
    from mesocosm.compat.swecc.documents import Metric as RemoteMetric
    from mesocosm.server.schemas.metric import MetricDocument
    from mesocosm.store import Store

MESSAGE, TAIL = 400, 5
"""Maximum characters of a failure's line, and number of final lines of its program's output."""
ROLLOUT = "rollout"
"""The kind of runs that can have names and whose episodes are rows with one step."""
GOING = frozenset({RunStatus.PENDING, RunStatus.RUNNING})


def number(value: float | None) -> str:
    """Return a score as `number_text`; `–` for None."""
    return "–" if value is None else number_text(value)


def interval(low: float | None, high: float | None, *, weak: bool = False) -> str:
    """Return `[low, high]`, followed by `weak` if it is, or an empty string without an interval."""
    return interval_text(low, high, weak=weak)


def tokens(count: int) -> str:
    """Return a count of tokens, in thousands or millions when large."""
    for size, unit in ((1_000_000, "M"), (10_000, "k")):
        if count >= size:
            return f"{count / (1_000_000 if unit == 'M' else 1000):.1f}{unit}"
    return f"{count:,}"


def money(value: float | None) -> str:
    """Return US dollars; "unknown" for an unknown cost."""
    return "cost unknown" if value is None else f"${value:,.4f}" if value < 1 else f"${value:,.2f}"


def duration(seconds: float | None) -> str:
    """Return seconds as `0.4 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def when(stamp: float | None) -> str:
    """Return a UNIX time formatted in local time."""
    return "–" if not stamp else datetime.fromtimestamp(stamp, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def emit(document: Any) -> None:
    """Print one JSON document; numbers that JSON cannot express become null."""
    data = msgspec.json.encode(document, enc_hook=plain)
    click.echo(msgspec.json.format(data, indent=2).decode())


def answer(words: str, document: Any) -> None:
    """Print the result of a command: as text, or with --json as a document."""
    if options().json:
        emit(document)
    else:
        click.echo(words)


def plain(value: Any) -> Any:
    """Return a server's documents as JSON values; times keep the offset that the server wrote."""
    from pydantic import BaseModel

    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value


def table_line(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table, with special characters escaped."""
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


_FOLDED = 11
"""Minimum width of a folded text column."""


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    chosen: CommonOptions,
    *,
    right: Sequence[int] = (),
    whole: Sequence[int] = (),
    spare: Sequence[int] = (),
) -> None:
    """Print a table, with `right` aligned columns.

    On a narrow terminal the `spare` columns are left out in order, as far as needed; then all but the `whole` ones are
    folded. A table that is still too wide is printed with a line for each cell, because rich would cut its numbers.
    """
    lines = [list(row) for row in rows]
    if chosen.bare() or not sys.stdout.isatty():
        _plain(columns, lines, right)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    shown = fitting(columns, lines, console.width, spare)
    least = {
        position: _least(columns[position], [line[position] for line in lines], position in whole) for position in shown
    }
    if any(columns) and sum(least.values()) + 2 * (len(shown) - 1) > console.width:
        _records(columns, lines)
        return
    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=any(columns))
    for position in shown:
        side: Literal["left", "right"] = "right" if position in right else "left"
        drawn.add_column(
            columns[position],
            justify=side,
            overflow="fold",
            min_width=least[position],
            no_wrap=position in whole,
        )
    for line in lines:
        drawn.add_row(*(Text(line[position]) for position in shown))
    if not any(columns):
        click.echo()
    console.print(drawn)


def fitting(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, spare: Sequence[int]) -> list[int]:
    """Return the columns that fit in `width`, dropping `spare` ones in order as needed."""
    shown = list(range(len(columns)))
    for position in spare:
        if sum(max(len(row[column]) for row in [columns, *rows]) + 2 for column in shown) <= width:
            break
        shown.remove(position)
    return shown


def _least(column: str, cells: Sequence[str], whole: bool) -> int:
    """Return the smallest width of a column: that of its longest cell if it stays `whole`, else folded."""
    longest = max(map(len, cells), default=0)
    return max(longest, len(column)) if whole else max(min(longest, _FOLDED), min(len(column), _FOLDED))


def _records(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print each row as lines of a column and its cell, with an empty line between rows."""
    width = max(map(len, columns))
    for place, row in enumerate(rows):
        if place:
            click.echo()
        for column, cell in zip(columns, row, strict=True):
            if cell:
                click.echo(f"{click.style(f'{column:<{width}}', bold=True)}  {cell}")


def short(run_id: str, chosen: CommonOptions) -> str:
    """Return a shortened id on a terminal (18 characters); the whole id elsewhere."""
    return run_id if chosen.bare() or not sys.stdout.isatty() else run_id[:18]


def _plain(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    widths = [max(len(row[position]) for row in [list(columns), *rows]) for position in range(len(columns))]
    for row in [list(columns), *rows]:
        cells = [
            cell.rjust(width) if position in right else cell.ljust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


def counted(metric: "MetricResult | RemoteMetric | MetricDocument") -> str:
    """Return `scored/planned`, followed by the causes of missing values: `97/120 (23 model_unavailable)`."""
    return f"{metric.n_scored:,}/{metric.n_planned:,}{causes(metric.missing)}"


def scored(metric: "MetricResult | RemoteMetric | MetricDocument | None") -> str:
    """Return `value [low, high]`, followed by the causes of missing values; `–` for None."""
    if metric is None:
        return "–"
    return f"{number(metric.value)} {interval(metric.low, metric.high, weak=metric.weak)}".strip() + causes(
        metric.missing
    )


def causes(missing: Mapping[str, int]) -> str:
    """Return the causes of missing values, as shown after a number; empty if none are missing."""
    words = ", ".join(f"{count:,} {cause}" for cause, count in missing.items())
    return f" ({words})" if words else ""


def metric_rows(metrics: Sequence[MetricResult]) -> list[list[str]]:
    """Return the table rows of a run's metrics."""
    return [
        [
            ("* " if metric.primary else "  ") + metric.name,
            number(metric.value),
            interval(metric.low, metric.high, weak=metric.weak) or "–",
            counted(metric),
            metric.method if metric.method != "nothing scored" else "–",
        ]
        for metric in metrics
    ]


def print_result(run: Run, store: "Store", chosen: CommonOptions, judged: "GateResult | None" = None) -> None:
    """Print the results of a run, and those of a gate for it."""
    if chosen.json:
        emit({"run": run_document(run), **({} if judged is None else judged.fields(store))})
        return
    counts = run.counts
    reward, steps = store.episodes.means(run.id)
    click.echo()
    click.echo(f"{run.benchmark} · {run.model} · {run.status}")
    table(["metric", "value", "95 % interval", "n", "method"], metric_rows(run.metrics), chosen, right=(1, 3))
    facts = [
        f"{counts.scoreable:,}/{counts.planned:,} scoreable",
        f"average reward {number(reward)}",
        f"average steps {'–' if steps is None else f'{steps:.2f}'}",
    ]
    if run.usage.total:
        facts += [f"{tokens(run.usage.total)} tokens", money(run.usage.cost_usd)]
    facts.append(f"wall time {duration(worked(run))}")
    click.echo(" · ".join(facts))
    for line in [*remarks(run), *failure_lines(run, store)]:
        click.echo(line)
    if judged is not None:
        judged.tell(store, chosen)
    click.echo(f"\nrun {run.id}\n  mesocosm run show {run.id}\n  mesocosm run episodes {run.id} --traces")
    if chosen.view is not False and not chosen.quiet:
        from mesocosm.cli.viewer_link import page

        click.echo(f"  {page(f'/runs/{run.id}', store, chosen, 'in the browser')}")
    if run.counts.pending and run.status in {RunStatus.STOPPED, RunStatus.PARTIAL, RunStatus.FAILED}:
        pending = plural(run.counts.pending, "episode")
        click.echo(f"  mesocosm run resume {run.id}    continues it: {pending} pending")


def worked(run: Run) -> float:
    """Return the seconds of work on a run, without pauses between sessions."""
    return run.worked_s(run.heartbeat_at or 0.0) or 0.0


def state(run: Run) -> str:
    """Return the status to show; a running run without a process is interrupted."""
    from mesocosm.store import lease_owner

    return lease_owner.state(run)


def abandoned(run: Run) -> bool:
    """Return whether a run is marked as running although its process is gone."""
    from mesocosm.store import lease_owner

    return lease_owner.abandoned(run)


def failure_lines(run: Run, store: "Store") -> list[str]:
    """Return why episodes failed, with the end of the program's output, and why others have no score."""
    return [*lines_of_failures(failures_of(run, store)), *_unscored(run, store)]


def _unscored(run: Run, store: "Store") -> list[str]:
    """Return a line for each reason that was given for a missing score, with the first task that has it."""
    lines: dict[str, str] = {}
    for metric in sorted(run.metrics, key=lambda one: not one.primary):
        for cause, count in metric.missing.items():
            first = store.episodes.first_missing(run.id, metric.name, cause)
            if first is None or first.failure is not None:
                continue
            score = next(one for one in first.scores if one.name == metric.name)
            if score.explanation:
                said = score.explanation.splitlines()[0][:MESSAGE]
                lines.setdefault(said, f"  {count:,} {cause}, first in {first.task_id}: {said}")
    return list(lines.values())


def lines_of_failures(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of what `failures_of` returned."""
    lines = []
    for failure in found:
        first = failure["message"].splitlines()[0][:MESSAGE] if failure["message"] else ""
        lines.append(f"  {failure['count']:,} {failure['cause']}, first in {failure['task']}: {first}")
        said = [line.rstrip() for line in failure["stderr"].splitlines() if line.strip()]
        lines += [f"    {line[:MESSAGE]}" for line in said[-TAIL:]]
    return lines


def failures_of(run: Run, store: "Store") -> list[dict[str, Any]]:
    """Return the causes of failed episodes as JSON: the count, and the first one's message and tail of stderr."""
    if not run.counts.failed:
        return []
    found = []
    for cause, count, episode in store.episodes.failures(run.id):
        failure = episode.failure
        words = {"message": failure.message if failure else "", "stderr": failure.stderr if failure else ""}
        found.append({"cause": cause, "count": count, "task": episode.task_id, **words})
    return found


def remarks(run: Run, primary: str = "") -> list[str]:
    """Return notes on the numbers: failures, missing values, the strict reading, warnings.

    `primary` is the display name of the primary metric, if it has one.
    """
    lines = []
    if run.error:
        lines.append(f"{run.status}: {run.error}")
    if run.counts.failed:
        lines.append(f"{run.counts.failed:,} of {run.counts.planned:,} episodes failed")
    if run.rescored:
        lines.append(f"warning: {run.rescored}" if run.regraded else f"note: {run.rescored}")
    lines += missing(run.metrics, primary)
    for metric in run.metrics:
        if metric.n_worst and metric.primary:
            counted = (
                "failure of the agent itself counts" if metric.n_worst == 1 else "failures of the agent itself count"
            )
            lines.append(
                f"{metric.n_worst:,} {counted} as the worst value "
                f"({primary or metric.name}: {number(metric.worst_value)})"
            )
        if metric.n_malformed and metric.primary:
            lines.append(_strict(metric))
    lines += [f"warning: {warning}" for warning in run.warnings]
    return lines


def _strict(metric: MetricResult) -> str:
    """Return the strict reading of a metric: without replies that were accepted although they hold no valid action."""
    line = f"{plural(metric.n_malformed, 'episode')} with a reply that holds no valid action and was passed on"
    if metric.strict is None:
        return line
    bounds = interval(metric.strict_low, metric.strict_high)
    return f"{line}; strictly valid, {metric.name} is {number(metric.strict)} {bounds}".rstrip()


def missing(metrics: "Sequence[MetricResult | MetricDocument]", primary: str) -> list[str]:
    """Return notes on missing values, one for metrics that lack the same, and the strict reading of the primary one."""
    lines = []
    kinds = {tuple(metric.missing.items()) for metric in metrics}
    for metric in metrics:
        if not metric.missing or (len(kinds) == 1 and not metric.primary):
            continue
        causes = ", ".join(f"{count:,} {cause}" for cause, count in metric.missing.items())
        name = (primary if metric.primary else "") or metric.name
        who = "" if len(kinds) == 1 else f"{name}: "
        line = f"{who}{sum(metric.missing.values()):,} of {metric.n_planned:,} have no value ({causes})"
        if metric.pessimistic is not None and metric.n_scored:
            bounds = interval(metric.pessimistic_low, metric.pessimistic_high)
            line += f"; counted as worst, {name} is {number(metric.pessimistic)} {bounds}".rstrip()
        lines.append(line)
    return lines
