"""`mesocosm push`: a run of this machine to a server, where every number is computed again."""

import os
import platform
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import options, plural
from mesocosm.cli.remote.connection import (
    WORKSPACE_VARIABLE,
    Remote,
    document,
    member_client,
    team_for,
)
from mesocosm.cli.render import emit, state
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import InvalidInput, MesocosmError, Problem, UsageError
from mesocosm.core.run import RESCORING, RunStatus

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.core.entry import Blob, Entry
    from mesocosm.core.run import Run
    from mesocosm.interop.bundle import BundledRun
    from mesocosm.server.schemas.run import RunDetail
    from mesocosm.server.schemas.run_import import RunImportDocument
    from mesocosm.store import Store


@click.command(cls=Remote)
@click.argument("run_id", metavar="RUN")
@click.option(
    "--workspace", metavar="NAME", help="The run is one of this workspace  [the active one: mesocosm workspace use]."
)
@click.option("--team", metavar="TEAM_ID", help="The run is one of this team  [the active one: mesocosm team use].")
@click.option("--solo", is_flag=True, help="The run is yours alone.")
def push(run_id: str, workspace: str | None, team: str | None, solo: bool) -> int:
    """Push a run of this machine to a server, with all its recorded data.

    The server checks every checksum, computes every number again from the recorded episodes, and marks the run as
    imported. A run that was changed is refused. The same run again is the same import: nothing is sent twice, and an
    interrupted push continues when the command is repeated. A stopped run may be pushed again when it has gone on.

    The run is one of the active workspace, else of the active team, else yours alone. It stays private there.
    """
    from mesocosm.cli.remote.datasets import UploadProgress
    from mesocosm.client.datasets import describe_file
    from mesocosm.engine.metrics import so_far
    from mesocosm.server.schemas.run_import import RunImportInput

    if workspace and (team or solo):
        raise UsageError("a run belongs to a workspace, to a team, or to you alone; give one of these options")
    store = command_store()
    run = find_run(store, run_id)
    _check_ended(run)
    client = member_client()
    place = None if team or solo else workspace or os.environ.get(WORKSPACE_VARIABLE) or client.caller.workspace_id
    owner = None if place else team_for(client.caller, team, solo=solo)
    _check_stored(store, run)
    progress = UploadProgress()
    with tempfile.TemporaryDirectory(prefix="mesocosm-push-") as folder:
        file = Path(folder) / "run.zip"
        _pack(store, run, file)
        size, digest = describe_file(file)
        fields = {"run_id": run.id, "host": _host(), "size": size, "digest": digest}
        wanted = document(RunImportInput, {**fields, "team_id": owner, "workspace": place or None})
        try:
            known = client.run_imports.begin(wanted)
            done = client.run_imports.upload(file, known, sent=progress.sent, told=progress.tell)
        except KeyboardInterrupt:
            progress.tell("interrupted; repeat the command to continue the push")
            raise
        finally:
            progress.end()
    if not run.metrics:
        run.metrics = so_far(run, store)
    return _report(client, run, done, already=known.status == "imported")


def _check_ended(run: "Run") -> None:
    """Raise UsageError for a run that is not over."""
    shown = state(run)
    if run.provenance.get(RESCORING):
        raise UsageError(f"run {run.id} {run.rescored}; push it then")
    if shown == "interrupted":
        raise UsageError(
            f"run {run.id} was interrupted, and its process is gone; continue it with: mesocosm run resume {run.id}, "
            "or end it with: mesocosm bench recover-stale-runs; then push it"
        )
    if run.status in (RunStatus.PENDING, RunStatus.RUNNING):
        raise UsageError(
            f"run {run.id} is {shown}; push it when it has ended, or stop it with: mesocosm run stop {run.id}"
        )


def _check_stored(store: "Store", run: "Run") -> None:
    """Raise MesocosmError if the run differs from its checksums, before anything is sent."""
    damages = store.verification.check_run(run.id).damages
    if damages:
        where = [f"episode {one.index}" if one.episode_id else "" for one in damages]
        problems = [Problem(place, one.what) for place, one in zip(where, damages, strict=True)]
        raise MesocosmError(str(InvalidInput(f"run {run.id}, which is damaged here, so nothing was sent", problems)))


def _pack(store: "Store", run: "Run", file: Path) -> None:
    from mesocosm.interop.bundle import write_bundle

    with file.open("wb") as target:
        write_bundle(target, [_Discreet(store.bundles.run(run.id))], stable=True)


class _Discreet:
    """A run to be packed. Raises UsageError if it holds the value of a secret that is set here now.

    Recording removes the secrets that are set then, but one may have been set since.
    """

    def __init__(self, run: "BundledRun") -> None:
        from mesocosm.core.redact import secret_values

        self._run = run
        self._secrets = {value.encode() for value in secret_values(os.environ)}
        self.record = run.record
        self._check(run.record, f"the row of run {run.record.id}")

    def entries(self) -> "Iterator[Entry]":
        """Yield its episodes."""
        for entry in self._run.entries():
            where = f"episode {entry.episode.index} of run {self.record.id}"
            self._check(entry.episode, where)
            for chunk in entry.chunks:
                self._check(chunk.raw, where)
            yield entry

    def blobs(self) -> "Iterator[Blob]":
        """Yield its large content."""
        for blob in self._run.blobs():
            self._check(blob.data, f"content {blob.digest} of run {self.record.id}")
            yield blob

    def artifacts(self) -> Any:
        """Return its files."""
        return self._run.artifacts()

    def group(self) -> None:
        """Return None: other runs are not pushed."""

    def _check(self, value: Any, where: str) -> None:
        import msgspec

        if not self._secrets:
            return
        data = value if isinstance(value, bytes) else msgspec.json.encode(value)
        for secret in self._secrets:
            if secret in data:
                names = sorted(name for name, known in os.environ.items() if known.encode() == secret)
                raise UsageError(
                    f"{where} holds the value of {' and '.join(names)}, which was not set when it was recorded; "
                    "nothing was sent. If the value is no secret, push with the variable unset"
                )


def _host() -> str:
    """Return the name of this machine, without what no name has."""
    return re.sub(r"[\x00-\x1f\x7f/\\@]", "", platform.node())[:255]


def _report(client: "Client", run: "Run", done: "RunImportDocument", *, already: bool) -> int:
    """Print the outcome; return the exit code."""
    url = f"{client.caller.base_url.rstrip('/')}/runs/{done.run_id}" if done.run_id else None
    if options().json:
        emit({**done.model_dump(mode="json"), "already": already, "url": url})
    if done.status != "imported" or done.run_id is None:
        problems = [Problem(one.path, one.message, one.fix) for one in done.problems]
        click.echo(str(InvalidInput(f"run {run.id}, which the server refused", problems)), err=True)
        return 1
    if options().json:
        return 0
    there = client.runs.get(done.run_id)
    if already:
        since = "" if there.imported is None else f", since {there.imported.at.astimezone():%Y-%m-%d %H:%M}"
        click.echo(f"run {run.id} is there already{since}; {_compared(run, there)}")
    else:
        click.echo(f"pushed run {run.id} with {plural(run.counts.done, 'finished episode')}; {_compared(run, there)}")
    if done.workspace_id:
        click.echo(f"note: in the workspace {client.workspaces.get(done.workspace_id).name!r}", err=True)
    elif done.team_id:
        click.echo(f"note: for the team {done.team_id}", err=True)
    if run.counts.pending:
        click.echo(f"{plural(run.counts.pending, 'episode')} pending; push it again when it has gone on", err=True)
    click.echo(f"  {url}")
    return 0


def _compared(run: "Run", there: "RunDetail") -> str:
    """Return what the server's own computation of the numbers came to."""
    from mesocosm.server.schemas.metric import MetricDocument

    if there.imported is not None and not there.imported.recomputed:
        return "its numbers came with a file, and cannot be computed again"
    found, here = ({one.name: one for one in some} for some in (there.metrics, map(MetricDocument.of, run.metrics)))
    differing = sorted(name for name in found.keys() | here.keys() if found.get(name) != here.get(name))
    if differing:
        return f"the server computes {', '.join(differing)} in another way: it has another version of mesocosm"
    return f"{plural(len(here), 'metric')} computed again there, all the same"
