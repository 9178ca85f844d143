"""Files of the web app: one page for all its URLs, and assets with content hashes in their names.

A program that requests an unknown path gets a problem document, never the page: a client with a wrong base URL would
take the page for a valid response.
"""

import html
import mimetypes
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from fastapi import APIRouter, Request, Response

from mesocosm.core.ids import digest_bytes
from mesocosm.server.problems import no_route
from mesocosm.server.web.answer import FOREVER, SETTLED, known
from mesocosm.server.web.requests import prefix_of

FRAME_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""Content-Security-Policy of recorded HTML: inline styles, images and fonts as data URLs, and nothing else."""

FRAME = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; base-uri 'none'; form-action 'none'\">\n"
    "<title>Recorded page</title>\n</head>\n<body></body>\n</html>\n"
)
"""The empty page into which recorded HTML is inserted: `<iframe src="frame.html" sandbox="allow-same-origin">`.

The app's own policy forbids inline styles, and an `srcdoc` frame would inherit it. Scripts are forbidden twice, by the
sandbox and by the policy of this page. The HTML must be parsed by the frame's own `contentWindow.DOMParser`: nodes
created by the parent's parser are subject to the parent's policy.
"""

MISSING = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>mesocosm</title></head>
<body>
<h1>The web app is not built</h1>
<p>This server works, and its API is at <a href="/api/runs">/api/runs</a>, described by
<a href="{openapi}">{openapi}</a>. The pages are made by <code>make viewer</code> in a checkout;
an installed package has them.</p>
</body>
</html>
"""

_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))

PAGES = (
    *("/runs/$runId", "/episodes/$episodeId", "/compare", "/compare/episodes"),
    *("/benchmarks", "/benchmarks/$benchmarkId", "/benchmarks/$benchmarkId/tasks/$taskDigest"),
    "/search",
    *("/reviews", "/reviews/$roundId", "/reviews/$roundId/agreement"),
)
"""Paths of the app besides `/`, in the notation of its router."""

SERVER_PAGES = (
    *("/sign-in", "/gallery", "/domains", "/domains/$domainId", "/new-run", "/teams", "/teams/$teamId"),
    *("/workspaces", "/workspaces/$workspaceId", "/workspaces/$workspaceId/secrets"),
    *("/workspaces/$workspaceId/datasets", "/workspaces/$workspaceId/datasets/$datasetId"),
    *("/workspaces/$workspaceId/repository", "/workspaces/$workspaceId/repository/syncs/$number"),
    *("/workspaces/$workspaceId/schedules", "/workspaces/$workspaceId/schedules/$scheduleId"),
    *("/workspaces/$workspaceId/notifications", "/workspaces/$workspaceId/members"),
    *("/workspaces/$workspaceId/rollouts", "/workspaces/$workspaceId/rollouts/$rollout"),
    *("/workspaces/$workspaceId/configuration", "/rollouts", "/datasets"),
    *("/environments", "/environments/new", "/environments/$environmentId", "/account", "/device", "/admin"),
)
"""Additional paths of the app on a server."""

API = frozenset({"api", "v1", "auth", "bench"})
"""First segments of paths that only programs request."""

router = APIRouter(include_in_schema=False)


def built_viewer() -> Path:
    """Return the directory of the built web app, whether it exists or not."""
    return Path(str(files("mesocosm"))) / "viewer"


@router.api_route("/frame.html", methods=["GET", "HEAD"])
def frame() -> Response:
    """Return the frame for recorded HTML."""
    headers = {"Content-Security-Policy": FRAME_POLICY, "Cache-Control": "no-cache"}
    return Response(FRAME, headers=headers, media_type="text/html")


@router.api_route("/{path:path}", methods=["GET", "HEAD"])
def page(path: str, request: Request) -> Response:
    """Return a file of the build, or for browsers the page of the app.

    Browsers get the page with status 404 for an unknown path. Below `API` and for a missing file the response is a
    problem document.
    """
    if path in {"", "index.html"}:
        return _page(request)
    root: Path = request.app.state.viewer
    found = _file(root, path)
    if found is not None:
        return _sent(found, request, FOREVER if path.startswith("assets/") else SETTLED)
    if not _navigates(request):
        return no_route(request)
    if _is_page(request):
        return _page(request)
    if path.partition("/")[0] in API or path.startswith("assets/") or "." in path.rpartition("/")[2]:
        return no_route(request)
    answer = _page(request)
    answer.status_code = 404
    answer.headers["Cache-Control"] = "no-store"
    return answer


def server_page(page: bytes, prefix: str = "") -> bytes:
    """Return the built page with the mode `server` and with `prefix` as its base URL."""
    marked = page.replace(b'id="place">{"mode":"laptop"}<', b'id="place">{"mode":"server"}<', 1)
    base = html.escape(f"{prefix}/").encode()
    return marked.replace(b'<base href="/"', b'<base href="' + base + b'"', 1)


def _page(request: Request) -> Response:
    index = _file(request.app.state.viewer, "index.html")
    if index is None:
        missing = MISSING.replace("{openapi}", request.app.openapi_url)
        return Response(missing, headers={"Cache-Control": "no-store"}, media_type="text/html")
    service = request.app.state.service
    if service.local:
        return _sent(index, request, SETTLED)
    page = server_page(index.read_bytes(), prefix_of(request, service.settings.prefix))
    return _whole(page, request, SETTLED, index)


def _navigates(request: Request) -> bool:
    """Return whether a browser requests a page: it accepts text/html explicitly, while programs accept anything."""
    accepted = (part.partition(";") for part in request.headers.get("accept", "").split(","))
    return any(kind.strip().casefold() == "text/html" and "q=0" not in more for kind, _, more in accepted)


def _is_page(request: Request) -> bool:
    """Return whether the app has a page at this path. A `$` segment may contain an escaped slash."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("latin-1").partition("?")[0].rstrip("/")
    service = request.app.state.service
    pages = PAGES if service.local else (*PAGES, *SERVER_PAGES)
    return any(re.fullmatch(re.sub(r"\$\w+", "[^/]+", page), path) for page in pages)


def _file(root: Path, path: str) -> Path | None:
    """Return the file at `path` below `root`; None if it is missing, or outside of `root` by `..` or links."""
    if "\0" in path or "\\" in path or not path:
        return None
    try:
        found = (root / path).resolve()
        inside = found.is_relative_to(root.resolve()) and found.is_file()
    except (OSError, ValueError):
        return None
    return found if inside else None


def _sent(found: Path, request: Request, keeping: str) -> Response:
    """Return a response with a file, in its precompressed form if the client accepts that."""
    accepted = {part.partition(";")[0].strip() for part in request.headers.get("accept-encoding", "").split(",")}
    for name, suffix in _ENCODINGS:
        packed = found.with_name(found.name + suffix)
        if name in accepted and packed.is_file():
            return _whole(packed.read_bytes(), request, keeping, found, {"Content-Encoding": name})
    return _whole(found.read_bytes(), request, keeping, found)


def _whole(
    data: bytes, request: Request, keeping: str, found: Path, more: Mapping[str, str] = MappingProxyType({})
) -> Response:
    """Return a response with the content of a file, or 304 if the client has it already."""
    kind = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
    headers = {"Cache-Control": keeping, "Vary": "Accept-Encoding", **more}
    headers["ETag"] = f'W/"{digest_bytes(data)}"'
    same = known(request, headers["ETag"])
    if same is not None:
        same.headers["Cache-Control"] = keeping
        return same
    return Response(data, headers=headers, media_type=kind)
