"""Evaluation runs of a workspace on a server: list, show, stop, read and download them."""

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import IO, TYPE_CHECKING, Any

import click

from mesocosm.cli.command import options, plural
from mesocosm.cli.eval.document import SCHEMA_VERSION, operation, shared_run
from mesocosm.cli.gate_options import GateFlags
from mesocosm.cli.remote.connection import WORKSPACE_VARIABLE, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, emit, interval, missing, number, table, when
from mesocosm.core.failure import MesocosmError, UnknownName, UsageError

if TYPE_CHECKING:
    from mesocosm.cli.gate_options import GateResult
    from mesocosm.client.client import Client
    from mesocosm.core.run import Run
    from mesocosm.server.schemas.evaluation import PreviousRun
    from mesocosm.server.schemas.metric import MetricDocument
    from mesocosm.server.schemas.results import RunResultsDocument
    from mesocosm.server.schemas.run import RunDetail, RunSummary

HERE = "on this machine"
FOLLOW_S = 1.0
STATES = {"failed": ("failed", "partial"), "stopped": ("stopped", "interrupted")}
_GOING = ("pending", "running")
CODES = {"failed": 1, "partial": 3, "stopped": 3, "interrupted": 3}
"""Exit codes of commands that wait for a run, by its status."""
REWARD, PASS_RATE = "reward", "pass_rate"


def server_option(command: Any) -> Any:
    """Add --workspace, and --remote for runs that are not to be looked for on this machine."""
    what = "Look only on the server  [on this machine first]."
    return click.option("--remote", is_flag=True, help=what)(workspace_option(command))


def found_on_server(
    name: str, workspace: str | None, *, remote: bool, local: "Callable[[], Run]"
) -> "WorkspaceRun | None":
    """Return a run of a workspace by its name or id; None if this machine has it, as `local` finds out.

    `last` is the newest run of both. With `remote` or a workspace only the server is asked. Raises UnknownName if
    neither has it.
    """
    if remote or workspace:
        return WorkspaceRun.of(name, workspace)
    try:
        here = local()
    except UnknownName:
        if not has_workspace():
            raise
        return WorkspaceRun.of(name, None)
    if name != "last":
        return None
    there = _newer(here)
    if there is None:
        called, place = here.name or here.id, HERE
    else:
        called, place = there.run.name or there.run.id, there.place
    click.echo(f"note: the newest evaluation is {called}, {place}", err=True)
    return there


def _newer(here: "Run") -> "WorkspaceRun | None":
    """Return the newest run of the workspace if it is newer than one of this machine.

    A server that does not answer is said on standard error.
    """
    from mesocosm.client.error import ApiError

    try:
        there = WorkspaceRun.of("last", None) if has_workspace() else None
    except UnknownName:
        return None
    except (ApiError, UsageError) as error:
        click.echo(f"warning: only this machine was looked at: {error}", err=True)
        return None
    return there if there is not None and there.run.created_at.timestamp() > here.created_at else None


def has_workspace() -> bool:
    """Return whether the caller is logged in and works in a workspace; the server is asked if none is chosen."""
    try:
        client = member_client()
        chosen = os.environ.get(WORKSPACE_VARIABLE) or client.caller.workspace_id
        return bool(chosen) or any(one.role is not None for one in client.workspaces.list())
    except MesocosmError:
        return False


class WorkspaceRun:
    """A run of a workspace on a server."""

    def __init__(self, client: "Client", workspace: str, run: "RunDetail") -> None:
        self.client = client
        self.workspace = workspace
        self.run = run

    @classmethod
    def of(cls, name: str, workspace: str | None) -> "WorkspaceRun":
        """Return a run by its name or id; `last` is the newest one. Raises UnknownName, ApiError."""
        client = member_client()
        place = workspace_for(client, workspace)
        if name == "last":
            newest = client.runs.evaluations(place, limit=1).items
            if not newest:
                raise UnknownName(
                    "the workspace has no evaluation run yet; submit one with: mesocosm eval submit CONFIG"
                )
            name = newest[0].id
        return cls(client, place, client.runs.of_workspace(place, name))

    @property
    def place(self) -> str:
        """Where the run is, in words."""
        return f"in the workspace {self.client.workspaces.get(self.workspace).name}"

    def follow(self) -> int:
        """Follow the run to its end, print its results, and return the exit code.

        0 finished, 1 failed, 3 incomplete, 130 after Ctrl-C, which does not stop the run; or what a gate says.
        """
        from mesocosm.cli.remote.watch import INTERRUPTED, follow

        options().part(GateFlags).check_remote(wait=True)
        if follow(self.client, self.run.id, FOLLOW_S, name=self.run.name) is None:
            return INTERRUPTED
        self.run = self.client.runs.get(self.run.id)
        return self._report(CODES.get(self.run.state, 0))

    def show(self) -> int:
        """Print the run: results with intervals, what failed, configuration, and the difference from the one before."""
        options().part(GateFlags).check_remote(wait=self.run.state not in _GOING)
        return self._report(0)

    def _report(self, code: int) -> int:
        run, chosen = self.run, options()
        found, previous = self.client.runs.results(run.id), self.client.runs.previous(run.id)
        judged = self._judged()
        gate = {"gate": judged.document()} if judged is not None else {}
        if chosen.json:
            data = {"eval_run": shared_run(run), "results": found, "previous": previous, **gate}
            emit({"schema_version": SCHEMA_VERSION, "data": data})
        else:
            self._print(found, previous)
        return code if judged is None else judged.code(code)

    def _judged(self) -> "GateResult | None":
        from mesocosm.cli.remote.watch import list_episodes
        from mesocosm.compat.swecc.mapping import older_run

        gate = options().part(GateFlags)
        if not (gate.conditions or gate.markdown):
            return None
        return gate.judge_remote(older_run(self.run), list_episodes(self.client, self.run.id), self.run.benchmark)

    def _print(self, found: "RunResultsDocument", previous: "PreviousRun") -> None:
        from mesocosm.cli.eval import report
        from mesocosm.cli.remote.watch import origin
        from mesocosm.engine.results import Chance, Passes

        run, chosen = self.run, options()
        click.echo(f"\n{run.agent} on {run.benchmark} · {run.model} · {run.state}")
        report.headline(found, chosen)
        for line in report.facts(found, run.duration_s or 0.0, run.usage):
            click.echo(line)
        passes = [
            Passes(one.k, *(Chance(**part.model_dump()) for part in (one.pass_at_k, one.pass_hat_k)))
            for one in found.passes
        ]
        report.tries(passes, chosen)
        reason = "" if run.request is None else run.request.reason
        if words := reason or run.error:
            click.echo(f"{run.state}: {words}")
        first = {one.cause: (one.task_id, one.message) for one in run.failures}
        first |= {one.cause: (one.task_id, one.message) for one in reversed(run.ungraded)}
        for line in report.failed(found.failures, first, run.name or run.id):
            click.echo(line)
        for line in missing([one for one in run.metrics if one.name != PASS_RATE], "score"):
            click.echo(line)
        for line in (*run.warnings, *filter(None, [run.rescored])):
            click.echo(f"warning: {line}")
        if run.imported is not None:
            click.echo(origin(run.imported))
        if words := _difference(previous):
            click.echo(f"\n{words}")
        click.echo("\nconfiguration")
        table(["", ""], [list(row) for row in self._settings() if row[1]], chosen, whole=(0,))
        self._onward()

    def _settings(self) -> list[tuple[str, str]]:
        run = self.run
        asked = run.request.evaluation if run.request is not None else None
        times = [
            (word, when(None if at is None else at.timestamp()) if at else "")
            for word, at in (("submitted", run.created_at), ("started", run.started_at), ("ended", run.ended_at))
        ]
        where = f"{self.place} on {self.client.base_url}"
        rows = [("run", run.id), ("name", run.name), ("where", where), ("by", run.owner or "")]
        if asked is not None:
            commit = f"{asked.commit[:12]}{f' of {asked.branch}' if asked.branch else ''}"
            rows += [
                ("config", asked.configuration),
                ("rollout", f"{asked.rollout} ({asked.entrypoint})"),
                ("commit", f"{commit}{', with changes' if asked.dirty else ''}" if asked.commit else ""),
                ("dataset", f"{asked.dataset}, version {asked.dataset_version}"),
                ("rows", str(run.info.get("description", ""))),
                ("set", ", ".join(f"{key}={value}" for key, value in asked.assignments.items())),
                ("secrets", ", ".join(f"{name} ({scope})" for name, scope in asked.scopes.items())),
            ]
        return [*rows, *times]

    def _onward(self) -> None:
        """Print the commands that show more of the run, or continue it."""
        run = self.run
        name, failed = quote(run.name or run.id), " --failed" if run.counts.failed or run.ungraded else ""
        click.echo(f"\n  {self.client.base_url.rstrip('/')}/runs/{run.id}")
        if run.state in _GOING:
            click.echo(f"  mesocosm eval logs {name} -f\n  mesocosm eval stop {name}")
            return
        click.echo(f"  mesocosm eval logs {name}{failed}\n  mesocosm eval download {name}")
        if run.commands.resume is None and run.commands.repeat and run.counts.owed and run.imported is None:
            click.echo("  the same code fails again; mend it, push it, and submit it again:")
            click.echo(f"  {run.commands.repeat}")
        elif run.counts.owed and run.imported is None:
            pending = plural(run.counts.owed, "sample")
            click.echo(f"  mesocosm run resume {name} --remote    continues it: {pending} pending")

    def stop(self) -> int:
        """Stop the run; finished samples are kept."""
        if self.run.state not in _GOING:
            raise UsageError(f"run {self.run.name} is {self.run.state}; only a pending or running one can be stopped")
        stopped = self.client.runs.stop(self.run.id)
        message = f"run {self.run.name} is asked to stop; finished samples are kept"
        answer(message, operation("eval.stop", stopped, "requested", message))
        return 0

    def log(self) -> tuple[list[str], list[str]]:
        """Return the log of the run so far, and the lines that its programs printed."""
        log = self.client.runs.log(self.run.id)
        return [f"{line.kind}: {line.text}" for line in log.lines], self._output().splitlines()

    def follow_log(self) -> int:
        """Print the log of the run and what its programs print until it ends; return the exit code."""
        last = 0
        seen: set[str] = set()
        try:
            while True:
                lines = [f"{line.kind}: {line.text}" for line in self.client.runs.log(self.run.id).lines]
                page = self.client.runs.output(self.run.id, last)
                # Not by their number: that a run waits is no longer in the log once it has begun.
                new = [line for line in lines if line not in seen]
                for line in [*new, *(text for piece in page.items for text in piece.text.splitlines())]:
                    click.echo(line)
                seen.update(new)
                last = page.last
                if not page.items:
                    if page.ended:
                        return 0
                    time.sleep(FOLLOW_S)
        except KeyboardInterrupt:
            name = quote(self.run.name or self.run.id)
            click.echo(f"run {name} keeps running; stop it with: mesocosm eval stop {name}", err=True)
            return 130

    def download(self, folder: Path, kinds: set[str], rows: set[str] | None, *, overwrite: bool) -> list[str]:
        """Write the run as files into a folder, each at once and whole; return their names.

        Files that are there are kept, unless `overwrite`.
        """
        runs, run_id = self.client.runs, self.run.id
        written: list[str] = []

        def put(name: str, write: Callable[[IO[bytes]], object]) -> None:
            path = folder / name
            if not path.resolve().is_relative_to(folder.resolve()):
                raise UsageError(
                    f"the file {name!r} of the run would lie outside of {folder}; nothing is written there"
                )
            written.append(name)
            if path.exists() and not overwrite:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.part")
            with partial.open("wb") as file:
                write(file)
            partial.replace(path)

        if "metrics" in kinds:
            found = {"run": self.run.model_dump(mode="json"), "results": runs.results(run_id).model_dump(mode="json")}
            put("metrics.json", lambda file: file.write(json.dumps(found, indent=2).encode()))
        if "samples" in kinds:
            samples = [one for one in runs.episodes(run_id) if rows is None or one.task_id in rows]
            lines = "".join(f"{sample.model_dump_json()}\n" for sample in samples)
            put("samples.jsonl", lambda file: file.write(lines.encode()))
        if "trajectories" in kinds:
            put("trajectories.json", lambda file: runs.export(run_id, file, "episodes", "traces"))
        if "artifacts" in kinds:
            for one in runs.sample_files(run_id):
                if rows is None or one.task_id in rows:
                    place = f"artifacts/row_{one.task_id}_run_{one.trial}/{one.name}"
                    put(place, lambda file, digest=one.digest: runs.content(digest, file))  # type: ignore[misc]
        if "logs" in kinds:
            log = "".join(f"{line}\n" for line in self.log()[0]) + self._output()
            put("logs/run.txt", lambda file: file.write(log.encode()))
        return written

    def _output(self) -> str:
        text, last = "", 0
        while (page := self.client.runs.output(self.run.id, last)).items:
            text, last = text + "".join(piece.text for piece in page.items), page.last
        return text


def _difference(previous: "PreviousRun") -> str:
    """Return how a run did against the one before, in a line; empty if there is none."""
    change = previous.change
    if previous.run is None or change is None:
        return previous.note
    span = interval(change.low, change.high, weak=change.weak) or "no interval"
    over = f"{plural(change.n, 'row')} of both" if change.paired else f"{plural(change.n, 'row')}, not the same ones"
    name = "score" if change.metric == REWARD else change.metric
    words = f"{name} {change.delta:+.4f} {span} against {previous.run.name} ({over}): {change.verdict}"
    return f"{words}; {previous.note}" if previous.note else words


def list_on_server(
    workspace: str | None, *, status: str | None, everything: bool, cursor: str | None, **wanted: Any
) -> "tuple[list[RunSummary], str | None, str]":
    """Return runs of a workspace, the cursor of the next page, and where they are."""
    client = member_client()
    place = client.workspaces.get(workspace_for(client, workspace))
    states: Sequence[str] = () if status is None else STATES.get(status, (status,))
    found: list[RunSummary] = []
    while True:
        page = client.runs.evaluations(place.id, states=states, cursor=cursor, **wanted)
        found += page.items
        cursor = page.cursor
        if not everything or cursor is None:
            return found, cursor, f"in the workspace {place.name} on {client.base_url}"


def show_listed(found: "Sequence[RunSummary]", place: str) -> None:
    """Print runs of a workspace."""
    if not found:
        click.echo(f"no evaluation runs {place}; submit one with: mesocosm eval submit CONFIG")
        return
    click.echo(place)
    rows = [
        [
            run.name or run.id,
            run.state,
            run.agent,
            run.benchmark,
            run.model,
            _score(run.primary),
            f"{run.counts.done:,}/{run.counts.planned:,}",
            when(run.created_at.timestamp()),
            run.owner or "",
        ]
        for run in found
    ]
    columns = ["name", "status", "rollout", "dataset", "model", "score", "samples", "submitted", "by"]
    table(columns, rows, options(), right=(6,), whole=(0, 1, 5, 6, 7), spare=(8, 7, 3, 6, 2, 4))


def _score(metric: "MetricDocument | None") -> str:
    if metric is None or metric.value is None:
        return "–"
    span = interval(metric.low, metric.high, weak=metric.weak)
    return f"{number(metric.value)} {span}" if span else number(metric.value)
