"""`bench run` and `bench plan`."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.bench import flags
from mesocosm.cli.bench.catalogue import tell_listed
from mesocosm.cli.command import CommonOptions, MesocosmCommand, options, plural, view_option
from mesocosm.cli.gate_options import GateFlags, gate_options, runs_markdown
from mesocosm.cli.remote.connection import Remote
from mesocosm.cli.render import counted as n_of
from mesocosm.cli.render import emit, failures_of, interval, lines_of_failures, number, short, table
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.benchmarks.catalogue import BenchmarkCatalogue
    from mesocosm.cli.bench.request import BenchRequest
    from mesocosm.cli.bench.work import BenchWork
    from mesocosm.core.run import Run
    from mesocosm.engine.group import MemberResult

    Failures = Callable[[Run], list[dict[str, Any]]]

COUNTED = ("succeeded", "failed", "skipped", "incompatible")
UNDECIDED = frozenset({"partial", "stopped"})
DONE_BEFORE = frozenset({"already_succeeded", "latest_status_succeeded"})
INCOMPLETE, INTERRUPTED = 3, 130


@gate_options()
@click.command(cls=Remote, many=flags.MANY, own=flags.OWN)
@flags.what
@flags.model
@flags.how
@flags.again
@flags.where
@click.option("--name", default="", help="Name of the run, to find it by.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option(
    "--skip-incompatible/--show-incompatible",
    default=True,
    help="With --all: hide or list benchmarks that cannot run here. Named ones are always listed.",
)
@view_option
def run(**given: Any) -> int:
    """Run the benchmarks NAME and record every episode; `mesocosm bench list` shows them.

    What succeeded before is skipped, what was interrupted continues, what failed is run again. Exit 1 when one failed,
    or was named and cannot run here; 3 when one is partial.

    With --remote they run on the server where you are logged in, with a model of `mesocosm models`; a parameter that
    is a path is then dataset:NAME of the workspace, and Ctrl-C does not stop them.

    A NAME such as inspect:TASK, lm-eval:TASK, verifiers:TASKSET, gym:ID or harbor:FOLDER is a benchmark of another
    framework, which runs in a Python of its own; `mesocosm guests` installs them, `mesocosm bench search` finds them.

    \b
    mesocosm bench run gsm8k -m openai/my-model@http://127.0.0.1:8001/v1
    mesocosm bench run gsm8k -n 50 -m openai/gpt-5-mini -m groq/qwen/qwen3-32b
    mesocosm bench run --all -m groq/qwen/qwen3-32b -n 50
    """
    chosen = options()
    chosen.quiet, chosen.view, chosen.opens = given["quiet"], given["view"], bool(given["view"])
    if flags.on_server(given):
        from importlib import import_module

        # By name: `remote` prints its results with the functions of this module.
        found: int = import_module("mesocosm.cli.bench.remote").run_remote(given)
        return found
    from mesocosm.cli.sources import named_sources

    if named_sources(given["names"]):
        from mesocosm.cli.bench.sources import run_sources

        return run_sources(given)
    catalogue = _catalogue(given)
    if not (given["names"] or given["benchmarks"] or given["everything"]):
        if not chosen.json:
            tell_listed(catalogue)
        raise UsageError("which benchmark? Name it: mesocosm bench run NAME -m MODEL; or --all for all of them")
    models = flags.models_of(given)
    if given["names"] and not (models or given["provider"]):
        raise UsageError(
            "which model? Add -m: openai/NAME, ollama/NAME, NAME@URL …; builtin/oracle and builtin/empty need none"
        )
    if len(set(models)) < len(models):
        raise UsageError("two of these models are the same; leave one out")
    if given["name"] and (len(models) > 1 or len(flags.request_of(given).chosen) != 1):
        raise UsageError("--name is for one run: name one benchmark and one model, or use --tag")
    if given["dry_run"]:
        chosen.part(GateFlags).check(comparing=len(models) > 1)
        requests = [flags.request_of({**given, "models": (one,)}) for one in models or ("",)]
        return _plan(requests, catalogue, given)
    if len(models) > 1:
        return _compare([flags.request_of({**given, "models": (one,)}) for one in models], catalogue, given)
    chosen.part(GateFlags).check()
    return _run(flags.request_of(given), catalogue, given)


@click.command(cls=MesocosmCommand, many=flags.MANY, own=flags.OWN_OF_PLAN)
@flags.what
@flags.model
@flags.how
@flags.again
def plan(**given: Any) -> int:
    """Show what `bench run` with the same flags would do: finished and pending work, and its cost."""
    models = flags.models_of(given) or ("",)
    return _plan([flags.request_of({**given, "models": (one,)}) for one in models], _catalogue(given), given)


def _catalogue(given: dict[str, Any]) -> "BenchmarkCatalogue":
    from mesocosm.cli.bench.catalogue import catalogue

    return catalogue(given["folders"])


def _run(request: "BenchRequest", catalogue: "BenchmarkCatalogue", given: dict[str, Any]) -> int:
    from mesocosm.cli.bench.work import BenchWork

    chosen = options()
    with BenchWork(request, catalogue, chosen, **flags.again_of(given)) as work:
        for note in work.notes:
            click.echo(f"note: {note}", err=True)
        chosen.part(GateFlags).check_metrics(work.infos)
        chosen.part(GateFlags).prepare(work.store)
        results, interrupted = work.run()
        path = work.refresh()
        group = work.group
        runs = [result.run for result in results if result.run is not None]

        def failures(run: "Run") -> list[dict[str, Any]]:
            return failures_of(run, work.store)

        judged = chosen.part(GateFlags).judge(work.store, runs)
        judged.write("mesocosm bench run", lambda: runs_markdown(f"run group {group.id}", runs, judged.compared))
        if chosen.json:
            emit_results(results, failures, group.id, str(path), judged.fields(work.store))
        else:
            hide = given["skip_incompatible"] and not request.chosen
            # Programs that read the file call the command by its older flags, and expect the line.
            older = given["benchmarks"] or given["provider"]
            click.echo(f"\nrun group {group.id}\n" + (f"data for the viewer in {path}\n" if older else ""))
            tell_results(results, failures, hide=hide)
            judged.tell(work.store, chosen)
            _point(group.id, work, results)
            if (call := _python(request, judged=any(one.spec and one.spec.judge for one in work.members))) is not None:
                click.echo(f"in Python  {call}")
        return judged.code(exit_code(results, interrupted=interrupted, named=bool(request.chosen)))


def _compare(requests: "Sequence[BenchRequest]", catalogue: "BenchmarkCatalogue", given: dict[str, Any]) -> int:
    """Run the same benchmarks with several models at once, and compare each with the first."""
    from contextlib import ExitStack

    from mesocosm.cli.bench.work import BenchWork, run_together
    from mesocosm.cli.comparison_report import document, markdown, tell
    from mesocosm.engine.comparison.runs import compare_runs

    chosen = options()
    gate = chosen.part(GateFlags)
    gate.check(comparing=True)
    if gate.baselines:
        raise UsageError("with several models the first is what the others are compared with; leave --baseline out")
    with ExitStack() as closing:
        works = [
            closing.enter_context(BenchWork(request, catalogue, chosen, **flags.again_of(given)))
            for request in requests
        ]
        gate.check_metrics(works[0].infos)
        for note in dict.fromkeys(note for work in works for note in work.notes):
            click.echo(f"note: {note}", err=True)
        played, interrupted = run_together(works)
        path = works[-1].refresh()
        store, all_results = works[0].store, [result for results in played for result in results]
        runs = list({one.run.id: one.run for one in all_results if one.run is not None}.values())
        found = compare_runs(store.episodes.score_rows, runs)
        judged = gate.judge_comparison(store.episodes, found)
        judged.write("mesocosm bench run", lambda: markdown(found))

        def failures(run: "Run") -> list[dict[str, Any]]:
            return failures_of(run, store)

        if chosen.json:
            sides = [results_document(results, failures) for results in played]
            compared = document(found, store.episodes.task_ids)
            emit({"items": sides, "next": None, **compared, "viewer_data": str(path), "gate": judged.document()})
        else:
            for request, results in zip(requests, played, strict=False):
                click.echo(f"\n{request.name.shown()}")
                tell_results(results, failures, hide=given["skip_incompatible"] and not requests[0].chosen)
            click.echo()
            tell(found, store.episodes.task_ids, chosen)
            for line in judged.lines():
                click.echo(line)
        code = exit_code(all_results, interrupted=interrupted, named=bool(requests[0].chosen))
        return judged.code(code)


def exit_code(results: "Sequence[MemberResult]", *, interrupted: bool, named: bool) -> int:
    """Return the exit code. A `named` benchmark that cannot run here counts as failed; with --all it is ignored.

    A benchmark that is skipped because another process works on it counts as not done.
    """
    from mesocosm.engine.rerun_decision import NEVER

    statuses = {result.outcome.status for result in results}
    if interrupted:
        return INTERRUPTED
    if "failed" in statuses or (named and "incompatible" in statuses):
        return 1
    skipped = {result.outcome.reason for result in results if result.outcome.status == "skipped"}
    return INCOMPLETE if UNDECIDED & statuses or skipped - DONE_BEFORE - {NEVER} else 0


def emit_results(
    results: "Sequence[MemberResult]",
    failures: "Failures",
    group_id: str | None,
    viewer_data: str | None,
    judged: dict[str, Any],
) -> None:
    """Print the results as JSON; `judged` are the fields of the gate."""
    emit({"run_group_id": group_id, "viewer_data": viewer_data, **results_document(results, failures), **judged})


def results_document(results: "Sequence[MemberResult]", failures: "Failures") -> dict[str, Any]:
    """Return the results of all benchmarks as JSON."""
    from mesocosm.interop.record import run_document

    return {
        "outcomes": [
            {
                **outcome_document(result),
                "failures": [] if result.run is None else failures(result.run),
                "run": None if result.run is None else run_document(result.run),
            }
            for result in results
        ],
        "summary": counted(results),
    }


def outcome_document(result: "MemberResult") -> dict[str, Any]:
    """Return the result of a benchmark as JSON."""
    outcome = result.outcome
    primary = result.run.primary if result.run is not None else None
    return {
        "benchmark_id": outcome.benchmark,
        "benchmark_directory": outcome.directory,
        "status": outcome.status,
        "reason": outcome.reason,
        "run_id": outcome.run_id,
        "signature": outcome.signature,
        "score": None if primary is None else primary.value,
    }


def counted(results: "Sequence[MemberResult]") -> dict[str, int]:
    """Return the number of benchmarks with each status."""
    found = Counter(str(result.outcome.status) for result in results)
    return {name: found[name] for name in (*COUNTED, *sorted(set(found) - set(COUNTED)))}


def tell_results(results: "Sequence[MemberResult]", failures: "Failures", *, hide: bool) -> None:
    """Print the table of the results, why some have none, and a summary; `hide` those that cannot run here."""
    from mesocosm.cli.bench.work import why_of

    chosen = options()
    shown = [result for result in results if not (hide and result.outcome.status == "incompatible")]
    rows = [_row(result, chosen) for result in shown]
    if rows:
        columns = ["benchmark", "status", "score", "95 % interval", "n", "run"]
        table(columns, rows, chosen, right=(2, 4), whole=(0, 1))
    lines = []
    for result in shown:
        outcome = result.outcome
        failed = [] if result.run is None else lines_of_failures(failures(result.run))
        if outcome.reason not in {"", *DONE_BEFORE}:
            lines.append(f"{outcome.benchmark}: {why_of(outcome)}")
        elif failed:
            lines.append(f"{outcome.benchmark}:")
        lines += failed
    if lines:
        click.echo()
    for line in lines:
        click.echo(line)
    hidden = [result.outcome for result in results if result.outcome.status == "incompatible"]
    if hide and hidden:
        names = ", ".join(outcome.benchmark for outcome in hidden)
        click.echo(f"\ncannot run here: {names}  (use --show-incompatible for the reasons)")
    if results and all(result.outcome.reason in DONE_BEFORE for result in results):
        click.echo("\nNothing was run: all of it was done before. --fresh runs it again.")
    pending = sum(result.run.counts.pending for result in shown if result.run is not None)
    if pending:
        click.echo(f"\n{plural(pending, 'episode')} pending: the same command continues")
    summary = " ".join(f"{name}={count}" for name, count in counted(results).items())
    click.echo(f"\nSummary: {summary}")


def _point(group_id: str, work: "BenchWork", results: "Sequence[MemberResult]") -> None:
    """Print the viewer's page of this group."""
    from mesocosm.cli.viewer_link import page

    if any(result.run is not None and result.run.group_id == group_id for result in results):
        click.echo(f"\n  {page(f'/?group={group_id}', work.store, options())}")


def _python(request: "BenchRequest", *, judged: bool) -> str | None:
    """Return the call in Python that finds the same run; None for several benchmarks, or what only commands can say."""
    from mesocosm.benchmarks.parameters import PER_BENCHMARK
    from mesocosm.cli.evaluating import EvaluateCall

    params = dict(request.extra)
    name = request.name
    further = {"base_url", f"{name.provider}_base_url", "top_p", "reasoning_effort", PER_BENCHMARK}
    if len(request.chosen) != 1 or request.agent or further & set(params):
        return None
    given = {
        "params": {key: value for key, value in params.items() if key not in {"temperature", "max_tokens", "trials"}},
        "limit": request.max_examples,
        "trials": params.get("trials", request.trials),
        "seed": request.seed,
        "temperature": params.get("temperature", request.temperature),
        "max_tokens": params.get("max_tokens"),
        "name": request.run_name or None,
        "model": str(name),
        "judge": request.judge if judged else None,
        **_mcp(request),
    }
    return EvaluateCall(
        request.chosen[0], {key: value for key, value in given.items() if value not in (None, {})}
    ).python()


def _mcp(request: "BenchRequest") -> dict[str, Any]:
    """Return the arguments of `evaluate` for the MCP servers of a request."""
    if request.mcp is None:
        return {}
    servers: list[Any] = []
    for one in request.mcp.servers:
        own = {"server": one.server, "headers": one.headers, "env": list(one.env)}
        servers.append({name: value for name, value in own.items() if value} if one.headers or one.env else one.server)
    limits = request.mcp.document()
    return {"mcp": servers, "mcp_options": {name: limits[name] for name in limits if name != "servers"}}


def _row(result: "MemberResult", chosen: CommonOptions) -> list[str]:
    outcome = result.outcome
    primary = result.run.primary if result.run is not None else None
    n = "–" if primary is None else n_of(primary)
    return [
        outcome.benchmark,
        str(outcome.status),
        number(None if primary is None else primary.value),
        "–" if primary is None else interval(primary.low, primary.high, weak=primary.weak) or "–",
        n,
        short(outcome.run_id, chosen) or "–",
    ]


def _plan(requests: "Sequence[BenchRequest]", catalogue: "BenchmarkCatalogue", given: dict[str, Any]) -> int:
    from mesocosm.cli.bench.plan import forecast, tell
    from mesocosm.cli.bench.work import BenchWork

    chosen = options()
    prospects, notes = [], []
    for request in requests:
        with BenchWork(request, catalogue, chosen, **flags.again_of(given)) as work:
            prospects += forecast(work.members, work.existing, work.policy)
            notes += [note for note in work.notes if note not in notes]
    if chosen.json:
        emit({"plan": [prospect.document() for prospect in prospects], "notes": notes})
        return 0
    for note in notes:
        click.echo(f"note: {note}", err=True)
    tell(prospects, chosen)
    return 0
