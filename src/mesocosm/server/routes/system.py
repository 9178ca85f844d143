"""The service itself: what it is, whether it is well, its numbers."""

import base64
import hashlib
import html
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from sqlalchemy import text

from mesocosm import __version__
from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import discreet
from mesocosm.server.schemas.health import Health
from mesocosm.server.schemas.system import HealthDocument, ServiceDocument
from mesocosm.server.web import pages
from mesocosm.server.web.answer import answer
from mesocosm.server.web.guard import is_own_name
from mesocosm.server.web.requests import prefix_of
from mesocosm.store.revision import HEAD

router = APIRouter(tags=["system"])

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
:root { color-scheme: light dark }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; overflow-wrap: anywhere }
td:first-child { white-space: nowrap }
code { font-family: ui-monospace, monospace }
"""
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_LOOPBACK = frozenset({"127.0.0.1", "::1"})
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


_PAGE: dict[int | str, dict[str, Any]] = {200: {"content": {"text/html": {"schema": {"type": "string"}}}}}


@router.get("/", response_model=ServiceDocument, responses=_PAGE, **access(Access.PUBLIC))
def root(request: Request, service: Served) -> Any:
    """Return what this is, and where to read on; a browser gets the web app instead."""
    if "text/html" in request.headers.get("accept", ""):
        return pages.page("", request)
    before = prefix_of(request, service.settings.prefix)
    return ServiceDocument(
        service="mesocosm",
        version=__version__,
        docs=f"{before}/docs",
        redoc=f"{before}/redoc",
        openapi=f"{before}/openapi.json",
        health=f"{before}/health",
    )


@router.get("/health", response_model=HealthDocument, **access(Access.PUBLIC))
def health(service: Served) -> HealthDocument:
    """Return `ok` where this server answers and its store does; 500 or 503 where the store does not."""
    service.store.database.read(lambda connection: connection.execute(text("SELECT 1")).scalar())
    return HealthDocument(status="ok", version=__version__)


@router.get("/api/health", response_model=Health, **access(Access.ADMIN))
def store_health(service: Served) -> Response:
    """Return that the store can be read, and where it is; 503 with the reason where it cannot."""
    service.store.runs.list(limit=1)
    place = discreet(service.store.place)
    kind: Literal["postgresql", "sqlite"] = "postgresql" if "://" in place else "sqlite"
    return answer(Health(status="ok", version=__version__, store=place, kind=kind, schema_revision=HEAD))


@router.get("/docs", include_in_schema=False)
@router.get("/redoc", include_in_schema=False)
def docs(request: Request, service: Served) -> Response:
    """Return a page that lists the routes. It loads nothing from anywhere, and runs no script."""
    page = routes_page(request.app.openapi(), prefix_of(request, service.settings.prefix))
    return Response(page, headers={"Content-Security-Policy": _POLICY}, media_type="text/html")


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Numbers."}},
    openapi_extra={"x-access": Access.ADMIN.value},
)
def metrics(request: Request, caller: Caller, service: Served) -> Response:
    """Return the numbers of the platform in the text format of Prometheus.

    For administrators, for programs on the same machine that no proxy speaks for, and for whoever brings the workers'
    secret as a Bearer token.
    """
    from mesocosm.server.web.measures import CONTENT_TYPE, Measures

    if not (caller.admin or _beside(request) or _worker(request, service)):
        raise Refusal(
            401 if caller.anonymous else 403, "only administrators and programs on this machine may read these"
        )
    measures = getattr(request.app.state, "measures", None)
    if not isinstance(measures, Measures):
        measures = request.app.state.measures = Measures(service.store, service.settings.lease_s)
    return Response(measures.text(), media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


def routes_page(document: dict[str, Any], prefix: str = "") -> str:
    """Return the routes of an OpenAPI document as a page for people."""
    rows: dict[str, list[str]] = {}
    for path, operations in document.get("paths", {}).items():
        for method, operation in operations.items():
            words = html.escape(str(operation.get("description", operation.get("summary", ""))).partition("\n\n")[0])
            who = html.escape(str(operation.get("x-access", "")))
            name = f"<code>{method.upper()} {html.escape(path)}</code>"
            rows.setdefault(str((operation.get("tags") or ["other"])[0]), []).append(
                f"<tr><td>{name}</td><td>{who}</td><td>{words}</td></tr>"
            )
    head = '<tr><th scope="col">Route</th><th scope="col">Who</th><th scope="col">What</th></tr>'
    tables = "\n".join(
        f"<h2>{html.escape(tag)}</h2>\n<table>\n{head}\n{chr(10).join(listed)}\n</table>"
        for tag, listed in rows.items()
    )
    about = html.escape(str(document.get("info", {}).get("description", "")))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>mesocosm: routes</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>Routes of this platform</h1>\n<p>{about}</p>\n"
        f'<p>All of it, with every document: <a href="{html.escape(prefix)}/openapi.json">OpenAPI</a>.</p>\n'
        f"{tables}\n</body>\n</html>\n"
    )


def _beside(request: Request) -> bool:
    """Return whether a program on this machine asks for itself, and no page in a browser of it by a foreign name."""
    address = request.client.host if request.client is not None else ""
    own = is_own_name(request.headers.get("host", ""), ()) and "origin" not in request.headers
    return own and address in _LOOPBACK and not any(name in request.headers for name in _FORWARDED)


def _worker(request: Request, service: Served) -> bool:
    try:
        service.check_worker(request.headers.get("authorization", ""))
    except Refusal:
        return False
    return True
