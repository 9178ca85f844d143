"""One call of the rollout's model with the standard library."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from mesocosm.rollouts.sdk.completion import CompletionError, complete
from mesocosm.rollouts.sdk.context import RolloutContext

ASKED = [{"role": "user", "content": "1 + 1?"}]


@dataclass
class Served:
    """A model on loopback: what it answers, and what it was asked."""

    status: int = 200
    body: bytes = b"{}"
    asked: list[tuple[str, str, Any]] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)
    together: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))
    url: str = ""

    def __post_init__(self) -> None:
        self.release.set()


@pytest.fixture
def model() -> Iterator[Served]:
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append((self.path, self.headers["Authorization"], content))
            served.arrived.set()
            served.release.wait(10)
            served.together.wait(10)
            self.send_response(served.status)
            self.send_header("Content-Length", str(len(served.body)))
            self.end_headers()
            self.wfile.write(served.body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 64

    with Server(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        served.release.set()
        server.shutdown()
        thread.join()


async def test_the_message_of_the_answer_is_returned_with_its_tool_calls(model: Served) -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}
    model.body = json.dumps({"choices": [{"message": message}]}).encode()
    with RolloutContext(f"{model.url}/", "key"):
        assert await complete(ASKED, temperature=0.5, tools=[]) == message
    assert model.asked == [
        (
            "/v1/chat/completions",
            "Bearer key",
            {"messages": ASKED, "temperature": 0.5, "tools": []},
        )
    ]


async def test_a_proxy_of_the_machine_does_not_stand_between(model: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    model.body = b'{"choices": [{"message": {"content": "2"}}]}'
    with RolloutContext(model.url, "key"):
        assert await complete(ASKED) == {"content": "2"}


async def test_an_error_carries_its_status_and_body(model: Served) -> None:
    model.status, model.body = 400, b'{"error": "too long"}'
    with RolloutContext(model.url, "key"), pytest.raises(CompletionError, match=r"400.*too long") as caught:
        await complete(ASKED)
    assert (caught.value.status, caught.value.body) == (400, '{"error": "too long"}')


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": "2"}]}', b'{"choices": 3}']
)
async def test_an_answer_without_a_message_is_an_error(model: Served, body: bytes) -> None:
    model.body = body
    with RolloutContext(model.url, "key"), pytest.raises(CompletionError, match="message"):
        await complete(ASKED)


async def test_an_address_where_nobody_is_is_an_error() -> None:
    with RolloutContext("http://127.0.0.1:9/v1", "key"), pytest.raises(CompletionError, match=r"127\.0\.0\.1:9"):
        await complete(ASKED)


async def test_an_answer_that_takes_too_long_is_an_error(model: Served) -> None:
    model.release.clear()
    with RolloutContext(model.url, "key"), pytest.raises(CompletionError, match="no answer"):
        await complete(ASKED, timeout_s=0.05)


async def test_a_call_can_be_cancelled_while_the_model_thinks(model: Served) -> None:
    model.release.clear()
    with RolloutContext(model.url, "key"):
        call = asyncio.create_task(complete(ASKED))
        await asyncio.to_thread(model.arrived.wait, 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


async def test_many_calls_are_under_way_at_once(model: Served) -> None:
    model.together = threading.Barrier(40)
    model.body = b'{"choices": [{"message": {"content": "2"}}]}'
    with RolloutContext(model.url, "key"):
        assert await asyncio.gather(*(complete(ASKED) for _ in range(40))) == [{"content": "2"}] * 40


async def test_outside_of_a_rollout_it_says_where_it_works() -> None:
    with pytest.raises(RuntimeError, match=r"AgentWorkflow\.run"):
        await complete(ASKED)
