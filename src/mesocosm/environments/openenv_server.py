"""Serve an environment with the protocol of OpenEnv, so that its clients can play and train on it.

As in OpenEnv, plain HTTP is stateless; episodes are played on the WebSocket `/ws`, one environment for each connection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import msgspec
from aiohttp import WSCloseCode, WSMsgType, web

from mesocosm.core.failure import EpisodeError, MesocosmError, legible
from mesocosm.core.foreign import read_json
from mesocosm.core.ports import Benchmark
from mesocosm.core.space import json_schema
from mesocosm.environments.mcp_server import McpEndpoint, PlayerTools
from mesocosm.environments.player_session import METADATA, InvalidAction, MoveResult, NotPlaying, PlayerSession

MOST_BYTES = 32 * 1024 * 1024
"""Maximum size of one message."""
HEARTBEAT_S = 30.0
"""Seconds between pings: a peer that is gone without a word is noticed."""

_LONGEST_ID = 255
_TYPES = ("reset", "step", "state", "close", "mcp")
_STATE_SCHEMA = {
    "type": "object",
    "properties": {
        "episode_id": {"type": ["string", "null"]},
        "step_count": {"type": "integer", "minimum": 0},
        "seed": {"type": ["integer", "null"]},
        "total_reward": {"type": "number"},
        "done": {"type": "boolean"},
    },
}
_encode = msgspec.json.Encoder().encode


class _Reset(msgspec.Struct):
    """Parameters of a reset; others are named in the answer's metadata and have no effect."""

    seed: int | None = None
    episode_id: str | None = None


class _Frame(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["reset", "step", "state", "close", "mcp"]
    data: dict[str, Any] | None = None


class OpenEnvServer:
    """The application of one opened benchmark; at most `most` connections play at a time."""

    def __init__(self, benchmark: Benchmark, *, most: int) -> None:
        self._benchmark = benchmark
        self._most = most
        self._active = 0
        self._sockets: set[web.WebSocketResponse] = set()
        self._mcp = McpEndpoint(benchmark, most=most)

    def app(self) -> web.Application:
        """Return the application."""
        app = web.Application(client_max_size=MOST_BYTES)
        routes: tuple[tuple[str, str, Callable[[web.Request], Awaitable[web.StreamResponse]]], ...] = (
            ("GET", "/health", self._health),
            ("GET", "/metadata", self._metadata),
            ("GET", "/schema", self._schema),
            ("GET", "/state", self._state),
            ("POST", "/reset", self._reset),
            ("POST", "/step", self._step),
            ("GET", "/ws", self._socket),
        )
        for method, path, handler in routes:
            app.router.add_route(method, path, handler)
        self._mcp.add_to(app, "/mcp")
        app.on_shutdown.append(self._hang_up)
        return app

    async def _health(self, _request: web.Request) -> web.Response:
        return _json({"status": "healthy"})

    async def _metadata(self, _request: web.Request) -> web.Response:
        info = self._benchmark.info
        document = {
            "name": info.title,
            "description": info.description,
            "version": info.version,
            "readme_content": None,
            "author": None,
            "documentation_url": None,
        }
        return _json(document)

    async def _schema(self, _request: web.Request) -> web.Response:
        session = PlayerSession(self._benchmark)
        return _json({"action": session.form.schema, "observation": self._observation_schema(), "state": _STATE_SCHEMA})

    async def _state(self, _request: web.Request) -> web.Response:
        return _json(PlayerSession(self._benchmark).state())

    async def _reset(self, request: web.Request) -> web.Response:
        session = PlayerSession(self._benchmark)
        try:
            body = read_json(await request.read() or b"{}")
            if not isinstance(body, dict):
                raise InvalidAction(["body: must be an object"])  # noqa: TRY301
            return _json(await _reset(session, body))
        except msgspec.DecodeError as error:
            return _json({"detail": f"the body is not JSON: {error}"}, 422)
        except InvalidAction as error:
            return _json({"detail": _errors(error)}, 422)
        except MesocosmError as error:
            return _json({"detail": legible(str(error))}, 500)
        finally:
            await session.close()

    async def _step(self, _request: web.Request) -> web.Response:
        said = "plain HTTP keeps no episode, so there is none to act in; play on the WebSocket /ws"
        return _json({"detail": said}, 500)

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=MOST_BYTES)
        await socket.prepare(request)
        if self._active >= self._most:
            said = f"all {self._most} sessions are taken; try again later"
            facts = {"active_sessions": self._active, "max_sessions": self._most}
            await socket.send_str(_error("CAPACITY_REACHED", said, **facts))
            await socket.close(code=WSCloseCode.TRY_AGAIN_LATER)
            return socket
        self._active += 1
        self._sockets.add(socket)
        session = PlayerSession(self._benchmark)
        try:
            async for frame in socket:
                if frame.type is not WSMsgType.TEXT:
                    await socket.send_str(_error("INVALID_JSON", "only text frames with JSON are understood"))
                    continue
                answer = await _Session(session).answer(frame.data)
                if answer is None:
                    break
                await socket.send_str(answer)
        except ConnectionError:
            pass
        finally:
            self._active -= 1
            self._sockets.discard(socket)
            await session.close()
        await socket.close()
        return socket

    async def _hang_up(self, _app: web.Application) -> None:
        await asyncio.gather(*(one.close(code=WSCloseCode.GOING_AWAY) for one in tuple(self._sockets)))

    def _observation_schema(self) -> dict[str, Any]:
        space = self._benchmark.observation_space
        shown = {} if space is None else json_schema(space)
        if shown.get("type") == "object":
            return shown
        return {"type": "object", "properties": {"data": shown}}


class _Session:
    """Answers the frames of one connection."""

    def __init__(self, session: PlayerSession) -> None:
        self._session = session

    async def answer(self, text: str) -> str | None:
        """Return the answer to a frame, None for one that ends the connection."""
        try:
            message = read_json(text)
        except msgspec.DecodeError as error:
            return _error("INVALID_JSON", f"Invalid JSON: {error}")
        kind = message.get("type") if isinstance(message, dict) else None
        if isinstance(message, dict) and kind not in _TYPES:
            return _error("UNKNOWN_TYPE", f"Unknown message type: {kind!r:.60}; known are {', '.join(_TYPES)}")
        try:
            frame = msgspec.convert(message, _Frame)
            return None if frame.type == "close" else await self._done(frame)
        except msgspec.ValidationError as error:
            return _invalid(InvalidAction([str(error)]))
        except InvalidAction as error:
            return _invalid(error)
        except (EpisodeError, NotPlaying, MesocosmError) as error:
            return _error("EXECUTION_ERROR", legible(str(error)))

    async def _done(self, frame: _Frame) -> str:
        session, data = self._session, frame.data
        if frame.type == "state":
            return _frame("state", session.state())
        if frame.type == "reset":
            return _frame("observation", await _reset(session, data or {}))
        if data is None:
            raise InvalidAction(["data: is missing"])
        if frame.type == "step":
            return _frame("observation", _document(await session.step(data)))
        answer = await PlayerTools(session).answer_document(data)
        return _frame("mcp", answer)


async def _reset(session: PlayerSession, given: dict[str, Any]) -> dict[str, Any]:
    try:
        chosen = msgspec.convert(given, _Reset)
    except msgspec.ValidationError as error:
        raise InvalidAction([str(error)]) from error
    if chosen.episode_id is not None and len(chosen.episode_id) > _LONGEST_ID:
        raise InvalidAction([f"episode_id: has more than {_LONGEST_ID} characters"])
    played = await session.reset(chosen.seed, chosen.episode_id)
    ignored = sorted(given.keys() - {"seed", "episode_id"})
    more: dict[str, Any] = {"seed": session.seed, **({"ignored": ignored} if ignored else {})}
    return _document(played, **more)


def _document(played: MoveResult, **more: Any) -> dict[str, Any]:
    """Return an observation as OpenEnv sends it: an object, with what else there is to know in its metadata."""
    shown = played.observation
    metadata: dict[str, Any] = {**more}
    if shown.content_type != "application/json":
        metadata["content_type"] = shown.content_type
    if played.system_prompt is not None:
        metadata["system_prompt"] = played.system_prompt
    if played.done:
        metadata |= {"terminated": played.terminated, "truncated": played.truncated}
    if played.info:
        metadata["info"] = played.info
    fields = dict(shown.data) if isinstance(shown.data, dict) else {"data": shown.data}
    return {
        "observation": {**fields, METADATA: fields.get(METADATA, metadata)},
        "reward": played.reward,
        "done": played.done,
        "metadata": metadata,
    }


def _errors(error: InvalidAction) -> list[dict[str, Any]]:
    """Return deviations in the form of pydantic, which clients of OpenEnv expect."""
    found = []
    for problem in error.problems:
        path, colon, said = problem.partition(": ")
        found.append(
            {"type": "value_error", "loc": path.split(".") if colon else [], "msg": said if colon else problem}
        )
    return found


def _invalid(error: InvalidAction) -> str:
    return _error("VALIDATION_ERROR", f"Invalid message: {error}", errors=_errors(error))


def _error(code: str, said: str, **more: Any) -> str:
    return _frame("error", {"message": said, "code": code, **more})


def _frame(kind: str, data: Any) -> str:
    return _encode({"type": kind, "data": data}).decode()


def _json(value: Any, status: int = 200) -> web.Response:
    return web.Response(body=_encode(value), status=status, content_type="application/json")
