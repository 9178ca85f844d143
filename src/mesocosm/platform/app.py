"""The server's application: routes over one store."""

from fastapi import FastAPI

from mesocosm import __version__
from mesocosm.platform.api import benchmarks, compare, episodes, runs
from mesocosm.store import SqlStore


def create_app(store: SqlStore | None = None) -> FastAPI:
    """Return the application over `store`; without one it only describes itself."""
    app = FastAPI(
        title="mesocosm",
        version=__version__,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.store = store
    for resource in (runs, episodes, compare, benchmarks):
        app.include_router(resource.router)
    return app
