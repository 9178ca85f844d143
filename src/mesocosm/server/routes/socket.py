"""`/v1/ws`: Traces as they grow, over a WebSocket.

Every event of the trace comes as one frame of JSON (compat.swecc.documents.TraceEvent), those that there are at once,
then each new one. The socket closes with 1000 after `episode_end`, or when the episode is over without one. Who asks is
told by the header `Authorization`, by `?token=`, or by the cookie of the web app. Closing codes: 4401 nobody known,
4403 not for them, 4404 no such episode, 4429 too many sockets. The frame `{"command": "cancel"}` of somebody whose run
it is cancels the run.
"""

import asyncio
import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, WebSocket
from fastapi.concurrency import run_in_threadpool
from starlette.websockets import WebSocketDisconnect

from mesocosm.core.failure import MesocosmError, UnknownName
from mesocosm.server.auth.principal import Principal
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.follow import Following
from mesocosm.server.run_requests.lifecycle import cancel_run
from mesocosm.server.service import Service
from mesocosm.server.web.address import client_address, counted

router = APIRouter(prefix="/v1/ws", tags=["live"])

MOST = 200
"""Sockets of one server process."""
MOST_EACH = 20
"""Sockets of one caller, or of one address where nobody is known."""
POLL_S = 0.25
LOOK_EVERY = 4
"""Rounds without news after which the episode's row is looked at."""
LONGEST_FRAME = 1_000

_CODES = {401: 4401, 403: 4403, 404: 4404, 422: 4404, 429: 4429}


@dataclass(slots=True)
class _Open:
    """The sockets of this process."""

    total: int = 0
    each: Counter[str] = field(default_factory=Counter)

    def enter(self, who: str) -> bool:
        """Count one socket more, unless there are too many."""
        if self.total >= MOST or self.each[who] >= MOST_EACH:
            return False
        self.total += 1
        self.each[who] += 1
        return True

    def leave(self, who: str) -> None:
        """Count one less."""
        self.total -= 1
        self.each[who] -= 1
        if not self.each[who]:
            del self.each[who]


_open = _Open()


@router.websocket("/episodes/{episode_id}/trace")
async def follow_trace(websocket: WebSocket, episode_id: str) -> None:
    """Send the trace of an episode as it grows."""
    service: Service = websocket.app.state.service
    await websocket.accept()
    caller = await run_in_threadpool(_caller, service, websocket)
    address = counted(client_address(websocket, service.settings.trusted_proxies))
    who = address if caller.anonymous else caller.actor
    if not _open.enter(who):
        await _close(websocket, 4429, "too many sockets are open; close one")
        return
    try:
        await _serve(service, caller, websocket, episode_id)
    finally:
        _open.leave(who)


async def _serve(service: Service, caller: Principal, websocket: WebSocket, episode_id: str) -> None:
    try:
        following = await run_in_threadpool(Following, service, caller, episode_id)
    except UnknownName as error:
        await _close(websocket, 4404, str(error))
        return
    except Refusal as refusal:
        code = 4401 if refusal.status == 403 and caller.anonymous else _CODES.get(refusal.status, 1008)
        await _close(websocket, code, str(refusal))
        return
    hearing = asyncio.create_task(_hear(service, caller, websocket, following))
    try:
        await _send(websocket, following, hearing)
    except MesocosmError:
        await _close(websocket, 1011, "the record cannot be read at the moment; try again")
    except WebSocketDisconnect:
        return
    finally:
        hearing.cancel()
        with suppress(asyncio.CancelledError, MesocosmError):
            await hearing
    await _close(websocket, 1000, "")


async def _send(websocket: WebSocket, following: Following, hearing: "asyncio.Task[None]") -> None:
    """Send events until the episode is over, or its reader has gone or has cancelled the run."""
    quiet = 0
    while not following.ended and not hearing.done():
        news = await run_in_threadpool(following.news)
        quiet = 0 if news else quiet + 1
        if not news and quiet % LOOK_EVERY == 0:
            news = await run_in_threadpool(following.look)
        for data in news:
            await websocket.send_text(data.decode())
        if not following.ended:
            await asyncio.wait([hearing], timeout=POLL_S)


async def _hear(service: Service, caller: Principal, websocket: WebSocket, following: Following) -> None:
    """Return when the reader has gone, or has cancelled the run."""
    # A frame of bytes has no text: whoever sends one does not speak with us.
    with suppress(WebSocketDisconnect, KeyError):
        while True:
            if _command(await websocket.receive_text()) != "cancel":
                continue
            if following.found.inside and caller.scope != "read":
                words = f"cancelled by {caller.username or 'its guest'}"
                await run_in_threadpool(cancel_run, service, following.found.order, words)
            return


def _command(text: str) -> str:
    try:
        frame = json.loads(text[:LONGEST_FRAME])
    except (ValueError, RecursionError):
        return ""
    command = frame.get("command") if isinstance(frame, dict) else None
    return command if isinstance(command, str) else ""


def _caller(service: Service, websocket: WebSocket) -> Principal:
    """Return who asks; a browser sends its cookies from any page, so they count only from our own."""
    headers = list(websocket.scope["headers"])
    token = websocket.query_params.get("token", "")
    if token and "authorization" not in websocket.headers:
        headers.append((b"authorization", f"Bearer {token}".encode("latin-1", "replace")))
    if not _ours(service, websocket):
        headers = [(name, value) for name, value in headers if name != b"cookie"]
    scope = {**websocket.scope, "type": "http", "method": "GET", "headers": headers}
    return service.recognise(Request(scope))


def _ours(service: Service, websocket: WebSocket) -> bool:
    origin = websocket.headers.get("origin")
    if origin is None or origin in service.settings.cors_origins:
        return True
    return urlsplit(origin).netloc == websocket.headers.get("host")


async def _close(websocket: WebSocket, code: int, reason: str) -> None:
    # A reason may be 123 bytes long; who has gone needs none.
    with suppress(RuntimeError, WebSocketDisconnect):
        await websocket.close(code, reason.encode()[:120].decode(errors="ignore"))
