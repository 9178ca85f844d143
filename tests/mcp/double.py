"""Strict MCP servers: the command of one on standard input and output, and one behind a URL."""

import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

SCRIPT = Path(__file__).with_name("stdio_server.py")


def command(fault: str = "") -> str:
    """Return the address of a server that is started by a command."""
    return "stdio:" + shlex.join([sys.executable, str(SCRIPT), *([fault] if fault else [])])


@dataclass
class UrlServer:
    """A server at `url`. It refuses with 400 what the protocol forbids.

    `events` answers as a stream, `key` is the bearer token that it wants, `fault` a status or a way to misbehave.
    So many of the next requests find it `away`. A session that it does not know is an error (404).
    """

    events: bool = False
    key: str = ""
    fault: str = ""
    away: int = 0
    url: str = ""
    sessions: dict[str, str] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)

    async def post(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if status := self._absent(request):
            return web.Response(status=status)
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.Response(status=401)
        if problem := self._problem(request, body):
            self.refused.append(problem)
            return web.json_response(
                {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": problem}}, status=400
            )
        if self.fault == "gone":
            return web.Response(status=404)
        if self.fault == "page":
            return web.Response(text="<html>", content_type="text/html")
        if self.fault == "moved":
            return web.Response(status=307, headers={"Location": "/elsewhere"})
        if "id" not in body:
            return web.Response(status=202)
        if body["method"] == "initialize":
            session = f"session-{len(self.sessions)}"
            self.sessions[session] = body["params"]["protocolVersion"]
            described = {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "serverInfo": {"name": "remote", "version": "1"},
            }
            return await self._answer(request, body, described, {"Mcp-Session-Id": session})
        if body["method"] == "tools/list":
            return await self._answer(request, body, {"tools": [{"name": "twice", "inputSchema": {"type": "object"}}]})
        self.calls.append(body["params"])
        if self.fault == "lost":
            return web.Response(status=404)
        if self.fault == "cut":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        text = str(2 * body["params"]["arguments"].get("n", 0)) + self.key
        return await self._answer(request, body, {"content": [{"type": "text", "text": text}]})

    def _absent(self, request: web.Request) -> int:
        """Return the status of a server that is away, or that does not know the session; 0 for none."""
        if self.away:
            self.away -= 1
            return 503
        session = request.headers.get("Mcp-Session-Id", "")
        return 404 if session and session not in self.sessions else 0

    def _problem(self, request: web.Request, body: dict[str, Any]) -> str:
        accepts = request.headers.get("Accept", "")
        if "application/json" not in accepts or "text/event-stream" not in accepts:
            return f"Accept: {accepts}"
        if request.content_type != "application/json" or body.get("jsonrpc") != "2.0":
            return "no JSON-RPC"
        if body["method"] == "initialize":
            return ""
        if request.headers.get("Mcp-Session-Id") not in self.sessions:
            return "no session"
        version = request.headers.get("MCP-Protocol-Version")
        return "" if version == "2025-06-18" else f"version {version}"

    async def _answer(
        self, request: web.Request, body: dict[str, Any], result: Any, headers: dict[str, str] | None = None
    ) -> web.StreamResponse:
        answer = {"jsonrpc": "2.0", "id": body["id"], "result": result}
        if not self.events:
            return web.json_response(answer, headers=headers)
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream", **(headers or {})})
        await stream.prepare(request)
        await stream.write(b": hello\r\n\r\nid: 1\ndata:\n\n")
        progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
        for one in (progress, answer):
            if self.fault == "ends" and one is answer and body["method"] == "tools/call":
                break
            await stream.write(b"event: message\ndata: " + web.json_response(one).body + b"\n\n")  # type: ignore[operator]
        return stream

    async def delete(self, request: web.Request) -> web.Response:
        self.ended.append(request.headers.get("Mcp-Session-Id", ""))
        return web.Response(status=204)


@asynccontextmanager
async def url_server(**given: Any) -> AsyncIterator[UrlServer]:
    """Serve at a free port of loopback."""
    server = UrlServer(**given)
    app = web.Application()
    app.router.add_post("/mcp", server.post)
    app.router.add_delete("/mcp", server.delete)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    try:
        yield server
    finally:
        await runner.cleanup()
