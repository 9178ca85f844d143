"""Anthropic's protocol as LiteLLM's proxy and llama.cpp's server speak it, asked by our model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from tests.foreign.real_servers import KEY, RealServer

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import ModelRequest, ModelSettings, Tool
from mesocosm.core.ports import Model
from mesocosm.models.anthropic import open_model

HELLO = ModelRequest([Message("system", "be brief"), Message("user", "How many? [[say 4]]")], max_tokens=8)


@asynccontextmanager
async def asked(
    server: RealServer, model: str, monkeypatch: pytest.MonkeyPatch, key: str = KEY
) -> AsyncIterator[Model]:
    """Open a model at a server, with a key."""
    monkeypatch.setenv("MESOCOSM_API_KEY", key)
    opened = open_model(ModelSettings(f"anthropic/{model}@{server.url}"))
    try:
        yield opened
    finally:
        await opened.close()


async def test_each_server_answers_and_counts(real_server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "puppet" if "puppet" in real_server.models else real_server.model
    async with asked(real_server, name, monkeypatch) as model:
        await model.check()
        reply = await model.ask(HELLO)
    assert reply.finish_reason in {"stop", "length"}
    assert reply.usage.prompt > 0
    assert reply.usage.completion > 0
    if name == "puppet":
        assert reply.text == "4"


async def test_calls_of_tools_and_their_results_are_taken(
    real_server: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ToolCall("toolu_1", "look", {"far": True})
    messages = [
        *HELLO.messages,
        Message("assistant", "I look.", tool_calls=(call,)),
        Message("tool", "[[say 5]]", tool_call_id=call.id),
    ]
    tool = Tool("look", "look around", {"type": "object", "properties": {"far": {"type": "boolean"}}})
    async with asked(real_server, real_server.model, monkeypatch) as model:
        reply = await model.ask(replace(HELLO, messages=messages, tools=[tool]))
    assert reply.usage.prompt > 0


async def test_a_wrong_key_is_forbidden(llama_server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # LiteLLM's proxy without a database answers 400, which says nothing about keys.
    async with asked(llama_server, llama_server.model, monkeypatch, "sk-of-somebody-else") as model:
        with pytest.raises(EpisodeError) as raised:
            await model.ask(HELLO)
    assert raised.value.cause is Cause.MODEL_FORBIDDEN
    assert "sk-of-somebody-else" not in str(raised.value) + raised.value.detail


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("limited", Cause.RATE_LIMITED),
        ("broken", Cause.MODEL_UNAVAILABLE),
        ("overflowing", Cause.CONTEXT_OVERFLOW),
        ("absent", Cause.MODEL_MISSING),
    ],
)
async def test_failures_of_litellm_keep_their_cause(
    litellm_server: RealServer, monkeypatch: pytest.MonkeyPatch, name: str, cause: Cause
) -> None:
    async with asked(litellm_server, name, monkeypatch) as model:
        with pytest.raises(EpisodeError) as raised:
            await model.ask(HELLO)
    assert raised.value.cause is cause


async def test_a_prompt_that_is_too_long_for_llama_is_an_overflow(
    llama_server: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked(llama_server, llama_server.model, monkeypatch) as model:
        with pytest.raises(EpisodeError) as raised:
            await model.ask(replace(HELLO, messages=[Message("user", "word " * 4000)]))
    assert raised.value.cause is Cause.CONTEXT_OVERFLOW
