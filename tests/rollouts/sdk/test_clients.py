"""Ready clients of the openai and anthropic packages, against a model server on loopback."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from http.cookies import SimpleCookie
from typing import Any

import pytest

from mesocosm.rollouts.sdk import clients
from mesocosm.rollouts.sdk.adapters.address import ambient_context, named
from mesocosm.rollouts.sdk.context import API_KEY_ENV, CHAT_COMPLETIONS_URL_ENV, RolloutContext
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response
from mesocosm.testing.model_server import ModelServer

ASKED: Any = [{"role": "user", "content": "hi"}]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHAT_COMPLETIONS_URL_ENV, raising=False)
    monkeypatch.delenv(API_KEY_ENV, raising=False)


@pytest.fixture(autouse=True)
def no_connections() -> Iterator[None]:
    yield
    clients._shared.cache_clear()
    clients._transports.clear()


def said(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


async def ask(client: Any, text: str = "hi") -> str:
    reply = await client.chat.completions.create(model="any", messages=[{"role": "user", "content": text}])
    return str(reply.choices[0].message.content)


class Biscuits(LoopbackServer):
    """Sets a cookie with each response."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str | None] = []

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        self.sent.append(request.header("cookie"))
        cookie = SimpleCookie({"of": "this row"})
        connection.send(response(200, b"{}", f"{cookie.output()}; Path=/\r\n"))


async def test_an_openai_client_asks_the_rollouts_model() -> None:
    async with ModelServer("four") as server:
        assert await ask(RolloutContext(server.openai_url, "key").openai()) == "four"
    assert server.calls[0].header("authorization") == "Bearer key"
    assert server.calls[0].path == "/v1/chat/completions"


def test_a_blocking_openai_client_asks_the_rollouts_model() -> None:
    with ModelServer("four") as server:
        client = RolloutContext(server.openai_url, "key").sync_openai()
        reply = client.chat.completions.create(model="any", messages=ASKED)
    assert reply.choices[0].message.content == "four"


async def test_an_anthropic_client_asks_at_the_root() -> None:
    async with ModelServer("four") as server:
        client = RolloutContext(server.openai_url, "key").anthropic()
        reply = await client.messages.create(model="any", max_tokens=9, messages=ASKED)
    assert reply.content[0].type == "text"
    assert server.calls[0].path == "/v1/messages"
    shown = server.calls[0].header("x-api-key") or server.calls[0].header("authorization")
    assert shown in {"key", "Bearer key"}


def test_a_blocking_anthropic_client_asks_at_the_root() -> None:
    with ModelServer("four") as server:
        RolloutContext(server.openai_url, "key").sync_anthropic().messages.create(
            model="any", max_tokens=9, messages=ASKED
        )
    assert server.calls[0].path == "/v1/messages"


async def test_rows_at_once_send_their_own_keys_and_headers() -> None:
    async def row(number: int) -> None:
        client = RolloutContext(server.openai_url, f"key-{number}").openai()
        named = client.with_options(default_headers={"x-row": str(number)})
        for _ in range(3):
            assert await ask(named, str(number)) == str(number)
            await ask(client, f"plain {number}")

    async with ModelServer(said) as server:
        await asyncio.gather(*(row(number) for number in range(30)))
    assert len(server.calls) == 180
    for call in server.calls:
        kind, _, number = said(call.body).rpartition(" ")
        assert call.header("authorization") == f"Bearer key-{number}"
        assert call.header("x-row") == (None if kind else number)


async def test_rows_one_after_the_other_share_a_connection_whatever_they_close() -> None:
    async with ModelServer("four") as server:
        for number in range(5):
            async with RolloutContext(server.openai_url, f"key-{number}").openai() as client:
                assert await ask(client) == "four"
    assert server.connections == 1


def test_blocking_clients_share_a_connection_whatever_they_close() -> None:
    with ModelServer("four") as server:
        for number in range(5):
            with RolloutContext(server.openai_url, f"key-{number}").sync_openai() as client:
                client.chat.completions.create(model="any", messages=ASKED)
    assert server.connections == 1


async def test_as_many_connections_as_rows_that_ask_at_once() -> None:
    together = asyncio.Barrier(150)

    async def answer(_: dict[str, Any]) -> str:
        await together.wait()
        return "four"

    async with ModelServer(answer) as server:
        await asyncio.gather(*(ask(RolloutContext(server.openai_url, "key").openai()) for _ in range(150)))
    assert server.connections == 150


@pytest.mark.parametrize("kind", ["openai", "sync_openai", "anthropic", "sync_anthropic"])
def test_a_connection_may_take_as_long_as_an_answer(kind: str) -> None:
    client = getattr(RolloutContext("http://127.0.0.1:9/v1", "key"), kind)()
    assert client.timeout.connect == client.timeout.read == clients.PATIENCE_S


def test_a_client_works_on_loop_after_loop() -> None:
    with ModelServer("four") as server:
        client = RolloutContext(server.openai_url, "key").openai()
        for _ in range(3):
            assert asyncio.run(ask(client)) == "four"
    assert server.connections == 3
    assert len(clients._transports[0]._idle) == 1


async def test_connections_are_closed_with_their_loop() -> None:
    async with ModelServer("four") as server:
        await ask(RolloutContext(server.openai_url, "key").openai())
        await clients.close()
        assert await ask(RolloutContext(server.openai_url, "key").openai()) == "four"
    assert server.connections == 2


async def test_a_cancelled_call_leaves_its_answer_to_nobody() -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def answer(body: dict[str, Any]) -> str:
        if said(body) == "first":
            asked.set()
            await go_on.wait()
        return said(body)

    async with ModelServer(answer) as server:
        client = RolloutContext(server.openai_url, "key").openai()
        first = asyncio.ensure_future(ask(client, "first"))
        await asked.wait()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        go_on.set()
        assert [await ask(client, text) for text in ("second", "third")] == ["second", "third"]


async def test_a_stream_that_is_left_early_leaves_nothing_to_the_next_call() -> None:
    async with ModelServer(said) as server:
        client = RolloutContext(server.openai_url, "key").openai()
        many: Any = [{"role": "user", "content": "word " * 500}]
        async with await client.chat.completions.create(model="any", messages=many, stream=True) as stream:
            async for _ in stream:
                break
        assert await ask(client, "second") == "second"


@pytest.mark.parametrize("kind", ["AsyncOpenAI", "AsyncAnthropic"])
async def test_cookies_of_a_row_are_not_sent_by_another(kind: str) -> None:
    async with Biscuits() as server:
        for _ in range(2):
            await clients.http_client(server.url, kind).get(server.url)
    assert server.sent == [None, None]


def test_a_forked_child_has_connections_of_its_own() -> None:
    program = """
import os, sys
from mesocosm.rollouts.sdk.context import RolloutContext
def ask():
    client = RolloutContext(sys.argv[1], "key").sync_openai()
    client.chat.completions.create(model="any", messages=[{"role": "user", "content": "hi"}])
ask()
child = os.fork()
ask()
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    with ModelServer("four") as server:
        subprocess.run([sys.executable, "-c", program, server.openai_url], check=True, timeout=60)
    assert server.connections == 2
    assert len(server.calls) == 3


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with ModelServer("four") as server:
        assert await ask(RolloutContext(server.openai_url, "key").openai()) == "four"


async def test_a_model_on_another_machine_is_asked_through_the_environments_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    async with ModelServer("four") as server:
        monkeypatch.setenv("http_proxy", server.url)
        async with RolloutContext("http://model.test/v1", "key").openai() as client:
            assert await ask(client.with_options(max_retries=0)) == "four"
    assert server.calls[0].header("host") == "model.test"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_missing_package_is_named_with_what_to_do(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    context = RolloutContext("http://127.0.0.1:9/v1", "key")
    for client in (getattr(context, kind), getattr(context, f"sync_{kind}")):
        with pytest.raises(ModuleNotFoundError, match=f"add '{kind}' to the dependencies in its pyproject.toml"):
            client()


def test_outside_a_rollout_there_is_no_client() -> None:
    with pytest.raises(RuntimeError, match="no rollout is running"):
        ambient_context().openai()


def test_the_environment_stands_in_for_a_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHAT_COMPLETIONS_URL_ENV, "http://model.test/v1/")
    monkeypatch.setenv(API_KEY_ENV, "from the environment")
    assert ambient_context().model_address() == ("http://model.test/v1", "from the environment")


def test_a_context_without_a_key_still_gives_a_client() -> None:
    assert RolloutContext("http://127.0.0.1:9/v1").openai().api_key == "none"


def test_a_context_does_not_show_its_key() -> None:
    assert "secret" not in repr(RolloutContext("http://model.test/v1", "secret"))


@pytest.mark.parametrize(
    ("given", "name"), [(None, "osmosis-rollout"), ("openai/osmosis-rollout", "osmosis-rollout"), ("gpt", "gpt")]
)
def test_a_models_name_is_sent_without_its_provider(given: str | None, name: str) -> None:
    assert named(given) == name
