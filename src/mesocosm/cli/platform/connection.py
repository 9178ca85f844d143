"""How a command reaches the platform: as whom, for which team, and what it prints when the platform refuses."""

from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.main import Command, Group, options
from mesocosm.core.failure import MesocosmError

if TYPE_CHECKING:
    from mesocosm.client.client import Client
    from mesocosm.client.error import ApiError
    from mesocosm.client.identity import Identity

LOGIN = "Run: mesocosm auth login  (member)  or  mesocosm auth guest"


class NotLoggedIn(MesocosmError):
    """The command needs a login, or another kind of it."""


class Remote(Command):
    """A command that talks to a platform.

    When the platform refuses, people read why on standard error, and programs that asked for JSON, or that always get
    JSON from this command (`always`), a document on standard output.
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
            from mesocosm.cli.render import emit

            click.echo(f"error: {error}", err=True)
            emit(error_document(error))
            return error.exit_code


class RemoteGroup(Group):
    """A group whose commands talk to a platform."""

    command_class = Remote


def error_document(error: "ApiError") -> dict[str, Any]:
    """Return a refusal, or that there was no answer, as older programs read it."""
    if error.status:
        return {"error": "http_error", "status_code": error.status, "detail": error.detail, "hint": error.hint}
    return {
        "error": "connection_error",
        "kind": error.kind,
        "detail": error.detail,
        "url": error.url,
        "hint": error.hint,
    }


def anyone() -> "Client":
    """Return the client of whoever calls, known to the platform or not."""
    from mesocosm.client.client import Client

    return Client(options().base_url)


def somebody() -> "Client":
    """Return the client of a member or guest. Raises NotLoggedIn."""
    client = anyone()
    if not client.caller.mode:
        from mesocosm.client.urls import shown

        elsewhere = shown(client.caller.elsewhere)
        known = f"You are logged in at {elsewhere}, which is another platform; nothing of it is sent here. "
        raise NotLoggedIn(f"Not authenticated. {known if elsewhere else ''}{LOGIN}")
    return client


def member() -> "Client":
    """Return the client of a member. Raises NotLoggedIn."""
    client = somebody()
    if client.caller.mode == "guest":
        raise NotLoggedIn("This command requires a member account. Run: mesocosm auth login")
    return client


def team_for(caller: "Identity", team: str | None, *, solo: bool) -> str | None:
    """Return the team that a command works for: the given one, the member's active one, or none."""
    if solo:
        return None
    return team or (caller.team_id if caller.mode == "member" else "") or None
