"""Models of Google's Gemini API: what is sent, how answers are read, and how failures are told."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, Tool
from mesocosm.core.ports import Model
from mesocosm.core.proxy import Reachable
from mesocosm.http.response import Response
from mesocosm.testing.dialect import ScriptedAnswer
from mesocosm.testing.fault import CLOSE, GARBAGE, HANG, Fault
from mesocosm.testing.model_server import ModelServer

Opened = Callable[..., Model]
NAME = "gemini/gemini-2.5-flash"


async def sent(opened: Opened, request: ModelRequest, **settings: object) -> Any:
    """Return the body that a request becomes."""
    async with ModelServer() as server:
        await opened(f"{NAME}@{server.url}", **settings).ask(request)
    return server.calls[0].body


@pytest.mark.parametrize("provider", ["gemini", "google"])
async def test_a_plain_call_reaches_the_model(
    opened: Opened, hello: ModelRequest, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "YOUR_API_KEY_HERE")
    monkeypatch.setenv("GEMINI_API_KEY", "the-key")
    async with ModelServer("hi") as server:
        reply = await opened(f"{provider}/gemini-2.5-flash@{server.url}/v1beta").ask(hello)
    (call,) = server.calls
    assert call.path == "/v1beta/models/gemini-2.5-flash:generateContent"
    assert (call.header("x-goog-api-key"), call.header("authorization")) == ("the-key", None)
    assert call.body == {
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "generationConfig": {"temperature": 0.0, "maxOutputTokens": 512},
    }
    assert (reply.text, reply.finish_reason, reply.served) == ("hi", "stop", "gemini-2.5-flash")


async def test_a_conversation_with_images_calls_and_results_is_sent(opened: Opened, tool: Tool) -> None:
    calls = (ToolCall("c1", "look", {"far": True}), ToolCall("c2", "leap", "not json"))
    messages = [
        Message("system", "rules"),
        Message("user", "a"),
        Message("user", (Text("b"), Image("image/png", "aGk="), Image(url="https://example.org/a.png"))),
        Message("assistant", "I look.", tool_calls=calls),
        Message("tool", "a wall", tool_call_id="c1"),
        Message("tool", "no", tool_call_id="c2", failed=True),
        Message("assistant", ""),
    ]
    body = await sent(opened, ModelRequest(messages, tools=[tool, Tool("leap")]))
    assert body["systemInstruction"] == {"parts": [{"text": "rules"}]}
    first, called, results, empty = body["contents"]
    assert first["parts"] == [
        {"text": "a"},
        {"text": "b"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"fileUri": "https://example.org/a.png"}},
    ]
    assert called["parts"] == [
        {"text": "I look."},
        {"functionCall": {"name": "look", "args": {"far": True}}},
        {"functionCall": {"name": "leap", "args": {"input": "not json"}}},
    ]
    assert results["parts"] == [
        {"functionResponse": {"name": "look", "response": {"result": "a wall"}}},
        {"functionResponse": {"name": "leap", "response": {"error": "no"}}},
    ]
    assert empty == {"role": "model", "parts": [{"text": "(empty)"}]}
    assert body["tools"][0]["functionDeclarations"] == [
        {"name": "look", "description": "look around", "parametersJsonSchema": tool.parameters},
        {"name": "leap", "description": ""},
    ]


async def test_settings_get_the_names_of_the_api(
    opened: Opened, hello: ModelRequest, tool: Tool, left_or_right: dict[str, Any]
) -> None:
    extra = {"stop": "X", "seed": 3, "top_k": 5, "tool_choice": "required", "generationConfig": {"candidateCount": 1}}
    body = await sent(opened, replace(hello, top_p=0.9, tools=[tool], schema=left_or_right), extra=extra)
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "ANY"}}
    assert body["generationConfig"] == {
        "temperature": 0.0,
        "maxOutputTokens": 512,
        "topP": 0.9,
        "topK": 5,
        "seed": 3,
        "stopSequences": ["X"],
        "responseMimeType": "application/json",
        "responseJsonSchema": left_or_right,
        "candidateCount": 1,
    }


async def test_a_setting_that_the_api_does_not_have_is_refused_by_name(opened: Opened, hello: ModelRequest) -> None:
    async with ModelServer() as server:
        with pytest.raises(EpisodeError, match="logit_bias") as raised:
            await opened(f"{NAME}@{server.url}", extra={"logit_bias": {}}).ask(hello)
    assert raised.value.cause is Cause.MODEL_REJECTED


async def test_a_whole_answer_is_read(opened: Opened, hello: ModelRequest) -> None:
    answer = ScriptedAnswer("hi", "hm", (("look", {"far": True}), ("leap", {})), "tool_calls", 100, 20, 60, 5)
    async with ModelServer(answer) as server:
        reply = await opened(f"{NAME}@{server.url}").ask(hello)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("hi", "hm", "tool_calls")
    assert reply.tool_calls == (ToolCall("call_0", "look", {"far": True}), ToolCall("call_1", "leap", {}))
    usage = reply.usage
    assert (usage.prompt, usage.completion, usage.cached, usage.reasoning) == (100, 20, 60, 5)


@pytest.mark.parametrize("changed", [False, True])
async def test_signatures_go_back_with_the_calls_that_they_belong_to(opened: Opened, tool: Tool, changed: bool) -> None:
    answers = iter([ScriptedAnswer("I look.", "hm", (("look", {"far": True}),), "tool_calls"), ScriptedAnswer("done")])
    go = Message("user", "go")
    async with ModelServer(lambda _: next(answers)) as server:
        model = opened(f"{NAME}@{server.url}")
        reply = await model.ask(ModelRequest([go], tools=[tool]))
        text = "other" if changed else reply.text
        spoken = Message("assistant", text, tool_calls=reply.tool_calls, blocks=reply.blocks)
        result = Message("tool", "a wall", tool_call_id=reply.tool_calls[0].id)
        assert (await model.ask(ModelRequest([go, spoken, result], tools=[tool]))).text == "done"
    parts = server.calls[1].body["contents"][1]["parts"]
    assert parts[-1]["thoughtSignature"] == reply.blocks[-1]["thoughtSignature"]
    assert [part.get("text") for part in parts] == (["other", None] if changed else ["hm", "I look.", None])


@pytest.mark.parametrize(
    ("raw", "finish"),
    [
        ({"candidates": [{"finishReason": "STOP"}]}, "stop"),
        ({"candidates": [{"finishReason": "MAX_TOKENS", "content": {}}]}, "length"),
        ({"candidates": [{"finishReason": "SAFETY"}]}, "content_filter"),
        ({"candidates": [{"finishReason": "PROHIBITED_CONTENT"}]}, "content_filter"),
        ({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}, "malformed_function_call"),
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "content_filter"),
    ],
)
async def test_the_reason_of_the_end_is_told_in_our_words(
    opened: Opened, hello: ModelRequest, raw: dict[str, Any], finish: str
) -> None:
    reply = await reply_to(opened, hello, raw)
    assert (reply.text, reply.finish_reason, reply.usage.calls) == ("", finish, 1)


async def reply_to(opened: Opened, request: ModelRequest, raw: dict[str, Any]) -> ModelReply:
    async with ModelServer(faults=[Fault(status=200, raw=json.dumps(raw).encode())]) as server:
        return await opened(f"{NAME}@{server.url}").ask(request)


QUOTA = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}],
    }
}


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault(status=429, raw=json.dumps(QUOTA).encode()), Cause.RATE_LIMITED),
        (Fault(status=503, code="UNAVAILABLE", text="The model is overloaded."), Cause.MODEL_UNAVAILABLE),
        (Fault(status=500, code="INTERNAL"), Cause.MODEL_UNAVAILABLE),
        (Fault(status=504, code="DEADLINE_EXCEEDED"), Cause.MODEL_UNAVAILABLE),
        (Fault(status=400, text="API key not valid. Please pass a valid API key."), Cause.MODEL_FORBIDDEN),
        (Fault(status=403, code="PERMISSION_DENIED"), Cause.MODEL_FORBIDDEN),
        (Fault(status=404, code="NOT_FOUND", text="models/x is not found for API version v1beta"), Cause.MODEL_MISSING),
        (
            Fault(
                status=400,
                text="The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ),
            Cause.CONTEXT_OVERFLOW,
        ),
        (Fault(status=400, code="INVALID_ARGUMENT"), Cause.MODEL_REJECTED),
        (Fault(status=200, raw=b'{"error": {"code": 503, "message": "busy"}}'), Cause.MODEL_UNAVAILABLE),
        (Fault(status=200, raw=b'{"choices": []}'), Cause.MODEL_INVALID),
        (GARBAGE, Cause.MODEL_INVALID),
        (CLOSE, Cause.MODEL_UNAVAILABLE),
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
    assert raised.value.cause is cause
    assert raised.value.retry_after == (7.0 if cause is Cause.RATE_LIMITED else None)


async def test_an_effort_is_a_level_and_a_budget_for_older_models(opened: Opened, hello: ModelRequest) -> None:
    refusal = Fault(status=400, text="Thinking level is not supported for this model.", code="INVALID_ARGUMENT")
    async with ModelServer(faults=[None, refusal]) as server:
        model = opened(f"{NAME}@{server.url}", extra={"reasoning_effort": "medium"})
        for _ in range(3):
            await model.ask(hello)
    asked = [call.body["generationConfig"]["thinkingConfig"] for call in server.calls]
    level = {"includeThoughts": True, "thinkingLevel": "medium"}
    budget = {"includeThoughts": True, "thinkingBudget": 2048}
    assert asked == [level, level, budget, budget]
    with pytest.raises(UsageError, match="it is one of none"):
        opened(NAME, extra={"reasoning_effort": "extreme"})


async def test_structured_output_that_is_refused_is_left_out(
    opened: Opened, hello: ModelRequest, left_or_right: dict[str, Any]
) -> None:
    text = "Function calling with a response mime type: 'application/json' is unsupported"
    async with ModelServer(faults=[Fault(status=400, text=text)]) as server:
        model = opened(f"{NAME}@{server.url}")
        assert (await model.ask(replace(hello, schema=left_or_right))).text == "ok"
    assert not model.capabilities.structured
    assert ["responseJsonSchema" in call.body["generationConfig"] for call in server.calls] == [True, False]


async def test_the_check_names_the_variables_of_a_missing_key(opened: Opened) -> None:
    with pytest.raises(UsageError, match="neither GOOGLE_API_KEY nor GEMINI_API_KEY nor MESOCOSM_API_KEY is set"):
        await opened(NAME).check()


async def test_a_wrong_key_is_found_by_the_check_and_never_shown(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "planted-secret")
    async with ModelServer(key="right") as server:
        with pytest.raises(EpisodeError) as raised:
            await opened(f"{NAME}@{server.url}").check()
    assert raised.value.cause is Cause.MODEL_FORBIDDEN
    assert "planted-secret" not in str(raised.value) + raised.value.detail


async def test_the_check_understands_a_wrong_key_with_status_400(opened: Opened) -> None:
    refusal = Response(
        400, {}, b'{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}'
    )
    async with ModelServer() as server:
        model = opened(f"{NAME}@{server.url}")

        async def get(*_: object) -> Response:
            return refusal

        model._exchange.get = get  # type: ignore[attr-defined]
        with pytest.raises(EpisodeError, match="check the key"):
            await model.check()


async def test_programs_are_not_forwarded_to_it(opened: Opened) -> None:
    assert not isinstance(opened(NAME), Reachable)
