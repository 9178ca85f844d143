"""Find the run that a command names: in the local results, or on a server."""

import re
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import options
from mesocosm.cli.remote.connection import NoWorkspace, any_client, workspace_for
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import MesocosmError, UnknownName

if TYPE_CHECKING:
    from mesocosm.client.client import Client


NEWEST = 100
"""Number of the caller's newest runs on a server that are searched for an id prefix."""

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BEGINNING = re.compile(r"[0-9a-f][0-9a-f-]{5,34}")


def remote_option(command: Any) -> Any:
    """Add --remote."""
    what = "Look for the run only on the server  [locally first]."
    return click.option("--remote", is_flag=True, help=what)(command)


def elsewhere(run_id: str, *, remote: bool) -> "tuple[Client, str] | None":
    """Return the client of the server that has a run, and its id there; None for a local run.

    `last` is the newest local run, or with `remote` the caller's newest one on the server. A run that is not local is
    requested from the server if the caller is logged in or names it with --base-url; otherwise raises UnknownName.
    """
    if remote:
        return on_server(run_id)
    try:
        if _here(run_id):
            return None
    except UnknownName as error:
        client = any_client()
        if run_id == "last" and client.caller.mode:
            raise UnknownName(f"{error}; for your newest run at {client.base_url} write: last --remote") from error
        if client.caller.mode or options().base_url:
            return client, named(client, run_id)
        raise
    return None


def on_server(run_id: str) -> "tuple[Client, str]":
    """Return the server's client and the id of a run there; `last` is the caller's newest one."""
    client = any_client()
    return client, named(client, run_id)


def named(client: "Client", run_id: str) -> str:
    """Return the id of a server's run; `last` is the caller's newest one. Raises UnknownName.

    A name is looked up in the workspace that the caller works in, an id prefix among the NEWEST newest runs of theirs.
    Raises UsageError if the caller is in several workspaces, and ApiError if the one has no such run.
    """
    if run_id == "last":
        return _newest(client)
    beginning = _BEGINNING.fullmatch(run_id) is not None
    if client.caller.mode == "member" and not _ID.fullmatch(run_id):
        known = _in_workspace(client, run_id, required=not beginning)
        if known:
            return known
    if not client.caller.mode or not beginning:
        return run_id
    found = [run.id for run in client.runs.list(whose="mine", limit=NEWEST).items if run.id.startswith(run_id)]
    if len(found) > 1:
        raise UnknownName(f"{len(found)} of your runs at {client.base_url} begin with {run_id!r}; write more of the id")
    return found[0] if found else run_id


def _in_workspace(client: "Client", name: str, *, required: bool) -> str:
    """Return the id of the run with a name in the workspace that the caller works in.

    If there is none, return an empty text, or raise the reason if it is `required` of those who are in a workspace.
    """
    try:
        return client.runs.of_workspace(workspace_for(client, None), name).id
    except NoWorkspace:
        return ""
    except MesocosmError:
        if required:
            raise
        return ""


def _here(run_id: str) -> bool:
    """Return True if a run is in the local results. Raises UnknownName otherwise."""
    return bool(find_run(command_store(), run_id).id)


def _newest(client: "Client") -> str:
    found = client.runs.list(whose="mine", limit=1).items
    if not found:
        raise UnknownName(f"you have no run at {client.base_url} yet; start one with: mesocosm run create")
    return found[0].id
