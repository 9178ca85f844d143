"""The FastAPI application: all API routes and the web app, for a laptop or for a team's server."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

from anyio import to_thread
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from mesocosm import __version__
from mesocosm.server.openapi import DescribedApp
from mesocosm.server.problems import RESPONSES, add_handlers
from mesocosm.server.routes import (
    benchmarks,
    blobs,
    compare,
    episodes,
    export,
    live,
    reviews,
    runs,
    saved_views,
    search,
    system,
    viewer_data,
)
from mesocosm.server.runs.benchmark_index import BenchmarkIndex
from mesocosm.server.service import Service
from mesocosm.server.web import pages
from mesocosm.server.web.body_limits import Bodies
from mesocosm.server.web.compress import Compress
from mesocosm.server.web.guard import Guard

EAGER = (runs, saved_views, search, live, export, episodes, blobs, compare, benchmarks, reviews)
"""Modules of the routes that the web app of a laptop uses."""

NOUNS = (
    *("auth", "me", "tokens", "sessions", "limits", "teams", "workspaces", "datasets", "workspace_secrets"),
    *(
        "repositories",
        "snapshots",
        "schedules",
        "notifications",
        "domains",
        "environments",
        "run_requests",
        "run_imports",
        "batch_runs",
        "models",
        "techniques",
        "frameworks",
        "leaderboards",
    ),
    *("gallery", "admin"),
)
"""Modules of further routes. A server imports them at start, a laptop on the first request for one of them."""

LOCAL_THREADS = 12
"""Maximum number of routes that run concurrently on a laptop: fewer than the store's fifteen connections."""

SERVER_THREADS = 4
"""Maximum number of routes that run concurrently on a server. With twelve, threads wait for each other: 200 people on a
live run took a third more processor time and waited twice as long."""

ABOUT = """Evaluate agents and language models in submitted environments, with every run recorded.

The `x-access` of a route says who may use it: public, reader (anyone who may read the object), guest, member, holder
(the owner of the object, including guests, or a team mate), insider (the same without guests), owner, admin, worker.
Errors are problem details (RFC 9457) with a stable `code`; if the input is invalid, `problems` lists all problems.
"""


def create_app(
    service: Service | None = None, *, viewer: Path | None = None, benchmark_index: BenchmarkIndex | None = None
) -> FastAPI:
    """Return the application of a laptop or of a team's server; without a service it only serves OpenAPI generation.

    `viewer` is the directory of the built web app, by default that of this installation. `benchmark_index` lists the
    benchmarks of this machine.
    """
    local = service is not None and service.local
    app = DescribedApp(
        title="mesocosm",
        version=__version__,
        description=ABOUT,
        openapi_url="/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        lifespan=partial(_lifespan, LOCAL_THREADS if local else SERVER_THREADS),
        responses=RESPONSES,
    )
    app.state.service = service
    app.state.viewer = viewer or pages.built_viewer()
    app.state.benchmark_index = benchmark_index or BenchmarkIndex()
    if local:
        app.include_router(viewer_data.router)
    for module in (system, *EAGER, *([] if local else _nouns())):
        app.include_router(module.router)
    if local:
        app.router.routes.append(_DeferredRoutes())
        app.described_by = create_app
    app.state.routes = tuple(app.routes)
    app.include_router(pages.router)
    add_handlers(app)
    app.add_middleware(Compress)
    app.add_middleware(Bodies)
    if service is not None:
        app.add_middleware(Guard, settings=service.settings)
    return app


class _DeferredRoutes(BaseRoute):
    """The routes of `NOUNS`, imported on the first request for one of them, so that a viewer starts faster."""

    def __init__(self) -> None:
        self._routers: tuple[APIRouter, ...] = ()

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return whether one of the routes matches a request, and its scope."""
        if scope["type"] != "http" or scope["path"].split("/")[1] not in pages.API:
            return Match.NONE, {}
        self._routers = self._routers or tuple(module.router for module in _nouns())
        found, child = Match.NONE, {}
        for route in (route for router in self._routers for route in router.routes):
            match, given = route.matches(scope)
            if match is Match.FULL:
                return match, {**given, "deferred": route}
            if match is Match.PARTIAL:
                found, child = match, {**given, "deferred": route}
        return found, child

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await scope["deferred"].handle(scope, receive, send)


def _nouns() -> Iterable[ModuleType]:
    names = (
        *(f"mesocosm.server.routes.{name}" for name in NOUNS),
        "mesocosm.compat.swecc.aliases",
        "mesocosm.compat.swecc.routes",
        "mesocosm.compat.osmosis_platform.routes",
    )
    return [import_module(name) for name in names]


def _operation_id(route: APIRoute) -> str:
    return f"{(route.tags or ['page'])[0]}_{route.name}"


@asynccontextmanager
async def _lifespan(threads: int, app: FastAPI) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = threads
    yield
    app.state.benchmark_index.close()
