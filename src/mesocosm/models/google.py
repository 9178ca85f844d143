"""Models of Google's Gemini API, called directly without LiteLLM."""

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
from mesocosm.models import google_content as wire
from mesocosm.models.endpoint import ModelEndpoint
from mesocosm.models.http_client import ModelHttpClient
from mesocosm.models.prices import Price
from mesocosm.models.refusal import Words
from mesocosm.models.server_model import ServerModel, opened


def open_model(settings: ModelSettings) -> Model:
    """Return the model of Google, or of a server that speaks its protocol. Raises UsageError."""
    return GoogleModel(*opened(settings, wire.EFFORTS))


class GoogleModel(ServerModel):
    """One model at one address that speaks Google's protocol.

    Extra settings are fields of the API. Those of chat completions that the API has under another name are translated.
    """

    answer = "generated content"

    def __init__(self, name: ModelName, place: ModelEndpoint, extra: Mapping[str, Any], cost: Price | None) -> None:
        exchange = ModelHttpClient(
            f"{name.provider}/{name.model}", f"{place.base_url}/v1beta", place.key, key_header="x-goog-api-key"
        )
        super().__init__(name, place, extra, cost, exchange)
        self.path = f"/models/{self._model.removeprefix('models/')}:generateContent"

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            **wire.conversation(request.messages),
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
        }
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.schema is not None:
            body["response_format"] = request.schema
        if request.tools:
            body["tools"] = wire.wire_tools(request.tools)
        body |= self._extra
        body |= request.extra
        self._concessions.apply(body)
        return body

    def _spelled(self, body: dict[str, Any]) -> dict[str, Any]:
        return wire.spelled(body, budget=self._budget)

    def _rejects_effort(self, said: Words, body: Mapping[str, Any]) -> bool:
        level = "thinking level" in said.message.lower() or "thinking_level" in said.message
        return "reasoning_effort" in body and level

    def _read(self, response: Response, request: ModelRequest, started: float) -> ModelReply:
        answer = wire.decode(response.body)
        reply = wire.reply(answer, self._price, self.name, time.perf_counter() - started)
        if reply is not None:
            return replace(reply, usage=reply.usage.charged(response.headers))
        if not answer.error:
            raise self._exchange.invalid(self.path, response.body, "holds no answer")
        code = answer.error.get("code") if isinstance(answer.error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 502
        body = msgspec.json.encode({"error": answer.error})
        raise self._refused(Response(status, response.headers, body), request.max_tokens)

    def _refused(self, response: Response, max_tokens: int, path: str = "") -> EpisodeError:
        """Return the error. The API says in the body how long to wait."""
        try:
            body = read_json(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            body = None
        delay = wire.retry_delay(body.get("error")) if isinstance(body, dict) else ""
        if delay and "retry-after" not in response.headers:
            response = Response(response.status, {**response.headers, "retry-after": delay}, response.body)
        return super()._refused(response, max_tokens, path)
