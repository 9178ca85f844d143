"""OpenAI responses."""

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mesocosm.core.message import Image, Message, Role, Text, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings, Tool
from mesocosm.core.proxy import Protocols
from mesocosm.core.usage import Usage
from mesocosm.http import sse
from mesocosm.proxy import api
from mesocosm.proxy.api import Asked, Fields, Known, MalformedRequest, Omitted, items_of, part, text_of
from mesocosm.proxy.completions import image, openai_error

_ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_UNPORTABLE = ("previous_response_id", "conversation", "prompt", "background")
_SETTINGS = frozenset(
    {
        "metadata",
        "parallel_tool_calls",
        "reasoning",
        "service_tier",
        "store",
        "text",
        "top_logprobs",
        "truncation",
        "user",
    }
)
"""Model settings that a request may hold under the same name."""

_UNFINISHED = frozenset({"failed", "cancelled", "queued", "in_progress"})
"""Statuses of responses that hold no answer."""

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class Responses:
    """Implements api.Api for `/responses`."""

    protocol: Protocols = "openai"
    path = "/responses"
    owned = frozenset({"temperature", "max_output_tokens"})

    def put_in(self, settings: ModelSettings) -> Fields | None:
        """Return a model's settings as request fields, or None if one of them exists only in chat completions."""
        found: Fields = {"temperature": settings.temperature, "max_output_tokens": settings.max_tokens}
        if settings.top_p is not None:
            found["top_p"] = settings.top_p
        extra = dict(settings.extra)
        effort = extra.pop("reasoning_effort", None)
        if effort is not None:
            found["reasoning"] = {"effort": effort}
        return found | extra if extra.keys() <= _SETTINGS else None

    def translatable(self, asked: Asked) -> bool:
        """Return whether a request can be sent as a chat completion."""
        return not asked.unportable

    def read(self, fields: Mapping[str, msgspec.Raw], known: Known) -> Asked:
        """Read a request. Raises MalformedRequest."""
        data = api.values(fields, ("input", "instructions"))
        instructions = known.take(fields["instructions"], _instructions) if "instructions" in fields else ()
        raw = fields.get("input", msgspec.Raw(b'""'))
        items = [raw] if bytes(raw).lstrip()[:1] != b"[" else api.pieces(fields, "input")
        messages = (*instructions, *(message for item in items for message in known.take(item, _item)))
        unportable = [name for name in _UNPORTABLE if data.get(name)]
        unportable += [f"content of type {kind}" for kind in api.omitted(messages)]
        if any(part(tool, "type") != "function" for tool in api.listed(data, "tools")):
            unportable.append("tools that are not functions")
        return Asked(api.call(self.path, data), messages, data, tuple(unportable))

    def ask(self, asked: Asked, settings: ModelSettings) -> ModelRequest:
        """Return the request for any model. Raises MalformedRequest."""
        data = asked.data
        top_p = data.get("top_p")
        schema, name = _schema(part(data, "text", "format"))
        tools = tuple(_tool(tool) for tool in api.listed(data, "tools"))
        extra: Fields = {}
        if effort := part(data, "reasoning", "effort"):
            extra["reasoning_effort"] = effort
        if tools and data.get("tool_choice") is not None:
            extra["tool_choice"] = _choice(data["tool_choice"])
        if tools and data.get("parallel_tool_calls") is not None:
            extra["parallel_tool_calls"] = data["parallel_tool_calls"]
        return ModelRequest(
            _joined(asked.messages),
            api.number(data.get("temperature"), settings.temperature, "temperature"),
            api.whole(data.get("max_output_tokens"), settings.max_tokens, "max_output_tokens"),
            settings.top_p if top_p is None else api.number(top_p, 1.0, "top_p"),
            schema,
            name,
            tools,
            settings.timeout_s,
            extra,
        )

    def read_answer(self, data: Fields) -> ModelReply | None:
        """Return the reply in a response."""
        output = data.get("output")
        if not isinstance(output, list) or data.get("error") or text_of(data.get("status")) in _UNFINISHED:
            return None
        items = [item for item in output if isinstance(item, dict)]
        said = [piece for item in items if item.get("type") == "message" for piece in items_of(item.get("content"))]
        thought = [
            piece for item in items if item.get("type") == "reasoning" for piece in items_of(item.get("summary"))
        ]
        calls = tuple(_call(item) for item in items if item.get("type") == "function_call")
        reason = part(data, "incomplete_details", "reason")
        finish = "length" if reason == "max_output_tokens" else text_of(reason) or ("tool_calls" if calls else "stop")
        return ModelReply(
            "".join(text_of(part(piece, "text")) or text_of(part(piece, "refusal")) for piece in said),
            "\n".join(text_of(part(piece, "text")) for piece in thought),
            calls,
            finish,
            read_usage(data.get("usage")),
            text_of(data.get("model")),
        )

    def assembler(self) -> "ResponseAssembler":
        """Return a new assembler of a stream."""
        return ResponseAssembler(self)

    def answer(self, reply: ModelReply, asked: Asked) -> Fields:
        """Return a reply as a response."""
        data = asked.data
        short = reply.finish_reason == "length"
        return {
            "id": f"resp_{uuid.uuid4().hex}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "incomplete" if short else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if short else None,
            "error": None,
            "instructions": None,
            "metadata": data.get("metadata") or {},
            "model": asked.call.model or reply.model,
            "output": list(_output(reply)),
            "parallel_tool_calls": data.get("parallel_tool_calls", True),
            "temperature": data.get("temperature"),
            "tool_choice": data.get("tool_choice") or "auto",
            "tools": api.listed(data, "tools"),
            "top_p": data.get("top_p"),
            "usage": _usage(reply.usage),
        }

    def events(self, reply: ModelReply, asked: Asked) -> Iterator[bytes]:
        """Return a reply as numbered events."""
        for number, event in enumerate(_events(self.answer(reply, asked))):
            yield sse.event({**event, "sequence_number": number}, event["type"])

    def error(self, status: int, message: str, code: str = "") -> Fields:
        """Return an error."""
        return openai_error(status, message, code)

    def error_event(self, message: str) -> bytes:
        """Return an error event for a stream that has already started."""
        said = {"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 0}
        return sse.event(said, "error")


class ResponseAssembler:
    """Assembles the events of a response; its last event holds the whole response."""

    def __init__(self, responses: Responses) -> None:
        self.complete = False
        self.error = ""
        self.status = 200
        self._responses = responses
        self._text: list[str] = []
        self._whole: ModelReply | None = None

    def feed(self, data: bytes) -> None:
        """Process an event."""
        event = api.object_in(data)
        kind = part(event, "type")
        if kind == "response.output_text.delta":
            self._text.append(text_of(event.get("delta")))
        elif text_of(kind) in _ENDS:
            response = event.get("response")
            self.complete = True
            self._whole = self._responses.read_answer(response) if isinstance(response, dict) else None
            if kind == "response.failed":
                self.error = text_of(part(response, "error", "message")) or "the response failed"
        elif kind == "error":
            self.error = text_of(event.get("message")) or text_of(part(event, "error", "message")) or "an error"

    @property
    def ended(self) -> bool:
        """Whether the last event, which holds the answer, has arrived."""
        return self.complete

    def reply(self) -> ModelReply | None:
        """Return the reply so far."""
        if self._whole is None and self._text:
            return ModelReply("".join(self._text), usage=read_usage(None))
        return self._whole


def read_usage(data: Any) -> Usage:
    """Return the usage of a response."""
    cached = part(data, "input_tokens_details", "cached_tokens")
    reasoning = part(data, "output_tokens_details", "reasoning_tokens")
    return api.usage(part(data, "input_tokens"), part(data, "output_tokens"), cached, reasoning)


def _instructions(data: Any) -> tuple[Message, ...]:
    return (Message("system", data),) if isinstance(data, str) and data else ()


def _item(item: Any) -> tuple[Message, ...]:
    if isinstance(item, str):
        return (Message("user", item),) if item else ()
    match part(item, "type"):
        case None | "message":
            role = _ROLES.get(text_of(part(item, "role")))
            if role is None:
                raise MalformedRequest(f"an item has the role {part(item, 'role')!r}; known are {', '.join(_ROLES)}")
            return (Message(role, _content(item.get("content"))),)
        case "function_call":
            return (Message("assistant", tool_calls=(_call(item),)),)
        case "function_call_output":
            return (Message("tool", _content(item.get("output")), tool_call_id=text_of(item.get("call_id"))),)
        case "reasoning":
            summary = "\n".join(text_of(part(piece, "text")) for piece in items_of(item.get("summary")))
            return (Message("assistant", reasoning=summary),) if summary else ()
        case kind:
            return (Message("user", (Omitted(str(kind)),)),)


def _content(content: Any) -> str | tuple[Text | Image, ...]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise MalformedRequest("the content of an item of the input is neither a text nor a list of parts")
    return tuple(_part(piece) for piece in content)


def _part(piece: Any) -> Text | Image:
    kind = part(piece, "type")
    if kind in ("input_text", "output_text", "text", "refusal"):
        return Text(text_of(piece.get("text")) or text_of(piece.get("refusal")))
    if kind == "input_image" and piece.get("image_url"):
        return image(piece["image_url"])
    return Omitted(str(kind))


def _joined(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Merge consecutive assistant messages (text and tool calls) into one, as other protocols require."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and last.role == message.role == "assistant":
            content = "\n".join(text for text in (last.text, message.text) if text)
            thought = "\n".join(text for text in (last.reasoning, message.reasoning) if text)
            joined[-1] = Message("assistant", content, thought, (*last.tool_calls, *message.tool_calls))
        else:
            joined.append(message)
    return tuple(joined)


def _call(item: Fields) -> ToolCall:
    return ToolCall(text_of(item.get("call_id")), text_of(item.get("name")), api.arguments(item.get("arguments")))


def _schema(given: Any) -> tuple[Mapping[str, Any] | None, str]:
    kind = part(given, "type")
    if kind == "json_schema":
        schema = part(given, "schema")
        if not isinstance(schema, dict):
            raise MalformedRequest("'text.format' has no schema")
        return schema, text_of(part(given, "name")) or "answer"
    return ({"type": "object"}, "answer") if kind == "json_object" else (None, "action")


def _tool(tool: Any) -> Tool:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        raise MalformedRequest("a tool has no name")
    return Tool(tool["name"], text_of(tool.get("description")), tool.get("parameters") or {})


def _choice(given: Any) -> Any:
    """Return a `tool_choice` in the format of chat completions."""
    if part(given, "type") == "function":
        return {"type": "function", "function": {"name": part(given, "name")}}
    return given


def _output(reply: ModelReply) -> Iterator[Fields]:
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        yield {"type": "reasoning", "id": f"rs_{uuid.uuid4().hex}", "summary": summary}
    if reply.text or not reply.tool_calls:
        said = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        frame = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "status": "completed"}
        yield {**frame, "content": [said]}
    for call in reply.tool_calls:
        named = {"call_id": call.id, "name": call.name, "arguments": api.spelled(call), "status": "completed"}
        yield {"type": "function_call", "id": f"fc_{uuid.uuid4().hex}", **named}


def _events(whole: Fields) -> Iterator[Fields]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            yield from _message_events(item, place)
        elif item["type"] == "function_call":
            empty = {**item, "arguments": "", "status": "in_progress"}
            yield {"type": "response.output_item.added", "output_index": index, "item": empty}
            yield {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]}
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **place, **done}
        else:
            yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "summary": []}}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _message_events(item: Fields, place: Fields) -> Iterator[Fields]:
    said = item["content"][0]
    empty = {**item, "content": [], "status": "in_progress"}
    place_in = {**place, "content_index": 0}
    yield {"type": "response.output_item.added", "output_index": place["output_index"], "item": empty}
    yield {"type": "response.content_part.added", **place_in, "part": {**said, "text": ""}}
    yield {"type": "response.output_text.delta", **place_in, "delta": said["text"], "logprobs": []}
    yield {"type": "response.output_text.done", **place_in, "text": said["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place_in, "part": said}


def _usage(usage: Usage) -> Fields:
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total,
    }
