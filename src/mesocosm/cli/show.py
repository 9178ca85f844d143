"""`mesocosm run show`: one run on one screen."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import options, plural
from mesocosm.cli.remote.connection import Remote
from mesocosm.cli.remote.locate import elsewhere, remote_option
from mesocosm.cli.render import (
    abandoned,
    duration,
    emit,
    failure_lines,
    failures_of,
    metric_rows,
    money,
    plain,
    remarks,
    state,
    table,
    tokens,
    when,
    worked,
)
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.run import Run, RunStatus, Selection

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.store import Store

MOST_SEEDS = 12
"""Maximum number of seeds, or ranges of them, that are listed; a run may have thousands."""


@click.command(cls=Remote)
@click.argument("run_id")
@remote_option
def show(run_id: str, remote: bool) -> None:
    """Show a run: numbers with intervals, what is missing, configuration, warnings."""
    there = elsewhere(run_id, remote=remote)
    if there is not None:
        _show_remote(*there)
    else:
        _show_local(run_id)


def _show_remote(client: "Client", run_id: str) -> None:
    from mesocosm.cli.remote.watch import print_run
    from mesocosm.compat.swecc.mapping import older_run

    found = client.runs.get(run_id)
    run = older_run(found)
    if options().json:
        imported = {} if found.imported is None else {"imported": plain(found.imported)}
        emit({"run": {**plain(run), **imported}})
    else:
        print_run(run, found)


def _show_local(run_id: str) -> None:
    from mesocosm.engine.metrics import so_far
    from mesocosm.interop.record import run_document

    store, chosen = command_store(), options()
    run = find_run(store, run_id)
    if not run.metrics:
        run.metrics = so_far(run, store)
    if chosen.json:
        emit({"run": run_document(run), "failures": failures_of(run, store)})
        return
    click.echo(f"{run.benchmark_title} ({run.benchmark} {run.benchmark_version}) · {run.model} · {state(run)}")
    table(["metric", "value", "95 % interval", "n", "method"], metric_rows(run.metrics), chosen, right=(1, 3))
    for line in [*remarks(run), *failure_lines(run, store)]:
        click.echo(line)
    table(["", ""], _rows(run, store), chosen)
    if run.counts.pending and run.status is not RunStatus.FINISHED and state(run) != RunStatus.RUNNING:
        click.echo(f"\n{plural(run.counts.pending, 'episode')} pending; continue with: mesocosm run resume {run.id}")


def _rows(run: Run, store: "Store") -> list[list[str]]:
    counts, model, selection = run.counts, run.spec.model, run.spec.selection
    outcomes = (
        f"{counts.completed:,} completed, {counts.truncated:,} truncated, {counts.timeout:,} timeout, "
        f"{counts.failed:,} failed"
    )
    trials = f", {selection.trials} trials each" if selection.trials > 1 else ""
    rows = [
        ["run", run.id],
        ["episodes", f"{counts.done:,} of {counts.planned:,} ({outcomes})"],
        ["seeds", seeds(selection) + trials],
        ["agent", ", ".join([run.agent, *(f"{name} {value}" for name, value in run.spec.agent.options.items())])],
        ["model", f"temperature {model.temperature:g}, at most {model.max_tokens} tokens a reply"],
        *([["server", server]] if (server := _server(run)) else []),
        *([["played on", places]] if (places := _places(run)) else []),
        ["started", f"{when(run.started_at)}, took {duration(worked(run))}"],
        ["tokens", f"{tokens(run.usage.total)} in {run.usage.calls:,} calls, {money(run.usage.cost_usd)}"],
        ["signature", f"{run.signature} (attempt {run.attempt})"],
        ["content", run.benchmark_digest],
        ["chain", _chain(run)],
    ]
    if run.tags:
        rows.append(["tags", ", ".join(run.tags)])
    if run.holder is not None:
        rows.append(["held by", f"{run.holder}{', which is gone' if abandoned(run) else ''}"])
    return rows


def _server(run: Run) -> str:
    """Return the address and model names of the server that answered a run, and of its judge's."""
    known = run.provenance.get("server", {})
    servers = []
    for role, of in (("", ""), ("judge_", "judge: ")):
        address, served = known.get(f"{role}address", ""), known.get(f"{role}served", "")
        words = f"{address or 'an unknown address'}, answers as {served}" if served else address
        if words:
            servers.append(of + words)
    return "; ".join(servers)


def _places(run: Run) -> str:
    """Return how many episodes which machine played, if the run's own process did not play them."""
    return ", ".join(f"{place}: {count:,}" for place, count in run.ran_on.items())


def _chain(run: Run) -> str:
    """Return the head of the checksum chain over the finished episodes; `mesocosm verify` recomputes it."""
    length, _, head = run.chain.partition(":")
    done = run.counts.done
    if not head:
        return "none: its episodes were recorded without checksums" if done else "–"
    left = f", {done - int(length):,} recorded without a checksum" if done > int(length) else ""
    return f"{head} over {plural(int(length), 'episode')}{left}"


def seeds(selection: Selection) -> str:
    """Return the seeds of a run, with consecutive ones as a range."""
    if selection.seeds is None:
        return f"0–{selection.count - 1}" if selection.count else "all"
    pieces = [f"{first}" if first == last else f"{first}–{last}" for first, last in _ranges(selection.seeds)]
    return ", ".join(pieces[:MOST_SEEDS]) + (", …" if len(pieces) > MOST_SEEDS else "")


def _ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
