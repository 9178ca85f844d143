"""Evaluation runs of a workspace on a server: list, show, stop, read and download them."""

import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import WORKSPACE_VARIABLE, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, emit, interval, number, table, when
from mesocosm.core.failure import MesocosmError, UnknownName, UsageError

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.metric import MetricDocument
    from mesocosm.server.schemas.run import RunDetail, RunSummary

FOLLOW_S = 1.0
STATES = {"failed": ("failed", "partial"), "stopped": ("stopped", "interrupted")}
_GOING = ("pending", "running")


def server_option(command: Any) -> Any:
    """Add --workspace, and --remote for runs that are not to be looked for on this machine."""
    what = "Look only on the server  [on this machine first]."
    return click.option("--remote", is_flag=True, help=what)(workspace_option(command))


def found_on_server(
    name: str, workspace: str | None, *, remote: bool, local: Callable[[], Any]
) -> "WorkspaceRun | None":
    """Return a run of a workspace by its name or id; None if this machine has it, as `local` finds out.

    With `remote` or a workspace only the server is asked. Raises UnknownName if neither has it.
    """
    if remote or workspace:
        return WorkspaceRun.of(name, workspace)
    try:
        local()
    except UnknownName:
        if not has_workspace():
            raise
        return WorkspaceRun.of(name, None)
    return None


def has_workspace() -> bool:
    """Return whether the caller is logged in and works in a workspace, without asking the server."""
    try:
        client = member_client()
    except MesocosmError:
        return False
    return bool(os.environ.get(WORKSPACE_VARIABLE) or client.caller.workspace_id)


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

    def show(self) -> int:
        """Print the run: results with intervals, progress, configuration, and the difference from the one before."""
        from mesocosm.cli.remote.watch import exit_code, print_run
        from mesocosm.compat.swecc.mapping import older_run

        previous = self.client.runs.previous(self.run.id)
        if options().json:
            emit({"schema_version": 1, "data": self.run, "previous": previous})
            return 0
        older = older_run(self.run)
        print_run(older, self.run)
        asked = self.run.request.evaluation if self.run.request is not None else None
        if previous.run is not None and previous.change is not None:
            change = previous.change
            span = interval(change.low, change.high) or "no interval"
            click.echo(f"{change.metric} {change.delta:+.3f} {span} against {previous.run.name}: {change.verdict}")
        elif previous.note:
            click.echo(previous.note)
        if asked is not None:
            commit = f"{asked.commit[:12]}{' with changes' if asked.dirty else ''}"
            rows = [
                ("name", self.run.name),
                ("config", asked.configuration),
                ("rollout", f"{asked.rollout} ({asked.entrypoint})"),
                ("commit", f"{commit}{f' of {asked.branch}' if asked.branch else ''}" if asked.commit else ""),
                ("dataset", f"{asked.dataset}, version {asked.dataset_version}"),
                ("set", ", ".join(f"{key}={value}" for key, value in asked.assignments.items())),
                ("secrets", ", ".join(asked.scopes)),
                ("by", self.run.owner or ""),
                ("submitted", when(self.run.created_at.timestamp())),
            ]
            click.echo("\nconfiguration")
            table(["", ""], [list(row) for row in rows if row[1]], options(), whole=(0,))
        return exit_code(older) if self.run.state not in _GOING else 0

    def stop(self) -> int:
        """Stop the run; finished samples are kept."""
        if self.run.state not in _GOING:
            raise UsageError(f"run {self.run.name} is {self.run.state}; only a pending or running one can be stopped")
        stopped = self.client.runs.stop(self.run.id)
        answer(f"run {self.run.name} is asked to stop; finished samples are kept", stopped)
        return 0

    def logs(self, *, follow: bool) -> int:
        """Print the log of the run and what its programs printed; with `follow` until it ends."""
        seen, last, printed = 0, 0, list[str]()
        try:
            while True:
                log = self.client.runs.log(self.run.id)
                page = self.client.runs.output(self.run.id, last)
                lines = [f"{line.kind}: {line.text}" for line in log.lines]
                new = lines[seen:] + [text for piece in page.items for text in piece.text.splitlines()]
                seen, last = max(seen, len(lines)), page.last
                printed += new
                if not options().json:
                    for line in new:
                        click.echo(line)
                if not page.items and (not follow or page.ended):
                    break
                if follow and not page.items:
                    time.sleep(FOLLOW_S)
        except KeyboardInterrupt:
            click.echo(f"run {self.run.name} goes on", err=True)
            return 130
        if options().json:
            emit({"schema_version": 1, "lines": printed})
        return 0

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
            put("logs/run.txt", lambda file: file.write(self._log().encode()))
        return written

    def _log(self) -> str:
        text = "".join(f"{line.kind}: {line.text}\n" for line in self.client.runs.log(self.run.id).lines)
        last = 0
        while (page := self.client.runs.output(self.run.id, last)).items:
            text, last = text + "".join(piece.text for piece in page.items), page.last
        return text


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
    table(columns, rows, options(), right=(6,), whole=(0, 1, 5, 6, 7), spare=(8, 7, 3, 6, 2))


def _score(metric: "MetricDocument | None") -> str:
    if metric is None or metric.value is None:
        return "–"
    span = interval(metric.low, metric.high)
    return f"{number(metric.value)} {span}" if span else number(metric.value)
