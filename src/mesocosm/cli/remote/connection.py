"""Commands that talk to a server: the client and its identity, the team, documents, and errors."""

import os
from collections.abc import Mapping
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mesocosm.cli.command import MesocosmCommand, MesocosmGroup, options
from mesocosm.cli.render import emit
from mesocosm.core.failure import InvalidInput, MesocosmError, Problem, UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from mesocosm.client.client import Client
    from mesocosm.client.error import ApiError
    from mesocosm.client.identity import Identity

D = TypeVar("D", bound="BaseModel")

LOGIN = "Run: mesocosm auth login  (member)  or  mesocosm auth guest"


class NotLoggedIn(MesocosmError):
    """The command needs a login, or a different kind of login."""


class NoWorkspace(UsageError):
    """The caller is in no workspace."""


class Remote(MesocosmCommand):
    """A command that talks to a server.

    A server error is printed as text on standard error. With --json, or for a command that always prints JSON
    (`always`), a document is also printed on standard output.
    """

    def __init__(self, *args: Any, always: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.always = always

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from mesocosm.client.error import ApiError

        try:
            return super().invoke(ctx)
        except ApiError as error:
            if not (self.always or options().json) or options().debug:
                raise

            click.echo(f"error: {error}", err=True)
            emit(error_document(error))
            return error.exit_code


class RemoteGroup(MesocosmGroup):
    """A group of commands that talk to a server."""

    command_class = Remote


def error_document(error: "ApiError") -> dict[str, Any]:
    """Return a server error, or a failed connection, in the format that older programs read."""
    if error.status:
        return {"error": "http_error", "status_code": error.status, "detail": error.detail, "hint": error.hint}
    return {
        "error": "connection_error",
        "kind": error.kind,
        "detail": error.detail,
        "url": error.url,
        "hint": error.hint,
    }


def any_client() -> "Client":
    """Return a client, signed in or not."""
    from mesocosm.client.client import Client

    return Client(options().base_url)


def known_client() -> "Client":
    """Return the client of a signed-in member or guest. Raises NotLoggedIn."""
    client = any_client()
    if not client.caller.mode:
        from mesocosm.client.urls import without_credentials

        elsewhere = without_credentials(client.caller.elsewhere)
        known = f"You are logged in at {elsewhere}, a different server; that login is not sent here. "
        raise NotLoggedIn(f"Not authenticated. {known if elsewhere else ''}{LOGIN}")
    return client


def member_client() -> "Client":
    """Return the client of a member. Raises NotLoggedIn."""
    client = known_client()
    if client.caller.mode == "guest":
        raise NotLoggedIn("This command requires a member account. Run: mesocosm auth login")
    return client


def team_for(caller: "Identity", team: str | None, *, solo: bool) -> str | None:
    """Return the given team, or else the active team of a member, or None."""
    if solo:
        return None
    return team or (caller.team_id if caller.mode == "member" else "") or None


def team_options(command: Any) -> Any:
    """Add --team and --solo."""
    command = click.option("--solo", is_flag=True, help="Work for yourself, not for the active team.")(command)
    return click.option("--team", metavar="TEAM_ID", help="Work for this team  [the active one: mesocosm team use].")(
        command
    )


WORKSPACE_VARIABLE = "MESOCOSM_WORKSPACE"


def workspace_for(client: "Client", workspace: str | None) -> str:
    """Return the id or name of the workspace to work in.

    It is the given one, else that of MESOCOSM_WORKSPACE, else the active one, else the only one that the caller is a
    member of, which is said once on standard error. Raises UsageError if that leaves it open.
    """
    chosen = workspace or os.environ.get(WORKSPACE_VARIABLE) or client.caller.workspace_id
    if chosen:
        return chosen
    own = [one for one in client.workspaces.list() if one.role is not None]
    if not own:
        raise NoWorkspace("you are in no workspace; create one with: mesocosm workspace create NAME --use")
    if len(own) > 1:
        names = ", ".join(one.name for one in own)
        raise UsageError(
            f"you are in several workspaces ({names}); choose one by --workspace NAME or: mesocosm workspace use NAME"
        )
    said = click.get_current_context().meta
    if own[0].id not in said:
        said[own[0].id] = True
        use = f"mesocosm workspace use {quote(own[0].name)}"
        click.echo(f"note: in the workspace {own[0].name!r}, the only one you are in; to choose it: {use}", err=True)
    return own[0].id


def workspace_option(command: Any) -> Any:
    """Add --workspace."""
    text = "Work in this workspace  [the active one: mesocosm workspace use]."
    return click.option("--workspace", metavar="NAME", help=text)(command)


def document(kind: type[D], fields: Mapping[str, Any]) -> D:
    """Return a request document with the fields that are not None. Raises InvalidInput listing every invalid one."""
    from pydantic import ValidationError

    try:
        return kind.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        problems = [
            Problem(".".join(str(part) for part in fault["loc"]), fault["msg"].removeprefix("Value error, "))
            for fault in error.errors(include_url=False)
        ]
        raise InvalidInput("what is asked for", problems) from error
