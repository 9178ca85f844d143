"""Models behind LiteLLM, which talks to a server on loopback."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import ModelName, ModelRequest, ModelSettings, Tool
from mesocosm.core.ports import Model
from mesocosm.models.catalogue import open_model
from mesocosm.models.litellm import gemini_key, installed, knows, route
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import CLOSE, HANG, Fault
from mesocosm.testing.model_server import ModelServer

# Not importorskip: our own import keeps LiteLLM from fetching its price list from the network.
pytestmark = pytest.mark.skipif(not installed(), reason="the extra `litellm` is not installed")

Opened = Callable[..., Model]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer("hi") as server:
        yield server


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("litellm/openai/m@{0}/v1", "/v1/chat/completions"),
        ("litellm/anthropic/claude-sonnet-4-5@{0}", "/v1/messages"),
        ("litellm/gemini/gemini-2.5-flash@{0}", "/models/gemini-2.5-flash:generateContent"),
        ("litellm/google/gemini-2.5-flash@{0}", "/models/gemini-2.5-flash:generateContent"),
    ],
)
async def test_each_protocol_reaches_its_server(
    opened: Opened, hello: ModelRequest, server: ModelServer, name: str, path: str
) -> None:
    model = opened(name.format(server.url))
    await model.check()
    reply = await model.ask(hello)
    assert server.calls[0].path == path
    assert (reply.text, reply.finish_reason, reply.usage.calls) == ("hi", "stop", 1)
    assert reply.usage.prompt > 0
    assert reply.usage.cost_usd == 0.0
    assert model.capabilities.local


async def test_a_whole_request_is_translated(
    opened: Opened, server: ModelServer, tool: Tool, left_or_right: dict[str, object]
) -> None:
    messages = [
        Message("system", "rules"),
        Message("user", (Text("see"), Image(data="aGk="))),
        Message("assistant", tool_calls=(ToolCall("c1", "look", {"far": True}),)),
        Message("tool", "a wall", tool_call_id="c1"),
    ]
    request = ModelRequest(messages, 0.5, 77, 0.9, left_or_right, tools=[tool])
    await opened(f"litellm/openai/m@{server.openai_url}", extra={"seed": 3}).ask(request)
    body = server.calls[0].body
    assert (body["temperature"], body["max_tokens"], body["top_p"], body["seed"]) == (0.5, 77, 0.9, 3)
    assert body["messages"][1]["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="
    assert body["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"far":true}'
    assert body["response_format"]["json_schema"]["schema"] == left_or_right
    assert body["tools"][0]["function"]["name"] == "look"
    assert not any(key.startswith("_") for key in body)


async def test_anthropic_gets_the_same_from_us_as_from_litellm(opened: Opened, server: ModelServer, tool: Tool) -> None:
    calls = (ToolCall("c1", "look", {"far": True}), ToolCall("c2", "look", {}))
    messages = [
        Message("system", "rules"),
        Message("user", "go"),
        Message("user", (Text("see"), Image(data="aGk="))),
        Message("assistant", "I look.", tool_calls=calls),
        Message("tool", "a wall", tool_call_id="c1"),
        Message("tool", "a door", tool_call_id="c2"),
        Message("user", "well?"),
    ]
    extra = {"stop": "X", "tool_choice": "auto", "parallel_tool_calls": False, "reasoning_effort": "high"}
    request = ModelRequest(messages, 1.0, 4096, tools=[tool], extra=extra)
    for provider in ("anthropic", "litellm/anthropic"):
        await opened(f"{provider}/claude-sonnet-4-6@{server.url}").ask(request)
    ours, theirs = [call.body for call in server.calls]
    theirs["system"] = theirs["system"][0]["text"]
    for definition in theirs["tools"]:
        assert definition.pop("type") == "custom"
    for block in theirs["messages"][2]["content"][:2]:
        block["content"] = [{"type": "text", "text": block["content"]}]
    assert ours == theirs


async def test_a_whole_answer_is_read(opened: Opened, hello: ModelRequest) -> None:
    answer = ScriptedAnswer("hi", "hm", (("look", {"far": True}),), "tool_calls", 100, 20, cached_tokens=60)
    async with ModelServer(answer) as server:
        reply = await opened(f"litellm/openai/m@{server.openai_url}").ask(hello)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("hi", "hm", "tool_calls")
    assert (reply.tool_calls[0].name, reply.tool_calls[0].arguments) == ("look", {"far": True})
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.cached) == (100, 20, 60)
    assert reply.model == "litellm/openai/m"


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault(status=429, retry_after="7"), Cause.RATE_LIMITED),
        (Fault(status=429, text="You exceeded your quota", code="insufficient_quota"), Cause.MODEL_FORBIDDEN),
        (Fault(status=401), Cause.MODEL_FORBIDDEN),
        (Fault(status=404), Cause.MODEL_MISSING),
        (Fault(status=500), Cause.MODEL_UNAVAILABLE),
        (Fault(status=503), Cause.MODEL_UNAVAILABLE),
        (Fault(status=400, text="This model's maximum context length is 4096 tokens"), Cause.CONTEXT_OVERFLOW),
        (Fault(status=400), Cause.MODEL_REJECTED),
        (CLOSE, Cause.MODEL_UNAVAILABLE),
        (HANG, Cause.MODEL_TIMEOUT),
    ],
    ids=str,
)
async def test_each_fault_has_its_cause_after_one_try(
    opened: Opened, hello: ModelRequest, fault: Fault, cause: Cause
) -> None:
    async with ModelServer(faults=[fault]) as server:
        model = opened(f"litellm/openai/m@{server.openai_url}")
        with pytest.raises(EpisodeError) as raised:
            await model.ask(replace(hello, timeout_s=0.2 if fault is HANG else 120.0))
        assert server.served == 1
    assert raised.value.cause is cause
    assert raised.value.retry_after == (7.0 if fault.retry_after else None)


async def test_nothing_at_the_address_is_unavailable(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer() as gone:
        url = gone.openai_url
    with pytest.raises(EpisodeError) as raised:
        await opened(f"litellm/openai/m@{url}").ask(hello)
    assert raised.value.cause is Cause.MODEL_UNAVAILABLE


async def test_what_a_model_does_not_take_is_left_out(opened: Opened, hello: ModelRequest) -> None:
    fault = Fault(status=400, text="Unsupported value: 'temperature' is not supported", param="temperature")
    async with ModelServer(faults=[fault]) as server:
        model = opened(f"litellm/openai/m@{server.openai_url}")
        assert (await model.ask(hello)).text == "ok"
        await model.ask(hello)
    assert ["temperature" in call.body for call in server.calls] == [True, False, False]


async def test_the_key_is_sent_and_never_shown(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESOCOSM_API_KEY", "planted-secret")
    async with ModelServer(faults=[Fault(status=401, text="bad key planted-secret")]) as server:
        with pytest.raises(EpisodeError) as raised:
            await opened(f"litellm/openai/m@{server.openai_url}").ask(hello)
    assert server.calls[0].header("authorization") == "Bearer planted-secret"
    assert "planted-secret" not in str(raised.value) + raised.value.detail


async def test_the_key_of_the_provider_is_sent_to_a_chosen_address(
    opened: Opened, hello: ModelRequest, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "own")
    await opened(f"litellm/anthropic/claude-sonnet-4-5@{server.url}").ask(hello)
    assert server.calls[0].header("x-api-key") == "own"


@pytest.mark.parametrize(
    ("google", "gemini", "key"),
    [
        ("g1", "g2", "g1"),
        ("", "g2", "g2"),
        ("your-api-key", "g2", "g2"),
        ("YOUR_API_KEY_HERE", "g2", "g2"),
        ("<key>", "changeme", ""),
        ("xxxx", " ", ""),
    ],
)
def test_the_key_of_gemini_skips_placeholders(
    monkeypatch: pytest.MonkeyPatch, google: str, gemini: str, key: str
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", google)
    monkeypatch.setenv("GEMINI_API_KEY", gemini)
    assert gemini_key() == key


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("google/gemini-2.5-flash", "gemini/gemini-2.5-flash"),
        ("gemini/gemini-2.5-flash", "gemini/gemini-2.5-flash"),
        ("litellm/google/gemini-2.5-flash", "gemini/gemini-2.5-flash"),
        ("litellm/anthropic/claude-sonnet-4-6", "anthropic/claude-sonnet-4-6"),
        ("litellm/bedrock/x", "bedrock/x"),
    ],
)
def test_names_are_translated(name: str, path: str) -> None:
    assert route(ModelName.parse(name)) == path


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("litellm/gemini/gemini-2.5-flash", "GOOGLE_API_KEY"),
        ("litellm/anthropic/claude-sonnet-4-6", "ANTHROPIC_API_KEY"),
    ],
)
async def test_a_missing_key_is_named_before_anything_runs(opened: Opened, name: str, variable: str) -> None:
    with pytest.raises(UsageError, match=f"export {variable}="):
        await opened(name).check()


async def test_a_key_in_the_environment_passes_the_check(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    await opened("litellm/anthropic/claude-sonnet-4-6").check()


async def test_a_provider_that_litellm_does_not_know_is_a_usage_error(opened: Opened) -> None:
    with pytest.raises(UsageError, match="knows no provider"):
        await opened("litellm/unheard/of").check()


def test_its_providers_are_found_without_registration(opened: Opened) -> None:
    assert knows("mistral")
    assert not knows("unheard")
    assert not opened("mistral/mistral-large-latest").capabilities.local


def test_streaming_is_refused_at_the_door() -> None:
    with pytest.raises(UsageError, match="stream"):
        open_model(ModelSettings("litellm/gemini/m", extra={"stream": True}))
