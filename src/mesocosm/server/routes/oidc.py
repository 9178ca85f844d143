"""`/api/auth/oidc`: signing in with another provider; part of `auth`."""

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from mesocosm.server.auth.access import Access, Served, access
from mesocosm.server.auth.oidc import MINUTES
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes.signing_in import start_browser
from mesocosm.server.service import Service
from mesocosm.server.web.address import secure
from mesocosm.server.web.cookies import OIDC_COOKIE, clear_cookie, mount_path, set_cookie

PATH = "/api/auth/oidc"

router = APIRouter(prefix="/oidc")

Word = Annotated[str, Query(max_length=200)]
Code = Annotated[str, Query(max_length=4_096, description="What the provider gave for the identity.")]
_MOVED: dict[int | str, dict[str, Any]] = {303: {"description": "Go on at the address in `Location`."}}


@router.get(
    "/start",
    status_code=303,
    response_class=Response,
    responses={**_MOVED, **refused(404, 503)},
    **access(Access.PUBLIC),
)
async def start_oidc(
    request: Request,
    service: Served,
    after: Annotated[str, Query(alias="next", max_length=2_000, description="The page to go on with.")] = "/",
) -> Response:
    """Send a browser to the provider."""
    oidc = service.accounts.oidc
    begun = await oidc.begin(_callback(request, service), after)
    answer = RedirectResponse(begun.url, 303)
    path = f"{mount_path(service.settings)}{PATH}"
    set_cookie(answer, request, service.settings, OIDC_COOKIE, begun.cookie, seconds=MINUTES * 60, path=path)
    return answer


@router.get(
    "/callback",
    status_code=303,
    response_class=Response,
    responses={**_MOVED, **refused(400, 401, 403, 404, 409, 503)},
    **access(Access.PUBLIC),
)
async def end_oidc(request: Request, service: Served, state: Word = "", code: Code = "", error: Word = "") -> Response:
    """Take a browser back from the provider and sign it in.

    Browsers that cannot be signed in go to the sign-in page, which says why; programs get the refusal.
    """
    oidc, mount = service.accounts.oidc, mount_path(service.settings)
    try:
        if error:
            raise Refusal(401, f"the provider did not sign you in ({error[:100]}); try again")  # noqa: TRY301
        cookie = request.cookies.get(OIDC_COOKIE, "")
        user, page = await oidc.end(cookie, state, code, _callback(request, service))
        answer: Response = RedirectResponse(f"{mount}{page}", 303)
        await run_in_threadpool(start_browser, service, request, answer, user)
    except Refusal as refusal:
        if "text/html" not in request.headers.get("accept", ""):
            raise
        answer = RedirectResponse(f"{mount}/sign-in?{urlencode({'problem': str(refusal)})}", 303)
    clear_cookie(answer, OIDC_COOKIE, f"{mount}{PATH}")
    return answer


def _callback(request: Request, service: Service) -> str:
    """Return the address that the provider sends browsers back to."""
    settings = service.settings
    if settings.public_url:
        base = settings.public_url.rstrip("/")
    else:
        scheme = "https" if secure(request, "", settings.trusted_proxies) else "http"
        base = f"{scheme}://{request.url.netloc}{mount_path(settings)}"
    return f"{base}{PATH}/callback"
