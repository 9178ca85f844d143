"""`mesocosm rollout …`: rollouts in the repository of a workspace."""

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import RemoteGroup, member_client, workspace_for, workspace_option
from mesocosm.cli.render import emit, table


@click.group(cls=RemoteGroup)
def rollout() -> None:
    """List the rollouts of a workspace on a server."""


@rollout.command("list")
@click.option("--branch", default="", metavar="BRANCH", help="Branch  [the one that the workspace follows].")
@workspace_option
def list_(branch: str, workspace: str | None) -> None:
    """List the rollouts at the newest synced commit of a branch."""
    client = member_client()
    found = client.repositories.rollouts(workspace_for(client, workspace), branch=branch)
    if options().json:
        emit(found)
        return
    if not found:
        click.echo("there are no synced rollouts; sync with: mesocosm workspace sync", err=True)
        return
    rows = [
        [one.name, ", ".join(one.entrypoints) or "–", str(len(one.requirements)), one.branch, one.commit[:12]]
        for one in found
    ]
    table(["rollout", "entry point", "dependencies", "branch", "commit"], rows, options(), right=(2,))
