"""Models of Anthropic's Messages API, called directly without LiteLLM."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from mesocosm.core.model import ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.http.response import Response
from mesocosm.models import anthropic_messages as wire
from mesocosm.models.endpoint import ModelEndpoint
from mesocosm.models.http_client import ModelHttpClient
from mesocosm.models.prices import Price
from mesocosm.models.refusal import Words
from mesocosm.models.server_model import ReachableModel, opened

VERSION = "2023-06-01"
_BUDGET = ("adaptive", "effort", "thinking.type")
"""Words with which models reject a degree of effort, because they take a number of tokens for their thoughts."""


def open_model(settings: ModelSettings) -> Model:
    """Return the model of Anthropic, or of a server that speaks its protocol. Raises UsageError."""
    return AnthropicModel(*opened(settings, wire.EFFORTS))


class AnthropicModel(ReachableModel):
    """One model at one address that speaks Anthropic's protocol.

    Extra settings are fields of the API. Those of chat completions that the API has under another name are translated:
    `stop`, `tool_choice`, `parallel_tool_calls`, `reasoning_effort`, `user` and `max_completion_tokens`.
    """

    protocol = "anthropic"
    path = "/messages"
    answer = "message"

    def __init__(self, name: ModelName, place: ModelEndpoint, extra: Mapping[str, Any], cost: Price | None) -> None:
        exchange = ModelHttpClient(
            f"{name.provider}/{name.model}",
            f"{place.base_url}/v1",
            place.key,
            key_header="x-api-key",
            headers={"anthropic-version": VERSION},
        )
        super().__init__(name, place, extra, cost, exchange)

    def adapt(self, settings: dict[str, Any]) -> None:
        """Remove or translate, in place, the settings of a program's request that the server does not accept."""
        super().adapt(settings)
        spelled = self._spelled(settings)
        settings.clear()
        settings.update(spelled)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            **wire.conversation(request.messages),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
        }
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.tools:
            body["tools"] = wire.wire_tools(request.tools)
        body |= self._extra
        body |= request.extra
        if request.schema is not None and self._concessions.structured:
            try:
                body["response_format"] = wire.output_format(request.schema)
            except wire.Inexpressible as error:
                self._concessions.without("response_format", f"structured output of this API cannot express {error}")
        self._concessions.apply(body)
        return body

    def _spelled(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body with the names of the API."""
        body = dict(body)
        config = body.get("output_config")
        config = dict(config) if isinstance(config, dict) else {}
        if (limit := body.pop("max_completion_tokens", None)) is not None:
            body["max_tokens"] = limit
        # Any other effort is left for the server to refuse.
        if (effort := body.get("reasoning_effort")) in wire.EFFORTS:
            del body["reasoning_effort"]
            asked = wire.thinking(effort, body.get("max_tokens") or 0, budget=self._budget)
            config = {**asked.get("output_config", {}), **config}
            body.setdefault("thinking", asked["thinking"])
        if (form := body.pop("response_format", None)) is not None:
            config["format"] = form
        if config:
            body["output_config"] = config
        stop = body.pop("stop", None)
        if stop is not None:
            body["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        user = body.pop("user", None)
        if user is not None:
            body.setdefault("metadata", {"user_id": user})
        choice = wire.tool_choice(body.pop("tool_choice", None), body.pop("parallel_tool_calls", None))
        if choice is not None:
            body["tool_choice"] = choice
        return body

    def _rejects_effort(self, said: Words, body: Mapping[str, Any]) -> bool:
        asked = "reasoning_effort" in body or body.get("thinking") == {"type": "adaptive", "display": "summarized"}
        return asked and any(word in said.message for word in _BUDGET)

    def _read(self, response: Response, request: ModelRequest, started: float) -> ModelReply:
        answer = wire.decode(response.body)
        reply = wire.reply(answer, self._price, self.name, time.perf_counter() - started)
        if reply is not None:
            return replace(reply, usage=reply.usage.charged(response.headers))
        if not answer.error:
            raise self._exchange.invalid(self.path, response.body, "holds no answer")
        # Gateways put errors into a 200.
        body = msgspec.json.encode({"error": answer.error})
        raise self._refused(Response(wire.status_of(answer.error), response.headers, body), request.max_tokens)
