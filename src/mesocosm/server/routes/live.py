"""`/api/live` and `/api/runs/{id}/live`: live changes of runs, made by any process.

Server-sent events named `runs`, each with a RunChange as its data. A run is always sent in full, so a client that
missed events is up to date after the next one.
"""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from mesocosm.server.permissions.grant import Grant, Granted
from mesocosm.server.permissions.route_access import Access, access
from mesocosm.server.runs.live import Live, encoded
from mesocosm.server.schemas.run import RunChange

router = APIRouter(tags=["live"])

RECOGNISED_S = 15.0
"""Seconds after which the caller of a stream is authenticated again, so that streams of disabled accounts end."""

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "model": RunChange,
        "description": "Server-sent events named `runs`, each with this document as its data, until either side ends.",
        "content": {"text/event-stream": {}},
    }
}


class EventStream(StreamingResponse):
    """A stream of events that also ends if its client disconnects while it is waiting for an event."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(events, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until one side ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._events.aclose()


async def live_of(request: Request) -> Live:
    """Return the source of live changes of this server."""
    app = request.app
    if not hasattr(app.state, "live"):
        app.state.live = Live(lambda: app.state.service)
    live = app.state.live
    assert isinstance(live, Live)
    return live


Changes = Annotated[Live, Depends(live_of)]
"""Parameter of routes that stream changes."""


@router.get("/api/live", response_class=StreamingResponse, responses=STREAM, **access(Access.READER))
async def follow_runs(request: Request, live: Changes, grant: Granted) -> EventStream:
    """Follow all runs visible to the caller: those that changed in the last half minute, then every change.

    429 if too many streams are open.
    """
    return _stream(request, live, grant, None)


@router.get("/api/runs/{run_id}/live", response_class=StreamingResponse, responses=STREAM, **access(Access.READER))
async def follow_run(run_id: str, request: Request, live: Changes, grant: Granted) -> EventStream:
    """Follow one run: its state, then every change. 429 if too many streams are open."""
    run = await run_in_threadpool(grant.run, run_id)
    return _stream(request, live, grant, run.id)


def _stream(request: Request, live: Live, grant: Grant, run_id: str | None) -> EventStream:
    runs = grant.runs()
    slot = runs.stream()

    async def events() -> AsyncGenerator[bytes]:
        recognised_until = time.monotonic() + RECOGNISED_S
        with slot:
            async with aclosing(live.changes(run_id)) as changes:
                async for change in changes:
                    if time.monotonic() > recognised_until:
                        if not await run_in_threadpool(runs.recognised, request):
                            return
                        recognised_until = time.monotonic() + RECOGNISED_S
                    seen = None if change is None else await run_in_threadpool(runs.seen, change)
                    if seen is not None or change is None:
                        yield encoded(seen)

    return EventStream(events())
