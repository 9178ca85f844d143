"""The service itself: description, health, metrics."""

import base64
import hashlib
import html
from typing import Any

from fastapi import APIRouter, Request, Response

from mesocosm import __version__
from mesocosm.server.permissions.grant import Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.schemas.health import Health
from mesocosm.server.schemas.system import HealthDocument, ServiceDocument
from mesocosm.server.web import pages
from mesocosm.server.web.answer import answer
from mesocosm.server.web.guard import is_own_name
from mesocosm.server.web.requests import prefix_of

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
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


_PAGE: dict[int | str, dict[str, Any]] = {200: {"content": {"text/html": {"schema": {"type": "string"}}}}}


@router.get("/", response_model=ServiceDocument, responses=_PAGE, **access(Access.PUBLIC))
def root(request: Request) -> Any:
    """Return a description of the service with links; a browser gets the web app instead."""
    if "text/html" in request.headers.get("accept", ""):
        return pages.page("", request)
    before = _prefix(request)
    return ServiceDocument(
        service="mesocosm",
        version=__version__,
        docs=f"{before}/docs",
        redoc=f"{before}/redoc",
        openapi=f"{before}/openapi.json",
        health=f"{before}/health",
    )


@router.get("/health", response_model=HealthDocument, **access(Access.PUBLIC))
def health(grant: Granted) -> HealthDocument:
    """Return `ok` if the server and its store respond; 500 or 503 if the store does not."""
    return grant.system().ping()


@router.get("/api/health", response_model=Health, **access(Access.ADMIN))
def store_health(grant: Granted) -> Response:
    """Return the location of the store; 503 with the reason if it cannot be read."""
    return answer(grant.system().health())


@router.get("/docs", include_in_schema=False)
@router.get("/redoc", include_in_schema=False)
def docs(request: Request) -> Response:
    """Return a page that lists the routes, without scripts and external content."""
    page = routes_page(request.app.openapi(), _prefix(request))
    return Response(page, headers={"Content-Security-Policy": _POLICY}, media_type="text/html")


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Metrics of the server."}
    },
    openapi_extra={"x-access": Access.ADMIN.value},
)
def metrics(request: Request, grant: Granted) -> Response:
    """Return metrics of the server in the text format of Prometheus.

    For administrators, for programs on the same machine without a proxy, and with the workers' secret as a Bearer
    token.
    """
    text = grant.system().metrics(request.headers.get("authorization", ""), on_this_machine=_on_this_machine(request))
    return Response(text, media_type=_METRICS_TYPE, headers={"Cache-Control": "no-store"})


def routes_page(document: dict[str, Any], prefix: str = "") -> str:
    """Return the routes of an OpenAPI document as an HTML page."""
    rows: dict[str, list[str]] = {}
    for path, operations in document.get("paths", {}).items():
        for method, operation in operations.items():
            words = html.escape(str(operation.get("description", operation.get("summary", ""))).partition("\n\n")[0])
            who = html.escape(str(operation.get("x-access", "")))
            name = f"<code>{method.upper()} {html.escape(path)}</code>"
            rows.setdefault(str((operation.get("tags") or ["other"])[0]), []).append(
                f"<tr><td>{name}</td><td>{who}</td><td>{words}</td></tr>"
            )
    head = '<tr><th scope="col">Route</th><th scope="col">Access</th><th scope="col">Description</th></tr>'
    tables = "\n".join(
        f"<h2>{html.escape(tag)}</h2>\n<table>\n{head}\n{chr(10).join(listed)}\n</table>"
        for tag, listed in rows.items()
    )
    about = html.escape(str(document.get("info", {}).get("description", "")))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>mesocosm: routes</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>Routes of this server</h1>\n<p>{about}</p>\n"
        f'<p>Complete reference with all schemas: <a href="{html.escape(prefix)}/openapi.json">OpenAPI</a>.</p>\n'
        f"{tables}\n</body>\n</html>\n"
    )


def _on_this_machine(request: Request) -> bool:
    """Return whether the client is a program on this machine, not a proxy or a page of another site."""
    address = request.client.host if request.client is not None else ""
    own = is_own_name(request.headers.get("host", ""), ()) and "origin" not in request.headers
    return own and address in _LOOPBACK and not any(name in request.headers for name in _FORWARDED)


def _prefix(request: Request) -> str:
    return prefix_of(request, request.app.state.service.settings.prefix)
