"""`mesocosm workspace …`: the workspaces of a server, and the active one."""

import math
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import confirmed, options
from mesocosm.cli.remote.connection import RemoteGroup, document, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, emit, money, table
from mesocosm.core.failure import UnknownName

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.server.schemas.workspace import WorkspaceMember

ROLES = ("viewer", "member", "admin", "owner")
MOST_USD = 1e9
"""Maximum budget, as `WorkspaceChange` has it."""


TREE = {
    "connect": ("mesocosm.cli.workspace_sync:connect", "Connect the workspace with a Git repository."),
    "disconnect": ("mesocosm.cli.workspace_sync:disconnect", "Disconnect the workspace from its repository."),
    "repository": ("mesocosm.cli.workspace_sync:repository", "Print the repository of the workspace as JSON."),
    "credentials": (
        "mesocosm.cli.workspace_credentials:credentials",
        "Set the token or the deploy key of a private repository.",
    ),
    "hook": ("mesocosm.cli.workspace_sync:hook", "Make a secret for the webhook of the repository."),
    "sync": ("mesocosm.cli.workspace_sync:sync", "Sync the workspace with its repository."),
    "syncs": ("mesocosm.cli.workspace_sync:syncs", "List the syncs of the workspace, or show one."),
    "notify": ("mesocosm.cli.workspace_notify:notify", "Tell other programs how runs of the workspace end."),
    "upload": ("mesocosm.cli.workspace_sync:upload", "Upload the workspace directory as it is, without a repository."),
}


@click.group(cls=RemoteGroup, tree=TREE)
def workspace() -> None:
    """Share datasets and secrets with others on a server.

    Commands work in the workspace of --workspace, else of MESOCOSM_WORKSPACE, else in the active one, else in the only
    one that you are in.
    """


@workspace.command()
@click.argument("name")
@click.option("--use", is_flag=True, help="Make it the active workspace.")
def create(name: str, use: bool) -> None:
    """Create a workspace that you own."""
    from mesocosm.client import credentials
    from mesocosm.server.schemas.workspace import WorkspaceInput

    made = member_client().workspaces.create(document(WorkspaceInput, {"name": name}).name)
    if use:
        credentials.choose_workspace(made.id)
    answer(f"Created the workspace {made.name}{' and made it the active one' if use else ''}. id={made.id}", made)


@workspace.command("list")
def list_() -> None:
    """List your workspaces; for administrators of the server, all."""
    client = member_client()
    found = client.workspaces.list()
    if options().json:
        emit(found)
        return
    if not found:
        click.echo("you are in no workspace; create one with: mesocosm workspace create NAME", err=True)
        return
    active = client.caller.workspace_id
    rows = [["*" if one.id == active else "", one.name, one.role or "–", str(one.members), one.id] for one in found]
    table(["", "name", "role", "members", "id"], rows, options(), right=(3,), whole=(0, 2, 3, 4), spare=(4,))


@workspace.command()
@click.argument("name", required=False)
def show(name: str | None) -> None:
    """Print a workspace as JSON, by default the active one."""
    client = member_client()
    emit(client.workspaces.get(workspace_for(client, name)))


@workspace.command()
@click.argument("name")
def use(name: str) -> None:
    """Set the active workspace, by name or id."""
    from mesocosm.client import credentials

    found = member_client().workspaces.get(name)
    credentials.choose_workspace(found.id)
    answer(f"Active workspace set to {found.name}.", {"active_workspace_id": found.id, "name": found.name})


@workspace.command()
def clear() -> None:
    """Clear the active workspace."""
    from mesocosm.client import credentials

    credentials.choose_workspace("")
    answer("Active workspace cleared.", {"active_workspace_id": None})


@workspace.command()
@click.argument("name")
@workspace_option
def rename(name: str, workspace: str | None) -> None:
    """Give a workspace another name. For admins and owners. The id stays, so the active workspace is the same."""
    from mesocosm.server.schemas.workspace import WorkspaceInput

    client = member_client()
    found = client.workspaces.get(workspace_for(client, workspace))
    changed = client.workspaces.change(found.id, name=document(WorkspaceInput, {"name": name}).name)
    answer(f"Renamed {found.name} to {changed.name}.", changed)


@workspace.command()
@click.argument("amount", required=False)
@workspace_option
def budget(amount: str | None, workspace: str | None) -> None:
    """Show what the runs of a workspace may cost in 24 hours, and what is left; or set it.

    AMOUNT is in US dollars, or the word default for that of the server. Only administrators of the server set it.
    """
    client = member_client()
    found = client.workspaces.get(workspace_for(client, workspace))
    if amount is not None:
        client.workspaces.change(found.id, budget_usd=_dollars(amount))
    left = client.workspaces.budget(found.id)
    if left.limit_usd is None or left.left_usd is None:
        line = f"{found.name}: no limit; {money(left.spent_usd)} spent in the last 24 hours"
    else:
        line = f"{found.name}: {money(left.left_usd)} left of {money(left.limit_usd)} for 24 hours"
    answer(line, left)


def _dollars(amount: str) -> float | None:
    """Return an amount in US dollars, None for the word default. Raises BadParameter."""
    if amount == "default":
        return None
    try:
        usd = float(amount.removeprefix("$"))
    except ValueError:
        usd = math.nan
    if not 0 <= usd <= MOST_USD:
        raise click.BadParameter(f"{amount!r} is no amount; give US dollars such as 25 or 0.50, or the word default")
    return usd


@workspace.command()
@workspace_option
def members(workspace: str | None) -> None:
    """List the members of a workspace, owners first."""
    client = member_client()
    found = client.workspaces.members(workspace_for(client, workspace))
    if options().json:
        emit(found)
        return
    rows = [[str(one.user_id), one.username, one.role, "disabled" if one.disabled else ""] for one in found]
    table(["id", "name", "role", ""], rows, options(), right=(0,))


@workspace.command()
@click.argument("user")
@click.option("--role", type=click.Choice(ROLES), default="member", show_default=True, help="Role in the workspace.")
@workspace_option
def add(user: str, role: Any, workspace: str | None) -> None:
    """Add a user of the server, by name. For admins and owners.

    Roles: a viewer reads; a member also uploads datasets and sets own secrets; an admin also manages
    members and the secrets of all, and deletes what others made; an owner also makes owners and deletes the workspace.
    """
    client = member_client()
    found = client.workspaces.get(workspace_for(client, workspace))
    added = client.workspaces.add(found.id, user, role)
    answer(f"{added.username} is {_a(added.role)} of {found.name}.", added)


@workspace.command("role")
@click.argument("user")
@click.argument("role", type=click.Choice(ROLES))
@workspace_option
def role_(user: str, role: Any, workspace: str | None) -> None:
    """Give a member, named by user id or name, another role. For admins and owners; only owners make owners."""
    client = member_client()
    found = client.workspaces.get(workspace_for(client, workspace))
    changed = client.workspaces.set_role(found.id, _member(client, found.id, user).user_id, role)
    answer(f"{changed.username} is {_a(changed.role)} of {found.name}.", changed)


@workspace.command()
@click.argument("user")
@workspace_option
def remove(user: str, workspace: str | None) -> None:
    """Remove a member, named by user id or name. For admins and owners."""
    client = member_client()
    found = client.workspaces.get(workspace_for(client, workspace))
    gone = _member(client, found.id, user)
    client.workspaces.remove(found.id, gone.user_id)
    answer(f"Removed {gone.username} from {found.name}.", {"workspace_id": found.id, "removed": gone.username})


@workspace.command()
@click.argument("name")
def leave(name: str) -> None:
    """Leave a workspace. Its last owner cannot; make another member an owner first."""
    client = member_client()
    found = client.workspaces.get(name)
    client.workspaces.leave(found.id)
    _forget(client, found.id)
    answer(f"Left {found.name}.", {"workspace_id": found.id, "name": found.name})


@workspace.command()
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
def delete(name: str, yes: bool) -> int:
    """Permanently delete a workspace with its datasets and secrets. Only for its owners."""
    client = member_client()
    found = client.workspaces.get(name)
    if not (yes or confirmed(f"delete the workspace {found.name!r} with all datasets and secrets in it?")):
        click.echo("nothing was deleted", err=True)
        return 1
    client.workspaces.delete(found.id)
    _forget(client, found.id)
    answer(f"Deleted {found.name}.", {"deleted": found.id, "name": found.name})
    return 0


def _forget(client: "Client", workspace_id: str) -> None:
    """Clear the active workspace if it is this one."""
    from mesocosm.client import credentials

    if client.caller.workspace_id == workspace_id:
        credentials.choose_workspace("")


def _member(client: "Client", workspace_id: str, who: str) -> "WorkspaceMember":
    """Return a member, given by name or id. Raises UnknownName."""
    found = client.workspaces.members(workspace_id)
    for one in found:
        if one.username.casefold() == who.casefold():
            return one
    for one in found:
        if str(one.user_id) == who:
            return one
    raise UnknownName(f"no member is called {who!r}; members are: {', '.join(one.username for one in found)}")


def _a(role: str) -> str:
    return f"an {role}" if role[0] in "ao" else f"a {role}"
