"""`mesocosm workspace connect|sync|syncs|upload …`: the code of a workspace, from a Git repository or from here."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import confirmed, options
from mesocosm.cli.remote.connection import Remote, document, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, emit, table
from mesocosm.cli.workspace_credentials import CredentialOptions, credential_options, tell_public_key
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.server.schemas.repository import SyncDetail, SyncDocument
    from mesocosm.server.schemas.snapshot import SnapshotDocument


@click.command(cls=Remote)
@click.option("--url", metavar="URL", help="URL of the repository  [origin of the one you are in].")
@click.option("--folder", metavar="DIR", help="Folder of the workspace in it  [where rollouts/ and configs/ are].")
@click.option("--branch", metavar="BRANCH", help="Branch to follow  [the repository's default branch].")
@credential_options
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@click.option("--wait/--no-wait", "wait", default=None, help="Wait for its first sync  [on a terminal].")
@workspace_option
def connect(
    url: str | None,
    folder: str | None,
    branch: str | None,
    yes: bool,
    wait: bool | None,
    workspace: str | None,
    **given: Any,
) -> int:
    """Connect the workspace with a Git repository, by default the one you are in. For admins and owners.

    The server reads the repository; nothing is uploaded from here. A private one needs a token, or a deploy key for its
    SSH address.
    """
    from mesocosm.server.schemas.repository import RepositoryInput

    chosen = CredentialOptions(**given)
    chosen.check(asks=not yes)
    client = member_client()
    place = client.workspaces.get(workspace_for(client, workspace))
    if url is None:
        url, found = _origin(ssh=chosen.deploy_key is not None)
        folder = found if folder is None else folder
    wanted = document(RepositoryInput, {"url": url, "folder": folder, "branch": branch})
    where = f"{wanted.url}{f', folder {wanted.folder}' if wanted.folder else ''}"
    click.echo(f"repository: {where}\nbranch: {wanted.branch or 'the default one'}", err=True)
    if not (yes or confirmed(f"connect the workspace {place.name!r} with it?")):
        click.echo("nothing was connected", err=True)
        return 1
    sent = chosen.read(wanted.url) if chosen else None
    made = client.repositories.connect(
        place.id, wanted.url, folder=wanted.folder, branch=wanted.branch, credentials=sent
    )
    if sent is not None:
        tell_public_key(sent)
    if not (sys.stderr.isatty() if wait is None else wait):
        answer(f"Connected {place.name} with {made.identity}. Its first sync has begun: mesocosm workspace syncs", made)
        return 0
    click.echo(f"connected {place.name} with {made.identity}; waiting for its first sync", err=True)
    code = _told(client.repositories.wait(place.id, 1))
    if code:
        click.echo(
            "it stays connected; try again with: mesocosm workspace sync --wait\n"
            "for another URL, folder or branch: mesocosm workspace disconnect, then connect again",
            err=True,
        )
    return code


@click.command(cls=Remote)
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@workspace_option
def disconnect(yes: bool, workspace: str | None) -> int:
    """Disconnect the workspace from its repository. For admins and owners. Runs keep what was synced."""
    client = member_client()
    place = client.workspaces.get(workspace_for(client, workspace))
    known = client.repositories.get(place.id)
    if not (yes or confirmed(f"disconnect {known.identity} from the workspace {place.name!r}?")):
        click.echo("nothing was changed", err=True)
        return 1
    client.repositories.disconnect(place.id)
    answer(f"Disconnected {place.name} from {known.identity}.", {"disconnected": known.identity})
    return 0


@click.command(cls=Remote, always=True)
@workspace_option
def repository(workspace: str | None) -> None:
    """Print the repository of the workspace as JSON."""
    client = member_client()
    emit(client.repositories.get(workspace_for(client, workspace)))


@click.command(cls=Remote)
@workspace_option
def hook(workspace: str | None) -> None:
    """Make a new secret for the webhook of the repository, and print both. For admins and owners.

    The Git host calls it after each push. The secret is shown once; a former one is no longer accepted.
    """
    client = member_client()
    made = client.repositories.renew_hook(workspace_for(client, workspace))
    url = made.url if made.url.startswith("http") else f"{client.base_url.rstrip('/')}{made.url}"
    told = f"Payload URL: {url}\nContent type: application/json\nSecret: {made.secret}"
    answer(told, {"url": url, "secret": made.secret})


@click.command(cls=Remote)
@click.option("--branch", default="", metavar="BRANCH", help="Branch  [the one that the workspace follows].")
@click.option("--commit", default="", metavar="COMMIT", help="All digits of a commit, instead of the newest one.")
@click.option("--wait/--no-wait", "wait", default=None, help="Wait until it has ended  [on a terminal].")
@workspace_option
def sync(branch: str, commit: str, wait: bool | None, workspace: str | None) -> int:
    """Sync the workspace with its repository: the newest commit of a branch, or another commit."""
    from mesocosm.server.schemas.repository import SyncInput

    client = member_client()
    wanted = document(SyncInput, {"branch": branch, "commit": commit})
    place = workspace_for(client, workspace)
    started = client.repositories.sync(place, branch=wanted.branch, commit=wanted.commit)
    if not (sys.stderr.isatty() if wait is None else wait):
        answer(f"Sync {started.number} is {started.status}: mesocosm workspace syncs {started.number}", started)
        return 0
    return _told(client.repositories.wait(place, started.number))


@click.command(cls=Remote)
@click.argument("number", type=click.IntRange(1), required=False)
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Maximum number.")
@workspace_option
def syncs(number: int | None, limit: int, workspace: str | None) -> int:
    """List the syncs of the workspace, newest first, or show what one of them found."""
    client = member_client()
    place = workspace_for(client, workspace)
    if number is not None:
        return _told(client.repositories.get_sync(place, number))
    found = client.repositories.syncs(place, limit=limit)
    if options().json:
        emit(found)
        return 0
    if not found:
        click.echo("there are no syncs; connect a repository with: mesocosm workspace connect", err=True)
        return 0
    rows = [
        [
            *(str(one.number), one.status, one.trigger, one.branch or "–", one.commit[:12] or "–"),
            *(str(one.rollouts), str(one.faults), one.author, _subject(one)),
        ]
        for one in found
    ]
    names = ["sync", "status", "by", "branch", "commit", "rollouts", "faults", "author", "message"]
    table(names, rows, options(), right=(0, 5, 6), whole=(0, 1, 4), spare=(8,))
    return 0


@click.command(cls=Remote)
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), required=False)
@workspace_option
def upload(folder: Path | None, workspace: str | None) -> int:
    """Upload the workspace directory as it is on the disk, by default the one you are in, without a repository.

    Files that .gitignore names, and those that usually hold secrets, are not uploaded.
    """
    from mesocosm.client.local_tree import read_local_tree
    from mesocosm.rollouts.project import find_workspace

    root = find_workspace(folder or Path.cwd()).root
    client = member_client()
    tree = read_local_tree(root)
    for line in tree.lines():
        click.echo(line, err=True)
    place = workspace_for(client, workspace)
    made = client.snapshots.upload(place, root, tree=tree, told=lambda line: click.echo(line, err=True))
    if options().json:
        emit(made)
        return 0
    click.echo(f"snapshot {made.id}: {made.files:,} files, {made.size:,} bytes")
    _tell_found(made)
    return 0


def _told(found: "SyncDetail") -> int:
    """Print a sync; return the exit code."""
    code = int(found.sync.status == "failed")
    if options().json:
        emit(found)
        return code
    one = found.sync
    click.echo(f"sync {one.number}: {one.status}  {one.branch} {one.commit[:12]}  {_subject(one)}".rstrip())
    if one.error:
        click.echo(f"error: {one.error}", err=True)
    _tell_found(found)
    return code


def _tell_found(found: "SyncDetail | SnapshotDocument") -> None:
    for rollout in found.rollouts:
        click.echo(f"  rollout {rollout.name}  {', '.join(rollout.entrypoints)}".rstrip())
    for config in found.configurations:
        click.echo(f"  configuration {config.path}  {'valid' if config.valid else 'invalid'}")
    for fault in found.faults:
        place = f"{fault.path}:{fault.line}" if fault.line else fault.path
        told = ": ".join(filter(None, (place, fault.message)))
        click.echo(f"  to mend: {told}{f' ({fault.fix})' if fault.fix else ''}")


def _subject(sync: "SyncDocument") -> str:
    return sync.message.partition("\n")[0]


def _origin(*, ssh: bool) -> tuple[str, str]:
    """Return the URL of the remote and the folder of the workspace in the repository. Raises UsageError."""
    from mesocosm.client.local_tree import read_local_tree, ssh_remote_url
    from mesocosm.rollouts.project import find_workspace

    try:
        root = find_workspace(Path.cwd()).root
    except UsageError:
        root = Path.cwd()
    tree = read_local_tree(root)
    if tree.unknown:
        raise UsageError(f"{tree.unknown}; go into a repository, or name it with --url")
    if not tree.url:
        raise UsageError(f"the repository of {root} has no remote origin; name the repository with --url")
    if not ssh:
        return tree.url, tree.folder
    url = ssh_remote_url(root)
    if not url:
        raise UsageError(f"the remote {tree.url} has no SSH address, and a deploy key needs one; name it with --url")
    return url, tree.folder
