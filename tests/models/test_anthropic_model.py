"""Models of Anthropic's Messages API: what is sent, how answers are read, and how failures are told."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, Tool
from mesocosm.core.ports import Model
from mesocosm.core.proxy import Reachable
from mesocosm.models import anthropic_messages as wire
from mesocosm.testing.dialect import ScriptedAnswer, anthropic_answer
from mesocosm.testing.fault import CLOSE, CUT, GARBAGE, HANG, Fault, FaultKind
from mesocosm.testing.model_server import ModelServer

Opened = Callable[..., Model]
NAME = "anthropic/claude-sonnet-4-6"
LOOK, LEAP = ToolCall("toolu_0", "look", {"far": True}), ToolCall("toolu_1", "leap", {})


async def sent(opened: Opened, request: ModelRequest, **settings: object) -> Any:
    """Return the body that a request becomes, which the server and the official client's types accept."""
    async with ModelServer() as server:
        await opened(f"{NAME}@{server.url}", **settings).ask(request)
    (call,) = server.calls
    assert_official(call.body)
    return call.body


def assert_official(body: dict[str, Any]) -> None:
    """Check a request against the types of the official client."""
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
    from pydantic import ConfigDict, TypeAdapter

    # The client has dropped sampling parameters, which older models still take.
    known = {name: value for name, value in body.items() if name not in {"temperature", "top_p", "top_k"}}
    MessageCreateParamsNonStreaming.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    TypeAdapter(MessageCreateParamsNonStreaming).validate_python(known)


def said(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


async def test_a_plain_call_holds_what_the_api_requires(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")
    async with ModelServer("hi") as server:
        reply = await opened(f"{NAME}@{server.url}").ask(hello)
    (call,) = server.calls
    assert call.path == "/v1/messages"
    assert (call.header("x-api-key"), call.header("authorization")) == ("the-key", None)
    assert call.header("anthropic-version") == "2023-06-01"
    assert call.body == {
        "model": "claude-sonnet-4-6",
        "messages": [{"role": "user", "content": [said("hello")]}],
        "max_tokens": 512,
        "temperature": 0.0,
    }
    assert (reply.text, reply.finish_reason, reply.model, reply.served) == ("hi", "stop", NAME, "fake")


async def test_system_messages_leave_the_conversation_and_equal_roles_are_joined(opened: Opened) -> None:
    messages = [
        Message("system", "rules"),
        Message("user", "one"),
        Message("user", (Text("two"), Text(" "))),
        Message("system", "more rules"),
        Message("assistant", "left"),
        Message("user", ""),
        Message("assistant", "half "),
    ]
    body = await sent(opened, ModelRequest(messages))
    assert body["system"] == [said("rules"), said("more rules")]
    assert body["messages"] == [
        {"role": "user", "content": [said("one"), said("two")]},
        {"role": "assistant", "content": [said("left")]},
        {"role": "user", "content": [said("(empty)")]},
        {"role": "assistant", "content": [said("half")]},
    ]


@pytest.mark.parametrize("messages", [[], [Message("system", "rules")], [Message("assistant", "I begin")]])
async def test_a_conversation_that_no_user_opens_gets_an_opening(opened: Opened, messages: Sequence[Message]) -> None:
    body = await sent(opened, ModelRequest(messages))
    assert body["messages"][0] == {"role": "user", "content": [said(".")]}


async def test_images_are_sent_by_content_or_address(opened: Opened) -> None:
    images = (
        Image("image/png", "aGk="),
        Image(url="https://example.org/a.png"),
        Image(url="data:image/gif;base64,AA=="),
    )
    body = await sent(opened, ModelRequest([Message("user", (Text("see"), *images))]))
    assert [part["source"] for part in body["messages"][0]["content"][1:]] == [
        {"type": "base64", "media_type": "image/png", "data": "aGk="},
        {"type": "url", "url": "https://example.org/a.png"},
        {"type": "base64", "media_type": "image/gif", "data": "AA=="},
    ]


async def test_parallel_calls_and_their_results_keep_their_ids(opened: Opened, tool: Tool) -> None:
    messages = [
        Message("user", "go"),
        Message("assistant", "I look.", tool_calls=(LOOK, replace_arguments(LEAP, "not json"))),
        Message("tool", "a wall", tool_call_id=LOOK.id),
        Message("user", "be quick"),
        Message("tool", "", tool_call_id=LEAP.id, failed=True),
    ]
    body = await sent(opened, ModelRequest(messages, tools=[tool, Tool("leap")]))
    assert body["messages"][1]["content"] == [
        said("I look."),
        {"type": "tool_use", "id": "toolu_0", "name": "look", "input": {"far": True}},
        {"type": "tool_use", "id": "toolu_1", "name": "leap", "input": {"input": "not json"}},
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_0", "content": [said("a wall")]},
        {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True},
        said("be quick"),
    ]
    assert body["tools"] == [
        {"name": "look", "description": "look around", "input_schema": tool.parameters},
        {"name": "leap", "input_schema": {"type": "object", "properties": {}}},
    ]


def replace_arguments(call: ToolCall, arguments: object) -> ToolCall:
    return ToolCall(call.id, call.name, arguments)


@pytest.mark.parametrize(
    ("extra", "field", "value"),
    [
        ({"stop": "END"}, "stop_sequences", ["END"]),
        ({"stop": ["A", "B"]}, "stop_sequences", ["A", "B"]),
        ({"user": "u1"}, "metadata", {"user_id": "u1"}),
        ({"max_completion_tokens": 9}, "max_tokens", 9),
        ({"top_k": 5}, "top_k", 5),
        ({"tool_choice": "required"}, "tool_choice", {"type": "any"}),
        ({"tool_choice": "auto"}, "tool_choice", {"type": "auto"}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "look"}}},
            "tool_choice",
            {"type": "tool", "name": "look"},
        ),
        ({"tool_choice": {"type": "tool", "name": "look"}}, "tool_choice", {"type": "tool", "name": "look"}),
        ({"parallel_tool_calls": False}, "tool_choice", {"type": "auto", "disable_parallel_tool_use": True}),
        ({"cache_control": {"type": "ephemeral"}}, "cache_control", {"type": "ephemeral"}),
    ],
)
async def test_settings_of_chat_completions_get_the_names_of_the_api(
    opened: Opened, hello: ModelRequest, tool: Tool, extra: dict[str, Any], field: str, value: object
) -> None:
    body = await sent(opened, replace(hello, tools=[tool]), extra=extra)
    assert body[field] == value
    assert not extra.keys() & body.keys() - {field}


async def test_a_setting_that_the_api_does_not_have_is_refused_by_name(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer() as server:
        with pytest.raises(EpisodeError, match="seed") as raised:
            await opened(f"{NAME}@{server.url}", extra={"seed": 1}).ask(hello)
    assert raised.value.cause is Cause.MODEL_REJECTED


async def test_a_schema_becomes_the_output_format(
    opened: Opened, hello: ModelRequest, left_or_right: dict[str, Any]
) -> None:
    body = await sent(opened, replace(hello, schema=left_or_right))
    properties = {"action": {"enum": ["left", "right"]}}
    schema = {"type": "object", "properties": properties, "required": ["action"], "additionalProperties": False}
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": schema}}


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["n"]},
    {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "number"}, "minItems": 2}}},
    {"type": "object", "properties": {"s": {"type": "string", "format": "date", "description": "when"}}},
    {"type": "object", "properties": {"s": {"type": "string", "pattern": "^a", "description": "what"}}},
    {"type": "object", "properties": {"x": {"oneOf": [{"const": 1}, {"type": "null"}]}}, "title": "Pick"},
    {"$defs": {"p": {"type": "object", "properties": {"x": {"type": "number"}}}}, "$ref": "#/$defs/p"},
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schemas_are_narrowed_as_the_official_client_does(schema: dict[str, Any]) -> None:
    from anthropic import transform_schema

    assert wire.strict(schema) == transform_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "number"}},
    ],
)
async def test_a_schema_that_allows_any_property_is_asked_in_words_only(
    opened: Opened, hello: ModelRequest, schema: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    async with ModelServer() as server:
        model = opened(f"{NAME}@{server.url}")
        await model.ask(replace(hello, schema=schema))
        assert not model.capabilities.structured
    assert "output_config" not in server.calls[0].body
    assert "cannot express" in caplog.text


async def test_a_whole_answer_is_read(opened: Opened, hello: ModelRequest) -> None:
    answer = ScriptedAnswer(
        "hi", "hm", (("look", {"far": True}), ("leap", {})), "tool_calls", 100, 20, 60, 5, written_tokens=30
    )
    async with ModelServer(answer) as server:
        reply = await opened(f"{NAME}@{server.url}").ask(hello)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("hi", "hm", "tool_calls")
    assert reply.tool_calls == (LOOK, LEAP)
    usage = reply.usage
    assert (usage.prompt, usage.completion, usage.cached, usage.reasoning, usage.calls) == (100, 20, 60, 5, 1)


def test_the_official_client_reads_what_the_fake_server_answers() -> None:
    from anthropic.types import Message as Official

    answer = ScriptedAnswer("hi", "hm", (("look", {"far": True}),), "tool_calls", 100, 20, 60, 5, written_tokens=30)
    official = Official.model_validate_json(anthropic_answer(answer, "m", 10), strict=True)
    assert [block.type for block in official.content] == ["thinking", "text", "tool_use"]
    assert (official.usage.input_tokens, official.usage.cache_creation_input_tokens) == (10, 30)


async def test_thoughts_go_back_unchanged_with_their_signature(opened: Opened, tool: Tool) -> None:
    answers = iter([ScriptedAnswer("", "hm", (("look", {"far": True}),), "tool_calls"), ScriptedAnswer("done")])
    go = Message("user", "go")
    async with ModelServer(lambda _: next(answers)) as server:
        model = opened(f"{NAME}@{server.url}")
        reply = await model.ask(ModelRequest([go], tools=[tool]))
        spoken = Message("assistant", reply.text, tool_calls=reply.tool_calls, blocks=reply.blocks)
        result = Message("tool", "a wall", tool_call_id=reply.tool_calls[0].id)
        assert (await model.ask(ModelRequest([go, spoken, result], tools=[tool]))).text == "done"
    thought, use = server.calls[1].body["messages"][1]["content"]
    assert (thought["type"], thought["thinking"], use["type"]) == ("thinking", "hm", "tool_use")
    assert thought["signature"]


async def test_a_thought_that_was_changed_is_refused(opened: Opened) -> None:
    blocks = ({"type": "thinking", "thinking": "other", "signature": "of another"}, said("a"))
    request = ModelRequest([Message("user", "go"), Message("assistant", "a", blocks=blocks)])
    async with ModelServer() as server:
        with pytest.raises(EpisodeError, match="signature"):
            await opened(f"{NAME}@{server.url}").ask(request)


async def test_thoughts_stay_where_they_stood_unless_the_text_was_changed(opened: Opened) -> None:
    def thought(text: str) -> dict[str, str]:
        return json.loads(anthropic_answer(ScriptedAnswer("", text), "m", 1))["content"][0]  # type: ignore[no-any-return]

    redacted = {"type": "redacted_thinking", "data": "opaque"}
    blocks = (thought("a"), said("one"), redacted, said("two"), said(""))
    for text, order in (
        ("onetwo", ["thinking", "text", "redacted_thinking", "text"]),
        ("1", [*blocks[::2][:2], said("1")]),
    ):
        body = await sent(opened, ModelRequest([Message("user", "go"), Message("assistant", text, blocks=blocks)]))
        content = body["messages"][1]["content"]
        assert [block["type"] for block in content] == [one if isinstance(one, str) else one["type"] for one in order]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause_turn"),
        (None, "stop"),
    ],
)
async def test_the_reason_of_the_end_is_told_in_our_words(
    opened: Opened, hello: ModelRequest, reason: str | None, finish: str
) -> None:
    reply = await reply_to(opened, hello, {"content": [], "stop_reason": reason})
    assert (reply.text, reply.finish_reason) == ("", finish)


async def reply_to(opened: Opened, request: ModelRequest, raw: dict[str, Any], name: str = NAME) -> ModelReply:
    """Return how a body of status 200 is read."""
    fault = Fault(FaultKind.STATUS, status=200, raw=json.dumps(raw).encode())
    async with ModelServer(faults=[fault]) as server:
        return await opened(f"{name}@{server.url}").ask(request)


async def test_the_explanation_of_a_refusal_is_its_text(opened: Opened, hello: ModelRequest) -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "could do harm"}
    reply = await reply_to(opened, hello, {"content": [], "stop_reason": "refusal", "stop_details": details})
    assert (reply.text, reply.finish_reason) == ("could do harm", "content_filter")


USAGE = {
    "input_tokens": 1_000_000,
    "cache_read_input_tokens": 2_000_000,
    "cache_creation_input_tokens": 3_000_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 1_000_000, "ephemeral_1h_input_tokens": 2_000_000},
    "output_tokens": 1_000_000,
}


async def test_what_the_cache_reads_and_writes_has_its_own_price(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    price = {"input": 3, "output": 15, "cached": 0.3, "written": 3.75, "written_hour": 6, "as_of": "2026-11-28"}
    (tmp_path / "prices.json").write_text(json.dumps({NAME: price}))
    monkeypatch.setenv("MESOCOSM_PRICES", str(tmp_path / "prices.json"))
    reply = await reply_to(opened, hello, {"content": [said("a")], "usage": USAGE})
    assert (reply.usage.prompt, reply.usage.cached) == (6_000_000, 2_000_000)
    assert reply.usage.cost_usd == pytest.approx(3 + 2 * 0.3 + 3.75 + 2 * 6 + 15)


async def test_usage_may_be_missing(opened: Opened, hello: ModelRequest) -> None:
    reply = await reply_to(opened, hello, {"content": [said("a")], "usage": {"input_tokens": None}})
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.calls) == (0, 0, 1)


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault(status=429, code="rate_limit_error", retry_after="7"), Cause.RATE_LIMITED),
        (Fault(status=529, code="overloaded_error", text="Overloaded"), Cause.MODEL_UNAVAILABLE),
        (Fault(status=500, code="api_error"), Cause.MODEL_UNAVAILABLE),
        (Fault(status=504, code="timeout_error"), Cause.MODEL_UNAVAILABLE),
        (Fault(status=401, code="authentication_error", text="invalid x-api-key"), Cause.MODEL_FORBIDDEN),
        (Fault(status=403, code="permission_error"), Cause.MODEL_FORBIDDEN),
        (Fault(status=402, code="billing_error"), Cause.MODEL_FORBIDDEN),
        (
            Fault(
                status=400,
                code="invalid_request_error",
                text="Your credit balance is too low to access the Anthropic API.",
            ),
            Cause.MODEL_FORBIDDEN,
        ),
        (Fault(status=404, code="not_found_error", text="model: claude-x"), Cause.MODEL_MISSING),
        (Fault(status=413, code="request_too_large", text="Request exceeds the maximum size"), Cause.MODEL_REJECTED),
        (Fault(status=400, text="prompt is too long: 208310 tokens > 200000 maximum"), Cause.CONTEXT_OVERFLOW),
        (
            Fault(status=400, text="input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"),
            Cause.CONTEXT_OVERFLOW,
        ),
        (
            Fault(status=400, text="max_tokens: 300000 > 64000, which is the maximum allowed number of output tokens"),
            Cause.MODEL_REJECTED,
        ),
        (Fault(status=400, text="Output blocked by content filtering policy"), Cause.REFUSED),
        (Fault(status=400, text="messages: at least one message is required"), Cause.MODEL_REJECTED),
        (Fault(status=200, raw=b'{"type": "error", "error": {"type": "overloaded_error"}}'), Cause.MODEL_UNAVAILABLE),
        (Fault(status=200, raw=b'{"type": "error", "error": {"type": "rate_limit_error"}}'), Cause.RATE_LIMITED),
        (Fault(status=200, raw=b'{"choices": []}'), Cause.MODEL_INVALID),
        (Fault(status=200, raw=b'{"content": "text"}'), Cause.MODEL_INVALID),
        (GARBAGE, Cause.MODEL_INVALID),
        (CLOSE, Cause.MODEL_UNAVAILABLE),
        (CUT, Cause.MODEL_UNAVAILABLE),
        (HANG, Cause.MODEL_TIMEOUT),
    ],
    ids=str,
)
async def test_each_fault_has_its_cause_after_one_try(
    opened: Opened, hello: ModelRequest, fault: Fault, cause: Cause
) -> None:
    async with ModelServer(faults=[fault]) as server:
        with pytest.raises(EpisodeError) as raised:
            await opened(f"{NAME}@{server.url}").ask(replace(hello, timeout_s=0.2 if fault is HANG else 120.0))
        assert server.served == 1
    error = raised.value
    assert (error.cause, error.retry_after) == (cause, 7.0 if fault.retry_after else None)
    assert error.overload is (
        fault.status in {429, 529} or b"overloaded" in (fault.raw or b"") or cause is Cause.RATE_LIMITED
    )


async def test_a_key_in_an_error_of_the_server_is_not_repeated(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted-secret")
    fault = Fault(status=401, code="authentication_error", text="bad key planted-secret")
    async with ModelServer(faults=[fault]) as server:
        model = opened(f"{NAME}@{server.url}")
        with pytest.raises(EpisodeError, match="ANTHROPIC_API_KEY") as raised:
            await model.ask(hello)
    assert "planted-secret" not in str(raised.value) + raised.value.detail + repr(getattr(model, "upstream", ""))


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("`temperature` is deprecated for this model.", "temperature"),
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "top_p"),
        ("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.", "top_p"),
        ("output_config.format: Extra inputs are not permitted", "output_config"),
        ("This model does not support structured outputs", "output_config"),
    ],
)
async def test_what_a_model_does_not_take_is_left_out_with_a_warning(
    opened: Opened,
    hello: ModelRequest,
    left_or_right: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    text: str,
    left_out: str,
) -> None:
    request = replace(hello, schema=left_or_right, top_p=0.9)
    async with ModelServer(faults=[Fault(status=400, text=text, code="invalid_request_error")]) as server:
        model = opened(f"{NAME}@{server.url}")
        for _ in range(2):
            assert (await model.ask(request)).text == "ok"
    fields = {"temperature", "top_p", "output_config"}
    assert [fields - call.body.keys() for call in server.calls] == [set(), {left_out}, {left_out}]
    assert caplog.text.count("does not take") == 1


async def test_an_effort_is_sent_as_one_and_as_a_budget_to_older_models(opened: Opened, hello: ModelRequest) -> None:
    refusal = Fault(status=400, text="adaptive thinking is not supported on this model", code="invalid_request_error")
    request = replace(hello, temperature=1.0, max_tokens=4096)
    async with ModelServer(faults=[None, refusal]) as server:
        model = opened(f"{NAME}@{server.url}", extra={"reasoning_effort": "high"})
        for _ in range(3):
            await model.ask(request)
    asked = [(call.body["thinking"], call.body.get("output_config")) for call in server.calls]
    adaptive = ({"type": "adaptive", "display": "summarized"}, {"effort": "high"})
    budget = ({"type": "enabled", "budget_tokens": 3072}, None)
    assert asked == [adaptive, adaptive, budget, budget]
    assert_official(server.calls[0].body)
    assert_official(server.calls[2].body)


async def test_a_temperature_that_thinking_excludes_is_left_out(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer() as server:
        await opened(f"{NAME}@{server.url}", extra={"reasoning_effort": "low"}).ask(hello)
    assert ["temperature" in call.body for call in server.calls] == [True, False]


async def test_no_effort_turns_thinking_off(opened: Opened, hello: ModelRequest) -> None:
    body = await sent(opened, hello, extra={"reasoning_effort": "none"})
    assert body["thinking"] == {"type": "disabled"}


def test_an_effort_that_does_not_exist_is_named_at_the_door(opened: Opened) -> None:
    with pytest.raises(UsageError, match="it is one of none, minimal, low, medium, high, xhigh, max"):
        opened(NAME, extra={"reasoning_effort": "extreme"})
    with pytest.raises(UsageError, match="stream"):
        opened(NAME, extra={"stream": True})


async def test_the_check_names_the_variable_of_a_missing_key(opened: Opened) -> None:
    with pytest.raises(UsageError, match="export ANTHROPIC_API_KEY="):
        await opened(NAME).check()


async def test_the_check_names_the_variable_that_the_operator_assigned(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesocosm.models.endpoint._assigned", {NAME: "OURS"})
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of somebody else")
    with pytest.raises(UsageError, match="OURS is not set; export OURS="):
        await opened(NAME).check()


async def test_signed_thoughts_survive_the_response_cache(opened: Opened, hello: ModelRequest, tmp_path: Path) -> None:
    async with ModelServer(ScriptedAnswer("hi", "hm")) as server:
        fresh, kept = [
            await opened(f"{NAME}@{server.url}", cache=str(tmp_path / "cache.sqlite")).ask(hello) for _ in range(2)
        ]
        assert server.served == 1
    assert (kept.cached, kept.blocks) == (True, fresh.blocks)
    assert [block["type"] for block in kept.blocks] == ["thinking", "text"]


async def test_the_check_sends_the_key_and_reads_the_models(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "right")
    async with ModelServer(models=["claude-sonnet-4-5"], key="right") as server:
        model = opened(f"{NAME}@{server.url}/v1")
        await model.check()
        with pytest.raises(EpisodeError, match="it has claude-sonnet-4-5") as raised:
            await model.ask(hello)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "wrong")
        with pytest.raises(EpisodeError) as forbidden:
            await opened(f"{NAME}@{server.url}").check()
    assert (raised.value.cause, forbidden.value.cause) == (Cause.MODEL_MISSING, Cause.MODEL_FORBIDDEN)
    assert server.requests[0].path == "/v1/models"


async def test_settings_for_a_program_get_the_names_of_the_api(opened: Opened) -> None:
    model = opened(NAME, extra={"reasoning_effort": "low"})
    assert isinstance(model, Reachable)
    settings: dict[str, Any] = {"temperature": 0.5, "max_tokens": 9, "reasoning_effort": "low", "stop_sequences": ["."]}
    model.adapt(settings)
    assert settings == {
        "temperature": 0.5,
        "max_tokens": 9,
        "stop_sequences": ["."],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "low"},
    }
    assert model.concedes(400, b'{"error": {"message": "`temperature` is deprecated for this model."}}', settings)
    assert model.concedes(400, b'{"error": {"message": "This model does not support the effort parameter."}}', settings)
    assert not model.concedes(400, b'{"error": {"message": "the effort parameter"}}', settings)
    settings = {"temperature": 0.5, "max_tokens": 9_000, "reasoning_effort": "low"}
    model.adapt(settings)
    assert settings == {"max_tokens": 9_000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
