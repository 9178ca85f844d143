"""Ollama through its own protocol: requests, answers, addresses, and what is missing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import ModelName, ModelRequest, Tool
from mesocosm.core.ports import Model
from mesocosm.models.ollama import base_url, has, runs_elsewhere
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import CLOSE, CUT, EMPTY_BODY, GARBAGE, HANG, Fault
from mesocosm.testing.model_server import ModelServer

Opened = Callable[..., Model]


async def sent(opened: Opened, request: ModelRequest, **settings: object) -> Any:
    async with ModelServer() as server:
        await opened(f"ollama/m@{server.url}", **settings).ask(request)
    assert server.calls[0].path == "/api/chat"
    return server.calls[0].body


async def test_a_plain_request_has_options_and_no_thinking(opened: Opened, hello: ModelRequest) -> None:
    body = await sent(opened, replace(hello, temperature=0.5, max_tokens=77, top_p=0.9))
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "options": {"temperature": 0.5, "num_predict": 77, "top_p": 0.9},
        "stream": False,
        "think": False,
        "truncate": False,
    }


async def test_extra_settings_go_where_ollama_has_them(opened: Opened, hello: ModelRequest) -> None:
    extra = {"think": "low", "num_ctx": 9, "options": {"top_k": 3}, "keep_alive": "1h", "stream": True}
    body = await sent(opened, hello, extra=extra)
    assert (body["think"], body["keep_alive"], body["stream"]) == ("low", "1h", False)
    assert body["options"] == {"temperature": 0.0, "num_predict": 512, "num_ctx": 9, "top_k": 3}


async def test_a_schema_becomes_the_format(
    opened: Opened, hello: ModelRequest, left_or_right: dict[str, object]
) -> None:
    assert (await sent(opened, replace(hello, schema=left_or_right)))["format"] == left_or_right


async def test_images_are_sent_as_bare_data(opened: Opened) -> None:
    parts = (Text("see"), Image(data="aGk="), Image(url="data:image/png;base64,aG8="))
    body = await sent(opened, ModelRequest([Message("user", parts)]))
    assert body["messages"] == [{"role": "user", "content": "see", "images": ["aGk=", "aG8="]}]


async def test_an_image_elsewhere_is_refused_before_anything_is_sent(opened: Opened) -> None:
    request = ModelRequest([Message("user", (Image(url="https://example.org/cat.png"),))])
    async with ModelServer() as server:
        with pytest.raises(EpisodeError, match="base64") as raised:
            await opened(f"ollama/m@{server.url}").ask(request)
    assert raised.value.cause is Cause.MODEL_REJECTED
    assert server.served == 0


async def test_tools_and_their_calls_are_sent(opened: Opened, tool: Tool) -> None:
    calls = (ToolCall("c1", "look", {"far": True}), ToolCall("c2", "look", "raw"))
    messages = [Message("assistant", tool_calls=calls), Message("tool", "a wall", tool_call_id="c1")]
    body = await sent(opened, ModelRequest(messages, tools=[tool]))
    assert [call["function"]["arguments"] for call in body["messages"][0]["tool_calls"]] == [
        {"far": True},
        {"input": "raw"},
    ]
    assert body["messages"][1]["content"] == "a wall"
    assert body["tools"][0]["function"]["name"] == "look"


async def test_a_whole_answer_is_read(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(ScriptedAnswer("left", "because", (), "length", 100, 20)) as server:
        reply = await opened(f"ollama/m@{server.url}").ask(hello)
    assert (reply.text, reply.reasoning, reply.finish_reason, reply.model) == ("left", "because", "length", "ollama/m")
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.cost_usd, reply.usage.calls) == (100, 20, 0.0, 1)


async def test_tool_calls_are_read(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(ScriptedAnswer("", tool_calls=(("look", {"far": True}),))) as server:
        reply = await opened(f"ollama/m@{server.url}").ask(hello)
    assert reply.tool_calls == (ToolCall("call_0", "look", {"far": True}),)
    assert reply.finish_reason == "tool_calls"


async def test_a_bare_answer_is_enough(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(faults=[Fault(status=200, raw=b'{"message": {"content": null}}')]) as server:
        reply = await opened(f"ollama/m@{server.url}").ask(hello)
    assert (reply.text, reply.finish_reason, reply.usage.total) == ("", "stop", 0)


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault(status=404, text="model 'm' not found"), Cause.MODEL_MISSING),
        (Fault(status=400, text="registry.ollama.ai/m does not support tools"), Cause.MODEL_REJECTED),
        (Fault(status=400, text="the input length exceeds the context length"), Cause.CONTEXT_OVERFLOW),
        (Fault(status=500, text="model runner has stopped"), Cause.MODEL_UNAVAILABLE),
        (Fault(status=503, text="server busy"), Cause.MODEL_UNAVAILABLE),
        (HANG, Cause.MODEL_TIMEOUT),
        (CLOSE, Cause.MODEL_UNAVAILABLE),
        (CUT, Cause.MODEL_UNAVAILABLE),
        (GARBAGE, Cause.MODEL_INVALID),
        (EMPTY_BODY, Cause.MODEL_INVALID),
        (Fault(status=200, raw=b"{}"), Cause.MODEL_INVALID),
    ],
    ids=str,
)
async def test_each_fault_has_its_cause(opened: Opened, hello: ModelRequest, fault: Fault, cause: Cause) -> None:
    async with ModelServer(faults=[fault]) as server:
        with pytest.raises(EpisodeError) as raised:
            await opened(f"ollama/m@{server.url}").ask(replace(hello, timeout_s=0.05 if fault is HANG else 120.0))
        assert server.served == 1
    assert raised.value.cause is cause
    assert fault in {HANG, CLOSE, CUT, GARBAGE, EMPTY_BODY} or fault.raw or fault.text in str(raised.value)


async def test_a_model_that_is_missing_at_a_call_names_the_command(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer(models=["other:latest"]) as server:
        with pytest.raises(EpisodeError, match="ollama pull m"):
            await opened(f"ollama/m@{server.url}").ask(hello)


@pytest.mark.parametrize("name", ["llama3.2", "llama3.2:latest", "LLAMA3.2", "qwen3:8b", "hf.co/a/b"])
async def test_the_check_finds_a_model_that_is_there(opened: Opened, name: str) -> None:
    async with ModelServer(models=["qwen3:8b", "llama3.2:latest", "hf.co/a/b:latest"]) as server:
        await opened(f"ollama/{name}@{server.url}").check()
    assert [request.path for request in server.requests] == ["/api/tags"]


async def test_the_check_names_the_missing_pull_and_what_is_there(opened: Opened) -> None:
    async with ModelServer(models=["qwen3:8b", "gemma3:latest"]) as server:
        with pytest.raises(EpisodeError) as raised:
            await opened(f"ollama/qwen3@{server.url}").check()
    assert raised.value.cause is Cause.MODEL_MISSING
    assert "it has gemma3:latest, qwen3:8b. Get it with `ollama pull qwen3`" in str(raised.value)


async def test_the_check_of_an_empty_ollama_says_so(opened: Opened) -> None:
    async with ModelServer(models=[]) as server:
        with pytest.raises(EpisodeError, match="no models yet"):
            await opened(f"ollama/llama3.2@{server.url}").check()


async def test_the_check_says_how_to_start_ollama(opened: Opened) -> None:
    async with ModelServer() as server:
        url = server.url
    with pytest.raises(EpisodeError, match="ollama serve") as raised:
        await opened(f"ollama/llama3.2@{url}").check()
    assert raised.value.cause is Cause.MODEL_UNAVAILABLE


async def test_the_check_of_something_else_at_the_port_says_so(opened: Opened) -> None:
    async with ModelServer() as server:
        with pytest.raises(EpisodeError) as raised:
            await opened(f"ollama/llama3.2@{server.openai_url}").check()
    assert raised.value.cause is Cause.MODEL_MISSING
    assert "/v1/api/tags answered 404" in str(raised.value)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://localhost:11434"),
        ("somewhere", "http://somewhere:11434"),
        ("somewhere:80", "http://somewhere:80"),
        ("http://somewhere", "http://somewhere"),
        ("https://somewhere/ollama/", "https://somewhere/ollama"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234"),
        ("http://0.0.0.0:1234", "http://127.0.0.1:1234"),
        (":1234", "http://127.0.0.1:1234"),
        ("[::1]:1234", "http://[::1]:1234"),
        ("::1", "http://[::1]:11434"),
        ("[::]:1234", "http://[::1]:1234"),
    ],
)
def test_the_host_variable_has_many_forms(monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert base_url(ModelName.parse("ollama/m")) == url


def test_the_name_goes_before_the_host_and_the_host_before_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_BASE", "http://third:1")
    assert base_url(ModelName.parse("ollama/m")) == "http://third:1"
    monkeypatch.setenv("OLLAMA_HOST", "second:1")
    assert base_url(ModelName.parse("ollama/m")) == "http://second:1"
    assert base_url(ModelName.parse("ollama/m@http://first:1")) == "http://first:1"


@pytest.mark.parametrize("host", ["http://host:port", "ftp://host", "host:99999"])
def test_a_host_that_is_none_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    with pytest.raises(UsageError, match="OLLAMA_HOST"):
        base_url(ModelName.parse("ollama/m"))


def test_names_without_a_tag_mean_the_latest() -> None:
    assert has(["m:latest"], "m")
    assert has(["m"], "m:latest")
    assert not has(["m:8b"], "m")
    assert not has(["mm:latest"], "m")
    assert has(["localhost:5000/a/m:latest"], "localhost:5000/a/m")


@pytest.mark.parametrize(
    ("model", "elsewhere"), [("gpt-oss:120b-cloud", True), ("kimi:cloud", True), ("cloud", False), ("m:8b", False)]
)
async def test_models_of_the_cloud_are_neither_local_nor_free(
    opened: Opened, hello: ModelRequest, model: str, elsewhere: bool
) -> None:
    assert runs_elsewhere(model) is elsewhere
    async with ModelServer() as server:
        opened_model = opened(f"ollama/{model}@{server.url}")
        assert opened_model.capabilities.local is not elsewhere
        assert ((await opened_model.ask(hello)).usage.cost_usd is None) is elsewhere
