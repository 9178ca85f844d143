"""The wire format of Anthropic's Messages API: encode requests, decode replies."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mesocosm.core.foreign import read_json
from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import ModelReply, Tool
from mesocosm.core.usage import Usage
from mesocosm.models.chat_completions import count, priced
from mesocosm.models.prices import Price

Fields = dict[str, Any]

EMPTY = "(empty)"
"""Sent instead of a message without content, which the API rejects."""
_OPENING = "."
"""The user's message before a conversation that starts with the assistant, which the API rejects."""
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_BUDGETS = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192, "max": 16384}
LEAST_BUDGET = 1024
"""The fewest tokens that a model with a budget for its thoughts takes."""
EFFORTS = ("none", *_BUDGETS)
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")


class Inexpressible(Exception):
    """A schema that the API's structured output cannot express; the message says why."""


class _Cached(msgspec.Struct):
    ephemeral_1h_input_tokens: Any = 0


class _Details(msgspec.Struct):
    thinking_tokens: Any = 0


class _Usage(msgspec.Struct):
    input_tokens: Any = 0
    output_tokens: Any = 0
    cache_creation_input_tokens: Any = 0
    cache_read_input_tokens: Any = 0
    cache_creation: _Cached | None = None
    output_tokens_details: _Details | None = None


class Answer(msgspec.Struct):
    """The parts of a message that are used here; every field may be missing."""

    content: list[Fields] | None = None
    stop_reason: str | None = None
    stop_details: Any = None
    usage: _Usage | None = None
    model: Any = None
    error: Any = None


def decode(body: bytes) -> Answer:
    """Decode a body. Raises msgspec.DecodeError (no JSON) or its subclass ValidationError (JSON of another shape)."""
    return read_json(body, Answer)


def conversation(messages: Sequence[Message]) -> Fields:
    """Return the fields `messages` and, if there is any, `system`.

    Messages of the same role become one. Empty texts are left out; a message without anything else says so.
    """
    system = [message.text for message in messages if message.role == "system" and message.text.strip()]
    turns: list[Fields] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
        turns[-1]["content"] += _blocks(message)
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [_text(_OPENING)]})
    for turn in turns:
        # The results of tools come first, whatever stands between them.
        turn["content"].sort(key=lambda block: block["type"] != "tool_result")
        turn["content"] = turn["content"] or [_text(EMPTY)]
    last = turns[-1]["content"][-1]
    if turns[-1]["role"] == "assistant" and last["type"] == "text":
        turns[-1]["content"][-1] = {**last, "text": last["text"].rstrip()}
    found: Fields = {"messages": turns}
    if system:
        found["system"] = system[0] if len(system) == 1 else [_text(text) for text in system]
    return found


def _text(text: str) -> Fields:
    return {"type": "text", "text": text}


def _blocks(message: Message) -> list[Fields]:
    if message.role == "tool":
        result: Fields = {"type": "tool_result", "tool_use_id": message.tool_call_id}
        if content := list(_parts(message)):
            result["content"] = content
        if message.failed:
            result["is_error"] = True
        return [result]
    if message.role != "assistant":
        return list(_parts(message))
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input(call)} for call in message.tool_calls
    ]
    kept = [dict(block) for block in message.blocks if block.get("type") != "text" or _said(block.get("text"))]
    texts = [block["text"] for block in kept if block.get("type") == "text"]
    if kept and "".join(texts) == message.text and [b for b in kept if b.get("type") == "tool_use"] == calls:
        # The order of thoughts among the other blocks is part of what their signatures protect.
        return kept
    return [*(block for block in kept if block.get("type") in _THOUGHTS), *_parts(message), *calls]


def _said(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _parts(message: Message) -> Iterator[Fields]:
    content = (Text(message.content),) if isinstance(message.content, str) else message.content
    for part in content:
        if isinstance(part, Image):
            yield {"type": "image", "source": _source(part)}
        elif part.text.strip():
            yield _text(part.text)


def _source(image: Image) -> Fields:
    if image.url.startswith("data:"):
        head, _, data = image.url.partition(",")
        return {"type": "base64", "media_type": head[5:].partition(";")[0], "data": data}
    if image.url:
        return {"type": "url", "url": image.url}
    return {"type": "base64", "media_type": image.media_type, "data": image.data}


def _input(call: ToolCall) -> Fields:
    return call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}


def wire_tools(tools: Sequence[Tool]) -> list[Fields]:
    """Return tools as the API defines them."""
    return [
        {
            "name": tool.name,
            **({"description": tool.description} if tool.description else {}),
            "input_schema": {"type": "object", **(tool.parameters or {"properties": {}})},
        }
        for tool in tools
    ]


def tool_choice(given: Any, parallel: Any) -> Fields | None:
    """Return a `tool_choice` of chat completions as the API's; None if there is none.

    `parallel` is the setting `parallel_tool_calls` of chat completions.
    """
    choice: Fields | None = None
    if isinstance(given, str):
        choice = {"type": "any" if given == "required" else given}
    elif isinstance(given, dict) and given.get("type") == "function":
        choice = {"type": "tool", "name": (given.get("function") or given).get("name")}
    elif isinstance(given, dict):
        choice = dict(given)
    if parallel is False:
        choice = choice or {"type": "auto"}
        if choice.get("type") != "none":
            choice["disable_parallel_tool_use"] = True
    return choice


def thinking(effort: str, max_tokens: int, *, budget: bool) -> Fields:
    """Return the fields that ask for an effort of EFFORTS.

    Models with a `budget` get a number of tokens, at most three quarters of `max_tokens`, and LEAST_BUDGET at least.
    """
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if budget:
        tokens = max(LEAST_BUDGET, min(_BUDGETS[effort], max_tokens * 3 // 4))
        return {"thinking": {"type": "enabled", "budget_tokens": tokens}}
    # Newer models leave the thoughts out of the answer by default.
    shown = {"type": "adaptive", "display": "summarized"}
    return {"thinking": shown, "output_config": {"effort": "low" if effort == "minimal" else effort}}


def output_format(schema: Mapping[str, Any]) -> Fields:
    """Return the format that constrains a reply to a schema. Raises Inexpressible."""
    return {"type": "json_schema", "schema": strict(schema)}


def strict(schema: Any) -> Fields:
    """Return a schema in the subset that the API accepts; other constraints become part of the description.

    Raises Inexpressible for objects with properties of any name, and for schemas without a type.
    """
    if not isinstance(schema, Mapping):
        raise Inexpressible("a schema that allows anything")
    rest = dict(schema)
    found: Fields = {}
    if "$defs" in rest:
        found["$defs"] = {name: strict(one) for name, one in rest.pop("$defs").items()}
    if "$ref" in rest:
        return {**found, "$ref": rest["$ref"]}
    for name in ("description", "title"):
        if name in rest:
            found[name] = rest.pop(name)
    kind = rest.pop("type", None)
    literal = _literals(rest, found)
    alternatives = next((name for name in ("anyOf", "oneOf", "allOf") if name in rest), None)
    if alternatives is not None:
        target = "allOf" if alternatives == "allOf" else "anyOf"
        found[target] = [strict(one) for one in rest.pop(alternatives)]
    elif isinstance(kind, list):
        return {**found, "anyOf": [strict({**rest, "type": one}) for one in kind]}
    elif not literal:
        if not isinstance(kind, str):
            raise Inexpressible("a value of any type")
        found["type"] = kind
        _narrow(kind, rest, found)
    if rest:
        told = ", ".join(f"{name}: {value}" for name, value in rest.items())
        found["description"] = "\n\n".join(part for part in (found.get("description"), f"{{{told}}}") if part)
    return found


def _literals(rest: Fields, found: Fields) -> bool:
    values = rest.get("enum")
    if isinstance(values, list) and values and all(_plain(value) for value in values):
        found["enum"] = rest.pop("enum")
    if "const" in rest and _plain(rest["const"]):
        found["const"] = rest.pop("const")
    return "enum" in found or "const" in found


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _narrow(kind: str, rest: Fields, found: Fields) -> None:
    """Move the constraints of one type that the API accepts from `rest` to `found`."""
    if kind == "object":
        properties, others = rest.pop("properties", {}), rest.pop("additionalProperties", None)
        if others not in (None, False) or not (properties or others is False):
            raise Inexpressible("an object with properties of any name")
        found["properties"] = {name: strict(one) for name, one in properties.items()}
        found["additionalProperties"] = False
        if "required" in rest:
            found["required"] = list(rest.pop("required"))
    elif kind == "array":
        if "items" in rest:
            found["items"] = strict(rest.pop("items"))
        if rest.get("minItems") in {0, 1}:
            found["minItems"] = rest.pop("minItems")
    elif kind == "string" and rest.get("format") in _FORMATS:
        found["format"] = rest.pop("format")


def reply(answer: Answer, price: Price | None, name: str, latency_s: float) -> ModelReply | None:
    """Return the reply in an answer, or None if it holds none."""
    if answer.content is None or answer.error:
        return None
    blocks = answer.content
    calls = tuple(
        ToolCall(str(block.get("id") or f"call_{n}"), str(block.get("name") or ""), block.get("input"))
        for n, block in enumerate(block for block in blocks if block.get("type") == "tool_use")
    )
    texts = (block.get("text") for block in blocks if block.get("type") == "text")
    thoughts = (block.get("thinking") for block in blocks if block.get("type") == "thinking")
    text = "".join(text for text in texts if isinstance(text, str))
    reason = answer.stop_reason
    if reason == "refusal" and not text and isinstance(answer.stop_details, dict):
        text = str(answer.stop_details.get("explanation") or "")
    finish = ("tool_calls" if calls else "stop") if reason is None else _REASONS.get(reason, reason)
    written = _written(answer.usage) if answer.usage else (0, 0)
    return ModelReply(
        text=text,
        reasoning="\n\n".join(thought for thought in thoughts if isinstance(thought, str) and thought),
        tool_calls=calls,
        finish_reason=finish,
        usage=priced(_usage(answer.usage), price, written) if answer.usage else _unknown(price),
        model=name,
        latency_s=latency_s,
        served=answer.model if isinstance(answer.model, str) else "",
        blocks=tuple(blocks) if any(block.get("type") in _THOUGHTS for block in blocks) else (),
        written=written,
    )


def _usage(usage: _Usage) -> Usage:
    """Return the usage; the API counts the tokens that it reads from and writes to its cache apart from the others."""
    read = count(usage.cache_read_input_tokens)
    prompt = count(usage.input_tokens) + read + sum(_written(usage))
    reasoning = count(usage.output_tokens_details.thinking_tokens) if usage.output_tokens_details else 0
    return Usage(prompt, count(usage.output_tokens), read, reasoning, None, 1)


def _written(usage: _Usage) -> tuple[int, int]:
    written = count(usage.cache_creation_input_tokens)
    hour = min(written, count(usage.cache_creation.ephemeral_1h_input_tokens)) if usage.cache_creation else 0
    return written - hour, hour


def _unknown(price: Price | None) -> Usage:
    return Usage(calls=1, cost_usd=0.0 if price is not None and price.free else None)


def status_of(error: Any) -> int:
    """Return the HTTP status that belongs to an error inside a body; 502 if it names no known type."""
    return _STATUSES.get(str(error.get("type")), 502) if isinstance(error, dict) else 502
