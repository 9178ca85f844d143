"""`mesocosm eval info NAME`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mesocosm.cli.command import CommonOptions, MesocosmCommand, options
from mesocosm.cli.eval.on_server import HERE, found_on_server, server_option
from mesocosm.cli.gate_options import GateFlags, gate_options
from mesocosm.cli.render import GOING, emit, scored, table, when
from mesocosm.cli.results import command_store, find_evaluation
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.core.run import Run
    from mesocosm.engine.slices import Slices


@gate_options()
@click.command(cls=MesocosmCommand)
@click.argument("name")
@click.option(
    "--by", "label", default="", metavar="LABEL", help="Slice the results by a column, metadata field, or `trial`."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write metrics.json into this directory.")
@server_option
def info(name: str, label: str, output: Path | None, remote: bool, workspace: str | None) -> int:
    """Show an evaluation run: results, what failed and why, configuration. NAME may be a name, an id, or `last`.

    While the run is going on, it is a snapshot. With --fail-if it exits 1 when a condition is broken, 3 when one cannot
    be decided.
    """
    from mesocosm.cli.eval import report
    from mesocosm.cli.eval.document import detail
    from mesocosm.engine.metrics import so_far
    from mesocosm.engine.results import results
    from mesocosm.engine.slices import slices

    there = found_on_server(name, workspace, remote=remote, local=lambda: find_evaluation(command_store(), name))
    if there is not None:
        if label:
            raise UsageError("--by slices runs of this machine; the page of the run in the browser slices it too")
        if output is not None:
            there.download(output, {"metrics"}, None, overwrite=True)
        return there.show()
    store, chosen = command_store(), options()
    run = find_evaluation(store, name)
    if run.status in GOING or not run.metrics:
        run.metrics = so_far(run, store)
    numbers = results(run, store.episodes, run.metrics)
    chosen.part(GateFlags).prepare(store, find_evaluation)
    judged = chosen.part(GateFlags).judge(store, [run])
    judged.write("mesocosm eval", lambda: "\n".join(report.markdown(run, numbers, judged.compared)) + "\n")
    if output is not None:
        from mesocosm.interop.download import write_download

        write_download(run, store, output, {"metrics"}, overwrite=True)
    if chosen.json:
        found = detail(run, numbers)
        found["data"] |= judged.fields(store)
        if label:
            found["data"]["slices"] = msgspec.to_builtins(slices(run, store.episodes, label))
        emit(found)
        return judged.code(0)
    # Report an unknown label before anything is shown.
    sliced = slices(run, store.episodes, label) if label else None
    report.show(run, store, chosen, judged, found=numbers, onward=False)
    if sliced is not None:
        _show_slices(sliced, chosen)
    _show_configuration(run, chosen)
    return judged.code(0)


def _show_slices(found: "Slices", chosen: CommonOptions) -> None:
    """Print the slices."""
    rows = []
    for one in found.slices:
        rate = one.pass_rate
        rows.append(
            [
                "(none)" if one.value is None else one.value,
                f"{one.reward.n_scored:,}/{one.samples:,}",
                scored(one.reward),
                scored(rate),
                f"{one.failed:,}",
            ]
        )
    click.echo(f"\nby {found.by}")
    table([found.by, "scored", "score", "pass rate", "failed"], rows, chosen, right=(1, 4), whole=(0,))
    if found.more:
        click.echo(f"and {found.more:,} more values")


def _show_configuration(run: "Run", chosen: CommonOptions) -> None:
    """Print the settings and the code version of a run."""
    options, facts = run.spec.benchmark.options, run.provenance.get("eval", {})
    seconds = (options.get("workflow_seconds", 450.0), options.get("grader_seconds", 150.0))
    rows = [
        ("run", run.id),
        ("where", HERE),
        ("config", str(facts.get("config", "–"))),
        ("rollout", f"{run.agent} ({options.get('entrypoint', '')})"),
        ("commit", _commit(facts)),
        ("dataset", str(options.get("dataset", ""))),
        ("rows", str(run.info.get("description", ""))),
        ("n", str(run.spec.selection.trials)),
        ("pass threshold", f"{options.get('pass_threshold', 1.0):g}"),
        (
            "timeouts",
            " · ".join(f"{what} {value:g} s" for what, value in zip(("workflow", "grader"), seconds, strict=True)),
        ),
        ("in flight", _in_flight(run)),
        ("model", f"temperature {run.spec.model.temperature:g} · max_tokens {run.spec.model.max_tokens:,}"),
        ("judge", "" if run.spec.judge is None else run.spec.judge.name),
        ("grader", str(options.get("grader", {}).get("use", "")) or "the rollout's own"),
        ("env", ", ".join(options.get("environment", {}))),
        ("secrets", ", ".join(options.get("secrets", ()))),
        ("started", when(run.started_at)),
        ("ended", when(run.ended_at)),
    ]
    click.echo("\nconfiguration")
    table(["", ""], [row for row in rows if row[1]], chosen, whole=(0,))


def _in_flight(run: "Run") -> str:
    """Return the maximum number of samples in progress at once."""
    most = run.info.get("parallel")
    if most is None and run.spec.benchmark.options.get("capped"):
        return "as many as the rollout takes"
    return str(run.spec.parallel if most is None else min(run.spec.parallel, most))


def _commit(facts: Mapping[str, Any]) -> str:
    """Return the code's commit, and whether files differed from it."""
    commit = str(facts.get("commit", ""))[:12]
    return f"{commit} with changes" if commit and facts.get("dirty") else commit
