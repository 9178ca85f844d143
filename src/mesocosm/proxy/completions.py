"""OpenAI chat completions."""

import math
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mesocosm.core import foreign
from mesocosm.core.message import Image, Message, Role, Text, ToolCall
from mesocosm.core.model import Logprobs, ModelReply, ModelRequest, ModelSettings, Tool
from mesocosm.core.proxy import Protocols
from mesocosm.core.usage import Usage
from mesocosm.http import sse
from mesocosm.proxy import api
from mesocosm.proxy.api import Asked, Calling, Fields, Known, MalformedRequest, Omitted, items_of, part, text_of

_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,")
_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_UNPORTABLE = ("audio", "modalities", "web_search_options", "functions")
_PROBABILITIES = ("logprobs", "top_logprobs", "prompt_logprobs")


class ChatCompletions:
    """Implements api.Api for `/chat/completions`."""

    protocol: Protocols = "openai"
    path = "/chat/completions"
    owned = frozenset({"temperature", "max_tokens", "max_completion_tokens"})

    def put_in(self, settings: ModelSettings) -> Fields | None:
        """Return the settings of a model as fields of a request."""
        found: Fields = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
        if settings.top_p is not None:
            found["top_p"] = settings.top_p
        if "max_completion_tokens" in settings.extra:
            del found["max_tokens"]
        return found | settings.extra

    def translatable(self, asked: Asked) -> bool:
        """Return False: a server without chat completions has no other API to translate to."""
        return False

    def read(self, fields: Mapping[str, msgspec.Raw], known: Known) -> Asked:
        """Read a request. Raises MalformedRequest."""
        data = api.values(fields, ("messages",))
        raws = api.pieces(fields, "messages")
        messages = tuple(message for raw in raws for message in known.take(raw, _message))
        unportable = [name for name in _UNPORTABLE if data.get(name)] + api.given(data, _PROBABILITIES)
        unportable += [f"content of type {kind}" for kind in api.omitted(messages)]
        if data.get("n") not in {None, 1}:
            unportable.append("n")
        if any(part(tool, "type") != "function" for tool in api.listed(data, "tools")):
            unportable.append("tools that are not functions")
        return Asked(api.call(self.path, data), messages, data, tuple(unportable))

    def ask(self, asked: Asked, settings: ModelSettings) -> ModelRequest:
        """Return the request for any model. Raises MalformedRequest."""
        data = asked.data
        limit = data.get("max_completion_tokens", data.get("max_tokens"))
        top_p = data.get("top_p")
        schema, name = _schema(data.get("response_format"))
        tools = tuple(_tool(part(tool, "function")) for tool in api.listed(data, "tools"))
        extra = {key: data[key] for key in api.PASSED_ON if data.get(key) is not None}
        if tools:
            extra |= {key: data[key] for key in ("tool_choice", "parallel_tool_calls") if key in data}
        return ModelRequest(
            asked.messages,
            api.number(data.get("temperature"), settings.temperature, "temperature"),
            api.whole(limit, settings.max_tokens, "max_tokens"),
            settings.top_p if top_p is None else api.number(top_p, 1.0, "top_p"),
            schema,
            name,
            tools,
            settings.timeout_s,
            extra,
        )

    def read_answer(self, data: Fields) -> ModelReply | None:
        """Return the reply in a completion, taken from its first choice."""
        choice = first_choice(data)
        message = part(choice, "message")
        if not isinstance(message, dict):
            return None
        content, refusal = message.get("content"), text_of(message.get("refusal"))
        text = content if isinstance(content, str) else _joined(content)
        calls = message.get("tool_calls")
        tool_calls = tuple(_called(call, n) for n, call in enumerate(calls)) if isinstance(calls, list) else ()
        finish = text_of(part(choice, "finish_reason")) or ("tool_calls" if tool_calls else "stop")
        reasoning = text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))
        usage, model = read_usage(data.get("usage")), text_of(data.get("model"))
        logprobs = read_logprobs(part(choice, "logprobs"))
        return ModelReply(text or refusal, reasoning, tool_calls, finish, usage, model, logprobs=logprobs)

    def assembler(self) -> "ChatAssembler":
        """Return a new assembler of a stream."""
        return ChatAssembler()

    def answer(self, reply: ModelReply, asked: Asked) -> Fields:
        """Return a reply as a completion."""
        message: Fields = {
            "role": "assistant",
            "content": reply.text or (None if reply.tool_calls else ""),
            "refusal": None,
        }
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.tool_calls:
            message["tool_calls"] = [_call(call) for call in reply.tool_calls]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
        return {**_frame(asked, reply, "chat.completion"), "choices": [choice], "usage": usage_fields(reply.usage)}

    def events(self, reply: ModelReply, asked: Asked) -> Iterator[bytes]:
        """Return a reply as chunks."""
        frame = _frame(asked, reply, "chat.completion.chunk")

        def chunk(delta: Fields, finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
            return sse.event({**frame, "choices": [choice]})

        yield chunk({"role": "assistant", "content": ""})
        if reply.reasoning:
            yield chunk({"reasoning_content": reply.reasoning})
        if reply.text:
            yield chunk({"content": reply.text})
        for n, call in enumerate(reply.tool_calls):
            yield chunk({"tool_calls": [{"index": n, **_call(call)}]})
        yield chunk({}, _finish(reply))
        if part(asked.data.get("stream_options"), "include_usage"):
            yield sse.event({**frame, "choices": [], "usage": usage_fields(reply.usage)})
        yield sse.DONE

    def error(self, status: int, message: str, code: str = "") -> Fields:
        """Return an error."""
        return openai_error(status, message, code)

    def error_event(self, message: str) -> bytes:
        """Return an error event for a stream that has already started."""
        return sse.event(openai_error(502, message))


class ChatAssembler:
    """Assembles chunks. The first of several choices is the reply; the answer is complete when all have ended."""

    def __init__(self) -> None:
        self.complete = False
        self.error = ""
        self.status = 200
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[Calling] = []
        self._at: dict[int, Calling] = {}
        self._ends: dict[int, str] = {}
        self._model = ""
        self._usage: Any = None

    def feed(self, data: bytes) -> None:
        """Process a chunk."""
        if data.strip() == b"[DONE]":
            self.complete = True
            return
        chunk = api.object_in(data)
        if chunk.get("error"):
            self._fail(chunk["error"], str(chunk["error"])[:500])
        self._model = text_of(chunk.get("model")) or self._model
        self._usage = chunk.get("usage") or self._usage
        for choice in items_of(chunk.get("choices")):
            if isinstance(choice, dict):
                self._choice(choice)

    @property
    def ended(self) -> bool:
        """Whether every choice has a finish reason, or the last event has arrived."""
        return self.complete or (bool(self._ends) and all(self._ends.values()))

    def _choice(self, choice: Fields) -> None:
        place = choice.get("index")
        index = place if isinstance(place, int) else 0
        self._ends[index] = text_of(choice.get("finish_reason")) or self._ends.get(index, "")
        if self._ends[index] == "error" or choice.get("error"):
            self._fail(choice.get("error"), "the provider broke the answer off")
        if not index:
            self._take(choice)

    def _fail(self, error: Any, otherwise: str) -> None:
        if not self.error:
            self.error, self.status = text_of(part(error, "message")) or otherwise, api.status_in(error)

    def _take(self, choice: Fields) -> None:
        """Add a delta to the reply."""
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        self._text.append(text_of(delta.get("content")) or text_of(delta.get("refusal")))
        self._reasoning.append(text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning")))
        for n, call in enumerate(items_of(delta.get("tool_calls"))):
            index = part(call, "index")
            tool = text_of(part(call, "function", "name"))
            calling = self._calling(index if isinstance(index, int) else n, text_of(part(call, "id")), tool)
            calling.arguments.append(text_of(part(call, "function", "arguments")))

    def _calling(self, index: int, name: str, tool: str) -> Calling:
        """Return the tool call at an index.

        Some servers give all calls the same index; a new id then starts another call. Others send a new id with every
        piece of a call, of which only the first names the tool.
        """
        known = self._at.get(index)
        if known is None or (tool and name and known.id and name != known.id):
            known = self._at[index] = Calling()
            self._calls.append(known)
        known.id, known.name = known.id or name, known.name or tool
        return known

    def reply(self) -> ModelReply | None:
        """Return the reply so far."""
        if 0 not in self._ends:
            return None
        calls = tuple(call.done(n) for n, call in enumerate(self._calls))
        finish = self._ends[0] or ("tool_calls" if calls else "stop")
        return ModelReply(
            "".join(self._text), "".join(self._reasoning), calls, finish, read_usage(self._usage), self._model
        )


def first_choice(data: Fields) -> Any:
    """Return the first choice of a completion, or None if there is none or the provider aborted one.

    Routers report an abort as an error beside the choice or as its finish reason; it is not an answer of the model.
    """
    choices = items_of(data.get("choices"))
    broken = any(part(choice, "finish_reason") == "error" or part(choice, "error") for choice in choices)
    return None if broken or data.get("error") or not choices else choices[0]


def openai_error(status: int, message: str, code: str = "") -> Fields:
    """Return an error in OpenAI's format."""
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = (
        code
        if code == "budget_exceeded"
        else kinds.get(status, "server_error" if status >= 500 else "invalid_request_error")
    )
    return {"error": {"message": message, "type": kind, "param": None, "code": code or None}}


def read_usage(data: Any) -> Usage:
    """Return the usage of a completion."""
    cached = part(data, "prompt_tokens_details", "cached_tokens") or part(data, "prompt_cache_hit_tokens")
    reasoning = part(data, "completion_tokens_details", "reasoning_tokens")
    return api.usage(
        part(data, "prompt_tokens"), part(data, "completion_tokens"), cached, reasoning, part(data, "cost")
    )


def read_logprobs(data: Any, completion: int = 0) -> Logprobs | None:
    """Return the sums of the log-probabilities in a choice, None without any.

    If there are more than the `completion` tokens of the reply, the first ones are those of the prompt.
    """
    values = part(data, "token_logprobs")
    if not isinstance(values, list):
        values = [part(one, "logprob") for one in items_of(part(data, "content"))]
    if not values:
        return None
    begin = max(len(values) - completion, 0) if completion else 0
    read, said = (
        [one for one in map(foreign.finite, piece) if one is not None] for piece in (values[:begin], values[begin:])
    )
    of_reply = Logprobs(len(said), math.fsum(said))
    return msgspec.structs.replace(of_reply, read=len(read), read_total=math.fsum(read)) if read else of_reply


def image(url: Any) -> Image:
    """Return an image by its URL, which may be a data URL. Raises MalformedRequest."""
    if not isinstance(url, str) or not url:
        raise MalformedRequest("an image has no URL")
    match = _DATA_URL.match(url)
    return Image(match["type"], url[match.end() :]) if match else Image("image/*", url=url)


def _message(data: Any) -> tuple[Message, ...]:
    role = _ROLES.get(text_of(part(data, "role")))
    if role is None:
        raise MalformedRequest(f"a message has the role {part(data, 'role')!r}; known are {', '.join(_ROLES)}")
    calls = data.get("tool_calls") or ()
    return (
        Message(
            role,
            _content(data.get("content")),
            text_of(data.get("reasoning_content")) or text_of(data.get("reasoning")),
            tuple(_called(call, n) for n, call in enumerate(calls)) if isinstance(calls, list) else (),
            text_of(data.get("tool_call_id")),
        ),
    )


def _content(content: Any) -> str | tuple[Text | Image, ...]:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise MalformedRequest("the content of a message is neither a text nor a list of parts")
    return tuple(_part(piece) for piece in content)


def _part(piece: Any) -> Text | Image:
    kind = part(piece, "type")
    if kind in ("text", "refusal"):
        return Text(text_of(piece.get(kind)))
    if kind == "image_url":
        url = piece.get("image_url")
        return image(url if isinstance(url, str) else part(url, "url"))
    return Omitted(str(kind))


def _joined(content: Any) -> str:
    return "".join(text_of(part(piece, "text")) for piece in content) if isinstance(content, list) else ""


def _called(call: Any, position: int) -> ToolCall:
    name, given = part(call, "function", "name"), part(call, "function", "arguments")
    return ToolCall(text_of(part(call, "id")) or f"call_{position}", text_of(name), api.arguments(given))


def _schema(given: Any) -> tuple[Mapping[str, Any] | None, str]:
    kind = part(given, "type")
    if kind == "json_schema":
        schema = part(given, "json_schema", "schema")
        if not isinstance(schema, dict):
            raise MalformedRequest("'response_format' has no schema")
        return schema, text_of(part(given, "json_schema", "name")) or "answer"
    return ({"type": "object"}, "answer") if kind == "json_object" else (None, "action")


def _tool(function: Any) -> Tool:
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise MalformedRequest("a tool has no name")
    return Tool(function["name"], text_of(function.get("description")), function.get("parameters") or {})


def _frame(asked: Asked, reply: ModelReply, kind: str) -> Fields:
    name = asked.call.model or reply.model
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": name}


def _call(call: ToolCall) -> Fields:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": api.spelled(call)}}


def _finish(reply: ModelReply) -> str:
    return "tool_calls" if reply.tool_calls and reply.finish_reason == "stop" else reply.finish_reason


def usage_fields(usage: Usage) -> Fields:
    """Return usage in the format of a completion."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }
