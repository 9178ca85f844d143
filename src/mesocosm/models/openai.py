"""Models of servers that speak OpenAI chat completions, called directly without LiteLLM."""

import difflib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from mesocosm.core.failure import EpisodeError, UsageError
from mesocosm.core.foreign import read_json
from mesocosm.core.ids import digest
from mesocosm.core.model import Capabilities, ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.proxy import Upstream
from mesocosm.core.usage import Usage
from mesocosm.http.response import Response
from mesocosm.models import chat_completions
from mesocosm.models.endpoint import ModelEndpoint, endpoint, is_loopback, without_credentials
from mesocosm.models.http_client import CHECK_S, ModelHttpClient
from mesocosm.models.prices import Price, price
from mesocosm.models.refusal import words
from mesocosm.models.unsupported import UnsupportedParameters

PATH = "/chat/completions"
_encode = msgspec.json.Encoder().encode


def open_model(settings: ModelSettings) -> Model:
    """Return the model behind an OpenAI-compatible address. Raises UsageError if there is no address."""
    name = ModelName.parse(settings.name)
    if settings.extra.get("stream"):
        raise UsageError(f"{settings.name}: answers are not streamed here; take `stream` out of the extra settings")
    place = endpoint(name)
    cost = price(name, local=is_loopback(place.base_url), elsewhere=not place.needs_key)
    return OpenAIModel(name, place, settings.extra, cost)


class OpenAIModel:
    """One model at one address.

    Features that the model rejects (a structured `response_format`, a temperature, the field `max_tokens`) are
    remembered and left out or renamed from then on, with one warning.
    """

    def __init__(self, name: ModelName, place: ModelEndpoint, extra: Mapping[str, Any], cost: Price | None) -> None:
        self.name = f"{name.provider}/{name.model}"
        self._model = name.model.removeprefix("openai/") if name.provider == "cerebras" else name.model
        self._place = place
        self._extra = {"usage": {"include": True}, **extra} if name.provider == "openrouter" else dict(extra)
        self._price = cost
        self._exchange = ModelHttpClient(self.name, place.base_url, place.key)
        limit = "max_completion_tokens" if "max_completion_tokens" in extra else "max_tokens"
        self._concessions = UnsupportedParameters(self.name, limit)
        self._listed: list[str] = []
        self._local = is_loopback(place.base_url)

    @property
    def capabilities(self) -> Capabilities:
        """The model's capabilities, without those that it has rejected."""
        return Capabilities(self._concessions.structured, images=True, tools=True, local=self._local)

    @property
    def upstream(self) -> Upstream:
        """The server that programs' calls are forwarded to."""
        return Upstream("openai", self._place.base_url, self._place.key, self._model)

    def priced(self, usage: Usage) -> Usage:
        """Return `usage` with its cost; the cost is None if the price is unknown."""
        return chat_completions.priced(usage, self._price)

    @property
    def server(self) -> Mapping[str, str]:
        """The server's address, and a digest of the list of models that it had during the check.

        The digest is left out for a provider's public address, whose list grows with every release and says nothing
        about the model in use.
        """
        found = {"address": without_credentials(self._place.base_url)}
        listed = self._listed and not self._place.needs_key
        return {**found, "models": digest(sorted(self._listed))} if listed else found

    def adapt(self, settings: dict[str, Any]) -> None:
        """Remove or rename the settings in a program's request that the server does not accept."""
        self._concessions.apply(settings)

    def concedes(self, status: int, answer: bytes, settings: dict[str, Any]) -> bool:
        """Return whether the server rejected one of `settings`, which is removed or renamed from now on."""
        return self._concessions.make(status, words(answer), settings)

    def refusal(
        self, path: str, status: int, headers: Mapping[str, str], answer: bytes, max_tokens: int
    ) -> EpisodeError:
        """Return the error for a response to a program with a status other than 200."""
        response = Response(status, headers, answer)
        return self._exchange.refusal(
            path, response, max_tokens, variables=self._place.variables, missing=self._missing()
        )

    async def check(self) -> None:
        """Check that the server answers and accepts the key. Raises EpisodeError or UsageError.

        The model's name is not checked until the first call: not every server lists all the names that it accepts.
        """
        place = self._place
        if place.needs_key and not place.key:
            raise UsageError(
                f"{self.name} needs a key, and neither {' nor '.join(place.variables)} is set; "
                f"export {place.variables[0]}=…, or run a local model such as ollama/llama3.2"
            )
        response = await self._exchange.get("/models", CHECK_S)
        if response.status in {401, 402, 403}:
            raise self._exchange.refusal("/models", response, 0, variables=place.variables)
        if response.status == 200:
            self._listed = _listed(response.body)

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the answer to one call. Raises EpisodeError.

        A call is sent again only if the server rejected a field that can be left out.
        """
        started = time.perf_counter()
        while True:
            body = self._body(request)
            response = await self._exchange.post(PATH, _encode(body), request.timeout_s)
            if response.status == 200:
                break
            if not self._concessions.make(response.status, self._exchange.words(response), body):
                raise self._exchange.refusal(
                    PATH, response, request.max_tokens, variables=self._place.variables, missing=self._missing()
                )
        try:
            completion = chat_completions.decode(response.body)
        except msgspec.ValidationError as error:
            raise self._exchange.invalid(PATH, response.body, f"is not a chat completion ({error})") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._exchange.invalid(PATH, response.body, f"is not JSON ({error})") from error
        reply = chat_completions.reply(completion, self._price, self.name, time.perf_counter() - started)
        if reply is None:
            raise self._nothing(completion, response, request)
        reply = replace(reply, usage=reply.usage.charged(response.headers))
        return replace(reply, served=completion.model) if isinstance(completion.model, str) else reply

    async def close(self) -> None:
        """Close connections."""
        await self._exchange.close()

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
        return self._exchange.refusal(
            PATH, inner, request.max_tokens, variables=self._place.variables, missing=self._missing()
        )

    def warnings(self) -> Sequence[str]:
        """Return a warning if a self-hosted server lists models and this one is not among them.

        Such servers may answer any name with the model that they have. Lists of public providers leave out aliases.
        """
        if self._place.needs_key or not self._listed or self._model in self._listed:
            return ()
        if any("*" in name for name in self._listed):
            return ()
        where = without_credentials(self._place.base_url)
        return (f"the server at {where} does not list the model {self._model!r}; {self._missing()}",)

    def _missing(self) -> str:
        where = without_credentials(self._place.base_url)
        if self._listed and self._model not in self._listed:
            close = difflib.get_close_matches(self._model, self._listed, n=3, cutoff=0.4) or self._listed[:5]
            return f"it has {', '.join(close)}{' and others' if len(close) < len(self._listed) else ''}"
        if self._place.needs_key:
            return "check the name of the model, and that the account may use it"
        return f"check the name of the model, and the base URL {where}: it usually ends in /v1"


def _listed(body: bytes) -> list[str]:
    try:
        listing = read_json(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    entries = listing.get("data") if isinstance(listing, dict) else None
    return [str(entry["id"]) for entry in entries or [] if isinstance(entry, dict) and "id" in entry]
