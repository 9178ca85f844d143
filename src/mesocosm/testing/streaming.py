"""The streams of the model protocols that the fake server supports: about one server-sent event per word."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mesocosm.testing.dialect import (
    ScriptedAnswer,
    anthropic_answer,
    openai_answer,
    responses_answer,
    text_answer,
    tokens,
)

_encode = msgspec.json.Encoder().encode


def words(text: str) -> list[str]:
    """Split a text into the pieces to stream; joined they are the text."""
    return re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text)


def event(data: Any, name: str = "") -> bytes:
    """Return one server-sent event."""
    return (b"event: " + name.encode() + b"\n" if name else b"") + b"data: " + _encode(data) + b"\n\n"


def text_stream(answer: ScriptedAnswer, model: str, size: int, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the chunks of an older text completion."""
    whole = msgspec.json.decode(text_answer(answer, model, size))
    frame = {name: whole[name] for name in ("id", "object", "created", "model")}
    for word in words(answer.text):
        yield event({**frame, "choices": [{"index": 0, "text": word, "finish_reason": None}]})
    yield event({**frame, "choices": [{"index": 0, "text": "", "finish_reason": answer.finish_reason}]})
    if (body.get("stream_options") or {}).get("include_usage"):
        yield event({**frame, "choices": [], "usage": whole["usage"]})
    yield b"data: [DONE]\n\n"


def openai_stream(answer: ScriptedAnswer, model: str, size: int, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the chunks of a chat completion; token usage is included only on request."""
    whole = msgspec.json.decode(openai_answer(answer, model, size))
    frame = {"id": whole["id"], "object": "chat.completion.chunk", "created": 0, "model": model}
    message = whole["choices"][0]["message"]

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        return event({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    for word in words(answer.reasoning):
        yield chunk({"reasoning_content": word})
    for word in words(answer.text):
        yield chunk({"content": word})
    for n, call in enumerate(message.get("tool_calls", ())):
        spelled = call["function"].pop("arguments")
        yield chunk({"tool_calls": [{"index": n, **call, "function": {**call["function"], "arguments": ""}}]})
        for piece in (spelled[:5], spelled[5:]):
            yield chunk({"tool_calls": [{"index": n, "function": {"arguments": piece}}]})
    yield chunk({}, answer.finish_reason)
    if (body.get("stream_options") or {}).get("include_usage"):
        yield event({**frame, "choices": [], "usage": whole["usage"]})
    yield b"data: [DONE]\n\n"


def anthropic_stream(answer: ScriptedAnswer, model: str, size: int, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the events of a message."""
    whole = msgspec.json.decode(anthropic_answer(answer, model, size))
    _, completion = tokens(answer, size)
    content, reason = whole["content"], whole["stop_reason"]
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield event({"type": "message_start", "message": start}, "message_start")
    yield event({"type": "ping"}, "ping")
    for index, block in enumerate(content):
        if block["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": word} for word in words(block["text"])]
        elif block["type"] == "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": word} for word in words(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        else:
            empty = {**block, "input": {}}
            spelled = _encode(block["input"]).decode()
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in (spelled[:5], spelled[5:])]
        yield event({"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start")
        for delta in deltas:
            yield event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
        yield event({"type": "content_block_stop", "index": index}, "content_block_stop")
    ended = {"stop_reason": reason, "stop_sequence": None}
    yield event({"type": "message_delta", "delta": ended, "usage": {"output_tokens": completion}}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


def responses_stream(answer: ScriptedAnswer, model: str, size: int, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the events of a response."""
    whole = msgspec.json.decode(responses_answer(answer, model, size))
    number = 0

    def said(kind: str, **data: Any) -> bytes:
        nonlocal number
        number += 1
        return event({"type": kind, "sequence_number": number - 1, **data}, kind)

    yield said("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            empty = {**item, "content": [], "status": "in_progress"}
            yield said("response.output_item.added", output_index=index, item=empty)
            blank = {"type": "output_text", "text": "", "annotations": []}
            yield said("response.content_part.added", **place, content_index=0, part=blank)
            for word in words(answer.text):
                yield said("response.output_text.delta", **place, content_index=0, delta=word, logprobs=[])
        else:
            yield said("response.output_item.added", output_index=index, item={**item, "arguments": ""})
            yield said("response.function_call_arguments.delta", **place, delta=item["arguments"])
        yield said("response.output_item.done", output_index=index, item=item)
    yield said("response.completed", response=whole)
