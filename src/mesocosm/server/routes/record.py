"""`/api`: everything recorded of runs, as the web app reads it, as far as the caller may see it.

The routes are those of a local viewer (`server.routes`); what they read is what the caller is granted.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from fastapi import APIRouter, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute

from mesocosm.server.auth.following import Audience, Listening
from mesocosm.server.auth.principal import Principal
from mesocosm.server.permissions.grant import Granted, grant
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.problems import refused
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes import blobs, compare, episodes, export, results, runs
from mesocosm.server.routes.live import STREAM, Changes, EventStream
from mesocosm.server.runs.live import Live, encoded
from mesocosm.server.service import Service
from mesocosm.server.web.address import client_address, counted

PREFIX = "/api"
RECORD = (runs, results, export, episodes, blobs, compare)

router = APIRouter(prefix=PREFIX, tags=["record"])


def mount(app: FastAPI) -> None:
    """Add the record to a platform."""
    app.include_router(router)
    rule = access(Access.READER)
    for resource in RECORD:
        for route in resource.router.routes:
            assert isinstance(route, APIRoute)
            app.add_api_route(
                PREFIX + route.path,
                route.endpoint,
                name=route.name,
                methods=list(route.methods or ()),
                response_model=route.response_model,
                response_class=route.response_class,
                responses={**refused(400), **route.responses},
                tags=["record"],
                **rule,
            )


def audience_of(request: Request) -> Audience:
    """Return who listens to this server."""
    state = request.app.state
    if not hasattr(state, "audience"):
        state.audience = Audience()
    audience = state.audience
    assert isinstance(audience, Audience)
    return audience


@router.get("/live", response_class=StreamingResponse, responses=STREAM, **access(Access.READER))
async def follow_runs(request: Request, live: Changes, granted: Granted) -> EventStream:
    """Follow all runs that you may see: those that changed in the last half minute, and then every change.

    429 for who follows very many at once.
    """
    return _stream(request, live, None, granted.caller)


@router.get("/runs/{run_id}/live", response_class=StreamingResponse, responses=STREAM, **access(Access.READER))
async def follow_run(run_id: str, request: Request, live: Changes, granted: Granted) -> EventStream:
    """Follow one run: its state, and then every change of it. 429 for who follows very many at once."""
    run = await run_in_threadpool(granted.run, run_id)
    return _stream(request, live, run.id, granted.caller)


def _stream(request: Request, live: Live, run_id: str | None, who: Principal) -> EventStream:
    audience, listener = audience_of(request), Listening(who)
    service: Service = request.app.state.service
    address = counted(client_address(request, service.settings.trusted_proxies))
    name = address if who.anonymous else who.actor
    if audience.full(name, known=not who.anonymous):
        raise Refusal(429, "too many streams are open; close one", headers={"Retry-After": "30"})

    async def events() -> AsyncGenerator[bytes]:
        with audience.seat(name):
            async with aclosing(live.changes(run_id)) as changes:
                async for change in changes:
                    if listener.stale() and not listener.still(await run_in_threadpool(service.recognise, request)):
                        return
                    # A new grant each time: teams change while a stream is open.
                    runs = grant(service, who).runs()
                    seen = None if change is None else await run_in_threadpool(runs.seen, change)
                    if seen is not None or change is None:
                        yield encoded(seen)

    return EventStream(events())
