"""The server's application: routes over one store."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import to_thread
from fastapi import FastAPI

from mesocosm import __version__
from mesocosm.server.errors import RESPONSES, add_handlers
from mesocosm.server.routes import (
    actions,
    benchmarks,
    blobs,
    compare,
    comparisons,
    episodes,
    export,
    health,
    live,
    older,
    results,
    runs,
)
from mesocosm.server.runs.shelf import Shelf
from mesocosm.server.service import local_service
from mesocosm.server.web import pages
from mesocosm.server.web.compress import Compress
from mesocosm.server.web.guard import Guard
from mesocosm.store import SqlStore

RECORD = (runs, results, actions, live, export, episodes, blobs, compare, comparisons, benchmarks, health)
"""The resources of the record: what the web app reads."""
PREFIX = "/v1"
THREADS = 12
"""Routes that run at once: fewer than the connections of the store, which are fifteen."""


def create_app(
    store: SqlStore | None = None,
    *,
    names: Iterable[str] = (),
    viewer: Path | None = None,
    shelf: Shelf | None = None,
) -> FastAPI:
    """Return the application over `store`; without one it only describes itself.

    It answers to loopback addresses and to `names`. `viewer` is where the built web app lies, `shelf` the catalogue of
    benchmarks, by default that of this installation.
    """
    app = FastAPI(
        title="mesocosm",
        version=__version__,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        lifespan=_few_threads,
        responses=RESPONSES,
    )
    app.state.store = store
    app.state.service = None if store is None else local_service(store)
    app.state.viewer = viewer or pages.built_viewer()
    app.state.shelf = shelf or Shelf()
    for resource in RECORD:
        app.include_router(resource.router, prefix=PREFIX)
    app.include_router(older.router)
    app.state.routes = tuple(app.routes)
    app.include_router(pages.router)
    add_handlers(app)
    app.add_middleware(Compress)
    app.add_middleware(Guard, names=tuple(names))
    return app


@asynccontextmanager
async def _few_threads(app: FastAPI) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield
    app.state.shelf.close()
