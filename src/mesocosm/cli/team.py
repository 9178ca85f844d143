"""`mesocosm team …`: the teams of a server, and the active one."""

import re
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import RemoteGroup, any_client, member_client
from mesocosm.cli.render import answer, emit, table
from mesocosm.core.failure import UnknownName, UsageError

if TYPE_CHECKING:
    from mesocosm.client.client import Client


@click.group(cls=RemoteGroup)
def team() -> None:
    """Work in a team: its members see and manage each other's environments and runs."""


@team.command()
@click.option("--name", required=True, help="Name of the team.")
@click.option("--use", is_flag=True, help="Make it the active team.")
def create(name: str, use: bool) -> None:
    """Create a team that you own, and print its join code."""
    from mesocosm.client import credentials

    made = member_client().teams.create(name)
    if use:
        credentials.choose_team(made.team_id)
    if options().json:
        emit(made)
        return
    click.echo(f"team_id={made.team_id}")
    click.echo(f"join_code={made.join_code}  ({made.member_count}/{made.max_members} members)")


@team.command()
@click.argument("code")
def join(code: str) -> None:
    """Join a team by its join code."""
    client, bare = member_client(), code.replace("-", "").replace(" ", "")
    if not re.fullmatch("[A-Za-z0-9]{4,8}", bare):
        raise UsageError(f"{code!r} is not a code of a team: that has 4 to 8 letters and digits; ask its owner for it")
    joined = client.teams.join(bare)
    answer(f"Joined {joined.name} ({joined.member_count}/{joined.max_members}) team_id={joined.team_id}", joined)


@team.command("list")
def list_() -> None:
    """List your teams."""
    found = member_client().teams.list()
    if options().json:
        emit(found)
        return
    if not found:
        click.echo(
            "you are in no team; make one with: mesocosm team create --name NAME, or: mesocosm team join CODE", err=True
        )
        return
    rows = [
        [one.team_id, one.name, f"{one.member_count}/{one.max_members}", one.role, one.join_code or "–"]
        for one in found
    ]
    table(["id", "name", "members", "role", "code"], rows, options(), right=(2,), whole=(0, 2, 3, 4))


@team.command()
@click.argument("team_id")
def show(team_id: str) -> None:
    """Print a team as JSON."""
    emit(member_client().teams.get(team_id))


@team.command()
@click.argument("team_id")
def use(team_id: str) -> None:
    """Set the active team: what you submit and run belongs to it."""
    from mesocosm.client import credentials

    _check(team_id)
    credentials.choose_team(team_id)
    answer(f"Active team set to {team_id}", {"active_team_id": team_id})


def _check(team_id: str) -> None:
    """Warn about a team that the caller is not in. This is not an error: a team may be chosen before logging in."""
    from mesocosm.client.error import ApiError

    client = any_client()
    if client.caller.mode != "member":
        return
    try:
        if team_id not in {team.team_id for team in client.teams.list()}:
            click.echo(
                f"warning: you are not in a team {team_id} at {client.base_url}; see: mesocosm team list", err=True
            )
    except ApiError as error:
        click.echo(f"note: whether you are in it could not be checked: {error}", err=True)


@team.command()
def clear() -> None:
    """Clear the active team: work for yourself again."""
    from mesocosm.client import credentials

    credentials.choose_team("")
    answer("Active team cleared (solo default).", {"active_team_id": None})


@team.command()
@click.argument("team_id")
def runs(team_id: str) -> None:
    """Print the newest runs of a team as JSON; `mesocosm run list --team` lists them."""
    from mesocosm.compat.swecc.mapping import older_item

    emit([older_item(run) for run in member_client().runs.list(team_id=team_id, limit=100).items])


@team.command()
@click.argument("team_id")
@click.option("--user-id", "--user", "who", required=True, metavar="USER", help="User id or name.")
def transfer(team_id: str, who: str) -> None:
    """Make another member the owner of a team."""
    client = member_client()
    client.teams.transfer(team_id, _user_id(client, team_id, who))
    answer("Ownership transferred.", {"team_id": team_id, "owner": who})


@team.command()
@click.argument("team_id")
def leave(team_id: str) -> None:
    """Leave a team that another user owns."""
    from mesocosm.client import credentials

    client = member_client()
    client.teams.leave(team_id)
    if client.caller.team_id == team_id:
        credentials.choose_team("")
    answer("Left team.", {"team_id": team_id})


@team.command()
@click.argument("team_id")
def delete(team_id: str) -> None:
    """Delete a team with its environments; its runs stay with the members who started them."""
    from mesocosm.client import credentials

    client = member_client()
    client.teams.delete(team_id)
    if client.caller.team_id == team_id:
        credentials.choose_team("")
    answer("Team deleted.", {"team_id": team_id})


@team.group("code", cls=RemoteGroup)
def code_() -> None:
    """Show or replace the join code."""


@code_.command("show")
@click.argument("team_id")
def show_code(team_id: str) -> None:
    """Print a team as JSON, for its owner with the join code."""
    emit(member_client().teams.get(team_id))


@code_.command()
@click.argument("team_id")
def regenerate(team_id: str) -> None:
    """Replace the join code; the old one becomes invalid immediately."""
    made = member_client().teams.new_code(team_id)
    answer(f"join_code={made.join_code}", made)


@team.group(cls=RemoteGroup)
def members() -> None:
    """List the members of a team, or remove one."""


@members.command("list")
@click.argument("team_id")
def list_members(team_id: str) -> None:
    """List the members of a team, the owner first."""
    found = member_client().teams.members(team_id)
    if options().json:
        emit(found)
        return
    table(["id", "name", "role"], [[str(one.user_id), one.username, one.role] for one in found], options(), right=(0,))


@members.command()
@click.argument("team_id")
@click.option("--user-id", "--user", "who", required=True, metavar="USER", help="User id or name.")
def remove(team_id: str, who: str) -> None:
    """Remove a member from a team that you own."""
    client = member_client()
    client.teams.remove(team_id, _user_id(client, team_id, who))
    answer("Member removed.", {"team_id": team_id, "removed": who})


def _user_id(client: "Client", team_id: str, who: str) -> int:
    """Return the id of a member, given by id or by name."""
    if who.isdecimal():
        return int(who)
    found = client.teams.members(team_id)
    for one in found:
        if one.username.casefold() == who.casefold():
            return one.user_id
    names = ", ".join(one.username for one in found)
    raise UnknownName(f"no member of this team is called {who!r}; members are: {names}")
