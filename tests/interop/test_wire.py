"""Recorded calls put together again, against what a server was really sent."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import pytest

from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings, Tool
from mesocosm.core.registry import MODELS
from mesocosm.interop.wire import as_curl, as_python, whole_body

ANSWERS: dict[str, Any] = {
    "/v1/chat/completions": {"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}], "model": "m"},
    "/v1/messages": {"content": [{"type": "text", "text": "4"}], "stop_reason": "end_turn", "model": "m"},
    "/api/chat": {"message": {"content": "4"}, "done_reason": "stop"},
    "/v1beta/models/m:generateContent": {"candidates": [{"content": {"parts": [{"text": "4"}]}}]},
}
SAID = (
    Message("system", "Be brief."),
    Message("user", (Text("What is it?"), Image(data="aGk=")), "", ()),
    Message("assistant", "I look.", tool_calls=(ToolCall("c1", "look", {"at": "it"}),)),
    Message("tool", "a 4", tool_call_id="c1"),
    Message("user", "So, it's “what”?"),
)


class Listening(ThreadingHTTPServer):
    """A server that keeps what it is sent."""

    daemon_threads = True
    got: list[tuple[str, dict[str, str], bytes]]


class Handler(BaseHTTPRequestHandler):
    """Answers as the four APIs do; strict: a body that is not JSON is refused."""

    server: Listening

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        json.loads(body)
        self.server.got.append((self.path, dict(self.headers), body))
        answer = json.dumps(ANSWERS[self.path]).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


@pytest.fixture
def server() -> Iterator[Listening]:
    listening = Listening(("127.0.0.1", 0), Handler)
    listening.got = []
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    yield listening
    listening.shutdown()
    listening.server_close()


async def asked(server: Listening, provider: str, root: str) -> ModelReply:
    host = f"http://127.0.0.1:{server.server_address[1]}"
    settings = ModelSettings(f"{provider}/m@{host}{root}", temperature=0.5)
    model = MODELS.get(provider)(settings)
    look = Tool("look", "Look at it.", {"type": "object", "properties": {"at": {"type": "string"}}})
    try:
        reply: ModelReply = await model.ask(ModelRequest(SAID, temperature=0.5, max_tokens=77, tools=(look,)))
    finally:
        await model.close()
    return reply


def recorded() -> list[dict[str, Any]]:
    """Return the messages as a trace holds them."""
    return [{"index": place, **msgspec.to_builtins(message)} for place, message in enumerate(SAID)]


@pytest.mark.parametrize(("provider", "root"), [("openai", "/v1"), ("anthropic", ""), ("google", ""), ("ollama", "")])
async def test_the_body_is_what_the_server_was_sent(server: Listening, provider: str, root: str) -> None:
    reply = await asked(server, provider, root)
    (path, _headers, body), wire = server.got[0], reply.wire
    assert wire is not None
    assert path.endswith(wire.path)
    assert whole_body(wire.path, wire.body, recorded()) == json.loads(body)
    assert json.loads(wire.answer) == ANSWERS[path]
    assert "messages" not in wire.body


@pytest.mark.parametrize("form", ["curl", "python"])
def test_the_command_and_the_program_send_the_same_again(
    server: Listening, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    if form == "curl" and shutil.which("curl") is None:
        pytest.skip("the command is one of curl, which is not installed")
    reply = asyncio.run(asked(server, "openai", "/v1"))
    assert reply.wire is not None
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    body = whole_body(reply.wire.path, reply.wire.body, recorded())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-reader")
    text = (as_curl if form == "curl" else as_python)(address, reply.wire.path, body, "openai")
    assert "sk-of-the-reader" not in text
    command = ["sh", "-c", f"{text} -s"] if form == "curl" else [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    first, again = [json.loads(body) for _path, _headers, body in server.got]
    assert again == first
    headers = {name.lower(): value for name, value in server.got[1][1].items()}
    assert headers["authorization"] == "Bearer sk-of-the-reader"
