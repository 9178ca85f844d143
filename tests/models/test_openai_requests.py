"""What is sent to an OpenAI-compatible server, and how its answers are read."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from mesocosm.core.failure import UsageError
from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings, Tool
from mesocosm.core.ports import Model
from mesocosm.models import chat_completions
from mesocosm.models.catalogue import open_model
from mesocosm.models.prices import Price
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import Fault, FaultKind
from mesocosm.testing.model_server import ModelServer

Opened = Callable[..., Model]


async def sent(opened: Opened, request: ModelRequest, **settings: object) -> Any:
    """Return the body that a request becomes."""
    async with ModelServer() as server:
        await opened(f"openai/m@{server.openai_url}", **settings).ask(request)
    return server.calls[0].body


async def test_plain_messages_and_sampling_are_sent(opened: Opened) -> None:
    messages = [Message("system", "rules"), Message("user", "go"), Message("assistant", "left"), Message("user", "ö")]
    body = await sent(opened, ModelRequest(messages, temperature=0.5, max_tokens=77, top_p=0.9))
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "rules"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "left"},
            {"role": "user", "content": "ö"},
        ],
        "temperature": 0.5,
        "max_tokens": 77,
        "top_p": 0.9,
    }


async def test_empty_content_and_old_reasoning_are_sent_as_the_protocol_wants(opened: Opened) -> None:
    body = await sent(
        opened, ModelRequest([Message("user", ""), Message("assistant", "a", reasoning="secret thought")])
    )
    assert body["messages"] == [{"role": "user", "content": ""}, {"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(
    "message",
    [
        Message("assistant", "a", blocks=({"type": "thinking", "thinking": "hm", "signature": "s"},)),
        Message("tool", "a", tool_call_id="c1", failed=True),
    ],
)
async def test_what_other_protocols_know_of_a_message_is_not_sent(opened: Opened, message: Message) -> None:
    (sent_message,) = (await sent(opened, ModelRequest([message])))["messages"]
    assert sent_message.keys() <= {"role", "content", "tool_call_id"}


async def test_images_become_data_urls(opened: Opened) -> None:
    parts = (Text("see"), Image("image/png", data="aGk="), Image(url="https://example.org/cat.png"))
    body = await sent(opened, ModelRequest([Message("user", parts)]))
    text, inline, linked = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "see"}
    assert inline == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "auto"}}
    assert linked["image_url"]["url"] == "https://example.org/cat.png"


async def test_tools_their_calls_and_their_results_are_sent(opened: Opened, tool: Tool) -> None:
    calls = (ToolCall("c1", "look", {"far": True}), ToolCall("c2", "look", "not json"))
    messages = [Message("assistant", tool_calls=calls), Message("tool", "a wall", tool_call_id="c1")]
    body = await sent(opened, ModelRequest(messages, tools=[tool, Tool("wait")]))
    assistant, result = body["messages"]
    assert assistant["content"] is None
    assert [call["function"]["arguments"] for call in assistant["tool_calls"]] == [
        '{"far":true}',
        # Text that is no object would make llama.cpp and vLLM refuse all that follows.
        '{"input":"not json"}',
    ]
    assert result == {"role": "tool", "content": "a wall", "tool_call_id": "c1"}
    assert body["tools"][0]["function"] == msgspec.to_builtins(tool)
    assert body["tools"][1]["function"]["parameters"] == {"type": "object", "properties": {}}


async def test_a_schema_becomes_the_response_format(
    opened: Opened, hello: ModelRequest, left_or_right: dict[str, object]
) -> None:
    body = await sent(opened, replace(hello, schema=left_or_right))
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "action", "schema": left_or_right},
    }


async def test_extra_settings_are_merged_and_the_request_has_the_last_word(opened: Opened, hello: ModelRequest) -> None:
    request = replace(hello, extra={"seed": 2})
    body = await sent(opened, request, extra={"seed": 1, "min_p": 0.1, "max_tokens": 9})
    assert (body["seed"], body["min_p"], body["max_tokens"]) == (2, 0.1, 9)


async def test_the_limit_of_tokens_goes_by_the_name_that_the_extra_settings_use(
    opened: Opened, hello: ModelRequest
) -> None:
    body = await sent(opened, hello, extra={"max_completion_tokens": 5})
    assert body["max_completion_tokens"] == 5
    assert "max_tokens" not in body


async def test_streaming_is_refused_at_the_door(opened: Opened) -> None:
    with pytest.raises(UsageError, match="stream"):
        opened("openai/m@http://127.0.0.1:1/v1", extra={"stream": True})


async def test_the_key_travels_in_the_header_only(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-own")
    async with ModelServer() as server:
        await opened(f"openai/m@{server.openai_url}").ask(hello)
        monkeypatch.setenv("MESOCOSM_API_KEY", "general")
        await opened(f"openai/m@{server.openai_url}").ask(hello)
    assert [call.header("authorization") for call in server.calls] == ["Bearer sk-own", "Bearer general"]
    assert b"sk-own" not in server.calls[0].raw


async def test_no_key_means_no_header(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer() as server:
        await opened(f"openai/m@{server.openai_url}").ask(hello)
    assert server.calls[0].header("authorization") is None


async def test_the_address_may_come_from_the_environment(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url + "/")
        await opened("openai/m").ask(hello)
    assert server.calls[0].path == "/v1/chat/completions"


async def test_cerebras_wants_model_names_without_a_maker(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer() as server:
        await opened(f"cerebras/openai/gpt-oss-120b@{server.openai_url}").ask(hello)
    assert server.calls[0].body["model"] == "gpt-oss-120b"


async def reply_to(opened: Opened, request: ModelRequest, raw: dict[str, Any]) -> ModelReply:
    """Return how a body of status 200 is read."""
    fault = Fault(FaultKind.STATUS, status=200, raw=json.dumps(raw).encode())
    async with ModelServer(faults=[fault]) as server:
        return await opened(f"openai/m@{server.openai_url}").ask(request)


async def test_a_whole_answer_is_read(opened: Opened, hello: ModelRequest) -> None:
    answer = ScriptedAnswer("left", "because", (), "length", 100, 20, cached_tokens=60, reasoning_tokens=5)
    async with ModelServer(answer) as server:
        reply = await opened(f"openai/m@{server.openai_url}").ask(hello)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("left", "because", "length")
    usage = reply.usage
    assert (usage.prompt, usage.completion, usage.cached, usage.reasoning, usage.calls) == (100, 20, 60, 5, 1)
    assert reply.model == "openai/m"
    assert not reply.cached
    assert reply.latency_s > 0


async def test_tool_calls_are_read_and_broken_arguments_kept(opened: Opened, hello: ModelRequest) -> None:
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"far": true}'}},
        {"function": {"name": "look", "arguments": "{broken"}},
        {"id": "c3", "function": {"name": "look", "arguments": {"far": False}}},
        {"id": "c4", "function": {"name": "wait", "arguments": ""}},
    ]
    raw = {"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]}
    reply = await reply_to(opened, hello, raw)
    assert reply.text == ""
    assert reply.tool_calls == (
        ToolCall("c1", "look", {"far": True}),
        ToolCall("call_1", "look", "{broken"),
        ToolCall("c3", "look", {"far": False}),
        ToolCall("c4", "wait", {}),
    )


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": "a"}, "a", ""),
        ({"content": None}, "", ""),
        ({}, "", ""),
        ({"content": "a", "reasoning": "r"}, "a", "r"),
        ({"content": "a", "reasoning_content": "r", "reasoning": None}, "a", "r"),
        ({"content": "a", "reasoning": {"odd": 1}}, "a", ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "other"}, "b"]}, "ab", ""),
        ({"content": "null"}, "null", ""),
    ],
)
async def test_messages_may_lack_or_add_anything(
    opened: Opened, hello: ModelRequest, message: dict[str, Any], text: str, reasoning: str
) -> None:
    reply = await reply_to(opened, hello, {"choices": [{"message": message}]})
    assert (reply.text, reply.reasoning, reply.finish_reason) == (text, reasoning, "stop")


async def test_a_refusal_of_the_model_is_its_text(opened: Opened, hello: ModelRequest) -> None:
    message = {"content": None, "refusal": "I will not"}
    reply = await reply_to(opened, hello, {"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (reply.text, reply.finish_reason) == ("I will not", "content_filter")


@pytest.mark.parametrize(
    ("usage", "prompt", "cached"),
    [
        (None, 0, 0),
        ({}, 0, 0),
        ({"prompt_tokens": None}, 0, 0),
        ({"prompt_tokens": 5.0, "prompt_tokens_details": None}, 5, 0),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": None}}, 5, 0),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 4}, 5, 4),
        ({"prompt_tokens": -1}, 0, 0),
    ],
)
async def test_usage_may_be_incomplete(
    opened: Opened, hello: ModelRequest, usage: object, prompt: int, cached: int
) -> None:
    reply = await reply_to(opened, hello, {"choices": [{"message": {"content": "a"}}], "usage": usage})
    assert (reply.usage.prompt, reply.usage.cached) == (prompt, cached)


def read(usage: dict[str, Any] | None, price: Price | None) -> float | None:
    body = json.dumps({"choices": [{"message": {"content": "a"}}], "usage": usage}).encode()
    reply = chat_completions.reply(chat_completions.decode(body), price, "openai/m", 0.0)
    assert reply is not None
    return reply.usage.cost_usd


def test_cost_is_unknown_without_a_price_or_without_counts() -> None:
    paid, free = Price(1, 2, "2026-01-01"), Price(0, 0, "")
    assert read({"prompt_tokens": 10}, None) is None
    assert read(None, paid) is None
    assert read(None, free) == 0.0
    assert read({"prompt_tokens": 1_000_000, "completion_tokens": 500_000}, paid) == 2.0


def test_a_cost_that_the_server_names_is_taken() -> None:
    assert read({"prompt_tokens": 10, "cost": 0.25}, None) == 0.25


@pytest.mark.parametrize(("stated", "cost"), [("2.25e-4", 0.000225), ("0.0", 0.0), ("-1", 0.0), ("nan", 0.0)])
async def test_a_cost_that_the_proxy_of_litellm_states_is_taken(
    opened: Opened, hello: ModelRequest, stated: str, cost: float
) -> None:
    body = b'{"choices": [{"message": {"content": "4"}}], "usage": {"prompt_tokens": 10, "completion_tokens": 20}}'
    fault = Fault(status=200, raw=body, header=("x-litellm-response-cost", stated))
    async with ModelServer(faults=[fault]) as server:
        reply = await opened(f"openai/gpt-4o@{server.openai_url}").ask(hello)
    assert (reply.usage.prompt, reply.usage.cost_usd) == (10, cost)


async def test_a_loopback_model_costs_nothing_and_is_local(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer() as server:
        model = opened(f"openai/gpt-4o@{server.openai_url}")
        assert (await model.ask(hello)).usage.cost_usd == 0.0
    assert model.capabilities.local
    assert model.capabilities.structured


async def test_a_hosted_model_is_not_local() -> None:
    model = open_model(ModelSettings("openai/gpt-4o"))
    assert not model.capabilities.local
    await model.close()
