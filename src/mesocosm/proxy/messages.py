"""Anthropic messages."""

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings, Tool
from mesocosm.core.proxy import Protocols
from mesocosm.core.usage import Usage
from mesocosm.http import sse
from mesocosm.proxy import api
from mesocosm.proxy.api import Asked, Calling, Fields, Known, MalformedRequest, Omitted, part, text_of

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}
_STATUSES = {kind: status for status, kind in _ERRORS.items()} | {"api_error": 500, "overloaded_error": 529}
_UNPORTABLE = ("mcp_servers", "container", "context_management")


class Messages:
    """Implements api.Api for `/messages`."""

    protocol: Protocols = "anthropic"
    path = "/messages"
    owned = frozenset({"temperature", "max_tokens"})

    def put_in(self, settings: ModelSettings) -> Fields | None:
        """Return the settings of a model as fields of a request."""
        found: Fields = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
        if settings.top_p is not None:
            found["top_p"] = settings.top_p
        extra = dict(settings.extra)
        stop = extra.pop("stop", None)
        if stop is not None:
            found["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        return found | extra

    def translatable(self, asked: Asked) -> bool:
        """Return False: servers of this protocol have no other API to translate to."""
        return False

    def read(self, fields: Mapping[str, msgspec.Raw], known: Known) -> Asked:
        """Read a request. Raises MalformedRequest."""
        data = api.values(fields, ("messages", "system"))
        raws = api.pieces(fields, "messages")
        system = known.take(fields["system"], _system) if "system" in fields else ()
        messages = (*system, *(message for raw in raws for message in known.take(raw, _messages)))
        unportable = [name for name in _UNPORTABLE if data.get(name)]
        unportable += [f"content of type {kind}" for kind in api.omitted(messages)]
        if any(part(tool, "type") not in {None, "custom"} for tool in api.listed(data, "tools")):
            unportable.append("tools of Anthropic's own")
        return Asked(api.call(self.path, data), messages, data, tuple(unportable))

    def ask(self, asked: Asked, settings: ModelSettings) -> ModelRequest:
        """Return the request for any model. Raises MalformedRequest."""
        data = asked.data
        top_p = data.get("top_p")
        tools = tuple(_tool(tool) for tool in api.listed(data, "tools"))
        schema = part(data, "output_config", "format", "schema") or part(data, "output_format", "schema")
        extra: Fields = {}
        if data.get("stop_sequences"):
            extra["stop"] = data["stop_sequences"]
        if data.get("top_k") is not None:
            extra["top_k"] = data["top_k"]
        if tools and (choice := _choice(data.get("tool_choice"))) is not None:
            extra["tool_choice"] = choice
        return ModelRequest(
            asked.messages,
            api.number(data.get("temperature"), settings.temperature, "temperature"),
            api.whole(data.get("max_tokens"), settings.max_tokens, "max_tokens"),
            settings.top_p if top_p is None else api.number(top_p, 1.0, "top_p"),
            schema if isinstance(schema, dict) else None,
            "answer" if schema else "action",
            tools,
            settings.timeout_s,
            extra,
        )

    def read_answer(self, data: Fields) -> ModelReply | None:
        """Return the reply in a message."""
        content = data.get("content")
        if not isinstance(content, list):
            return None
        blocks = [block for block in content if isinstance(block, dict)]
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        return ModelReply(
            "".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text"),
            "".join(text_of(block.get("thinking")) for block in blocks),
            tuple(ToolCall(text_of(b.get("id")), text_of(b.get("name")), b.get("input")) for b in calls),
            _reason(data.get("stop_reason")),
            read_usage(data.get("usage")),
            text_of(data.get("model")),
            written=_written(data.get("usage")),
        )

    def assembler(self) -> "MessageAssembler":
        """Return a new assembler of a stream."""
        return MessageAssembler()

    def answer(self, reply: ModelReply, asked: Asked) -> Fields:
        """Return a reply as a message."""
        return {
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": asked.call.model or reply.model,
            "content": list(_blocks(reply)),
            "stop_reason": _stop(reply),
            "stop_sequence": None,
            "usage": _usage(reply.usage),
        }

    def events(self, reply: ModelReply, asked: Asked) -> Iterator[bytes]:
        """Return a reply as events."""
        whole = self.answer(reply, asked)
        usage = {**whole["usage"], "output_tokens": 0}
        yield _event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": usage})
        for index, block in enumerate(whole["content"]):
            empty, delta = _delta(block)
            yield _event("content_block_start", index=index, content_block=empty)
            if delta:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        stopped = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield _event("message_delta", delta=stopped, usage=whole["usage"])
        yield _event("message_stop")

    def error(self, status: int, message: str, code: str = "") -> Fields:
        """Return an error."""
        kind = _ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}}

    def error_event(self, message: str) -> bytes:
        """Return an error event for a stream that has already started."""
        return sse.event(self.error(502, message), "error")


class MessageAssembler:
    """Assembles the events of a message."""

    def __init__(self) -> None:
        self.complete = False
        self.error = ""
        self.status = 200
        self._begun = False
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[str, Calling] = {}
        self._reason: Any = None
        self._model = ""
        self._usage: Fields = {}

    def feed(self, data: bytes) -> None:
        """Process an event."""
        event = api.object_in(data)
        match part(event, "type"):
            case "message_start":
                self._begun = True
                self._model = text_of(part(event, "message", "model"))
                self._count(part(event, "message", "usage"))
            case "content_block_start" if part(event, "content_block", "type") == "tool_use":
                block = event["content_block"]
                self._calls[str(event.get("index"))] = Calling(text_of(block.get("id")), text_of(block.get("name")))
            case "content_block_delta":
                self._delta(event)
            case "message_delta":
                self._reason = part(event, "delta", "stop_reason") or self._reason
                self._count(event.get("usage"))
            case "message_stop":
                self.complete = True
            case "error":
                self.error = text_of(part(event, "error", "message")) or "the stream ended in an error"
                self.status = _STATUSES.get(text_of(part(event, "error", "type")), 200)

    @property
    def ended(self) -> bool:
        """Whether a stop reason or the last event has arrived."""
        return self.complete or bool(self._reason)

    def _delta(self, event: Fields) -> None:
        delta = event.get("delta")
        self._text.append(text_of(part(delta, "text")))
        self._reasoning.append(text_of(part(delta, "thinking")))
        calling = self._calls.get(str(event.get("index")))
        if calling is not None:
            calling.arguments.append(text_of(part(delta, "partial_json")))

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def reply(self) -> ModelReply | None:
        """Return the reply so far."""
        if not self._begun:
            return None
        calls = tuple(call.done(n) for n, call in enumerate(self._calls.values()))
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        usage, written = read_usage(self._usage), _written(self._usage)
        return ModelReply(text, reasoning, calls, _reason(self._reason), usage, self._model, written=written)


def read_usage(data: Any) -> Usage:
    """Return the usage of a message; tokens that the provider caches count as part of the prompt here."""
    read = api.count(part(data, "cache_read_input_tokens"))
    prompt = api.count(part(data, "input_tokens")) + api.count(part(data, "cache_creation_input_tokens")) + read
    thoughts = part(data, "output_tokens_details", "thinking_tokens")
    return api.usage(prompt, part(data, "output_tokens"), read, thoughts)


def _written(data: Any) -> tuple[int, int]:
    """Return the tokens that were written to the cache, as in ModelReply."""
    written = api.count(part(data, "cache_creation_input_tokens"))
    hour = min(written, api.count(part(data, "cache_creation", "ephemeral_1h_input_tokens")))
    return written - hour, hour


def _system(data: Any) -> tuple[Message, ...]:
    if isinstance(data, list):
        data = "\n".join(text_of(part(block, "text")) for block in data)
    if not isinstance(data, str):
        raise MalformedRequest("'system' is neither a text nor a list of blocks")
    return (Message("system", data),) if data else ()


def _messages(data: Any) -> tuple[Message, ...]:
    role, content = part(data, "role"), part(data, "content")
    if role not in ("user", "assistant", "system"):
        raise MalformedRequest(f"a message has the role {role!r}; known are user and assistant")
    if isinstance(content, str):
        return (Message(role, content),)
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise MalformedRequest("the content of a message is neither a text nor a list of blocks")
    if role == "assistant":
        return (_said(content),)
    results = [block for block in content if block.get("type") == "tool_result"]
    rest = [block for block in content if block.get("type") != "tool_result"]
    found = tuple(
        Message(
            "tool",
            _inner(block),
            tool_call_id=text_of(block.get("tool_use_id")),
            failed=block.get("is_error") is True,
        )
        for block in results
    )
    return (*found, Message(role, tuple(map(_block, rest)))) if rest else found


def _said(content: list[Fields]) -> Message:
    calls, thoughts, pieces = [], [], []
    for block in content:
        if block.get("type") == "tool_use":
            calls.append(ToolCall(text_of(block.get("id")), text_of(block.get("name")), block.get("input")))
        elif block.get("type") == "thinking":
            thoughts.append(text_of(block.get("thinking")))
        elif block.get("type") != "redacted_thinking":
            pieces.append(_block(block))
    plain = "".join(piece.text for piece in pieces if isinstance(piece, Text))
    simple = all(isinstance(piece, Text) and not isinstance(piece, Omitted) for piece in pieces)
    signed = any(block.get("signature") or block.get("type") == "redacted_thinking" for block in content)
    blocks = tuple(content) if signed else ()
    return Message("assistant", plain if simple else tuple(pieces), "".join(thoughts), tuple(calls), blocks=blocks)


def _inner(block: Fields) -> str | tuple[Text | Image, ...]:
    content = block.get("content")
    if isinstance(content, list):
        return tuple(_block(piece) for piece in content)
    return text_of(content)


def _block(block: Any) -> Text | Image:
    kind = part(block, "type")
    if kind == "text":
        return Text(text_of(block.get("text")))
    if kind == "image":
        source = block.get("source")
        if part(source, "type") == "base64":
            return Image(text_of(source.get("media_type")), text_of(source.get("data")))
        if part(source, "type") == "url":
            return Image("image/*", url=text_of(source.get("url")))
    return Omitted(str(kind))


def _tool(tool: Any) -> Tool:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        raise MalformedRequest("a tool has no name")
    return Tool(tool["name"], text_of(tool.get("description")), tool.get("input_schema") or {})


def _choice(given: Any) -> Any:
    """Return a `tool_choice` in the format of chat completions."""
    match part(given, "type"):
        case "tool":
            return {"type": "function", "function": {"name": part(given, "name")}}
        case "any":
            return "required"
        case "auto" | "none" as kind:
            return kind
    return None


def _reason(reason: Any) -> str:
    return _REASONS.get(reason, reason) if isinstance(reason, str) else "stop"


def _stop(reply: ModelReply) -> str:
    if reply.tool_calls and reply.finish_reason == "stop":
        return "tool_use"
    return _STOPS.get(reply.finish_reason, reply.finish_reason)


def _blocks(reply: ModelReply) -> Iterator[Fields]:
    if reply.blocks:
        yield from reply.blocks
        return
    if reply.reasoning:
        yield {"type": "thinking", "thinking": reply.reasoning, "signature": ""}
    if reply.text or not reply.tool_calls:
        yield {"type": "text", "text": reply.text}
    for call in reply.tool_calls:
        given = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": given}


def _delta(block: Fields) -> tuple[Fields, Fields]:
    """Return the start of a block and the delta that completes it, which is empty for blocks that come whole."""
    if block["type"] == "thinking":
        return {**block, "thinking": ""}, {"type": "thinking_delta", "thinking": block["thinking"]}
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    if block["type"] != "tool_use":
        return block, {}
    spelled = msgspec.json.encode(block["input"]).decode()
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": spelled}


def _usage(usage: Usage) -> Fields:
    read = usage.cached
    return {
        "input_tokens": max(usage.prompt - read, 0),
        "output_tokens": usage.completion,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": read,
    }


def _event(kind: str, **data: Any) -> bytes:
    return sse.event({"type": kind, **data}, kind)
