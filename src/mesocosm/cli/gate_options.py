"""Gates on the command line: the flags of every command that runs or compares, and their evaluation."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mesocosm.cli.command import CommonOptions, options
from mesocosm.cli.render import counted, interval, number, table_line
from mesocosm.cli.results import find_run
from mesocosm.core.failure import MesocosmError, UnknownName, UsageError

if TYPE_CHECKING:
    from mesocosm.compat.swecc.documents import Episode
    from mesocosm.compat.swecc.documents import Run as RemoteRun
    from mesocosm.core.info import BenchmarkInfo
    from mesocosm.core.ports import ResultRow
    from mesocosm.core.run import Run
    from mesocosm.engine.comparison.gate import Condition, GateVerdict
    from mesocosm.engine.comparison.runs import RunComparison
    from mesocosm.engine.results import Samples
    from mesocosm.store import Store

DEFAULTS = ("regression p<0.05", "missing>2%")
"""The default conditions of `mesocosm gate`."""

WORDS = {"pass": "pass", "fail": "FAIL", "undecided": "CANNOT TELL", "error": "NOTHING TO JUDGE"}
MARKS = {"pass": "✅", "fail": "❌", "undecided": "❔", "error": "❌"}
_SEVERITY = (0, 3, 1, 2, 4, 130)

C = TypeVar("C", bound=click.Command)
Find = Callable[["Store", str], "Run"]


@dataclass
class GateFlags:
    """The conditions and outputs that the flags request for a command's runs."""

    conditions: "list[Condition]" = field(default_factory=list)
    baselines: list[str] = field(default_factory=list)
    junit: Path | None = None
    markdown: Path | None = None
    allow_undecided: bool = False
    used: bool = False
    _known: "list[Run] | None" = None

    def check(self, *, comparing: bool = False) -> None:
        """Raise UsageError for flags that do not fit together. `comparing`: the command itself names a baseline."""
        pairwise = [condition.text for condition in self.conditions if condition.pairwise]
        if pairwise and not self.baselines and not comparing:
            raise UsageError(f"{pairwise[0]!r} needs a run to compare with: name it with --baseline")
        if self.junit is not None and not self.conditions:
            raise UsageError("--junit writes the answers to conditions; name at least one with --fail-if")

    def check_metrics(self, declared: "Callable[[], Iterable[BenchmarkInfo]]") -> None:
        """Raise UsageError for a metric that none of the benchmarks declares, before any of them is run.

        Benchmarks that discover further scores during a run are not checked.
        """
        from mesocosm.engine.comparison.gate import check_metrics, metric_named

        if not any(map(metric_named, self.conditions)):
            return
        infos = list(declared())
        if not infos or any((info.discovers and not info.below) or not info.metrics for info in infos):
            return
        names = list(dict.fromkeys(metric.name for info in infos for metric in info.metrics))
        below = any(info.below for info in infos)
        check_metrics(self.conditions, names, " and ".join(info.id for info in infos), below=below)

    def prepare(self, store: "Store", find: "Find | None" = None) -> "Sequence[Run]":
        """Look up the baselines and return their runs, before anything is run.

        Later, `last` would mean the run that the command creates. Raises UsageError and UnknownName.
        """
        self.check()
        if self._known is None:
            self._known = [run for name in self.baselines for run in _baselines(store, name, find)]
        return self._known

    def judge(self, store: "Store", runs: "Sequence[Run]") -> "GateResult":
        """Return the answers about new runs, each compared with the baseline of its benchmark."""
        from mesocosm.engine.comparison.gate import judge
        from mesocosm.engine.comparison.runs import compare_runs

        self.used = True
        self.prepare(store)
        runs = list({run.id: run for run in runs}.values())
        known = self._known or []
        # A run that is its own baseline may still be the baseline of others.
        others = [one for one in known if any(run.benchmark == one.benchmark and run.id != one.id for run in runs)]
        rest = [run for run in runs if run.id not in {one.id for one in others}]
        compared = compare_runs(store.episodes.score_rows, [*others, *rest]) if others else None
        verdicts = judge(self.conditions, runs, store.episodes, compared)
        return GateResult(self, (*verdicts, *self._uncompared(runs, known, others)), compared)

    def check_remote(self, *, wait: bool) -> None:
        """Raise UsageError for conditions that need more than the document of a remote run."""
        self.check()
        if self.baselines:
            raise UsageError("--baseline compares runs on this machine; the server compares its own runs")
        if (self.conditions or self.markdown) and not wait:
            raise UsageError("a run is judged when it has ended: add --wait")
        for condition in self.conditions:
            if condition.label or condition.kind.startswith("calls"):
                raise UsageError(
                    f"{condition.text!r}: conditions on a server's run can use metrics, missing, failed, cost, tokens, "
                    "latency and pass@k, but not labels or calls"
                )

    def judge_remote(self, over: "RemoteRun", episodes: "Sequence[Episode]", domain: str = "") -> "GateResult":
        """Return the answers about a finished run of a server, and print them on standard error.

        `domain` is the display name of its domain.
        """
        from mesocosm.engine.comparison.gate import judge

        self.used = True
        run = _local(over, episodes, domain or over.config.domain_id)
        judged = GateResult(self, judge(self.conditions, [run], _Sampled(episodes)))
        judged.write("mesocosm run", lambda: runs_markdown(run.benchmark, [run], None))
        for text in judged.lines():
            click.echo(text, err=True)
        return judged

    def judge_comparison(self, samples: "Samples", found: "RunComparison") -> "GateResult":
        """Return the answers about compared runs."""
        from mesocosm.engine.comparison.gate import judge_comparison

        self.used = True
        return GateResult(self, judge_comparison(found, self.conditions, samples), found)

    def _uncompared(
        self, runs: "Sequence[Run]", known: "Sequence[Run]", others: "Sequence[Run]"
    ) -> "Iterator[GateVerdict]":
        """Yield an error for each run without a baseline, even if no condition needs one: the user named a baseline.

        Runs of the baseline that this command did not repeat cannot be detected.
        """
        from mesocosm.engine.comparison.gate import ConditionAnswer, GateVerdict

        if not self.baselines:
            return
        for run in runs:
            if any(one.benchmark == run.benchmark and one.id != run.id for one in others):
                continue
            if any(run.id == one.id for one in known):
                why = "the baseline is this run itself, so there is nothing to compare"
            else:
                why = f"the baseline is a run of {', '.join(sorted({one.benchmark for one in known})) or 'nothing'}"
            yield GateVerdict(
                f"baseline {' '.join(self.baselines)}", run.benchmark, run.name or run.id, ConditionAnswer.ERROR, why
            )
        for name in dict.fromkeys(run.benchmark for run in others and known):
            if name not in {run.benchmark for run in runs}:
                why = "the baseline includes this benchmark, but it was not run here"
                yield GateVerdict(f"baseline {' '.join(self.baselines)}", name, name, ConditionAnswer.UNDECIDED, why)


@dataclass(frozen=True)
class GateResult:
    """The answers of a gate, and the comparison behind them."""

    gate: GateFlags
    verdicts: "tuple[GateVerdict, ...]"
    compared: "RunComparison | None" = None

    def code(self, code: int) -> int:
        """Return the exit code of a command that would otherwise end with `code`: the more severe of both."""
        from mesocosm.engine.comparison.gate import exit_code

        own = exit_code(self.verdicts, allow_undecided=self.gate.allow_undecided)
        return max(code, own, key=lambda one: _SEVERITY.index(one) if one in _SEVERITY else len(_SEVERITY))

    def lines(self) -> list[str]:
        """Return a line for each answer, and a summary."""
        return [*map(line, self.verdicts), *([f"gate {self._whole()}"] if self.verdicts else [])]

    def _whole(self) -> str:
        from mesocosm.engine.comparison.gate import ConditionAnswer

        answers = {verdict.answer for verdict in self.verdicts}
        if answers & {ConditionAnswer.FAIL, ConditionAnswer.ERROR}:
            return "closed"
        if ConditionAnswer.UNDECIDED not in answers:
            return "open"
        allowed = self.gate.allow_undecided and not any(verdict.lacking for verdict in self.verdicts)
        return "open: --allow-undecided" if allowed else "undecided, which does not open it"

    def document(self) -> list[dict[str, str | bool]]:
        """Return the answers as JSON."""
        return [
            {
                "condition": verdict.condition,
                "benchmark": verdict.benchmark,
                "subject": verdict.subject,
                "answer": str(verdict.answer),
                "passed": not verdict.broken,
                "found": verdict.found,
            }
            for verdict in self.verdicts
        ]

    def fields(self, store: "Store") -> dict[str, Any]:
        """Return the gate's part of the JSON document; empty without a gate."""
        from mesocosm.cli.comparison_report import document

        found: dict[str, Any] = {}
        if self.verdicts:
            found["gate"] = self.document()
        if self.compared is not None:
            base = self.compared.runs[0]
            found |= {"baseline": base.name or base.id, "comparison": document(self.compared, store.episodes.task_ids)}
        return found

    def tell(self, store: "Store", chosen: CommonOptions) -> None:
        """Print the comparison with the baseline and the answers."""
        from mesocosm.cli.comparison_report import compare_path, tell
        from mesocosm.cli.viewer_link import page

        found = self.compared
        if found is not None:
            baseline = found.runs[0]
            click.echo(f"\nagainst the baseline {baseline.name or baseline.id}:")
            tell(found, store.episodes.task_ids, chosen)
            click.echo(f"  {page(compare_path(found), store, chosen)}")
        if self.verdicts:
            click.echo()
        for text in self.lines():
            click.echo(text)

    def write(self, suite: str, markdown: Callable[[], str]) -> None:
        """Write the files that the flags request; `markdown` returns the report without the answers."""
        from mesocosm.core.folder import MARK

        if self.gate.junit is not None:
            write_file(self.gate.junit, junit_of(suite, self.verdicts))
        if self.gate.markdown is None:
            return
        marked = "".join(f"- {MARKS[verdict.answer]} {_marked(verdict)}\n" for verdict in self.verdicts)
        text = markdown().rstrip("\n") + "\n" + (f"\n{marked}" if marked else "")
        if str(self.gate.markdown) == "-":
            click.echo(text, nl=False, err=options().json)
        else:
            write_file(self.gate.markdown, f"{MARK}\n{text}".encode())


class _Sampled:
    """The episodes of a server's run, with what their documents contain."""

    def __init__(self, episodes: "Sequence[Episode]") -> None:
        self._episodes = episodes

    def result_rows(self, run_id: str, primary: str) -> "Iterator[ResultRow]":
        """Yield the rows of the finished episodes."""
        from mesocosm.core.episode import FINISHED
        from mesocosm.core.failure import RULES, Cause
        from mesocosm.core.ports import ResultRow

        for one in self._episodes:
            if one.status not in FINISHED:
                continue
            cause = (one.failure or {}).get("cause")
            value = one.scores.get(primary)
            worst = cause in set(Cause) and RULES[Cause(cause)].valid
            outcome = "worst" if worst else "missing" if value is None else "scored"
            seconds = (one.ended_at - one.started_at).total_seconds() if one.ended_at and one.started_at else None
            yield ResultRow(str(one.seed), "", value, outcome, cause, cause, seconds, None)


def _local(over: "RemoteRun", episodes: "Sequence[Episode]", domain: str) -> "Run":
    """Return a server's run as a local one, with what its document contains."""
    from mesocosm.core.model import ModelSettings
    from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
    from mesocosm.core.score import MetricResult
    from mesocosm.core.usage import Usage

    failed = sum(episode.status == "failed" for episode in episodes)
    used = [int(episode.terminal_info.get("total_tokens", 0)) for episode in episodes]
    ended = {"completed": RunStatus.FINISHED, "failed": RunStatus.FAILED, "partial": RunStatus.PARTIAL}
    config, word = over.config, over.status.value
    status = RunStatus(word) if word in {"pending", "running"} else ended.get(word, RunStatus.STOPPED)
    if over.stopped:
        status = RunStatus.STOPPED
    return Run(
        id=over.id,
        signature="",
        benchmark=domain,
        benchmark_title=config.domain_id,
        benchmark_version=config.binding_vow_version,
        benchmark_digest="",
        kind="hosted",
        model=config.agent_config.model,
        agent="loop",
        spec=RunSpec(BenchmarkRef("hosted", config.domain_id), ModelSettings(config.agent_config.model)),
        name=over.name,
        status=status,
        counts=Counts(planned=over.planned, completed=max(over.finished - failed, 0), failed=failed),
        metrics=tuple(MetricResult(**metric.model_dump()) for metric in over.metrics),
        # The threshold is not in the document: only rewards of 0 and 1 define a pass.
        info={
            "metrics": [
                {
                    **{name: getattr(metric, name) for name in ("name", "primary", "higher_is_better", "directed")},
                    "score": metric.name,
                    "aggregation": "mean",
                }
                for metric in over.metrics
            ]
        },
        # The number of calls is not in the document; without one the cost would be unknown as well.
        usage=Usage(sum(used), cost_usd=over.cost_usd, calls=over.finished),
    )


def gate_options(*, baseline: bool = True) -> Callable[[C], C]:
    """Return a decorator that adds the flags of a gate; without `baseline` if the command itself names one."""
    added = [
        click.Option(["--baseline"], multiple=True, metavar="RUN", help="Compare with this run or run group, by task."),
        click.Option(["--fail-if"], multiple=True, metavar="CONDITION", help="Exit 1 if so; see mesocosm gate --help."),
        click.Option(["--junit"], type=click.Path(path_type=Path), help="Write the conditions as JUnit XML."),
        click.Option(["--markdown"], type=click.Path(path_type=Path), help="Write a report as Markdown (- prints it)."),
        click.Option(["--allow-undecided"], is_flag=True, help="Do not exit 3 for conditions that cannot be decided."),
    ]

    def add(command: C) -> C:
        for option in added if baseline else added[1:]:
            option.callback, option.expose_value = _keep, False
            command.params.append(option)
        return command

    return add


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    gate = context.ensure_object(CommonOptions).part(GateFlags)
    match parameter.name:
        case "fail_if":
            from mesocosm.engine.comparison.gate import read_condition

            gate.conditions += [read_condition(text) for text in value]
        case "baseline":
            gate.baselines += value
        case "allow_undecided":
            gate.allow_undecided = gate.allow_undecided or value
        case name if value is not None:
            setattr(gate, str(name), value)


def _baselines(store: "Store", name: str, find: "Find | None") -> "list[Run]":
    """Return the run that a baseline names, or the runs of a run group. Raises UnknownName."""
    try:
        return [store.runs.get((find or find_run)(store, name).id)]
    except UnknownName as error:
        try:
            group = store.groups.get(name)
        except MesocosmError:
            raise error from None
        ids = dict.fromkeys(outcome.run_id for outcome in store.groups.outcomes(group.id) if outcome.run_id)
        return [store.runs.get(run_id) for run_id in ids]


def line(verdict: "GateVerdict") -> str:
    """Return the line of an answer."""
    place = "  ".join(part for part in (verdict.benchmark, verdict.subject) if part)
    return f"gate {verdict.condition}  {place}  {WORDS[verdict.answer]}: {verdict.found}"


def _marked(verdict: "GateVerdict") -> str:
    place = " ".join(part for part in (verdict.benchmark, verdict.subject) if part)
    return f"`{verdict.condition}` {place}: {WORDS[verdict.answer]}: {verdict.found}"


def junit_of(suite: str, verdicts: "Sequence[GateVerdict]") -> bytes:
    """Return the answers of a gate as JUnit XML; what cannot be decided or judged is an error."""
    from mesocosm.engine.comparison.gate import ConditionAnswer
    from mesocosm.interop.junit import JUnitCase, junit

    return junit(
        suite,
        [
            JUnitCase(
                f"mesocosm.{verdict.benchmark or 'gate'}",
                f"{verdict.condition}: {verdict.subject}",
                failure=verdict.found if verdict.answer is ConditionAnswer.FAIL else "",
                error=f"{WORDS[verdict.answer]}: {verdict.found}"
                if verdict.answer in {ConditionAnswer.UNDECIDED, ConditionAnswer.ERROR}
                else "",
                output=verdict.found if verdict.answer is ConditionAnswer.PASS else "",
            )
            for verdict in verdicts
        ],
    )


def write_file(path: Path, data: bytes) -> None:
    """Write a file that a flag names, creating its folder."""
    from mesocosm.interop.files import replacing

    with replacing(path) as file:
        file.write(data)


def runs_markdown(title: str, runs: "Sequence[Run]", compared: "RunComparison | None") -> str:
    """Return runs as Markdown, with missing values beside each number, and their comparison with a baseline."""
    from mesocosm.cli import comparison_report

    lines = [
        f"### {title}",
        "",
        "| benchmark | run | status | score | 95 % interval | n |",
        "|---|---|---|---:|---|---|",
    ]
    for run in runs:
        primary = run.primary
        cells = [
            run.benchmark,
            comparison_report.named(run),
            str(run.status),
            number(None if primary is None else primary.value),
            "–" if primary is None else interval(primary.low, primary.high, weak=primary.weak) or "–",
            "–" if primary is None else counted(primary),
        ]
        lines.append(table_line(cells))
    if compared is not None:
        base = compared.runs[0]
        lines += [
            "",
            f"Against the baseline {base.name or base.id}:",
            "",
            comparison_report.markdown(compared).rstrip(),
        ]
    return "\n".join(lines) + "\n"
