"""The wire format of OpenAI-compatible chat completions: encode requests, decode replies."""

from collections.abc import Sequence
from typing import Any

import msgspec

from mesocosm.core.foreign import finite, read_json
from mesocosm.core.message import Image, Message, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, Tool
from mesocosm.core.usage import Usage
from mesocosm.models.prices import Price

_encode = msgspec.json.Encoder().encode


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    id: str | None = None
    function: _Function | None = None


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None
    error: Any = None


class _Usage(msgspec.Struct):
    prompt_tokens: Any = 0
    completion_tokens: Any = 0
    prompt_tokens_details: dict[str, Any] | None = None
    completion_tokens_details: dict[str, Any] | None = None
    prompt_cache_hit_tokens: Any = 0
    cost: Any = None


class Completion(msgspec.Struct):
    """The parts of a chat completion that are used here; every field may be missing."""

    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    model: Any = None


def decode(body: bytes) -> Completion:
    """Decode a body. Raises msgspec.DecodeError (no JSON) or its subclass ValidationError (JSON of another shape)."""
    return read_json(body, Completion)


def wire_messages(messages: Sequence[Message]) -> Sequence[Message | dict[str, Any]]:
    """Return messages in wire format. Plain text messages already have it and are returned unchanged."""
    for message in messages:
        if message.content.__class__ is not str or not message.content or message.reasoning or message.tool_calls:
            return [_wire(message) for message in messages]
        if message.blocks or message.failed:
            return [_wire(message) for message in messages]
    return messages


def _wire(message: Message) -> dict[str, Any]:
    content = message.content
    wire: dict[str, Any] = {"role": message.role}
    if isinstance(content, str) or message.role == "tool":
        wire["content"] = message.text
    else:
        wire["content"] = [_image(part) if isinstance(part, Image) else part for part in content]
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
            for call in message.tool_calls
        ]
        wire["content"] = wire["content"] or None
    if message.tool_call_id:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _image(image: Image) -> dict[str, Any]:
    url = image.url or f"data:{image.media_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}


def _arguments(call: ToolCall) -> str:
    """Return arguments as the text of an object. Servers refuse each conversation that has other ones in its past."""
    given = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    return _encode(given).decode()


def wire_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools as function definitions."""
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters or nothing,
            },
        }
        for tool in tools
    ]


def response_format(request: ModelRequest) -> dict[str, Any]:
    """Return the `response_format` that constrains a reply to the request's schema."""
    return {"type": "json_schema", "json_schema": {"name": request.schema_name, "schema": request.schema}}


def reply(completion: Completion, price: Price | None, name: str, latency_s: float) -> ModelReply | None:
    """Return the reply in a completion, or None if it holds none. If the model refused, its refusal is the text.

    An answer that the provider aborted counts as none; routers report this as an error beside it or as finish reason.
    """
    choice = completion.choices[0] if completion.choices else None
    if choice is None or choice.message is None or completion.error or choice.error or choice.finish_reason == "error":
        return None
    message = choice.message
    content = message.content
    text = content if isinstance(content, str) else _parts(content)
    finish = choice.finish_reason or ("tool_calls" if message.tool_calls else "stop")
    if not text and isinstance(message.refusal, str) and message.refusal:
        text, finish = message.refusal, "content_filter"
    reasoning = message.reasoning_content or message.reasoning
    return ModelReply(
        text=text,
        reasoning=reasoning if isinstance(reasoning, str) else "",
        tool_calls=tuple(_called(call, n) for n, call in enumerate(message.tool_calls)) if message.tool_calls else (),
        finish_reason=finish,
        usage=_usage(completion.usage, price),
        model=name,
        latency_s=latency_s,
    )


def _parts(content: list[Any] | None) -> str:
    texts = (part.get("text") if isinstance(part, dict) else part for part in content or ())
    return "".join(text for text in texts if isinstance(text, str))


def _called(call: _Call, position: int) -> ToolCall:
    function = call.function or _Function()
    return ToolCall(call.id or f"call_{position}", function.name or "", arguments(function.arguments))


def arguments(given: Any) -> Any:
    """Return the arguments of a tool call: the decoded object, or the raw text if it is not JSON."""
    if not isinstance(given, str):
        return {} if given is None else given
    try:
        return read_json(given) if given.strip() else {}
    except msgspec.DecodeError:
        return given


def count(value: Any) -> int:
    """Return a token count; 0 if the server left it out or sent something else than a positive number."""
    return int(value) if isinstance(value, int | float) and value > 0 else 0


def priced(usage: Usage, price: Price | None, written: tuple[int, int] = (0, 0)) -> Usage:
    """Return `usage` with its cost; the cost is None if the price is unknown. `written` as in ModelReply."""
    cost = price.cost(usage.prompt, usage.completion, usage.cached, *written) if price is not None else None
    return msgspec.structs.replace(usage, cost_usd=cost)


def _usage(usage: _Usage | None, price: Price | None) -> Usage:
    if usage is None:
        return Usage(calls=1, cost_usd=0.0 if price is not None and price.free else None)
    prompt, completion = count(usage.prompt_tokens), count(usage.completion_tokens)
    cached = count((usage.prompt_tokens_details or {}).get("cached_tokens")) or count(usage.prompt_cache_hit_tokens)
    reasoning = count((usage.completion_tokens_details or {}).get("reasoning_tokens"))
    cost = price.cost(prompt, completion, cached) if price is not None else None
    charged = None if isinstance(usage.cost, str) else finite(usage.cost, least=0.0)
    if charged is not None:
        cost = charged
    return Usage(prompt, completion, cached, reasoning, cost, 1)
