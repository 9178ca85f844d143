"""The JSON bodies of the model protocols that the fake server supports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.testing.fault import Fault
from mesocosm.testing.validation import signature

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """The reply of the fake model. Token counts of None are estimated from the lengths (four bytes per token).

    `tool_calls` are (name, arguments) pairs. `written_tokens` are those written to the cache (Anthropic only).
    `logprobs` are those of a completion of a text.
    """

    text: str = "ok"
    reasoning: str = ""
    tool_calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    finish_reason: str = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    written_tokens: int = 0
    logprobs: Mapping[str, Any] | None = None


def tokens(answer: ScriptedAnswer, size: int) -> tuple[int, int]:
    """Return prompt and completion tokens of a reply to a request body of `size` bytes."""
    prompt = answer.prompt_tokens if answer.prompt_tokens is not None else size // 4
    completion = answer.completion_tokens if answer.completion_tokens is not None else len(answer.text) // 4 + 1
    return prompt, completion


def openai_answer(answer: ScriptedAnswer, model: str, size: int) -> bytes:
    """Return the body of a chat completion."""
    prompt, completion = tokens(answer, size)
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": _encode(given).decode()}}
            for n, (name, given) in enumerate(answer.tool_calls)
        ]
        message["content"] = answer.text or None
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if answer.cached_tokens:
        usage["prompt_tokens_details"] = {"cached_tokens": answer.cached_tokens}
    if answer.reasoning_tokens:
        usage["completion_tokens_details"] = {"reasoning_tokens": answer.reasoning_tokens}
    return _encode(
        {
            "id": "chatcmpl-fake",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": answer.finish_reason}],
            "usage": usage,
        }
    )


def ollama_answer(answer: ScriptedAnswer, model: str, size: int) -> bytes:
    """Return the body of a non-streamed response to `/api/chat`."""
    prompt, completion = tokens(answer, size)
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["thinking"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = [
            {"function": {"name": name, "arguments": dict(given)}} for name, given in answer.tool_calls
        ]
    return _encode(
        {
            "model": model,
            "created_at": "1970-01-01T00:00:00Z",
            "message": message,
            "done": True,
            "done_reason": answer.finish_reason,
            "prompt_eval_count": prompt,
            "eval_count": completion,
        }
    )


def anthropic_answer(answer: ScriptedAnswer, model: str, size: int) -> bytes:
    """Return the body of a response to `/v1/messages`."""
    prompt, completion = tokens(answer, size)
    content: list[dict[str, Any]] = []
    if answer.reasoning:
        content.append({"type": "thinking", "thinking": answer.reasoning, "signature": signature(answer.reasoning)})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for n, (name, given) in enumerate(answer.tool_calls):
        content.append({"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": dict(given)})
    reasons = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
    usage: dict[str, Any] = {
        "input_tokens": prompt - answer.cached_tokens - answer.written_tokens,
        "output_tokens": completion,
        "cache_creation_input_tokens": answer.written_tokens,
        "cache_read_input_tokens": answer.cached_tokens,
    }
    if answer.reasoning_tokens:
        usage["output_tokens_details"] = {"thinking_tokens": answer.reasoning_tokens}
    return _encode(
        {
            "id": "msg_fake",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": reasons.get(answer.finish_reason, answer.finish_reason),
            "stop_sequence": None,
            "usage": usage,
        }
    )


def responses_answer(answer: ScriptedAnswer, model: str, size: int) -> bytes:
    """Return the body of a response to `/responses`."""
    prompt, completion = tokens(answer, size)
    said = {"type": "output_text", "text": answer.text, "annotations": []}
    output: list[dict[str, Any]] = []
    if answer.text:
        output.append({"type": "message", "id": "msg_0", "role": "assistant", "status": "completed", "content": [said]})
    for n, (name, given) in enumerate(answer.tool_calls):
        spelled = _encode(given).decode()
        call = {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": name, "arguments": spelled}
        output.append({**call, "status": "completed"})
    short = answer.finish_reason == "length"
    return _encode(
        {
            "id": "resp_fake",
            "object": "response",
            "created_at": 0,
            "model": model,
            "status": "incomplete" if short else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if short else None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": prompt,
                "input_tokens_details": {"cached_tokens": answer.cached_tokens},
                "output_tokens": completion,
                "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
                "total_tokens": prompt + completion,
            },
        }
    )


def text_answer(answer: ScriptedAnswer, model: str, size: int) -> bytes:
    """Return the body of a response to the older `/completions`."""
    prompt, completion = tokens(answer, size)
    choice = {"index": 0, "text": answer.text, "finish_reason": answer.finish_reason, "logprobs": answer.logprobs}
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return _encode(
        {
            "id": "cmpl-fake",
            "object": "text_completion",
            "created": 0,
            "model": model,
            "choices": [choice],
            "usage": usage,
        }
    )


def embeddings_answer(answer: ScriptedAnswer, model: str, size: int) -> bytes:
    """Return the body of a response to `/embeddings`: one vector of two numbers."""
    prompt, _ = tokens(answer, size)
    vector = {"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}
    usage = {"prompt_tokens": prompt, "total_tokens": prompt}
    return _encode({"object": "list", "data": [vector], "model": model, "usage": usage})


def gemini_answer(answer: ScriptedAnswer, model: str, size: int) -> bytes:
    """Return the body of a response to `:generateContent`."""
    prompt, completion = tokens(answer, size)
    reasons = {"stop": "STOP", "length": "MAX_TOKENS", "tool_calls": "STOP", "content_filter": "SAFETY"}
    parts: list[dict[str, Any]] = []
    if answer.reasoning:
        parts.append({"text": answer.reasoning, "thought": True})
    if answer.text or not answer.tool_calls:
        parts.append({"text": answer.text})
    parts += [{"functionCall": {"name": name, "args": dict(given)}} for name, given in answer.tool_calls]
    if answer.reasoning:
        signed = next((part for part in parts if "functionCall" in part), parts[-1])
        signed["thoughtSignature"] = signature(_encode(signed).decode())
    usage = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": completion - answer.reasoning_tokens,
        "totalTokenCount": prompt + completion,
    }
    if answer.cached_tokens:
        usage["cachedContentTokenCount"] = answer.cached_tokens
    if answer.reasoning_tokens:
        usage["thoughtsTokenCount"] = answer.reasoning_tokens
    return _encode(
        {
            "candidates": [
                {
                    "content": {"role": "model", "parts": parts},
                    "finishReason": reasons.get(answer.finish_reason, answer.finish_reason),
                    "index": 0,
                }
            ],
            "usageMetadata": usage,
            "modelVersion": model,
        }
    )


def openai_error(fault: Fault) -> bytes:
    """Return an error body in OpenAI's format."""
    error = {
        "message": fault.text,
        "type": "invalid_request_error",
        "param": fault.param or None,
        "code": fault.code or None,
    }
    return _encode({"error": error})


def ollama_error(fault: Fault) -> bytes:
    """Return an error body in Ollama's format."""
    return _encode({"error": fault.text})


def anthropic_error(fault: Fault) -> bytes:
    """Return an error body in Anthropic's format."""
    return _encode({"type": "error", "error": {"type": fault.code or "api_error", "message": fault.text}})


def gemini_error(fault: Fault) -> bytes:
    """Return an error body in Google's format."""
    return _encode({"error": {"code": fault.status, "message": fault.text, "status": fault.code or "UNKNOWN"}})
