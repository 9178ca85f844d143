"""Reports of an evaluation run for people and programs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import CommonOptions, plural
from mesocosm.cli.eval.document import detail
from mesocosm.cli.render import (
    counted,
    duration,
    emit,
    interval,
    money,
    number,
    remarks,
    state,
    table,
    table_line,
    tokens,
    when,
    worked,
)
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import MetricResult
from mesocosm.engine.metrics import NOT_RUN
from mesocosm.engine.results import FailureCount, Passes, RunResults, results

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mesocosm.cli.gate_options import GateResult
    from mesocosm.core.usage import Usage
    from mesocosm.engine.comparison.runs import RunComparison
    from mesocosm.server.schemas.metric import MetricDocument, UsageDocument
    from mesocosm.server.schemas.results import FailureCountDocument, RunResultsDocument
    from mesocosm.store import Store

COLUMNS = ("k", "pass@k", "95 % interval", "pass^k", "95 % interval", "rows")
RIGHT = (0, 1, 3, 5)
ALL_UP_TO = 8
"""With more tries than this, only powers of two and the total are shown."""
MOST_FAILURES = 8
WIDTH = 160
REWARD = "reward"
ADVICE = {
    "rollout_failed": "its output is in `mesocosm eval logs {name}`",
}


def show(
    run: Run,
    store: "Store",
    chosen: CommonOptions,
    judged: "GateResult",
    *,
    found: RunResults | None = None,
    done: bool = False,
    onward: bool = True,
) -> None:
    """Print the results of a run as text or as one document.

    `found` are its results, if already computed; `onward` adds the commands that show more of it.
    """
    found = found or results(run, store.episodes, run.metrics)
    if chosen.json:
        whole = detail(run, found)
        whole["data"] |= judged.fields(store)
        emit(whole)
        return
    if done:
        click.echo(
            f"run {run.name or run.id}: all {plural(run.counts.planned, 'sample')} are finished, nothing was run"
        )
    click.echo()
    click.echo(f"{run.agent} on {run.benchmark} · {run.model} · {state(run)}")
    headline(found, chosen)
    for line in facts(found, worked(run), run.usage):
        click.echo(line)
    lines = [*_failed(run, found, store), *_other(run)]
    if tries(found.passes, chosen) and lines:
        click.echo()
    for line in lines:
        click.echo(line)
    judged.tell(store, chosen)
    if onward:
        _onward(run, store, chosen)


def headline(found: "RunResults | RunResultsDocument", chosen: CommonOptions) -> None:
    """Print the numbers of a run with their intervals."""
    rows = [_row(result, "score" if result is found.score else result.name) for result in _numbers(found)]
    if rows:
        table(["", "value", "95 % interval", "n"], rows, chosen, right=(1, 3))


def facts(found: "RunResults | RunResultsDocument", seconds: float, usage: "Usage | UsageDocument") -> Iterator[str]:
    """Yield lines about samples, scores, time and cost; `seconds` is the time worked on the run."""
    counts = found.counts
    passed = "" if counts.passed is None else f", {counts.passed:,} passed (score ≥ {found.pass_threshold:g})"
    skipped = f", {counts.skipped:,} skipped" if counts.skipped else ""
    pending = f", {counts.owed:,} pending" if counts.owed else ""
    done = f"{counts.done:,}/{counts.planned:,} samples"
    yield f"{done}: {counts.graded:,} graded{passed}, {counts.failed:,} failed{skipped}{pending}"
    if found.reward is not None:
        spread = found.reward
        yield (
            f"scores of graded samples: mean {number(spread.mean)}, std {number(spread.std)}, "
            f"min {number(spread.min)}, median {number(spread.median)}, max {number(spread.max)}"
        )
    line = f"wall time {duration(seconds)}"
    if found.latency is not None:
        line += f" · a sample takes {found.latency.p50:.2f} s (p50), {found.latency.p95:.2f} s (p95)"
    if usage.total:
        line += f" · {tokens(usage.total)} tokens · {money(usage.cost_usd)}"
    yield line


def _numbers(found: "RunResults | RunResultsDocument") -> "Iterator[MetricResult | MetricDocument]":
    yield from (result for result in (found.score, found.pass_rate) if result is not None)
    yield from found.metrics


def _row(result: "MetricResult | MetricDocument", name: str) -> list[str]:
    bounds = interval(result.low, result.high, weak=result.weak) or "–"
    return [name, number(result.value), bounds, counted(result)]


def pass_rows(passes: Sequence[Passes]) -> Iterator[list[str]]:
    """Yield a row for each k that is shown; none if every row was tried only once."""
    if len(passes) < 2:
        return
    last = passes[-1].k
    for one in passes:
        if last <= ALL_UP_TO or one.k == last or one.k.bit_count() == 1:
            at, hat = one.at, one.hat
            yield [
                str(one.k),
                number(at.value),
                interval(at.low, at.high, weak=at.weak) or "–",
                number(hat.value),
                interval(hat.low, hat.high, weak=hat.weak) or "–",
                f"{at.tasks:,}",
            ]


def tries(passes: Sequence[Passes], chosen: CommonOptions, of: str = COLUMNS[-1]) -> bool:
    """Print pass@k and pass^k of the trials `of` something, after an empty line; return whether there are any."""
    rows = list(pass_rows(passes))
    if rows:
        click.echo()
        table([*COLUMNS[:-1], of], rows, chosen, right=RIGHT)
    return bool(rows)


def _failed(run: Run, found: RunResults, store: "Store") -> Iterator[str]:
    """Yield a line for each cause of failure, with the message of one sample."""
    failures = store.episodes.failures(run.id) if run.counts.failed else ()
    words = {
        cause: (episode.task_id, episode.failure.message if episode.failure else "") for cause, _, episode in failures
    }

    def ungraded(cause: str) -> tuple[str, str]:
        episode = store.episodes.first_missing(run.id, REWARD, cause)
        said = (score.explanation for score in episode.scores if score.name == REWARD) if episode else ()
        return (episode.task_id if episode else "", next(iter(said), ""))

    listed = found.failures[:MOST_FAILURES]
    first = {failure.cause: words.get(failure.cause) or ungraded(failure.cause) for failure in listed}
    yield from failed(listed, first, run.name or run.id)


def failed(
    failures: "Sequence[FailureCount | FailureCountDocument]", first: "Mapping[str, tuple[str, str]]", name: str
) -> Iterator[str]:
    """Yield a line for each cause of failure of the run `name`; `first` has a row with each, and its message."""
    for failure in failures[:MOST_FAILURES]:
        counted = "counts as worst" if failure.valid else "has no score"
        row, said = first.get(failure.cause, ("", ""))
        words = f"; row {row}: {said.splitlines()[0][:WIDTH].rstrip(' :;')}" if said else ""
        advice = ADVICE.get(failure.cause, "").format(name=quote(name))
        line = f"  {failure.count:,} {failure.cause} ({failure.stage}, {counted}){words}"
        yield f"{line}; {advice}" if advice else line


def _other(run: Run) -> Iterator[str]:
    """Yield notes on the numbers and the causes; notes that two metrics share are shown only with the score."""
    for line in remarks(run, "score"):
        said = "episodes failed" in line or "of the agent itself" in line
        if not said and not line.startswith("pass_rate: "):
            yield line


def _onward(run: Run, store: "Store", chosen: CommonOptions) -> None:
    from mesocosm.cli.viewer_link import page

    name = quote(run.name or run.id)
    broken = any({*metric.missing} - {NOT_RUN} for metric in run.metrics)
    failed = " --failed" if run.counts.failed or broken else ""
    click.echo(f"\nrun {name}\n  mesocosm eval info {name}\n  mesocosm eval logs {name}{failed}")
    if chosen.view is not False and not chosen.quiet:
        click.echo(f"  {page(f'/runs/{run.id}', store, chosen, 'in the browser')}")
    if run.counts.pending and run.status in {RunStatus.STOPPED, RunStatus.PARTIAL, RunStatus.FAILED}:
        click.echo(f"  the same command continues it: {plural(run.counts.pending, 'sample')} pending")


def write(run: Run, store: "Store", judged: "GateResult", found: RunResults, output: Path | None) -> None:
    """Write the files that the flags request."""
    judged.write("mesocosm eval", lambda: "\n".join(markdown(run, found, judged.compared)) + "\n")
    if output is not None:
        from mesocosm.interop.download import write_download

        write_download(run, store, output, {"metrics", "samples"}, overwrite=True)


def markdown(run: Run, found: RunResults, compared: "RunComparison | None" = None) -> Iterator[str]:
    """Yield the lines of a report for a pull request."""
    yield f"### {run.agent} on {run.benchmark}"
    yield ""
    yield f"{run.model} · {state(run)} · {when(run.started_at)} · {run.info.get('description', '')}"
    yield ""
    yield "| | value | 95 % interval | n |"
    yield "|---|---:|---|---:|"
    for result in _numbers(found):
        yield table_line(_row(result, "score" if result is found.score else result.name))
    yield ""
    yield from (f"- {line}" for line in facts(found, worked(run), run.usage))
    rows = list(pass_rows(found.passes))
    if rows:
        yield from ("", table_line(COLUMNS), "|---:|---:|---|---:|---|---:|")
        yield from map(table_line, rows)
        yield ""
    for failure in found.failures:
        yield f"- {failure.count:,} {failure.cause} ({failure.stage})"
    if compared is not None:
        from mesocosm.cli.comparison_report import markdown as comparison_markdown

        baseline = compared.runs[0]
        yield from (
            "",
            f"Against the baseline {baseline.name or baseline.id}:",
            "",
            comparison_markdown(compared).rstrip(),
        )
