"""A server that answers as that of OpenEnv 0.10 does: stateless HTTP, sessions on /ws, its codes, its refusals.

It runs in a thread of its own, because a benchmark asks the server while no event loop runs.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from aiohttp import WSMsgType, web

ACTION: dict[str, Any] = {
    "title": "Say",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "metadata": {
            "type": "object",
            "additionalProperties": True,
            "description": "Additional metadata for the action",
        },
        "word": {"type": "string", "description": "up, or another word"},
    },
    "required": ["word"],
}
OBSERVATION: dict[str, Any] = {
    "title": "Seen",
    "type": "object",
    "properties": {
        "done": {"type": "boolean"},
        "reward": {"anyOf": [{"type": "boolean"}, {"type": "number"}, {"type": "null"}]},
        "count": {"type": "integer"},
    },
}
CALLS: dict[str, Any] = {
    "title": "CallToolAction",
    "type": "object",
    "properties": {
        "type": {"const": "call_tool", "default": "call_tool"},
        "tool_name": {"type": "string"},
        "arguments": {"type": "object"},
    },
    "required": ["tool_name"],
}


class BadAction(Exception):
    """An action that the environment's model does not accept; `errors` as pydantic lists them."""

    def __init__(self, *errors: Mapping[str, Any]) -> None:
        self.errors = [dict(error) for error in errors]


class Counter:
    """Counts up to a number that the seed decides."""

    def __init__(self) -> None:
        self.count = self.goal = 0

    def reset(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Start."""
        self.count, self.goal = 0, (data.get("index", data.get("seed")) or 0) % 3 + 1
        return {"observation": {"metadata": {}, "count": 0}, "reward": None, "done": False}

    def step(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Count if the word is `up`."""
        word = action.get("word")
        if not isinstance(word, str):
            raise BadAction(
                {"type": "string_type", "loc": ["word"], "msg": "Input should be a valid string", "input": word}
            )
        self.count += word == "up"
        done = self.count == self.goal
        return {"observation": {"metadata": {}, "count": self.count}, "reward": True if done else 0.25, "done": done}


class OpenEnvServer:
    """The server; use it as a context.

    `environment` makes the environment of a session. What it returns is sent as it is; a string is sent as a text
    frame, bytes as a binary one, and None not at all. A ConnectionAbortedError that it raises ends the connection
    without a farewell, and while it is `down` no session begins. Each session gets one ping;
    `answered_ping` is set with the pong.
    """

    def __init__(self, environment: Callable[[], Any] = Counter, *, most: int = 100) -> None:
        self.environment = environment
        self.most = most
        self.answered_ping = threading.Event()
        self.action: Mapping[str, Any] = ACTION
        self.name = "counter"
        self.metadata: dict[str, Any] = {"name": "Counter", "description": "Count to a number.", "version": "0.3"}
        self.splits: Mapping[str, int] = {}
        self.tools: list[dict[str, Any]] = []
        self.down = False
        self.sessions = 0
        self.at_once = 0
        self.refused = 0
        self.resets: list[dict[str, Any]] = []
        self.actions: list[dict[str, Any]] = []
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None
        self._sockets: set[web.WebSocketResponse] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def lose_all(self) -> None:
        """End every connection as a killed process does."""
        asyncio.run_coroutine_threadsafe(self._lose(), self._loop).result()

    async def _lose(self) -> None:
        for socket in tuple(self._sockets):
            self._drop(socket)

    @staticmethod
    def _drop(socket: web.WebSocketResponse) -> None:
        transport = socket._req.transport if socket._req is not None else None
        assert transport is not None
        transport.abort()

    async def _start(self) -> None:
        app = web.Application()
        app.add_routes(
            [
                web.get("/health", self._health),
                web.get("/schema", self._schema),
                web.get("/metadata", self._metadata),
                web.get("/list_environments", self._environments),
                web.get("/{name}/splits", self._splits),
                web.post("/{name}/num_tasks", self._count),
                web.post("/{name}/task_range", self._range),
                web.post("/mcp", self._mcp),
                web.get("/ws", self._session),
            ]
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _stop(self) -> None:
        await self._lose()
        assert self._runner is not None
        await self._runner.cleanup()

    async def _health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "healthy"})

    async def _schema(self, _: web.Request) -> web.Response:
        return web.json_response({"action": self.action, "observation": OBSERVATION, "state": {"type": "object"}})

    async def _metadata(self, _: web.Request) -> web.Response:
        return web.json_response(self.metadata)

    async def _environments(self, _: web.Request) -> web.Response:
        return web.json_response([self.name])

    async def _splits(self, request: web.Request) -> web.Response:
        if request.match_info["name"] != self.name:
            return web.json_response({"detail": "unknown environment"}, status=404)
        if not self.splits:
            return web.json_response({"detail": "list_splits is not supported for this environment"}, status=501)
        return web.json_response([{"name": name, "type": "validation"} for name in self.splits])

    async def _count(self, request: web.Request) -> web.Response:
        return web.json_response({"num_tasks": self.splits[(await request.json())["split"]]})

    async def _range(self, request: web.Request) -> web.Response:
        asked = await request.json()
        tasks = [{"id": f"{asked['split']}-no-{i}", "answer": i % 3 + 1} for i in range(self.splits[asked["split"]])]
        return web.json_response({"tasks": tasks[asked["start"] : asked["stop"]]})

    async def _mcp(self, request: web.Request) -> web.Response:
        asked = await request.json()
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
        if self.tools:
            return web.json_response({**answer, "result": {"tools": self.tools}})
        return web.json_response({**answer, "error": {"code": -32603, "message": "Environment does not support MCP"}})

    async def _session(self, request: web.Request) -> web.WebSocketResponse:
        if self.down:
            assert request.transport is not None
            request.transport.abort()
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        if self.sessions >= self.most:
            # Refused without having been asked anything.
            self.refused += 1
            message = f"Server at capacity: {self.sessions}/{self.most} sessions active. Cannot accept new connections."
            counts = {"active_sessions": self.sessions, "max_sessions": self.most}
            await self._error(socket, "CAPACITY_REACHED", message, **counts)
            await socket.close()
            return socket
        self.sessions += 1
        self.at_once = max(self.at_once, self.sessions)
        self._sockets.add(socket)
        try:
            await self._serve(socket, self.environment())
        finally:
            self.sessions -= 1
            self._sockets.discard(socket)
        await socket.close()
        return socket

    async def _serve(self, socket: web.WebSocketResponse, environment: Any) -> None:
        await socket.ping(b"there?")
        async for message in socket:
            if message.type is WSMsgType.PONG:
                self.answered_ping.set()
                continue
            if message.type is not WSMsgType.TEXT:
                return
            asked = json.loads(message.data)
            kind = asked.get("type", "")
            if kind == "close":
                return
            if kind not in {"reset", "step"}:
                await self._error(socket, "UNKNOWN_TYPE", f"Unknown message type: {kind}")
                continue
            data = asked.get("data", {})
            (self.resets if kind == "reset" else self.actions).append(data)
            try:
                answer = getattr(environment, kind)(data)
            except BadAction as error:
                await self._error(socket, "VALIDATION_ERROR", "Invalid message", errors=error.errors)
            except ConnectionAbortedError:
                self._drop(socket)
                return
            except ConnectionRefusedError as error:
                # As where the server fails to write down what is wrong with an action.
                await self._error(socket, "SESSION_ERROR", str(error))
                return
            except Exception as error:  # noqa: BLE001 - as the server does
                await self._error(socket, "EXECUTION_ERROR", str(error))
            else:
                await self._answer(socket, answer)

    async def _answer(self, socket: web.WebSocketResponse, answer: Any) -> None:
        if isinstance(answer, str):
            await socket.send_str(answer)
        elif isinstance(answer, bytes):
            await socket.send_bytes(answer)
        elif answer is not None:
            await socket.send_str(json.dumps({"type": "observation", "data": answer}))

    async def _error(self, socket: web.WebSocketResponse, code: str, message: str, **more: Any) -> None:
        await socket.send_str(json.dumps({"type": "error", "data": {"message": message, "code": code, **more}}))
