"""Call `mesocosm.evaluate` from the command line: its flags, progress, the result, the same call in Python."""

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mesocosm.cli.command import (
    SETTINGS,
    CommonOptions,
    Count,
    FiniteFloat,
    models_option,
    options,
    plural,
    view_option,
)
from mesocosm.cli.gate_options import GateFlags, gate_options, runs_markdown
from mesocosm.cli.mcp_options import mcp_arguments, mcp_options
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.core.info import BenchmarkInfo
    from mesocosm.core.ports import Progress
    from mesocosm.core.run import Run
    from mesocosm.engine.comparison.runs import RunComparison
    from mesocosm.store import Store

INTERRUPTED = 130
SHOWN_ANSWERS = 20
"""Answers of a run without a grader that are printed."""
EVERY = 10
"""Lines of progress of a run without a terminal."""
WIDTH = 11
"""Columns of the names before what can be done next."""

C = TypeVar("C", bound=click.Command)
_PARAMETERS = {
    "model.temperature": "temperature",
    "model.max_tokens": "max_tokens",
    "evaluation.seed": "seed",
    "evaluation.timeout_s": "timeout",
}
"""Settings that are parameters of `evaluate` by another name."""


def evaluation_options(command: C) -> C:
    """Add the options that `run WHAT`, `eval ask` and `eval run` share."""
    added = (
        models_option,
        click.option("-n", "--limit", type=Count(), metavar="N", help='The first N rows, tasks or seeds; "all".'),
        click.option("--trials", type=click.IntRange(min=1), help="How often each."),
        click.option("--judge", metavar="MODEL", help="The model that graders ask  [the run's]."),
        click.option("--parallel", type=click.IntRange(min=1), help="How many at a time."),
        click.option(
            "--budget", type=FiniteFloat(min=0, min_open=True), metavar="USD", help="Budget of all runs together."
        ),
        click.option("--name", help="Name of the run."),
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tags of the run."),
        click.option("--fresh", is_flag=True, help="Start over, whatever finished before."),
        click.option("--retry-failed", is_flag=True, help="Repeat what infrastructure failed."),
        mcp_options,
        click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=f"Anything else: {SETTINGS}."),
        click.option("--quiet", is_flag=True, help="Do not show progress."),
        view_option,
    )
    for option in reversed(added):
        command = option(command)
    return gate_options()(command)


@dataclass(frozen=True)
class EvaluateCall:
    """A call of `mesocosm.evaluate`: what, its arguments, and how those are written in Python if not by their value."""

    what: str
    arguments: Mapping[str, Any]
    label: str = ""
    written: Mapping[str, str] = field(default_factory=dict)

    def python(self) -> str:
        """Return the call as it is written in Python."""
        parts = [quoted(self.what)]
        for name, value in self.arguments.items():
            parts.append(f"{name}={self.written.get(name) or quoted(value)}")
        return f"mc.evaluate({', '.join(parts)})"


def python_of(calls: Sequence[EvaluateCall]) -> str:
    """Return several calls, which differ in their prompts and models, as one call in Python."""
    arguments = dict(calls[0].arguments)
    models = list(dict.fromkeys(call.arguments.get("model") for call in calls))
    prompts = list(dict.fromkeys(call.arguments.get("prompt") for call in calls))
    if len(prompts) > 1:
        arguments["prompt"] = {str(place): prompt for place, prompt in enumerate(prompts, 1)}
    if len(models) > 1:
        arguments["model"] = models
    return replace(calls[0], arguments=arguments).python().replace("mc.evaluate(", "mc.sweep(", 1)


def quoted(value: Any) -> str:
    """Return a value as Python code, texts with double quotes."""
    import json

    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: {quoted(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(quoted, value))}]"
    return repr(value)


def models_of(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the models that the flags name, else that of MESOCOSM_MODEL; empty without both."""
    import os

    usual = os.environ.get("MESOCOSM_MODEL", "").strip()
    return given["models"] or ((usual,) if usual else ())


def arguments_of(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arguments of `evaluate` that the shared flags mean, and how they are written. Raises UsageError."""
    from mesocosm.cli.settings import read_settings

    found: dict[str, Any] = {
        name: given[name] for name in ("limit", "trials", "judge", "parallel", "name", "tags") if given[name]
    }
    if "tags" in found:
        found["tags"] = list(found["tags"])
    limits: dict[str, Any] = {} if given["budget"] is None else {"usd": given["budget"]}
    further: dict[str, Any] = {}
    for key, value in read_settings(given["settings"]).items():
        table, _, name = key.partition(".")
        if key in _PARAMETERS:
            found[_PARAMETERS[key]] = value
        elif table == "limits":
            limits.setdefault(name, value)
        else:
            further[name] = value
    if further:
        found["model_args"] = further
    found |= mcp_arguments(given)
    written = {}
    if limits:
        found["limits"] = limits
        written["limits"] = f"mc.Limits({', '.join(f'{name}={value!r}' for name, value in limits.items())})"
    return found, written


class EvaluationProgress:
    """Shows what is evaluated, and how far all runs together are: a bar on a terminal, else a line for each tenth."""

    def __init__(self, chosen: CommonOptions, unit: str) -> None:
        self._chosen = chosen
        self._unit = unit
        self._runs: dict[str, Progress] = {}
        self._bar: Any = None
        self._task: Any = None
        self._shown = 0
        self._drawn = 0.0

    @property
    def begun(self) -> tuple[str, ...]:
        """The ids of the runs that have begun."""
        return tuple(self._runs)

    def __call__(self, progress: "Progress") -> None:
        """Show the progress."""
        from mesocosm.api.progress import EVERY_S, counted, line_of

        new = progress.run.id not in self._runs
        self._runs[progress.run.id] = progress
        runs = tuple(self._runs.values())
        done, planned = counted(runs)
        tenths = done * EVERY // max(planned, 1)
        if new:
            self._start(progress)
            self._shown = min(self._shown, tenths)
        if self._bar is not None:
            # The score is computed from the store, so not for each of many episodes.
            now = time.monotonic()
            if new or now - self._drawn >= EVERY_S or done >= planned:
                self._drawn = now
                self._bar.update(self._task, completed=done, total=planned, line=line_of(*runs))
        elif tenths > self._shown:
            self._shown = tenths
            click.echo(line_of(*runs), err=True)

    def notice(self, message: str) -> None:
        """Print what a run waits for. Its warnings stand in its result."""
        if not message.startswith("warning"):
            click.echo(message, err=True)

    def _start(self, progress: "Progress") -> None:
        from mesocosm.core.ports import Observer

        click.echo(header(progress.run, progress.planned, self._unit), err=True)
        self._link(progress, Observer())
        if self._bar is None and not (self._chosen.bare() or not sys.stderr.isatty()):
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                BarColumn(style="dim", complete_style="default", finished_style="default"),
                TextColumn("{task.fields[line]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", line="")

    def _link(self, progress: "Progress", watcher: Any) -> None:
        """Print the page on which the run can be watched, if a viewer is wanted."""
        from mesocosm.cli.results import open_results
        from mesocosm.cli.viewer_link import ViewerLink, wanted

        if not wanted(self._chosen):
            return
        store = open_results(self._chosen)
        try:
            watcher.notice = lambda text: click.echo(text, err=True)
            ViewerLink(self._chosen, store, watcher).run_started(progress)
        finally:
            store.close()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def header(run: "Run", planned: int, unit: str) -> str:
    """Return `q · 40 rows, 4 trials each · right answer: column answer · o5`."""
    import re

    noted = " ".join(map(str, run.provenance.get("notes", ())))
    right = re.search(r"the right answer is column '([^']*)'", noted)
    model = run.model.partition("/")[2].partition("@")[0] or run.model
    trials = run.spec.selection.trials
    count = plural(planned // trials, unit) + (f", {trials} trials each" if trials > 1 else "")
    parts = [run.benchmark, count, f"right answer: column {right[1]}" if right else "", model]
    return " · ".join(part for part in parts if part)


def play(calls: Sequence[EvaluateCall], given: Mapping[str, Any], unit: str = "row") -> int:
    """Make the calls at once, print the result, compare several with the first; return the exit code."""
    from mesocosm.cli.results import open_results

    chosen = options()
    chosen.quiet, chosen.view, chosen.opens = given["quiet"], given["view"], bool(given["view"])
    gate = chosen.part(GateFlags)
    gate.check(comparing=len(calls) > 1)
    if gate.baselines:
        if len(calls) > 1:
            raise UsageError("the first of several is what the others are compared with; leave --baseline out")
        store = open_results(chosen, create=False)
        try:
            gate.prepare(store)
        finally:
            store.close()
    gate.check_metrics(lambda: [asyncio.run(_info(call)) for call in calls])
    ids, interrupted = _evaluated(calls, given, unit)
    if not ids:
        from mesocosm.cli.signals import NOTHING_STORED

        raise KeyboardInterrupt(NOTHING_STORED)
    store = open_results(chosen, create=False)
    try:
        runs = [store.runs.get(run_id) for run_id in ids]
        code = max(map(_exit_code, runs))
        if len(calls) > 1:
            return _tell_interrupted(calls, runs) if interrupted else _compared(calls, runs, store, code)
        return _one(calls[0], runs[0], store, INTERRUPTED if interrupted else code)
    finally:
        store.close()


async def _info(call: EvaluateCall) -> "BenchmarkInfo":
    """Return what is known of a call's benchmark before it runs. Raises UsageError."""
    from mesocosm.api.definitions import Limits
    from mesocosm.api.experiments import Arguments, work_for
    from mesocosm.engine import opening

    given = dict(call.arguments)
    work = work_for(call.what, Arguments(**{**given, "limits": Limits(**given.get("limits", {}))}))
    async with opening.closing(work.parts(work.spec)) as parts:
        return parts.benchmark.info


def _evaluated(calls: Sequence[EvaluateCall], given: Mapping[str, Any], unit: str) -> tuple[list[str], bool]:
    """Return the ids of the runs, and whether they were interrupted."""
    import mesocosm as mc
    from mesocosm.api.evaluate import evaluated_together
    from mesocosm.api.waiting import waited

    chosen = options()
    place = chosen.database() or str(chosen.results())
    progress: Any = False if chosen.quiet else EvaluationProgress(chosen, unit)
    how = {"fresh": given["fresh"], "retry_failed": given["retry_failed"], "store": place, "progress": progress}
    if chosen.executor != "auto":
        how["executor"] = chosen.executor
    made = []
    for call in calls:
        arguments = {**call.arguments, **how, "what": call.what}
        if limits := arguments.get("limits"):
            arguments["limits"] = mc.Limits(**limits)
        made.append(arguments)
    try:
        # The record then has the command line as the place of the call.
        runs = waited(lambda control: evaluated_together(made, "", control))
    except mc.Interrupted as stopped:
        return [run.id for run in stopped.runs], True
    except KeyboardInterrupt as stopped:
        # The second one, which waits for nothing, or one before there was anything to stop.
        if not progress:
            raise
        if progress.begun:
            whose = f"{'run' if len(progress.begun) == 1 else 'runs'} {', '.join(progress.begun)}"
            keep = "keeps" if len(progress.begun) == 1 else "keep"
            kept = f"interrupted: {whose} {keep} what finished, and the same command continues"
            raise KeyboardInterrupt(kept) from stopped
        return [], True
    finally:
        if progress:
            progress.close()
    return [run.id for run in runs], False


def _tell_interrupted(calls: Sequence[EvaluateCall], runs: "Sequence[Run]") -> int:
    """Say what is kept of several calls; return the exit code."""
    for call, run in zip(calls, runs, strict=False):
        counts = run.counts
        click.echo(f"{call.label}: {counts.done:,} of {counts.planned:,} are stored in run {run.id}", err=True)
    for call in calls[len(runs) :]:
        click.echo(f"{call.label}: not begun", err=True)
    click.echo("interrupted: the same command continues", err=True)
    return INTERRUPTED


def _exit_code(run: "Run") -> int:
    from mesocosm.cli.session import exit_code

    return exit_code(run)


def _one(call: EvaluateCall, run: "Run", store: "Store", code: int) -> int:
    """Print the result of one call; return the exit code."""
    from mesocosm.cli.render import emit, failures_of
    from mesocosm.interop.record import run_document

    chosen = options()
    judged = chosen.part(GateFlags).judge(store, [run])
    judged.write("mesocosm evaluate", lambda: runs_markdown(run.benchmark, [run], judged.compared))
    if chosen.json:
        failures = {"failures": failures_of(run, store), "python": call.python()}
        emit({"run": run_document(run), **failures, **judged.fields(store)})
        return judged.code(code)
    colour = None
    if judged.verdicts:
        colour = "red" if judged.code(0) == 1 else "green" if judged.code(0) == 0 else None
    _tell_numbers(run, store, chosen, colour)
    judged.tell(store, chosen)
    _tell_ways(call, run, store, chosen)
    return judged.code(code)


def _tell_numbers(run: "Run", store: "Store", chosen: CommonOptions, colour: str | None) -> None:
    from mesocosm.cli.render import counted, failure_lines, interval, number

    if not run.metrics:
        _tell_answers(run)
    metrics = sorted(run.metrics, key=lambda one: not one.primary)
    width = max(WIDTH - 2, *(len(one.name) for one in metrics), 0)
    for metric in metrics:
        name = "score" if metric.primary else metric.name
        value = click.style(number(metric.value), fg=colour) if metric.primary and colour else number(metric.value)
        click.echo(
            f"{name:<{width}} {value}  {interval(metric.low, metric.high, weak=metric.weak) or '–'}  {counted(metric)}"
        )
    for line in _taken_over(run):
        click.echo(line)
    if run.error:
        click.echo(f"{run.status}: {run.error}")
    for line in failure_lines(run, store):
        click.echo(line)
    for warning in run.warnings:
        click.echo(f"warning: {warning}")


def _taken_over(run: "Run") -> Iterator[str]:
    """Yield which answers of earlier runs were graded instead of asking the model again."""
    from mesocosm.api.running import NOTES, TAKEN

    yield from (note for note in run.provenance.get(NOTES, ()) if note.startswith(TAKEN))


def _tell_answers(run: "Run") -> None:
    """Print the answers of a run without a grader."""
    import mesocosm as mc

    chosen = options()
    found = mc.get_run(run.id, store=chosen.database() or str(chosen.results()))
    for place, episode in enumerate(found.episodes()):
        if place == SHOWN_ANSWERS:
            click.echo(f"and {run.counts.done - SHOWN_ANSWERS:,} more: mesocosm run logs last")
            return
        click.echo(f"{episode.task}  {episode.answer if episode.answer is not None else episode.error}")


def _tell_ways(call: EvaluateCall, run: "Run", store: "Store", chosen: CommonOptions) -> None:
    from mesocosm.cli.viewer_link import page

    wrong = wrong_count(run, store)
    if wrong:
        name = "last" if store.runs.list(limit=1).items[0].id == run.id else run.id
        found = f"{wrong:,} wrong"
        padding = " " * (WIDTH - len(found))
        click.echo(f"{click.style(found, fg='yellow')}{padding}{command(f'mesocosm run show {name} --wrong')}")
    if run.counts.pending:
        click.echo(f"{'pending':<{WIDTH}}{run.counts.pending:,}: the same command continues")
    click.echo(f"{'browser':<{WIDTH}}{page(f'/runs/{run.id}', store, chosen)}")
    click.echo(f"{'in Python':<{WIDTH}}{call.python()}")


def command(line: str) -> str:
    """Return a command in the colour of commands."""
    return click.style(line, fg="cyan")


def wrong_count(run: "Run", store: "Store") -> int:
    """Return the number of episodes that were graded as wrong."""
    from mesocosm.store.filters import EpisodeFilter

    return store.episodes.count(run.id, EpisodeFilter(outcome="fail"))[0]


def _compared(calls: Sequence[EvaluateCall], runs: "Sequence[Run]", store: "Store", code: int) -> int:
    """Print the comparison of several calls with the first one; return the exit code."""
    from mesocosm.cli.comparison_report import document, markdown
    from mesocosm.cli.render import emit
    from mesocosm.engine.comparison.runs import compare_runs
    from mesocosm.interop.record import run_item

    chosen = options()
    found = compare_runs(store.episodes.score_rows, list({run.id: run for run in runs}.values()))
    judged = chosen.part(GateFlags).judge_comparison(store.episodes, found)
    judged.write("mesocosm evaluate", lambda: markdown(found))
    labels = {run.id: call.label for call, run in zip(calls, runs, strict=True)}
    if chosen.json:
        items = [{**run_item(run), "label": labels[run.id]} for run in runs]
        compared = document(found, store.episodes.task_ids)
        python = [call.python() for call in calls]
        emit({"items": items, "next": None, "comparison": compared, "python": python, "gate": judged.document()})
        return judged.code(code)
    for line in comparison_lines(found, labels):
        click.echo(line)
    for run in runs:
        for line in _taken_over(run):
            click.echo(f"{labels[run.id]}: {line}")
    for line in judged.lines():
        click.echo(line)
    newest = [run.id for run in store.runs.list(limit=2).items][::-1]
    names = "last~1 last" if newest == [run.id for run in runs] else " ".join(run.id for run in runs)
    click.echo(f"{'flipped':<{WIDTH}}{command(f'mesocosm compare {names} --flipped')}")
    click.echo(f"{'in Python':<{WIDTH}}{python_of(calls)}")
    return judged.code(code)


def comparison_lines(found: "RunComparison", labels: Mapping[str, str]) -> list[str]:
    """Return the scores of compared runs and their differences from the first one, by their labels."""
    from mesocosm.cli.comparison_report import bounds, signed
    from mesocosm.cli.render import number

    lines = []
    width = max(map(len, labels.values()))
    for group in found.groups:
        metric = f", {group.metric.name}" if group.metric is not None else ""
        lines.append(f"{group.runs[0].benchmark}{metric}")
        for run, score in zip(group.runs, group.scores, strict=True):
            own = "–" if score is None else f"{number(score.value)} {bounds(score.low, score.high, weak=score.weak)}"
            lines.append(f"  {labels[run.id]:<{width}}  {own}")
        for pair in group.pairs:
            delta = pair.contrast.delta
            winner = {"tie": "tie", "a": labels[pair.a], "b": labels[pair.b]}[pair.winner]
            where = f"difference {signed(delta.value)} {bounds(delta.low, delta.high, weak=delta.weak)}"
            of = f"{labels[pair.b]}: " if len(group.pairs) > 1 else ""
            p_value = "p<0.001" if pair.p_adjusted < 0.001 else f"p={pair.p_adjusted:.4f}"
            lines.append(f"  {of}{where}  {p_value}  {winner}")
        if group.note:
            lines.append(f"  {group.note}")
    return lines
