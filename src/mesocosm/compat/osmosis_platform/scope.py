"""Which workspace a request of the `osmosis` command line is about: it names a repository or a workspace."""

from typing import Annotated

from fastapi import Depends, Request

from mesocosm.compat.osmosis_platform.errors import CODE
from mesocosm.server.permissions.grant import Grant, Granted
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.workspace import WorkspaceDocument

GIT = "x-osmosis-git"
WORKSPACE = "x-osmosis-workspace"
_SHOWN = 200


def scope_of(request: Request, grant: Granted) -> str:
    """Return the id of the workspace of a request.

    Raises Refusal with the codes of the command line: 400 without or with both headers, 404 if the caller has no such
    workspace, 409 if several are connected with the repository.
    """
    repository, name = request.headers.get(GIT, ""), request.headers.get(WORKSPACE, "")
    if repository and name:
        raise _refusal(400, "give a repository or a workspace, not both", "WORKSPACE_SCOPE_HEADER_CONFLICT")
    if name:
        return _named(grant, name).id
    if not repository:
        words = "the request names no workspace; call the command in a clone of its repository, or with --workspace"
        raise _refusal(400, words, "GIT_SCOPE_HEADER_REQUIRED")
    found = workspace_with(grant, repository)
    if found is None:
        words = f"none of your workspaces is connected with the repository {repository[:_SHOWN]!r}"
        raise _refusal(404, words, "GIT_SCOPE_HEADER_ACCESS_DENIED")
    return found.id


def workspace_with(grant: Grant, repository: str) -> WorkspaceDocument | None:
    """Return the caller's workspace that is connected with `owner/repo`, None if there is none.

    The command line knows neither the host of a repository nor folders in it. Raises Refusal 409 if there are several.
    """
    found = grant.workspaces().with_repository(repository)
    if len(found) > 1:
        names = ", ".join(repr(one.name) for one in found[:5]) + (", …" if len(found) > 5 else "")
        raise Refusal(409, f"{repository[:_SHOWN]!r} is the repository of {names}; choose one with --workspace")
    return found[0] if found else None


def _named(grant: Grant, name: str) -> WorkspaceDocument:
    try:
        return grant.workspace(name).document()
    except Refusal as refusal:
        raise _refusal(refusal.status, refusal.detail, "WORKSPACE_SCOPE_HEADER_ACCESS_DENIED") from refusal


def _refusal(status: int, words: str, code: str) -> Refusal:
    return Refusal(status, words, more={CODE: code})


Place = Annotated[str, Depends(scope_of)]
"""A parameter of a route: the id of the workspace."""
