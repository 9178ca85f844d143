"""`mesocosm secret …`: secrets of a workspace on a server. Values are sent, never shown and never arguments."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import confirmed, options
from mesocosm.cli.remote.connection import RemoteGroup, member_client, workspace_for, workspace_option
from mesocosm.cli.render import answer, emit, table, when
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from pydantic import SecretStr

    from mesocosm.server.schemas.workspace_secret import Scope

_SCOPES = click.Choice(["personal", "workspace"])


@click.group(cls=RemoteGroup)
def secret() -> None:
    """Store API keys and other secrets that runs in a workspace get as variables. Nobody can read them again."""


def _scope_option(command: Any) -> Any:
    words = "personal: only for your runs, where it wins; workspace: for all runs, set by admins."
    return click.option("--scope", type=_SCOPES, default="personal", show_default=True, help=words)(command)


@secret.command("set")
@click.argument("name")
@_scope_option
@click.option("--env", "variable", metavar="VAR", help="Take the value of this variable.")
@click.option("--file", "file", type=click.Path(path_type=Path, dir_okay=False), help="Take the content of this file.")
@workspace_option
def set_(name: str, scope: "Scope", variable: str | None, file: Path | None, workspace: str | None) -> None:
    """Set a secret, new or in place of its old value.

    Without --env or --file the value is asked for on a terminal, and read from standard input otherwise. A line break
    at its end is left out.
    """
    from mesocosm.server.schemas.workspace_secret import value_fault

    _check_name(name)
    client = member_client()
    place = client.workspaces.get(workspace_for(client, workspace))
    value = read_value(name, variable, file)
    if fault := value_fault(value):
        raise UsageError(f"the value for {name} {fault}")
    made = client.workspace_secrets.set(place.id, scope, name, value)
    needed = f"Runs get it whose configuration lists {made.name} in [secrets] required."
    answer(f"Set the {made.scope} secret {made.name} in {place.name}.\n{needed}", made)


@secret.command("list")
@click.option("--scope", type=_SCOPES, help="Only these  [both].")
@workspace_option
def list_(scope: "Scope | None", workspace: str | None) -> None:
    """List the secrets that your runs can get, without their values."""
    client = member_client()
    place = workspace_for(client, workspace)
    found = client.workspace_secrets.list(place, scope)
    if options().json:
        emit(found)
        return
    if not found:
        click.echo("no secrets in the workspace; store one with: mesocosm secret set NAME", err=True)
        return
    rows = [
        [
            one.name,
            one.scope,
            one.created_by or "–",
            when(one.updated_at.timestamp()),
            when(one.last_used_at.timestamp() if one.last_used_at else None),
            "" if one.usable else "its key is missing; set it again",
        ]
        for one in found
    ]
    table(["name", "scope", "set by", "updated", "last used", ""], rows, options(), whole=(0, 1))


@secret.command()
@click.argument("name")
@_scope_option
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@workspace_option
def delete(name: str, scope: "Scope", yes: bool, workspace: str | None) -> None:
    """Delete a secret. Runs that need it cannot be submitted until it is set again."""
    _check_name(name)
    client = member_client()
    place = client.workspaces.get(workspace_for(client, workspace))
    if not yes and not confirmed(f"delete the {scope} secret {name} of {place.name}?"):
        return
    client.workspace_secrets.delete(place.id, scope, name)
    answer(f"Deleted the {scope} secret {name} of {place.name}.", {"deleted": name, "scope": scope})


def _check_name(name: str) -> None:
    """Raise UsageError for what is not a name, without repeating it: it may be `NAME=value`, or a value."""
    from mesocosm.server.schemas.workspace_secret import name_fault

    if fault := name_fault(name):
        raise UsageError(fault)


def read_value(name: str, variable: str | None = None, file: Path | None = None) -> "SecretStr":
    """Return the value of a secret from where the user says. Raises UsageError without the value in it."""
    from pydantic import SecretStr

    from mesocosm.server.schemas.workspace_secret import VALUE_BYTES

    if variable is not None and file is not None:
        raise UsageError("give --env or --file, not both")
    if variable is not None:
        if variable not in os.environ:
            raise UsageError("the variable of --env is not set; export it, or leave --env out to be asked")
        return SecretStr(os.environ[variable])
    if file is None and sys.stdin is None:
        raise UsageError("there is no standard input to read a value from; give --env or --file")
    if file is None and sys.stdin.isatty():
        return SecretStr(click.prompt(f"Value of {name}", hide_input=True, err=True))
    most = VALUE_BYTES + len("\ufeff".encode()) + len("\r\n")
    try:
        if file is None:
            content = sys.stdin.buffer.read(most + 1)
        else:
            with file.open("rb") as opened:
                content = opened.read(most + 1)
        if len(content) > most:
            raise UsageError(f"the value for {name} is larger than {VALUE_BYTES // 1024} KiB")
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"the value for {name} is not UTF-8 text") from None
    except OSError as error:
        where = "standard input" if file is None else str(file)
        raise UsageError(f"the value for {name} cannot be read from {where}: {error.strerror or error}") from None
    return SecretStr(text.removesuffix("\n").removesuffix("\r"))
