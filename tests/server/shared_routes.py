"""Applications that share their routes: FastAPI takes 200 ms to understand those of a platform, once per application.

Everything else, middleware and state, is that of `create_app` and `create_platform`.
"""

import copy
import functools
from pathlib import Path

from fastapi import FastAPI
from starlette.datastructures import State

from mesocosm.server.auth.guard import Guard
from mesocosm.server.platform_app import create_platform
from mesocosm.server.service import Service


@functools.cache
def _routes() -> FastAPI:
    return create_platform()


def platform_over(service: Service, *, viewer: Path | None = None) -> FastAPI:
    """Return the application of a platform."""
    app = copy.copy(_routes())
    known = vars(_routes().state)["_state"]
    given = {"viewer": viewer} if viewer else {}
    app.state = State({**known, "service": service, "store": service.store, **given})
    app.user_middleware = list(app.user_middleware)
    app.add_middleware(Guard, settings=service.settings)
    return app
