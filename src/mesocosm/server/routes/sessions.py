"""`/api/sessions`: logins of the caller in browsers and programs."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.schemas.account import SessionDocument
from mesocosm.server.web.answer import not_cached
from mesocosm.server.web.cookies import WEB_COOKIE

router = APIRouter(prefix="/api/sessions", tags=["sessions"], dependencies=[Depends(not_cached)])


@router.get("", response_model=list[SessionDocument], responses=refused(401, 403, 409), **access(Access.MEMBER))
def list_sessions(request: Request, grant: Granted) -> Sequence[SessionDocument]:
    """List the caller's logins, newest first, at most a hundred. Refused to personal tokens."""
    return grant.account().sessions(request.cookies.get(WEB_COOKIE, ""))


@router.delete("/{session_id}", status_code=204, responses=refused(401, 403, 404, 409), **access(Access.MEMBER))
def end_session(session_id: Annotated[str, Path(max_length=200, description="ID of a login.")], grant: Granted) -> None:
    """End a login: its browser or program is logged out immediately."""
    grant.account().end_session(session_id)
