"""`mesocosm env …`: environments that are submitted to a server."""

import sys
import time
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import RemoteGroup, document, member_client, team_for, team_options
from mesocosm.cli.render import answer, emit, table
from mesocosm.client.transport import pauses

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.environment import EnvironmentDetail

TREE = {
    "test": ("mesocosm.cli.env_test:test", "Test the adapter of this folder: start, reset, step, close."),
    "serve": ("mesocosm.cli.env_serve:serve", "Serve an environment to programs of others: OpenEnv, MCP."),
}
EVERY_S = 1.0
OVER = frozenset({"ready", "failed"})
SEAM = 400
"""Number of characters by which the position is found again in a log whose start was cut off."""


@click.group(cls=RemoteGroup, tree=TREE)
def env() -> None:
    """Submit environments to a server and follow their builds."""


@env.command()
@click.option("--name", required=True, help="Title, shown until the manifest gives one.")
@click.option("--github-url", "url", required=True, metavar="URL", help="Its repository: URL, or OWNER/REPO on GitHub.")
@click.option("--description", default="", help="Description.")
@click.option("--ref", metavar="REF", help="Branch, tag or commit  [the default branch].")
@click.option("--folder", metavar="DIR", help="Folder in the repository  [its root].")
@click.option("--wait/--no-wait", "wait", default=None, help="Follow the build  [on a terminal].")
@team_options
def submit(
    name: str,
    url: str,
    description: str,
    ref: str | None,
    folder: str | None,
    wait: bool | None,
    team: str | None,
    solo: bool,
) -> int:
    """Submit a repository, or its next version, and print its entry as JSON."""
    from mesocosm.server.schemas.environment import EnvironmentInput

    client = member_client()
    fields = {"name": name, "description": description, "github_url": url, "ref": ref, "folder": folder}
    team_id = team_for(client.caller, team, solo=solo)
    row = client.environments.submit(document(EnvironmentInput, {**fields, "team_id": team_id}))
    if not (sys.stderr.isatty() if wait is None else wait):
        emit(row)
        return 0
    return _follow(client, row.id)


def _follow(client: "Client", env_id: str) -> int:
    """Show the build of an environment until it ends, then its row; return the exit code."""

    try:
        row = _follow_log(client, env_id, EVERY_S)
    except KeyboardInterrupt:
        click.echo(f"the build continues; follow it with: mesocosm env logs {env_id} --follow", err=True)
        return 130
    emit(row)
    if row.status != "ready":
        click.echo(f"the build failed: {row.error_message or 'see the log'}", err=True)
        return 1
    click.echo(f"ready; its domain is {row.domain_id}", err=True)
    if row.check is not None and row.check.state != "passed":
        click.echo(f"mesocosm check: {row.check.summary}", err=True)
        for problem in row.check.problems:
            click.echo(f"  {problem}", err=True)
    return 0


def _follow_log(client: "Client", env_id: str, every_s: float) -> "EnvironmentDetail":
    """Write the newest version's log to standard error as it grows; return the environment when the build is over."""
    seen, stage, waits = "", "", pauses(every_s)
    while True:
        # Poll before reading the log, so that the log includes everything up to the polled status.
        poll = client.environments.poll(env_id)
        log = client.environments.logs(env_id, poll.submission_version).build
        click.echo(added(seen, log), nl=False, err=True)
        seen = log
        if poll.status in OVER:
            return client.environments.get(env_id)
        if poll.stage != stage:
            stage = poll.stage
            click.echo(f"version {poll.submission_version}: {stage or poll.status}", err=True)
        time.sleep(next(waits))


def added(before: str, now: str) -> str:
    """Return the new part of a log, even if its start was cut off meanwhile."""
    if now.startswith(before):
        return now[len(before) :]
    _, seam, rest = now.rpartition(before[-SEAM:])
    return rest if seam else now


@env.command("list")
@team_options
def list_(team: str | None, solo: bool) -> None:
    """List your environments, or those of your active team."""
    client = member_client()
    team_id = team_for(client.caller, team, solo=solo)
    found = client.environments.list(scope="team" if team_id else None, team_id=team_id)
    if options().json:
        emit(found)
        return
    if not found:
        click.echo("no environments yet; submit one with: mesocosm env submit", err=True)
        return
    rows = [
        [one.id, one.status, one.scope, one.name, one.domain_id or "–", one.check.state if one.check else "–"]
        for one in found
    ]
    table(["id", "status", "scope", "name", "domain", "check"], rows, options(), whole=(0, 1, 2, 4, 5), spare=(2,))


@env.command()
@click.argument("env_id")
def show(env_id: str) -> None:
    """Print an environment as JSON: its state, domain and usage counts."""
    emit(member_client().environments.get(env_id))


@env.command()
@click.argument("env_id")
@click.option("--version", type=click.IntRange(min=1), help="Submission number  [the newest].")
@click.option("--follow", "-f", is_flag=True, help="Follow the log until the build ends.")
def logs(env_id: str, version: int | None, follow: bool) -> int:
    """Show the build log of an environment, and its adapter's output."""
    client = member_client()
    if follow:
        return _follow(client, env_id)
    found = client.environments.logs(env_id, version)
    if options().json:
        emit(found)
        return 0
    click.echo(found.build.rstrip("\n") or f"nothing was written yet (version {found.version} is {found.state})")
    if found.adapter:
        click.echo(f"\nadapter, last lines:\n{found.adapter.rstrip()}")
    return 0


@env.command()
@click.argument("env_id")
@click.option("--wait/--no-wait", "wait", default=None, help="Follow the build  [on a terminal].")
def retry(env_id: str, wait: bool | None) -> int:
    """Build a failed environment again, and print its entry as JSON."""
    client = member_client()
    row = client.environments.retry(env_id)
    if not (sys.stderr.isatty() if wait is None else wait):
        emit(row)
        return 0
    return _follow(client, row.id)


@env.command()
@click.argument("env_id")
def delete(env_id: str) -> None:
    """Delete an environment and archive its domain; its runs are kept."""
    member_client().environments.delete(env_id)
    answer("Environment deleted.", {"deleted": env_id})
