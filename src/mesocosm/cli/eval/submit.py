"""`mesocosm eval submit`: an evaluation that a server runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import confirmed, options
from mesocosm.cli.eval.document import operation
from mesocosm.cli.eval.on_server import WorkspaceRun
from mesocosm.cli.gate_options import GateFlags, gate_options
from mesocosm.cli.remote.connection import NotLoggedIn, Remote, document, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, money, table
from mesocosm.core.failure import MesocosmError, UsageError

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.repository import SyncDocument
    from mesocosm.server.schemas.run import RunDetail
    from mesocosm.server.schemas.run_estimate import RunEstimate
    from mesocosm.server.schemas.run_request import RolloutInput
    from mesocosm.server.schemas.workspace import WorkspaceDocument

SYNCING = 409
_GOING = ("pending", "syncing")


@gate_options(baseline=False)
@click.command(
    cls=Remote,
    own=(
        *("--from", "--name", "--set", "--rows", "--limit", "--dataset", "--branch", "--commit", "--upload"),
        *("--wait", "--yes", "--workspace", "--fail-if"),
    ),
)
@click.argument("config", required=False, type=click.Path(path_type=Path))
@click.option("--from", "from_run", default="", metavar="RUN", help="Repeat this run, with what else is given changed.")
@click.option("--name", default="", help="Name of the run, unique in its workspace  [configuration and time].")
@click.option("--set", "assignments", multiple=True, metavar="SECTION.KEY=VALUE", help="Another value; several times.")
@click.option("--rows", default="", metavar="LIST", help='Rows by index from 0: "3,7,10-20".')
@click.option("-n", "--limit", type=click.IntRange(0), help="The first N rows; 0 is all.")
@click.option("--dataset", default="", metavar="NAME", help="Dataset of the workspace, NAME or NAME@VERSION.")
@click.option("--branch", default="", help="Newest commit of this branch  [the one that the workspace follows].")
@click.option("--commit", default="", help="This commit.")
@click.option("--upload", is_flag=True, help="The files as they are here, instead of a commit.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Tag of the run; several times.")
@click.option("--wait", is_flag=True, help="Follow the run to its end; exit 1 if it failed, 3 if it is incomplete.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@workspace_option
def submit(config: Path | None, *, wait: bool, yes: bool, upload: bool, workspace: str | None, **given: Any) -> int:
    """Submit an evaluation of a rollout to a server: CONFIG is configs/eval/NAME.toml of your clone.

    The server runs a commit that it has synced, or with --upload the files as they are on your disk. What it will
    run is shown before it is submitted.

    \b
    mesocosm eval submit configs/eval/math.toml
    mesocosm eval submit configs/eval/math.toml --upload --limit 20 --wait
    mesocosm eval submit --from math-20260302T020000Z-1f2e3d4c --set experiment.model_path=openai/gpt-5-mini
    """
    if config is None and not given["from_run"]:
        raise UsageError("name a configuration, configs/eval/NAME.toml, or a run to repeat with --from RUN")
    options().part(GateFlags).check_remote(wait=wait)
    client = _client(config)
    place = client.workspaces.get(workspace_for(client, workspace))
    wanted, commit = _wanted(client, place, config, upload=upload, **given)
    found = _estimated(client, place, wanted)
    if commit and found.commit != commit:
        words = f"commit {found.commit[:12]} of {found.branch} is run, and the one here is {commit[:12]}"
        click.echo(f"note: {words}; --commit names another one", err=True)
    _show(found, place)
    if found.missing_secrets:
        lacking = [f"the secret {name} has no value: mesocosm secret set {name}" for name in found.missing_secrets]
        raise MesocosmError("\n  ".join(lacking))
    if not (yes or confirmed(f"submit {found.samples:,} samples to {client.base_url}?")):
        click.echo("nothing was submitted", err=True)
        return 1
    run = _submitted(client, wanted)
    click.echo(f"{_page(client, run)}", err=True)
    if not wait:
        told = f"submitted: {run.name}"
        shown = f"{told}\n  mesocosm eval info {run.name}\n  mesocosm eval logs {run.name} -f"
        answer(shown, operation("eval.submit", run, "submitted", told))
        return 0
    click.echo(f"submitted: {run.name}", err=True)
    return WorkspaceRun(client, place.id, run).follow()


def _client(config: Path | None) -> "Client":
    try:
        return member_client()
    except NotLoggedIn as error:
        raise NotLoggedIn(f"{error}\n  without a server: mesocosm eval run-local {config or 'CONFIG'}") from error


def _wanted(
    client: "Client", place: "WorkspaceDocument", config: Path | None, *, upload: bool, **given: Any
) -> "tuple[RolloutInput, str]":
    """Return the request, with a snapshot if the files of the disk are to be run. Tells the state of the clone.

    The commit of the clone is returned as well if it is the one that is expected to be run, else an empty string.
    """
    from mesocosm.rollouts.configuration import parse_overrides
    from mesocosm.rollouts.spec import run_name_fault, stamped_name
    from mesocosm.server.schemas.run_request import RolloutInput

    if given["name"] and (fault := run_name_fault(given["name"])):
        raise UsageError(fault)
    fields: dict[str, Any] = {"kind": "rollout", "workspace": place.id}
    assignments = parse_overrides(given["assignments"])
    dataset, _, version = given["dataset"].partition("@")
    if version and not version.isdecimal():
        raise UsageError(f"--dataset {given['dataset']!r}: the version behind @ is a number")
    named = {
        key: given[key] for key in ("from_run", "rows", "limit", "branch", "commit") if given[key] not in ("", None)
    }
    fields |= named | ({"assignments": assignments} if assignments else {})
    fields |= {"dataset": dataset} if dataset else {}
    fields |= {"dataset_version": int(version)} if version else {}
    fields |= {"tags": list(given["tags"])} if given["tags"] else {}
    commit = ""
    if config is not None:
        fixed = bool(given["branch"] or given["commit"])
        code, commit = _code(client, place, config, assignments, upload=upload, fixed=fixed)
        fields |= code
    elif upload:
        raise UsageError("--upload needs the configuration, whose folder is uploaded")
    # A name makes the request safe to repeat: the same one is the same run.
    fields["name"] = given["name"] or stamped_name(fields.get("configuration") or given["from_run"])
    return document(RolloutInput, fields), commit


def _code(
    client: "Client",
    place: "WorkspaceDocument",
    config: Path,
    assignments: dict[str, Any],
    *,
    upload: bool,
    fixed: bool,
) -> tuple[dict[str, Any], str]:
    from mesocosm.client.error import ApiError
    from mesocosm.client.local_tree import leads_here, read_local_tree
    from mesocosm.rollouts.configuration import read_config
    from mesocosm.rollouts.project import find_workspace

    if upload and fixed:
        raise UsageError("--upload runs the files as they are here; leave --branch and --commit out")
    if not fixed or config.is_file():
        # Faults of the configuration are told at once; the server checks the one that it runs.
        read = read_config(config, assignments, check_out=False)
        fixed = fixed or bool(read.experiment.branch or read.experiment.commit_sha)
    root = find_workspace(config.absolute().parent).root
    fields = {"configuration": config.resolve().relative_to(root).as_posix()}
    tree = read_local_tree(root)
    for line in tree.lines():
        click.echo(line, err=True)
    if upload:
        told = lambda words: click.echo(words, err=True)  # noqa: E731
        return fields | {"snapshot": client.snapshots.upload(place.id, root, tree=tree, told=told).id}, ""
    try:
        repository = client.repositories.get(place.id)
    except ApiError as error:
        if error.status == 404:
            raise UsageError(
                f"the workspace {place.name!r} has no repository: connect one with `mesocosm workspace connect`, or "
                "submit the files as they are here with --upload"
            ) from error
        raise
    differences = tree.differences(repository.identity, repository.folder, repository.branch)
    for line in differences:
        click.echo(f"note: {line}", err=True)
    if tree.commit and (tree.is_dirty or not tree.pushed):
        click.echo(
            "note: the run is of a commit that the server has; --upload runs the files as they are here", err=True
        )
    if fixed or differences or not tree.pushed or tree.identity != repository.identity:
        return fields, ""
    newest = next((one for one in client.repositories.code(place.id) if one.followed), None)
    if newest is not None and newest.commit != tree.commit and leads_here(root, newest.commit):
        # What was pushed is run, not what the server happens to have.
        _synced(client, place, client.repositories.sync(place.id, branch=newest.branch))
    return fields, tree.commit


def _synced(client: "Client", place: "WorkspaceDocument", sync: "SyncDocument") -> None:
    """Wait for a sync. Raises UsageError if it fails."""
    click.echo(f"waiting for sync {sync.number} of {place.name}", err=True)
    done = client.repositories.wait(place.id, sync.number).sync
    if done.status != "success":
        raise UsageError(f"sync {done.number} failed: {done.error}; see mesocosm workspace syncs {done.number}")


def _estimated(client: "Client", place: "WorkspaceDocument", wanted: "RolloutInput") -> "RunEstimate":
    """Return what the run comes to; waits for the sync of its commit."""
    from mesocosm.client.error import ApiError

    while True:
        try:
            return client.runs.estimate(wanted)
        except ApiError as error:
            going = (
                [one for one in client.repositories.syncs(place.id) if one.status in _GOING] if _syncs(error) else []
            )
            if not going:
                raise
            _synced(client, place, going[0])


def _syncs(error: Any) -> bool:
    return error.status == SYNCING and "is being synced" in error.detail


def _submitted(client: "Client", wanted: "RolloutInput") -> "RunDetail":
    """Submit; a lost answer is asked for again, which makes no second run."""
    from mesocosm.client.datasets import persistently

    return persistently(lambda: client.runs.create(wanted), lambda words: click.echo(words, err=True))


def _show(found: "RunEstimate", place: "WorkspaceDocument") -> None:
    """Print what would be run, on standard error."""
    if options().json:
        return
    commit = found.commit[:12] or "the uploaded files"
    code = f"{commit}{f' of {found.branch}' if found.branch else ''}{', with changes' if found.dirty else ''}"
    cost = "unknown" if found.usd is None else money(found.usd)
    if found.price is not None and not (found.price.input_usd or found.price.output_usd):
        cost = "none"
    rows = [
        ("workspace", place.name),
        ("rollout", f"{found.rollout} ({found.entrypoint})"),
        ("code", code),
        ("model", found.model),
        ("dataset", f"{found.dataset}, version {found.dataset_version}"),
        ("rows", found.rows_chosen),
        (
            "samples",
            f"{found.samples:,}" + (f" ({found.rows:,} rows, {found.trials} times)" if found.trials > 1 else ""),
        ),
        ("secrets", ", ".join(f"{name} ({scope})" for name, scope in found.secrets.items())),
        ("cost", cost + (f", as run {found.basis.name}" if found.basis and found.usd else "")),
        ("limit", "" if found.budget_usd is None else money(found.budget_usd)),
    ]
    table(["", ""], [list(row) for row in rows if row[1]], options(), whole=(0,))
    for words in (*found.notes, *found.warnings):
        click.echo(f"note: {words}", err=True)


def _page(client: "Client", run: "RunDetail") -> str:
    return f"{client.base_url.rstrip('/')}/runs/{run.id}"
