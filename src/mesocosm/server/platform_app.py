"""The application of a platform: its own resources, the record of runs as each may see it, and the web app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import to_thread
from fastapi import FastAPI

from mesocosm import __version__
from mesocosm.server.auth.guard import Guard
from mesocosm.server.description import Described
from mesocosm.server.problems import RESPONSES, add_handlers
from mesocosm.server.routes import (
    admin,
    auth,
    batch_runs,
    domains,
    environments,
    gallery,
    leaderboards,
    limits,
    login,
    me,
    models,
    record,
    run_requests,
    sessions,
    socket,
    system,
    teams,
    techniques,
    test,
    tokens,
    users,
)
from mesocosm.server.service import Service
from mesocosm.server.web import pages
from mesocosm.server.web.bodies import Bodies
from mesocosm.server.web.compress import Compress

THREADS = 4
"""Routes that run at once: threads that wait for each other's turn cost more than they bring. With twelve of them 200
people on a live run took a third more processor time, and waited twice as long."""

RESOURCES = (
    *(
        system,
        login,
        auth,
        me,
        tokens,
        sessions,
        limits,
        teams,
        domains,
        environments,
        run_requests,
        test,
        batch_runs,
        models,
    ),
    *(techniques, leaderboards, gallery, socket, users, admin),
)
"""The resources of a platform; the order decides where two of them could answer to one path."""

ABOUT = """Evaluate agents and language models in environments that people submit; every run recorded.

Who may use a route stands in its `x-access`: public, reader (who may read the object), guest, member, holder (whose
the object is, guests too, or a team mate), insider (the same without guests), owner, admin, worker. Errors are
`{"error": kind, "detail": words}`; where the input is wrong, `detail` lists every problem with its place.
"""


def create_platform(service: Service | None = None, *, viewer: Path | None = None) -> FastAPI:
    """Return the application of a platform; without a service it only describes itself."""
    app = Described(
        title="mesocosm platform",
        version=__version__,
        description=ABOUT,
        openapi_url="/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: f"{(route.tags or ['page'])[0]}_{route.name}",
        lifespan=_few_threads,
        responses=RESPONSES,
    )
    app.state.service = service
    app.state.store = service.store if service is not None else None
    app.state.viewer = viewer or pages.built_viewer()
    for resource in RESOURCES:
        app.include_router(resource.router)
    record.mount(app)
    app.state.routes = tuple(app.routes)
    app.include_router(pages.router)
    add_handlers(app)
    app.add_middleware(Compress)
    app.add_middleware(Bodies)
    if service is not None:
        app.add_middleware(Guard, settings=service.settings)
    return app


@asynccontextmanager
async def _few_threads(_app: FastAPI) -> AsyncIterator[None]:
    to_thread.current_default_thread_limiter().total_tokens = THREADS
    yield
