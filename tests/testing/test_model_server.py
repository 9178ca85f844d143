"""The fake model server speaks each protocol and fails as told."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from mesocosm.http.client import HttpClient
from mesocosm.http.errors import ConnectionLost, Timeout
from mesocosm.http.response import Response
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import (
    CLOSE,
    CUT,
    EMPTY_BODY,
    EMPTY_TEXT,
    GARBAGE,
    HANG,
    RATE_LIMIT,
    SERVER_ERROR,
    Fault,
    sometimes,
)
from mesocosm.testing.model_server import ModelServer

CHAT = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient() as client:
        yield client


VERSION = {"anthropic-version": "2023-06-01"}


async def post(
    client: HttpClient, url: str, body: Any = CHAT, seconds: float = 10.0, headers: Mapping[str, str] = VERSION
) -> Response:
    return await client.request("POST", url, headers=headers, body=json.dumps(body).encode(), timeout=seconds)


async def chat(client: HttpClient, server: ModelServer, body: Any = CHAT) -> Any:
    return (await post(client, f"{server.openai_url}/chat/completions", body)).json()


async def test_it_speaks_openai(client: HttpClient) -> None:
    answer = ScriptedAnswer("hi", "hmm", (("go", {"x": 1}),), "tool_calls", 7, 3, cached_tokens=2, reasoning_tokens=1)
    async with ModelServer(answer) as server:
        said = await chat(client, server)
    message = said["choices"][0]["message"]
    assert message["content"] == "hi"
    assert message["reasoning_content"] == "hmm"
    assert message["tool_calls"][0]["function"] == {"name": "go", "arguments": '{"x":1}'}
    assert said["choices"][0]["finish_reason"] == "tool_calls"
    assert said["usage"]["prompt_tokens_details"]["cached_tokens"] == 2
    assert (said["usage"]["prompt_tokens"], said["usage"]["completion_tokens"]) == (7, 3)


async def test_it_speaks_ollama(client: HttpClient) -> None:
    async with ModelServer(ScriptedAnswer("hi", "hmm", (("go", {"x": 1}),), "length", 7, 3)) as server:
        said = (await post(client, f"{server.url}/api/chat")).json()
    assert said["message"]["content"] == "hi"
    assert said["message"]["thinking"] == "hmm"
    assert said["message"]["tool_calls"] == [{"function": {"name": "go", "arguments": {"x": 1}}}]
    assert (said["done_reason"], said["prompt_eval_count"], said["eval_count"]) == ("length", 7, 3)


async def test_it_speaks_anthropic(client: HttpClient) -> None:
    async with ModelServer(ScriptedAnswer("hi", finish_reason="length")) as server:
        said = (await post(client, f"{server.url}/v1/messages", {**CHAT, "max_tokens": 9})).json()
    assert said["content"] == [{"type": "text", "text": "hi"}]
    assert said["stop_reason"] == "max_tokens"


async def test_it_speaks_gemini(client: HttpClient) -> None:
    async with ModelServer("hi") as server:
        said = (
            await post(
                client, f"{server.url}/v1beta/models/m:generateContent", {"contents": [{"parts": [{"text": "a"}]}]}
            )
        ).json()
    assert said["candidates"][0]["content"]["parts"] == [{"text": "hi"}]


async def test_it_lists_its_models_in_both_protocols(client: HttpClient) -> None:
    async with ModelServer(models=["a:latest"]) as server:
        tags = (await client.request("GET", f"{server.url}/api/tags", timeout=60)).json()
        listed = (await client.request("GET", f"{server.openai_url}/models", timeout=60)).json()
    assert [model["name"] for model in tags["models"]] == ["a:latest"]
    assert [model["id"] for model in listed["data"]] == ["a:latest"]


async def test_a_model_that_it_does_not_have_is_a_400_as_at_litellm(client: HttpClient) -> None:
    async with ModelServer(models=["a:latest"]) as server:
        assert (await chat(client, server, {**CHAT, "model": "a"}))["choices"]
        missing = await post(client, f"{server.openai_url}/chat/completions")
    assert missing.status == 400
    assert "Invalid model name" in missing.json()["error"]["message"]


async def test_a_path_that_nobody_serves_is_a_404(client: HttpClient) -> None:
    async with ModelServer() as server:
        assert (await post(client, f"{server.url}/nowhere")).status == 404
        assert (await client.request("GET", f"{server.url}/nowhere", timeout=60)).status == 404


async def test_a_function_answers_from_the_request(client: HttpClient) -> None:
    async with ModelServer(lambda body: body["messages"][-1]["content"].upper()) as server:
        assert (await chat(client, server))["choices"][0]["message"]["content"] == "HELLO"


async def test_an_answer_may_be_awaited(client: HttpClient) -> None:
    arrived, gate = asyncio.Event(), asyncio.Event()

    async def answer(_body: dict[str, Any]) -> str:
        arrived.set()
        await gate.wait()
        return "late"

    async with ModelServer(answer, delay=0.001) as server:
        asked = asyncio.create_task(chat(client, server))
        await arrived.wait()
        assert not asked.done()
        gate.set()
        assert (await asked)["choices"][0]["message"]["content"] == "late"


async def test_requests_are_kept_with_their_headers(client: HttpClient) -> None:
    async with ModelServer() as server:
        await client.request(
            "POST", f"{server.openai_url}/chat/completions", headers={"X-One": "1"}, body=b"{}", timeout=60
        )
        await client.request("GET", f"{server.openai_url}/models", timeout=60)
    assert [request.method for request in server.requests] == ["POST", "GET"]
    assert len(server.calls) == server.served == 1
    assert server.calls[0].header("x-one") == "1"
    assert server.calls[0].header("x-two") is None
    assert server.calls[0].body == {}


async def test_a_body_that_is_no_json_is_a_400(client: HttpClient) -> None:
    async with ModelServer(lambda _: "ok") as server:
        said = await client.request("POST", f"{server.openai_url}/chat/completions", body=b"{", timeout=60)
    assert said.status == 400


async def test_faults_come_in_order_and_end(client: HttpClient) -> None:
    async with ModelServer(faults=[RATE_LIMIT, None, SERVER_ERROR]) as server:
        url = f"{server.openai_url}/chat/completions"
        replies = [await post(client, url) for _ in range(4)]
    assert [reply.status for reply in replies] == [429, 200, 500, 200]
    assert replies[0].headers["retry-after"] == "0"
    assert replies[0].json()["error"]["message"] == "slow down"


@pytest.mark.parametrize(
    ("path", "where"),
    [("/v1/chat/completions", ("error", "message")), ("/api/chat", ("error",)), ("/v1/messages", ("error", "message"))],
)
async def test_errors_have_the_shape_of_the_protocol(client: HttpClient, path: str, where: tuple[str, ...]) -> None:
    async with ModelServer(faults=[Fault(text="its own words")]) as server:
        said = (await post(client, server.url + path)).json()
    for key in where:
        said = said[key]
    assert said == "its own words"


async def test_a_fault_may_bring_a_header_and_a_body_of_its_own(client: HttpClient) -> None:
    async with ModelServer(faults=[Fault(status=418, header=("X-Tea", "yes"), raw=b"short")]) as server:
        said = await post(client, f"{server.openai_url}/chat/completions")
    assert (said.status, said.headers["x-tea"], said.body) == (418, "yes", b"short")


@pytest.mark.parametrize(("fault", "told"), [(CLOSE, "before answering"), (CUT, "in the middle of the response")])
async def test_a_connection_can_end_before_and_in_the_middle(client: HttpClient, fault: Fault, told: str) -> None:
    async with ModelServer(faults=[fault]) as server:
        with pytest.raises(ConnectionLost, match=told):
            await post(client, f"{server.openai_url}/chat/completions")


async def test_a_hanging_server_never_answers(client: HttpClient) -> None:
    async with ModelServer(faults=[HANG]) as server:
        with pytest.raises(Timeout):
            await post(client, f"{server.openai_url}/chat/completions", seconds=0.05)


async def test_bodies_can_be_garbage_or_empty(client: HttpClient) -> None:
    async with ModelServer(faults=[GARBAGE, EMPTY_BODY, EMPTY_TEXT]) as server:
        url = f"{server.openai_url}/chat/completions"
        garbage, empty, silent = [await post(client, url) for _ in range(3)]
    assert garbage.body.startswith(b"<html>")
    assert empty.body == b""
    assert silent.json()["choices"][0]["message"]["content"] == ""


def test_sometimes_is_the_same_for_the_same_seed() -> None:
    first, again = sometimes(0.5, seed=3), sometimes(0.5, seed=3)
    drawn = [next(first) for _ in range(200)]
    assert drawn == [next(again) for _ in range(200)]
    assert 60 < sum(fault is not None for fault in drawn) < 140


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with ModelServer(lambda body: body["n"]) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        for n in "123":
            body = json.dumps({"model": "m", "n": n}).encode()
            writer.write(b"POST /api/chat HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        texts = []
        for _ in range(3):
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            texts.append(json.loads(await reader.readexactly(size))["message"]["content"])
        writer.close()
    assert texts == ["1", "2", "3"]


def test_it_runs_in_a_thread_for_code_without_a_loop() -> None:
    with ModelServer("hi") as server:
        request = urllib.request.Request(f"{server.url}/api/chat", json.dumps(CHAT).encode())
        with urllib.request.urlopen(request) as reply:
            assert json.load(reply)["message"]["content"] == "hi"


def test_a_taken_port_is_said_in_a_thread_too() -> None:
    with ModelServer() as server, pytest.raises(OSError), ModelServer(port=server.port):
        pass


def test_it_runs_as_a_process_of_its_own() -> None:
    command = [sys.executable, "-m", "mesocosm.testing.model_server", "--answer", "hi", "--models", "m"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("listening on ")
            request = urllib.request.Request(f"{line.split()[-1]}/api/chat", json.dumps(CHAT).encode())
            with urllib.request.urlopen(request) as reply:
                assert json.load(reply)["message"]["content"] == "hi"
        finally:
            process.terminate()


@pytest.mark.parametrize(
    ("path", "body", "word"),
    [
        ("chat/completions", {"model": "m"}, "messages"),
        ("chat/completions", {"model": 3, "messages": []}, "model"),
        ("chat/completions", {"model": "m", "messages": "hello"}, "messages"),
        ("chat/completions", {**CHAT, "temperature": "hot"}, "temperature"),
        ("chat/completions", {**CHAT, "max_tokens": 1.5}, "max_tokens"),
        ("chat/completions", [], "object"),
        ("responses", {"model": "m"}, "input"),
        ("embeddings", {"model": "m"}, "input"),
        ("messages", CHAT, "max_tokens"),
    ],
)
async def test_a_body_that_real_servers_refuse_is_refused(client: HttpClient, path: str, body: Any, word: str) -> None:
    async with ModelServer(lambda body: "never said") as server:
        answer = await post(client, f"{server.openai_url}/{path}", body)
    assert answer.status == 400
    assert word in answer.json()["error"]["message"]


async def test_paths_and_methods_that_a_real_server_has_not_are_refused(client: HttpClient) -> None:
    async with ModelServer() as server:
        assert (await post(client, f"{server.openai_url}/v1/chat/completions")).status == 404
        assert (await client.request("GET", f"{server.openai_url}/chat/completions", timeout=60)).status == 405


async def test_a_prompt_that_is_longer_than_the_context_is_refused_in_openais_words(client: HttpClient) -> None:
    async with ModelServer(context=100) as server:
        long = {**CHAT, "messages": [{"role": "user", "content": "word " * 100}]}
        answer = await post(client, f"{server.openai_url}/chat/completions", long)
        assert (answer.status, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
        assert (await post(client, f"{server.openai_url}/chat/completions")).status == 200


async def test_a_request_without_a_model_is_refused(client: HttpClient) -> None:
    async with ModelServer() as server:
        unnamed = await post(client, f"{server.openai_url}/chat/completions", {"messages": []})
        assert (unnamed.status, b"model=None" in unnamed.body) == (400, True)


async def test_a_server_with_a_key_takes_no_other(client: HttpClient) -> None:
    async def status(**headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return (await client.request("GET", f"{server.openai_url}/models", headers=named, timeout=60)).status

    async with ModelServer(key="sk-right") as server:
        assert await status() == 401
        assert await status(authorization="Bearer sk-wrong") == 401
        assert await status(authorization="Bearer sk-right") == 200
        assert await status(x_api_key="sk-right") == 200
