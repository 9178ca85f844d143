"""`/api/sessions`: where one is signed in."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes.signing_in import kept_by_nobody, own_user
from mesocosm.server.schemas.account import SessionDocument
from mesocosm.server.schemas.document import instant
from mesocosm.server.web.cookies import WEB_COOKIE
from mesocosm.store.sessions import REFRESH, Session

router = APIRouter(prefix="/api/sessions", tags=["sessions"], dependencies=[Depends(kept_by_nobody)])


@router.get("", responses=refused(401, 403, 409), **access(Access.MEMBER))
def list_sessions(request: Request, caller: Caller, service: Served) -> list[SessionDocument]:
    """Return where one is signed in, the newest first, a hundred at most. Personal tokens are at `/api/tokens`.

    Only who signed in themselves sees that, no personal token.
    """
    user, signins = own_user(service, caller), service.accounts.signins
    found = signins.web(request.cookies.get(WEB_COOKIE, ""))
    here = None if found is None else found.session.id
    return [_document(session, began, here) for session, began in signins.of(user.id)]


@router.delete("/{session_id}", status_code=204, responses=refused(401, 403, 404, 409), **access(Access.MEMBER))
def end_session(
    session_id: Annotated[str, Path(max_length=200, description="the id of a sign-in")],
    request: Request,
    caller: Caller,
    service: Served,
) -> None:
    """End a sign-in: browsers and programs are signed out at once."""
    accounts, user = service.accounts, own_user(service, caller)
    if not accounts.signins.end_one(user.id, session_id):
        raise Refusal(404, f"you have no sign-in {session_id[:100]!r}; it has ended already, or is another's")
    accounts.audit.note(user.actor, "session.end", f"session:{session_id[:100]}", {}, accounts.address(request))


def _document(session: Session, began: float, here: str | None) -> SessionDocument:
    program = session.kind == REFRESH
    return SessionDocument(
        id=session.family,
        kind="program" if program else "browser",
        label=session.label,
        here=session.id == here,
        created_at=instant(began),
        renewed_at=instant(session.created_at) if program else None,
        expires_at=instant(session.expires_at),
    )
