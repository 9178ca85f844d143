"""`/api/live` and `/api/runs/{id}/live`: changes of runs as they happen, whichever process works on them.

Server-sent events called `runs`; the data of each is a RunChange. A run comes whole, so whoever has missed some events
knows everything after the next one.
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
"""Seconds after which the caller of a stream is recognised again: streams of disabled accounts end."""

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "model": RunChange,
        "description": "Events called `runs`, each with such a document as its data, until one side ends.",
        "content": {"text/event-stream": {}},
    }
}


class EventStream(StreamingResponse):
    """A stream of events that is over when its client has gone, wherever it was waiting."""

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
    """Return what tells the clients of this server about changes."""
    app = request.app
    if not hasattr(app.state, "live"):
        app.state.live = Live(lambda: app.state.service)
    live = app.state.live
    assert isinstance(live, Live)
    return live


Changes = Annotated[Live, Depends(live_of)]
"""A parameter of a route that follows changes."""


@router.get("/api/live", response_class=StreamingResponse, responses=STREAM, **access(Access.READER))
async def follow_runs(request: Request, live: Changes, grant: Granted) -> EventStream:
    """Follow all runs that you may see: those that changed in the last half minute, and then every change.

    429 where too many streams are open.
    """
    return _stream(request, live, grant, None)


@router.get("/api/runs/{run_id}/live", response_class=StreamingResponse, responses=STREAM, **access(Access.READER))
async def follow_run(run_id: str, request: Request, live: Changes, grant: Granted) -> EventStream:
    """Follow one run: its state, and then every change of it. 429 where too many streams are open."""
    run = await run_in_threadpool(grant.run, run_id)
    return _stream(request, live, grant, run.id)


def _stream(request: Request, live: Live, grant: Grant, run_id: str | None) -> EventStream:
    runs = grant.runs()
    seat = runs.stream()

    async def events() -> AsyncGenerator[bytes]:
        recognised_until = time.monotonic() + RECOGNISED_S
        with seat:
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
