"""Requests, answers and streams in which one value is of another kind than its API says."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from mesocosm.core.message import ToolCall
from mesocosm.core.model import ModelSettings
from mesocosm.proxy.api import Known, MalformedRequest, read_fields
from mesocosm.proxy.endpoint import APIS

ODD: Any = [None, True, -1, 10**30, 1e300, "", "x", [], {}, [[]], [{}], [None], {"type": "text"}]
IMAGE = "data:image/png;base64,AA"
CALL: Any = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USED: Any = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
TEXT: Any = {"type": "text", "text": "x"}
CALLED: Any = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
SUMMARY: Any = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]}
SAID: Any = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
RESPONSE: Any = {
    "status": "completed",
    "model": "m",
    "output": [SUMMARY, SAID, CALLED],
    "usage": {"input_tokens": 1, "output_tokens_details": {"reasoning_tokens": 1}},
    "incomplete_details": {"reason": "x"},
}

REQUESTS: Any = {
    "/chat/completions": {
        "model": "m",
        "messages": [
            {"role": "user", "content": [TEXT, {"type": "image_url", "image_url": {"url": IMAGE}}]},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "1", "content": "r"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        "max_tokens": 5,
        "top_p": 0.5,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
    },
    "/messages": {
        "model": "m",
        "max_tokens": 5,
        "system": [TEXT],
        "messages": [
            {"role": "user", "content": [TEXT, {"type": "image", "source": {"type": "url", "url": "u"}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, USED]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [TEXT]}]},
        ],
        "tools": [{"name": "f", "input_schema": {}}],
        "tool_choice": {"type": "tool", "name": "f"},
    },
    "/responses": {
        "model": "m",
        "instructions": "i",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_image"}]},
            *(CALLED, SUMMARY, SAID),
            {"type": "function_call_output", "call_id": "1", "output": "r"},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": {}}],
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}},
        "reasoning": {"effort": "low"},
    },
    "/embeddings": {"model": "m", "input": ["a", "b"]},
    "/completions": {"model": "m", "prompt": ["a"], "max_tokens": 5, "top_p": 0.5, "stop": ["x"]},
}
ANSWERS: Any = {
    "/chat/completions": {
        "model": "m",
        "choices": [{"message": {"content": [TEXT], "tool_calls": [CALL]}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 1}, "cost": 0.1},
    },
    "/messages": {"model": "m", "content": [TEXT, USED], "stop_reason": "end_turn", "usage": {"input_tokens": 1}},
    "/responses": RESPONSE,
    "/embeddings": {"data": [{"embedding": [1.0]}], "usage": {"prompt_tokens": 1}},
    "/completions": {
        "model": "m",
        "choices": [{"index": 0, "text": "a", "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1},
    },
}
CHUNK: Any = {"choices": [{"delta": {"content": "a", "tool_calls": [{"index": 0, **CALL}]}, "finish_reason": None}]}
STREAMS: Any = {
    "/chat/completions": [CHUNK, {"choices": [], "usage": {"prompt_tokens": 1}}, {"error": {"message": "x"}}],
    "/messages": [
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": USED},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "message_delta", "delta": {"stop_reason": "x"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ],
    "/responses": [
        {"type": "response.output_text.delta", "delta": "a"},
        {"type": "response.failed", "response": RESPONSE},
        {"type": "error", "message": "x"},
    ],
    "/embeddings": [],
    "/completions": [
        {"choices": [{"index": 0, "text": "a", "finish_reason": None}]},
        {"choices": [], "usage": {"prompt_tokens": 1}},
        {"error": {"message": "x"}},
    ],
}


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inside:
        yield (*place, name)
        yield from places(part, (*place, name))


def altered(value: Any) -> Iterator[Any]:
    """Yield copies of a value with one odd thing in each."""
    for *way, last in places(value):
        for odd in ODD:
            whole = inner = deepcopy(value)
            for name in way:
                inner = inner[name]
            inner[last] = odd
            yield whole


def said(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("path", APIS)
def test_a_request_with_an_odd_value_is_read_or_malformed(path: str) -> None:
    for request in altered(REQUESTS[path]):
        try:
            APIS[path].ask(APIS[path].read(read_fields(said(request)), Known()), ModelSettings("a/b"))
        except MalformedRequest:
            continue


@pytest.mark.parametrize("path", APIS)
def test_what_is_odd_in_an_answer_is_left_out(path: str) -> None:
    for answer in altered(ANSWERS[path]):
        reply = APIS[path].read_answer(json.loads(said(answer)))
        assert reply is None or isinstance(reply.text, str)


def test_calls_that_a_server_numbers_alike_are_told_apart_by_their_ids() -> None:
    assembler = APIS["/chat/completions"].assembler()
    pieces: Any = [("a", "add", '{"x"'), ("", "", ":1}"), ("b", "subtract", "{}"), ("b", "", "")]
    for name, tool, arguments in pieces:
        call = {"index": 0, "id": name, "function": {"name": tool, "arguments": arguments}}
        assembler.feed(said({"choices": [{"delta": {"tool_calls": [call]}}]}))
    reply = assembler.reply()
    assert reply is not None
    assert reply.tool_calls == (ToolCall("a", "add", {"x": 1}), ToolCall("b", "subtract", {}))


def test_a_call_whose_pieces_have_ids_of_their_own_is_one_call() -> None:
    assembler = APIS["/chat/completions"].assembler()
    pieces: Any = [("a", "add", ""), ("b", None, '{"x"'), ("c", None, ":1}")]
    for name, tool, arguments in pieces:
        call = {"index": 0, "id": name, "function": {"name": tool, "arguments": arguments}}
        assembler.feed(said({"choices": [{"delta": {"tool_calls": [call]}}]}))
    reply = assembler.reply()
    assert reply is not None
    assert reply.tool_calls == (ToolCall("a", "add", {"x": 1}),)


@pytest.mark.parametrize("path", APIS)
def test_what_is_odd_in_a_stream_is_left_out(path: str) -> None:
    for stream in altered(STREAMS[path]):
        assembler = APIS[path].assembler()
        for event in stream:
            assembler.feed(said(event))
        reply = assembler.reply()
        assert reply is None or isinstance(reply.text, str)
