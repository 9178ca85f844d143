"""`/api/views`: the caller's saved views of the list of runs."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.saved_view import SavedViewDocument, SavedViewInput

router = APIRouter(prefix="/api/views", tags=["runs"])

Name = Annotated[str, Path(min_length=1, max_length=100, pattern=r"\S", description="Name of the view.")]


@router.get("", response_model=list[SavedViewDocument], **access(Access.PUBLIC))
def list_views(grant: Granted) -> Sequence[SavedViewDocument]:
    """List the caller's saved views, oldest first."""
    return grant.saved_views().list()


@router.put("/{name}", response_model=SavedViewDocument, responses=refused(400), **access(Access.GUEST))
def save_view(name: Name, body: SavedViewInput, grant: Granted) -> SavedViewDocument:
    """Save a view, or replace the one with its name."""
    return grant.saved_views().save(name, body.search)


@router.delete("/{name}", status_code=204, **access(Access.GUEST))
def delete_view(name: Name, grant: Granted) -> None:
    """Delete a saved view."""
    grant.saved_views().delete(name)
