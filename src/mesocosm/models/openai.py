"""Models of servers that speak OpenAI chat completions, called directly without LiteLLM."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from mesocosm.core.failure import EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.core.model import ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.http.response import Response
from mesocosm.models import chat_completions
from mesocosm.models.endpoint import ModelEndpoint
from mesocosm.models.http_client import CHECK_S, ModelHttpClient
from mesocosm.models.prices import Price
from mesocosm.models.server_model import ReachableModel, opened

PATH = "/chat/completions"
PROBE = "one two three four five"
"""A text of more than two tokens in any vocabulary."""


def open_model(settings: ModelSettings) -> Model:
    """Return the model behind an OpenAI-compatible address. Raises UsageError if there is no address."""
    return OpenAIModel(*opened(settings))


class OpenAIModel(ReachableModel):
    """One model at one address that speaks the OpenAI protocol."""

    protocol = "openai"
    path = PATH
    answer = "chat completion"
    hint = ": it usually ends in /v1"

    def __init__(self, name: ModelName, place: ModelEndpoint, extra: Mapping[str, Any], cost: Price | None) -> None:
        if name.provider == "openrouter":
            extra = {"usage": {"include": True}, **extra}
        exchange = ModelHttpClient(f"{name.provider}/{name.model}", place.base_url, place.key)
        super().__init__(name, place, extra, cost, exchange)
        if "max_completion_tokens" in extra:
            self._concessions.limit = "max_completion_tokens"
        if name.provider == "cerebras":
            self._model = name.model.removeprefix("openai/")

    async def reads_logprobs(self) -> bool:
        """Return whether the server says how probable a given text is; some take `echo` and ignore it.

        Raises EpisodeError.
        """
        if self._reads is None:
            asked = {"prompt": PROBE, "max_tokens": 1, "echo": True, "logprobs": 1, "temperature": 0}
            body = msgspec.json.encode({"model": self._model, **asked})
            response = await self._exchange.post("/completions", body, CHECK_S)
            if response.status not in {200, 400, 404, 405, 422, 501}:
                raise self._refused(response, 1, "/completions")
            self._reads = response.status == 200 and _tells_probabilities(response.body)
        return self._reads

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": chat_completions.wire_messages(request.messages),
            "temperature": request.temperature,
            self._concessions.limit: request.max_tokens,
        }
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.schema is not None:
            body["response_format"] = chat_completions.response_format(request)
        if request.tools:
            body["tools"] = chat_completions.wire_tools(request.tools)
        if self._extra or request.extra:
            body |= self._extra
            body |= request.extra
        self._concessions.apply(body)
        return body

    def _read(self, response: Response, request: ModelRequest, started: float) -> ModelReply:
        completion = chat_completions.decode(response.body)
        reply = chat_completions.reply(completion, self._price, self.name, time.perf_counter() - started)
        if reply is None:
            raise self._nothing(completion, response, request)
        reply = replace(reply, usage=reply.usage.charged(response.headers))
        return replace(reply, served=completion.model) if isinstance(completion.model, str) else reply

    def _nothing(
        self, completion: chat_completions.Completion, response: Response, request: ModelRequest
    ) -> EpisodeError:
        """Return the error in a body that holds no answer; gateways put errors into a 200."""
        error = completion.error
        if error is None and completion.choices:
            error = completion.choices[0].error
        if error is None:
            return self._exchange.invalid(PATH, response.body, "holds no answer")
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 502
        inner = Response(status, response.headers, msgspec.json.encode({"error": error}))
        return self._refused(inner, request.max_tokens)


def _tells_probabilities(body: bytes) -> bool:
    """Return whether a completion holds the log-probabilities of the prompt that was to be given back with it."""
    try:
        answer = read_json(body)
        values = answer["choices"][0]["logprobs"]["token_logprobs"]
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError):
        return False
    return isinstance(values, list) and sum(isinstance(value, float | int) for value in values) > 1
