"""OpenAI's legacy text completions."""

import time
import uuid
from collections.abc import Iterator, Mapping

import msgspec

from mesocosm.core.message import Message
from mesocosm.core.model import ModelReply, ModelSettings
from mesocosm.http import sse
from mesocosm.proxy import api
from mesocosm.proxy.api import Asked, Fields, Known, MalformedRequest, part, text_of
from mesocosm.proxy.completions import (
    ChatAssembler,
    ChatCompletions,
    first_choice,
    read_logprobs,
    read_usage,
    usage_fields,
)

_SETTINGS = frozenset({"seed", "stop", "presence_penalty", "frequency_penalty", "logit_bias"})
_UNPORTABLE = ("suffix", "echo", "best_of")
_PROBABILITIES = ("logprobs", "prompt_logprobs")
_NOTHING_WRITTEN = (0, 1)
"""Limits of a request that only asks about its prompt; some servers refuse 0."""


class TextCompletions(ChatCompletions):
    """Implements api.Api for `/completions`. If the server does not offer it, the text is sent as a user message."""

    path = "/completions"
    owned = frozenset({"temperature", "max_tokens"})

    def put_in(self, settings: ModelSettings) -> Fields | None:
        """Return a model's settings as request fields, or None if one of them exists only in chat completions."""
        if settings.extra.keys() - _SETTINGS:
            return None
        return super().put_in(settings)

    def translatable(self, asked: Asked) -> bool:
        """Return whether the request can be sent as a chat completion."""
        return not asked.unportable

    def read(self, fields: Mapping[str, msgspec.Raw], known: Known) -> Asked:
        """Read a request. Raises MalformedRequest."""
        data = api.values(fields, ("prompt",))
        if "prompt" not in fields:
            raise MalformedRequest("'prompt' is missing")
        given = api.value_in(fields["prompt"])
        texts = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        messages = tuple(Message("user", text) for text in texts if isinstance(text, str))
        probabilities = api.given(data, _PROBABILITIES)
        unportable = [name for name in _UNPORTABLE if data.get(name)] + probabilities
        if data.get("n") not in {None, 1}:
            unportable.append("n")
        unread = len(messages) != len(texts)
        if unread:
            unportable.append("a prompt of tokens")
        elif len(messages) != 1:
            unportable.append("several prompts")
        asked = api.call(self.path, data, [fields["prompt"]] if unread else ())
        echoes = data.get("echo") is True
        scored = echoes and bool(probabilities) and data.get("max_tokens") in _NOTHING_WRITTEN
        echoed = messages[0].text if echoes and len(messages) == 1 else ""
        return Asked(asked, messages, data, tuple(unportable), scored, echoed)

    def read_answer(self, data: Fields) -> ModelReply | None:
        """Return the reply in a completion: its first choice."""
        choice = first_choice(data)
        text = part(choice, "text")
        if not isinstance(text, str):
            return None
        finish = text_of(part(choice, "finish_reason")) or "stop"
        usage, model = read_usage(data.get("usage")), text_of(data.get("model"))
        logprobs = read_logprobs(part(choice, "logprobs"), usage.completion)
        return ModelReply(text, finish_reason=finish, usage=usage, model=model, logprobs=logprobs)

    def assembler(self) -> "TextAssembler":
        """Return a new assembler of a stream."""
        return TextAssembler()

    def answer(self, reply: ModelReply, asked: Asked) -> Fields:
        """Return a reply as a completion."""
        return {**_frame(reply, asked, reply.finish_reason, reply.text), "usage": usage_fields(reply.usage)}

    def events(self, reply: ModelReply, asked: Asked) -> Iterator[bytes]:
        """Return a reply as chunks."""
        yield sse.event(_frame(reply, asked, None, reply.text))
        yield sse.event(_frame(reply, asked, reply.finish_reason, ""))
        if part(asked.data.get("stream_options"), "include_usage"):
            yield sse.event({**_frame(reply, asked, None, ""), "choices": [], "usage": usage_fields(reply.usage)})
        yield sse.DONE


class TextAssembler(ChatAssembler):
    """Assembles chunks like those of chat completions, but with `text`."""

    def _take(self, choice: Fields) -> None:
        self._text.append(text_of(choice.get("text")))


def _frame(reply: ModelReply, asked: Asked, finish: str | None, text: str) -> Fields:
    return {
        "id": f"cmpl-{uuid.uuid4().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": asked.call.model or reply.model,
        "choices": [{"index": 0, "text": text, "finish_reason": finish, "logprobs": None}],
    }
