"""Follow a run of a server until it ends."""

import itertools
import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import options, plural
from mesocosm.cli.gate_options import GateFlags
from mesocosm.cli.render import counted, duration, emit, interval, money, number, plain, scored, table, when
from mesocosm.client.transport import pauses

if TYPE_CHECKING:
    from mesocosm.cli.gate_options import GateResult
    from mesocosm.client.client import Client
    from mesocosm.compat.swecc.documents import Episode, Metric, Run
    from mesocosm.server.schemas.run import RunDetail, RunSummary
    from mesocosm.server.schemas.run_import import Imported

GOING = frozenset({"pending", "running"})
INCOMPLETE = 3
FAILED = frozenset({"failed", "cancelled", "error"})
INTERRUPTED = 130
PATIENCE_S = 120.0
"""Seconds to keep polling a server that stops answering, because it may be restarting."""
_WORDS = {"completed": "finished", "cancelled": "stopped"}
"""Statuses of runs by those of the older interface, where they differ."""
_AWAY = frozenset({0, 502, 503, 504})


class Line:
    """The progress line on standard error: overwritten on a terminal, otherwise printed on each change."""

    def __init__(self) -> None:
        self._over = sys.stderr.isatty() and not options().bare()
        self._said = ""

    def say(self, words: str) -> None:
        """Show a line."""
        if words == self._said or options().quiet:
            return
        self._said = words
        click.echo(f"\r\x1b[K{_cut(words)}" if self._over else words, nl=not self._over, err=True)

    def end(self) -> None:
        """Finish the line."""
        if self._over and self._said:
            click.echo(err=True)


def _cut(words: str) -> str:
    """Return the part that fits on one line of the terminal: only that line can be overwritten."""
    from rich.cells import set_cell_size

    width = shutil.get_terminal_size().columns - 1
    return set_cell_size(words, width).rstrip()


def follow(client: "Client", run_id: str, every_s: float | None = None, *, name: str = "") -> "Run | None":
    """Show a run's progress until it ends, and return it; None after Ctrl-C, which does not stop the run.

    `name` is that of an evaluation, by which the commands of `eval` find it.

    It is polled every `every_s` seconds, or by default often at first and then every second. If a server stops
    answering, polling continues for `PATIENCE_S`.
    """
    from mesocosm.client.error import ApiError
    from mesocosm.compat.swecc.mapping import older_run

    line = Line()
    heard = float("-inf")
    waits = pauses() if every_s is None else itertools.repeat(every_s)
    try:
        while True:
            try:
                found = client.runs.get(run_id)
            except ApiError as error:
                if error.status not in _AWAY or time.monotonic() - heard > PATIENCE_S:
                    raise
                line.say("the server does not answer; trying again")
            else:
                heard = time.monotonic()
                run = older_run(found)
                line.say(progress(run, word_of(run, found)))
                # An evaluation that is asked to stop goes on until its samples have ended.
                if run.status not in GOING and (found.kind != "rollout" or found.state not in GOING):
                    return run
            time.sleep(next(waits))
    except KeyboardInterrupt:
        line.end()
        follows = f"mesocosm eval logs {name} -f" if name else f"mesocosm run watch {run_id}"
        stops = f"mesocosm eval stop {name}" if name else f"mesocosm run stop {run_id}"
        click.echo(f"run {name or run_id} keeps running; follow it with: {follows}", err=True)
        click.echo(f"stop it with: {stops}", err=True)
        return None
    finally:
        line.end()


def progress(run: "Run", word: str = "") -> str:
    """Return the progress of a run on one line; `word` replaces the display status."""
    planned = run.planned or run.config.num_episodes
    parts = [f"{word or state(run)}: {run.finished:,}/{planned:,} done"]
    if run.failed is not None:
        parts.append(f"{run.failed:,} failed")
    primary = next((metric for metric in run.metrics if metric.primary), None)
    if primary is not None and primary.value is not None:
        parts.append(f"{primary.name} {scored(primary)}")
    if run.cost_usd is None or run.cost_usd:
        parts.append(money(run.cost_usd))
    return ", ".join(parts)


def watched(client: "Client", run_id: str, every_s: float = 1.0) -> int:
    """Follow a run, print its result, and return the exit code.

    0 finished, 3 partial or stopped by itself, 1 failed or stopped by somebody, 130 interrupted.
    """
    gate = options().part(GateFlags)
    gate.check_remote(wait=True)
    run = follow(client, run_id, every_s)
    if run is None:
        return INTERRUPTED
    judged = judge(client, run)
    if options().json:
        emit({"run": plain(run), **({"gate": judged.document()} if judged.verdicts else {})})
    else:
        print_run(run)
    return judged.code(exit_code(run))


def judge(client: "Client", run: "Run", episodes: "Sequence[Episode] | None" = None) -> "GateResult":
    """Return the answers of the command's gate about a finished run."""
    from mesocosm.client.error import ApiError

    gate, domain = options().part(GateFlags), ""
    if gate.conditions:
        episodes = list_episodes(client, run.id) if episodes is None else episodes
        with suppress(ApiError):  # On an error the domain's id is shown.
            domain = client.domains.get(run.config.domain_id).name
    return gate.judge_remote(run, episodes or (), domain)


def list_episodes(client: "Client", run_id: str, limit: int | None = None) -> "list[Episode]":
    """Return the planned episodes of a run, pending ones as well."""
    from mesocosm.compat.swecc.mapping import older_episodes

    return older_episodes(client.runs.get(run_id), client.runs.episodes(run_id, limit=limit))[:limit]


def exit_code(run: "Run") -> int:
    """Return the exit code of a command that followed a run to its end."""
    if run.stopped or run.status == "partial":
        return INCOMPLETE
    return 1 if run.status in FAILED else 0


def state(run: "Run") -> str:
    """Return the display status: a run that was stopped, for example by an outage or a budget, did not fail."""
    return "stopped" if run.stopped else _WORDS.get(run.status.value, run.status.value)


def word_of(run: "Run", found: "RunSummary") -> str:
    """Return the display status of a run: that of its request for runs of environments, else its own."""
    kind = "environment" if found.request is None else found.request.kind
    return found.state if kind in ("rollout", "benchmark") or found.kind == "rollout" else state(run)


def print_run(run: "Run", found: "RunDetail | None" = None) -> None:
    """Print the result of a run.

    `found` is the same run as the server describes it, for what `run` does not say.
    """
    title = run.config.domain_id or (found.benchmark if found is not None else "")
    word = state(run) if found is None else word_of(run, found)
    click.echo(f"{title} · {run.config.agent_config.model} · {word}")
    if run.metrics:
        rows = [_row(metric) for metric in run.metrics]
        table(["metric", "value", "95 % interval", "n"], rows, options(), right=(1, 3))
    facts = [f"{run.finished:,}/{run.planned or run.config.num_episodes:,} episodes"]
    if run.cost_usd is None or run.cost_usd:
        facts.append(money(run.cost_usd))
    if run.duration_s is not None and run.status not in GOING:
        facts.append(f"took {duration(run.duration_s)}")
    click.echo(" · ".join(facts))
    if run.error:
        click.echo(f"{state(run)}: {run.error}")
    for warning in run.warnings:
        click.echo(f"warning: {warning}")
    if found is not None and found.imported is not None:
        click.echo(origin(found.imported))
    click.echo(f"\nrun {run.id}\n  mesocosm run get {run.id}\n  mesocosm run export {run.id} -o replay.json")
    imported = found is not None and found.imported is not None
    if not run.redacted and not imported and (advice := _resumed(run)):
        click.echo(f"  mesocosm run resume {run.id} --remote{advice}")


def origin(imported: "Imported") -> str:
    """Return where a run comes from that was played elsewhere."""
    words = f"imported {when(imported.at.timestamp())}"
    if imported.last_at > imported.at:
        words += f", last pushed {when(imported.last_at.timestamp())}"
    words += "" if imported.by is None else f", by {imported.by}"
    words += "" if not imported.host else f" from {imported.host}"
    words += "" if imported.run_id is None else f", where it is run {imported.run_id}"
    checked = "every number was computed again on the server" if imported.recomputed else "its numbers came with a file"
    return f"{words}\n  signature {imported.signature}; {checked}"


def _resumed(run: "Run") -> str:
    """Return what resuming a finished run does; empty if resuming it would be refused."""
    pending = (run.planned or run.config.num_episodes) - run.finished
    if run.status not in FAILED and run.status != "partial":
        return ""
    if pending > 0:
        return f"    continues it: {plural(pending, 'episode')} pending"
    primary = next((metric for metric in run.metrics if metric.primary), None)
    # Failures caused by the agent itself stay.
    again = (run.failed or 0) - (primary.n_worst if primary is not None else 0)
    if again <= 0:
        return ""
    word = "" if run.status == "partial" else " --retry-failed"
    return f"{word}    plays {plural(again, 'failed episode')} again"


def _row(metric: "Metric") -> list[str]:
    return [
        ("* " if metric.primary else "  ") + metric.name,
        number(metric.value),
        interval(metric.low, metric.high, weak=metric.weak) or "–",
        counted(metric),
    ]
