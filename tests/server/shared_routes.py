"""Applications that share their routes: FastAPI takes 200 ms to understand those of a platform, once per application.

Everything else, middleware and state, is that of `create_app`.
"""

import copy
import functools
from pathlib import Path

from fastapi import FastAPI
from starlette.datastructures import State

from mesocosm.server.app import create_app
from mesocosm.server.runs.benchmark_index import BenchmarkIndex
from mesocosm.server.service import Service
from mesocosm.server.web.guard import Guard


@functools.cache
def _routes() -> FastAPI:
    return create_app()


def platform_over(service: Service, *, viewer: Path | None = None) -> FastAPI:
    """Return the application of a platform."""
    app = copy.copy(_routes())
    known = vars(_routes().state)["_state"]
    given = {"viewer": viewer} if viewer else {}
    app.state = State({**known, "service": service, "shelf": BenchmarkIndex(), **given})
    app.user_middleware = list(app.user_middleware)
    app.add_middleware(Guard, settings=service.settings)
    return app
