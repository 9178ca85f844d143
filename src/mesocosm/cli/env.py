"""`mesocosm env …`: environments that are submitted to a platform."""

import sys
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import RemoteGroup, member_client, team_for, team_options

if TYPE_CHECKING:
    from mesocosm.client.client import Client

TREE = {"test": ("mesocosm.cli.env_test:test", "Try the adapter of this folder: start, reset, step, close.")}
EVERY_S = 1.0


@click.group(cls=RemoteGroup, tree=TREE, invoke_without_command=True)
@click.pass_context
def env(context: click.Context) -> None:
    """Submit environments to a platform, and watch them being built."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@env.command()
@click.option("--name", required=True, help="Title, shown until the manifest gives one.")
@click.option("--github-url", "url", required=True, metavar="URL", help="Its repository: URL, or OWNER/REPO on GitHub.")
@click.option("--description", default="", help="What it is about.")
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
    """Submit a repository; the same one again is its next version. Prints its row as JSON."""
    from mesocosm.cli.remote.connection import document, show
    from mesocosm.server.schemas.environment import EnvironmentInput

    client = member_client()
    fields = {"name": name, "description": description, "github_url": url, "ref": ref, "folder": folder}
    team_id = team_for(client.caller, team, solo=solo)
    row = client.environments.submit(document(EnvironmentInput, {**fields, "team_id": team_id}))
    if not (sys.stderr.isatty() if wait is None else wait):
        show(row)
        return 0
    return _follow(client, row.id)


def _follow(client: "Client", env_id: str) -> int:
    """Show the build of an environment until it ends, then its row; return the exit code."""
    from mesocosm.cli.remote.build import follow
    from mesocosm.cli.remote.connection import show

    try:
        row = follow(client, env_id, EVERY_S)
    except KeyboardInterrupt:
        click.echo(f"the build continues; follow it with: mesocosm env logs {env_id} --follow", err=True)
        return 130
    show(row)
    if row.status != "ready":
        click.echo(f"the build failed: {row.error_message or 'see the log'}", err=True)
        return 1
    click.echo(f"ready; its domain is {row.domain_id}", err=True)
    if row.check is not None and row.check.state != "passed":
        click.echo(f"mesocosm check: {row.check.summary}", err=True)
        for problem in row.check.problems:
            click.echo(f"  {problem}", err=True)
    return 0


@env.command("list")
@team_options
def list_(team: str | None, solo: bool) -> None:
    """List your environments, or those of your active team."""
    from mesocosm.cli.remote.connection import show
    from mesocosm.cli.render import table

    client = member_client()
    team_id = team_for(client.caller, team, solo=solo)
    found = client.environments.list(scope="team" if team_id else None, team_id=team_id)
    if options().json:
        show(found)
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
    """Print an environment as JSON: its state, its domain, how much it was used."""
    from mesocosm.cli.remote import connection

    connection.show(member_client().environments.get(env_id))


@env.command()
@click.argument("env_id")
@click.option("--version", type=click.IntRange(min=1), help="Number of a submission  [the newest].")
@click.option("--follow", "-f", is_flag=True, help="Until the build ends.")
def logs(env_id: str, version: int | None, follow: bool) -> int:
    """Show what was written while an environment was built, and by its adapter since."""
    from mesocosm.cli.remote.connection import show

    client = member_client()
    if follow:
        return _follow(client, env_id)
    found = client.environments.logs(env_id, version)
    if options().json:
        show(found)
        return 0
    click.echo(found.build.rstrip("\n") or f"nothing was written yet (version {found.version} is {found.state})")
    if found.adapter:
        click.echo(f"\nadapter, last lines:\n{found.adapter.rstrip()}")
    return 0


@env.command()
@click.argument("env_id")
@click.option("--wait/--no-wait", "wait", default=None, help="Follow the build  [on a terminal].")
def retry(env_id: str, wait: bool | None) -> int:
    """Build a failed environment again. Prints its row as JSON."""
    from mesocosm.cli.remote.connection import show

    client = member_client()
    row = client.environments.retry(env_id)
    if not (sys.stderr.isatty() if wait is None else wait):
        show(row)
        return 0
    return _follow(client, row.id)


@env.command()
@click.argument("env_id")
def delete(env_id: str) -> None:
    """Delete an environment and archive its domain; runs stay."""
    from mesocosm.cli.render import emit

    member_client().environments.delete(env_id)
    if options().json:
        emit({"deleted": env_id})
    else:
        click.echo("Environment deleted.")
