"""Serve an environment as an MCP server, so that agents with tools can play it: command-line agents, editors, chats.

Tools are `reset`, `step` with the schema of an action, and those that the environment's vow declares.
"""

import asyncio
import sys
import time
from collections.abc import Mapping
from typing import IO, Any
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

import mesocosm
from mesocosm.agents.tool_calling import Form, ToolCallingParams, form_of
from mesocosm.core.failure import MesocosmError, UsageError, legible
from mesocosm.core.foreign import read_json
from mesocosm.core.ids import new_id
from mesocosm.core.message import ToolCall
from mesocosm.core.ports import Benchmark
from mesocosm.environments.player_session import InvalidAction, MoveResult, NotPlaying, PlayerSession
from mesocosm.mcp import message
from mesocosm.mcp.message import MOST_BYTES, VERSIONS, RpcMessage

RESET, STEP = "reset", "step"
IDLE_S = 3600.0
"""A session without a request for this long is ended when another one begins."""
_SEED = {"type": "integer", "description": "The same seed gives the same episode; drawn if it is left out."}
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class PlayerTools:
    """Answers the messages of one MCP session, whose episodes are those of a PlayerSession."""

    def __init__(self, session: PlayerSession) -> None:
        self._session = session
        self._declared, self._form = _declared(session.benchmark)

    async def answer(self, asked: RpcMessage) -> bytes | None:
        """Return the answer to a request; None for a notification or an answer. Never raise."""
        if asked.method is None or asked.id is None:
            return None
        params = asked.params if isinstance(asked.params, dict) else {}
        if asked.method == "initialize":
            return message.result(asked.id, self._described(params))
        if asked.method == "ping":
            return message.result(asked.id, {})
        if asked.method == "tools/list":
            return message.result(asked.id, {"tools": self.tools()})
        if asked.method == "tools/call":
            return await self._called(asked.id, params)
        return message.failure(asked.id, message.METHOD_NOT_FOUND, f"there is no method {asked.method!r:.80}")

    async def answer_document(self, document: Any) -> Any:
        """Return the answer to a request that is a JSON value, as one."""
        try:
            asked = msgspec.convert(document, RpcMessage)
        except msgspec.ValidationError as error:
            return _decode(message.failure(None, message.INVALID_REQUEST, f"this is no request: {error}"))
        return _decode(await self.answer(asked) or b"null")

    def tools(self) -> list[dict[str, Any]]:
        """Return the definitions of all tools."""
        info = self._session.benchmark.info
        about = info.description or info.title
        found: list[dict[str, Any]] = [
            {
                "name": RESET,
                "description": f"Begin an episode, and see its first observation. {about}",
                "inputSchema": {"type": "object", "properties": {"seed": _SEED}, "additionalProperties": False},
            },
            {
                "name": STEP,
                "description": "Take one action in the episode, and see what it leads to, with its reward.",
                "inputSchema": self._session.form.schema,
            },
        ]
        for tool in self._declared.tools:
            schema = tool.parameters or {"type": "object", "properties": {}}
            found.append({"name": tool.name, "description": tool.description, "inputSchema": schema})
        return found

    def _described(self, params: Mapping[str, Any]) -> dict[str, Any]:
        info = self._session.benchmark.info
        asked = params.get("protocolVersion")
        parts = [info.title, info.description, info.system_prompt, "Call reset to begin, then step until it is over."]
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": {"name": info.id, "title": info.title, "version": mesocosm.__version__},
            "instructions": "\n\n".join(dict.fromkeys(part for part in parts if part)),
        }

    async def _called(self, number: str | int, params: Mapping[str, Any]) -> bytes:
        name, arguments = params.get("name"), params.get("arguments") or {}
        names = {RESET, STEP, *(tool.name for tool in self._declared.tools)}
        if name not in names:
            said = f"there is no tool {name!r:.80}; there are {', '.join(sorted(names))}"
            return message.failure(number, message.INVALID_PARAMS, said)
        if not isinstance(arguments, dict):
            return message.failure(number, message.INVALID_PARAMS, "arguments must be an object")
        try:
            return message.result(number, self._shown(await self._played(str(name), arguments)))
        except (InvalidAction, NotPlaying, MesocosmError) as error:
            return message.result(number, {"content": [_text(legible(str(error)))], "isError": True})

    async def _played(self, name: str, arguments: dict[str, Any]) -> MoveResult:
        if name == RESET:
            seed = arguments.get("seed")
            if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
                raise InvalidAction(["seed: must be a whole number"])
            return await self._session.reset(seed)
        if name == STEP:
            return await self._session.step(arguments)
        assert self._form is not None
        return await self._session.act(self._form.action(ToolCall("", name, arguments)))

    def _shown(self, played: MoveResult) -> dict[str, Any]:
        session, shown = self._session, played.observation
        if shown.content_type.startswith("image/") and isinstance(shown.data, str):
            content: list[dict[str, Any]] = [{"type": "image", "data": shown.data, "mimeType": shown.content_type}]
            data: Any = None
        else:
            data = shown.data
            content = [_text(data if isinstance(data, str) else _encode(data).decode())]
        facts: dict[str, Any] = {
            "observation": data,
            "reward": played.reward,
            "done": played.done,
            "steps": session.steps,
            "total_reward": session.total_reward,
        }
        if session.steps_left is not None:
            facts["steps_left"] = session.steps_left
        if played.info:
            facts["info"] = played.info
        if played.system_prompt:
            content.insert(0, _text(played.system_prompt))
        content.append(_text(_standing(session, played)))
        return {"content": content, "structuredContent": facts, "isError": False}


def _standing(session: PlayerSession, played: MoveResult) -> str:
    if played.done:
        how = "was cut off" if played.truncated else "is over"
        return f"The episode {how} after {session.steps} steps, with a total reward of {session.total_reward:g}."
    left = "" if session.steps_left is None else f" Steps left: {session.steps_left}."
    return f"Reward {played.reward:g}.{left}" if played.reward is not None else f"Seed {session.seed}.{left}"


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _declared(benchmark: Benchmark) -> tuple[ToolCallingParams, Form | None]:
    """Return the tools that the vow declares and the form of their calls; none if actions have no form for them."""
    techniques = benchmark.info.vow.get("techniques") or []
    given = next((one for one in techniques if one.get("technique_id") == "tool_calling"), None)
    params = ToolCallingParams.model_validate((given or {}).get("config_schema") or {})
    names = [tool.name for tool in params.tools]
    form = Form(params.shape) if params.shape is not None else form_of(benchmark.action_space, names)
    if not names or form is None or params.dispatch == "none":
        return ToolCallingParams(), None
    if both := sorted({RESET, STEP} & set(names)):
        raise UsageError(f"the environment has a tool {both[0]!r}, which is the name of a tool of every such server")
    return params, form


class McpEndpoint:
    """Streamable HTTP: each session plays an environment of its own; at most `most` at a time."""

    def __init__(self, benchmark: Benchmark, *, most: int, idle_s: float = IDLE_S) -> None:
        self._benchmark = benchmark
        self._most = most
        self._idle_s = idle_s
        self._sessions: dict[str, tuple[PlayerSession, PlayerTools]] = {}
        self._used: dict[str, float] = {}

    def add_to(self, app: web.Application, path: str) -> None:
        """Add the endpoint to an application."""
        app.router.add_post(path, self._post)
        app.router.add_delete(path, self._delete)
        app.on_shutdown.append(self._end_all)

    async def _post(self, request: web.Request) -> web.Response:
        if refusal := _foreign_origin(request):
            return refusal
        try:
            asked = msgspec.convert(read_json(await request.read()), RpcMessage)
        except msgspec.ValidationError as error:
            return _answer(message.failure(None, message.INVALID_REQUEST, f"this is no request: {error}"), 400)
        except msgspec.DecodeError as error:
            return _answer(message.failure(None, message.PARSE_ERROR, f"the body is not JSON: {error}"), 400)
        if asked.method == "initialize":
            return await self._begin(asked)
        session_id = request.headers.get("Mcp-Session-Id", "")
        known = self._sessions.get(session_id)
        if known is None:
            return await self._without_session(asked, session_id)
        self._used[session_id] = time.monotonic()
        answer = await known[1].answer(asked)
        return web.Response(status=202) if answer is None else _answer(answer)

    async def _begin(self, asked: RpcMessage) -> web.Response:
        forgotten = time.monotonic() - self._idle_s
        for session_id, used in tuple(self._used.items()):
            if used < forgotten:
                await self._end(session_id)
        if len(self._sessions) >= self._most:
            said = f"all {self._most} sessions are taken; try again later"
            return _answer(message.failure(asked.id, message.INTERNAL_ERROR, said), 503)
        session = PlayerSession(self._benchmark)
        tools = PlayerTools(session)
        session_id = new_id()
        self._sessions[session_id], self._used[session_id] = (session, tools), time.monotonic()
        return _answer(await tools.answer(asked) or b"", headers={"Mcp-Session-Id": session_id})

    async def _without_session(self, asked: RpcMessage, session_id: str) -> web.Response:
        if session_id:
            said = "this session has ended, or never was; begin again with initialize"
            return _answer(message.failure(asked.id, message.INVALID_REQUEST, said), 404)
        if asked.method == "tools/call":
            said = "there is no session to play in; begin with initialize and send its Mcp-Session-Id"
            return _answer(message.failure(asked.id, message.INVALID_REQUEST, said), 400)
        answer = await PlayerTools(PlayerSession(self._benchmark)).answer(asked)
        return web.Response(status=202) if answer is None else _answer(answer)

    async def _delete(self, request: web.Request) -> web.Response:
        if refusal := _foreign_origin(request):
            return refusal
        session_id = request.headers.get("Mcp-Session-Id", "")
        if session_id not in self._sessions:
            return web.Response(status=404)
        await self._end(session_id)
        return web.Response(status=204)

    async def _end(self, session_id: str) -> None:
        session, _ = self._sessions.pop(session_id)
        del self._used[session_id]
        await session.close()

    async def _end_all(self, _app: web.Application) -> None:
        for session_id in tuple(self._sessions):
            await self._end(session_id)


def _foreign_origin(request: web.Request) -> web.Response | None:
    """Return a refusal for a page of another site, which a browser may let talk to a server on this machine."""
    origin = request.headers.get("Origin")
    if origin is None or urlsplit(origin).netloc == request.host:
        return None
    return _answer(message.failure(None, message.INVALID_REQUEST, "pages of other sites are refused"), 403)


def _answer(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


async def serve_stdio(benchmark: Benchmark, output: IO[bytes]) -> None:
    """Answer messages on standard input, one a line, until it ends. `output` gets the answers."""
    reader = asyncio.StreamReader(limit=MOST_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    session = PlayerSession(benchmark)
    tools = PlayerTools(session)
    try:
        while line := await reader.readline():
            if not line.strip():
                continue
            answer = await _answered(tools, line)
            if answer is not None:
                output.write(answer + b"\n")
                output.flush()
    finally:
        await session.close()


async def _answered(tools: PlayerTools, line: bytes) -> bytes | None:
    try:
        return await tools.answer(msgspec.convert(read_json(line), RpcMessage))
    except msgspec.ValidationError as error:
        return message.failure(None, message.INVALID_REQUEST, f"this is no request: {error}")
    except msgspec.DecodeError as error:
        return message.failure(None, message.PARSE_ERROR, f"the line is not JSON: {error}")
