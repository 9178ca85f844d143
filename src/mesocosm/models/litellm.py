"""Models of all other providers, through LiteLLM, which is imported when the first such model is used."""

import asyncio
import importlib.util
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from mesocosm.core.failure import Cause, EpisodeError, Incompatible, UsageError
from mesocosm.core.model import Capabilities, ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.proxy import Upstream
from mesocosm.core.usage import Usage
from mesocosm.models import chat_completions
from mesocosm.models.endpoint import (
    ELSEWHERE,
    GENERAL_KEY,
    NATIVE,
    PLACEHOLDERS,
    PROVIDERS,
    assigned_variable,
    check_url,
    configured,
    is_loopback,
    takes_key_of,
    without_credentials,
)
from mesocosm.models.prices import price
from mesocosm.models.refusal import RefusalContext, Words, words, words_of
from mesocosm.models.unsupported import UnsupportedParameters

INSTALL = "install it with `pip install 'mesocosm[litellm]'`"
PUBLIC = {**PROVIDERS, **NATIVE, **ELSEWHERE}
ANTHROPIC = NATIVE["anthropic"]
ANTHROPIC_KEY = "ANTHROPIC_API_KEY"


def installed() -> bool:
    """Return whether LiteLLM is installed, without importing it."""
    return importlib.util.find_spec("litellm") is not None


@cache
def load() -> ModuleType:
    """Import LiteLLM without banners or downloading its price list. Raises UsageError if it cannot be imported."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOG", "ERROR")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import litellm

            litellm.ModelResponse()  # Its schema is built on first use, with warnings that do not concern us.
    except ImportError as error:
        raise UsageError(f"LiteLLM cannot be imported ({error}); {INSTALL}") from error
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    module: ModuleType = litellm
    return module


def knows(provider: str) -> bool:
    """Return whether LiteLLM is installed and knows this provider."""
    if not installed() or not _mentions(provider):
        return False
    return provider in {str(getattr(known, "value", known)) for known in load().provider_list}


def _mentions(provider: str) -> bool:
    """Return False if LiteLLM's list of providers certainly lacks this one: importing it to be sure takes seconds."""
    spec = importlib.util.find_spec("litellm")
    try:
        listed = (Path(spec.origin if spec and spec.origin else "").parent / "types/utils.py").read_text()
    except (OSError, ValueError):
        return True
    return "class LlmProviders(" not in listed or f'"{provider}"' in listed


def open_model(settings: ModelSettings) -> Model:
    """Return a model behind LiteLLM. Raises Incompatible if it is not installed."""
    name = ModelName.parse(settings.name)
    if not installed():
        lacking = f"LiteLLM, through which it is reached, is not installed; {INSTALL}"
        raise Incompatible(f"{name.provider}/{name.model}", [f"the model {name.provider}/{name.model}: {lacking}"])
    if settings.extra.get("stream"):
        raise UsageError(f"{settings.name}: answers are not streamed here; take `stream` out of the extra settings")
    if route(name).startswith("anthropic/"):
        return AnthropicModel(name, settings)
    return LiteLLMModel(name, settings)


def route(name: ModelName) -> str:
    """Return LiteLLM's name of a model: `google/` becomes `gemini/`, the prefix `litellm/` is removed."""
    if name.provider == "litellm":
        return name.model.replace("google/gemini-", "gemini/gemini-", 1)
    return f"{'gemini' if name.provider == 'google' else name.provider}/{name.model}"


def gemini_key() -> str:
    """Return the key for Gemini: GOOGLE_API_KEY, then GEMINI_API_KEY; placeholder values are skipped."""
    values = (os.environ.get(variable, "").strip() for variable in ("GOOGLE_API_KEY", "GEMINI_API_KEY"))
    return next((value for value in values if value and not value.lower().startswith(PLACEHOLDERS)), "")


class LiteLLMModel:
    """One model behind LiteLLM. LiteLLM's own retries are off, because the engine retries."""

    def __init__(self, name: ModelName, settings: ModelSettings) -> None:
        self.name = f"{name.provider}/{name.model}"
        self._route = route(name)
        self._base_url = name.base_url
        self._extra = dict(settings.extra)
        self._local = is_loopback(name.base_url)
        self._price = price(name, local=self._local, elsewhere=bool(name.base_url))
        self._variable = assigned_variable(name)
        self._key = self._find_key()
        self._concessions = UnsupportedParameters(self.name)

    def _find_key(self) -> str:
        if self._variable is not None:
            return os.environ.get(self._variable, "").strip() or "none"
        provider = self._route.partition("/")[0]
        if not self._base_url:
            return gemini_key() if provider == "gemini" else ""
        variable = f"{provider.upper().replace('-', '_')}_API_KEY"
        own = gemini_key() if provider == "gemini" else os.environ.get(variable, "").strip()
        if not takes_key_of(self._base_url, provider, PUBLIC.get(provider, "")):
            own = ""
        # Without a key LiteLLM looks for one itself, and might send that of another address.
        return os.environ.get(GENERAL_KEY, "").strip() or own or "none"

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities as LiteLLM knows them; images and tools are assumed to be supported."""
        structured = self._concessions.structured and bool(load().supports_response_schema(model=self._route))
        return Capabilities(structured, images=True, tools=True, local=self._local)

    async def check(self) -> None:
        """Check provider and key without sending anything. Raises UsageError with the remedy."""
        litellm = load()
        try:
            provider = litellm.get_llm_provider(model=self._route)[1]
        except litellm.exceptions.BadRequestError as error:
            raise UsageError(
                f"LiteLLM knows no provider for {self._route!r}; write litellm/PROVIDER/MODEL with one of its providers"
            ) from error
        if self._variable is not None and not self._base_url and self._key == "none":
            missing = [self._variable]
        elif self._key:
            return
        else:
            missing = self._missing_keys(provider)
        if missing:
            raise UsageError(
                f"{self.name} needs a key, and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set; "
                f"export {missing[0]}=…, or run a local model such as ollama/llama3.2"
            )

    def _missing_keys(self, provider: str) -> list[str]:
        if provider == "gemini":
            return ["GOOGLE_API_KEY"]
        found: dict[str, Any] = load().validate_environment(model=self._route)
        return [] if found.get("keys_in_environment") else list(found.get("missing_keys") or [])

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the answer to one call. Raises EpisodeError."""
        litellm = load()
        started = time.perf_counter()
        while True:
            body = self._body(request)
            try:
                async with asyncio.timeout(request.timeout_s):
                    response = await litellm.acompletion(**body, **self._transport(request))
                break
            except TimeoutError as error:
                raise self._late(request) from error
            except Exception as error:
                if not self._concedes(error, body):
                    raise self._failure(error, request) from error
        return self._reply(response, time.perf_counter() - started)

    async def close(self) -> None:
        """Close the connections that LiteLLM shares among all its models."""
        if load.cache_info().currsize:
            await load().close_litellm_async_clients()

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._route,
            "messages": [msgspec.to_builtins(message) for message in chat_completions.wire_messages(request.messages)],
            "temperature": request.temperature,
            self._concessions.limit: request.max_tokens,
        }
        if request.top_p is not None:
            body["top_p"] = request.top_p
        if request.schema is not None:
            body["response_format"] = msgspec.to_builtins(chat_completions.response_format(request))
        if request.tools:
            body["tools"] = chat_completions.wire_tools(request.tools)
        body |= {**self._extra, **request.extra}
        self._concessions.apply(body)
        return body

    def _transport(self, request: ModelRequest) -> dict[str, Any]:
        transport: dict[str, Any] = {"timeout": request.timeout_s, "num_retries": 0, "max_retries": 0}
        if self._base_url:
            transport["api_base"] = self._base_url
        if self._key:
            transport["api_key"] = self._key
        if request.tools:
            # Otherwise LiteLLM requires the package `mcp` for any tool.
            transport["_skip_mcp_handler"] = True
        return transport

    def _reply(self, response: Any, latency_s: float) -> ModelReply:
        try:
            completion = msgspec.convert(response.model_dump(), chat_completions.Completion)
        except msgspec.ValidationError as error:
            raise EpisodeError(
                Cause.MODEL_INVALID, f"{self.name}: the answer is not a chat completion ({error})"
            ) from error
        reply = chat_completions.reply(completion, self._price, self.name, latency_s)
        if reply is None:
            raise EpisodeError(Cause.MODEL_INVALID, f"{self.name}: the answer holds no choices", detail=str(response))
        cost = getattr(response, "_hidden_params", {}).get("response_cost")
        if reply.usage.cost_usd is None and isinstance(cost, float) and cost > 0 and not self._base_url:
            return replace(reply, usage=msgspec.structs.replace(reply.usage, cost_usd=cost))
        return reply

    def _concedes(self, error: Exception, body: dict[str, Any]) -> bool:
        status = getattr(error, "status_code", None)
        return isinstance(status, int) and self._concessions.make(status, self._words(error), body)

    def _words(self, error: Exception) -> Words:
        text = getattr(error, "message", None) or str(error)
        body = getattr(error, "body", None)
        inner = words_of({"error": body}) if isinstance(body, dict) else Words("")
        return Words(text.replace(self._key, "[key]") if len(self._key) > 4 else text, inner.code, inner.param)

    def _late(self, request: ModelRequest) -> EpisodeError:
        return EpisodeError(
            Cause.MODEL_TIMEOUT,
            f"{self.name}: no answer within {request.timeout_s:g} s; allow more time for a call, or fewer episodes at "
            "once",
        )

    def _failure(self, error: Exception, request: ModelRequest) -> EpisodeError:
        kind = type(error).__name__
        said = self._words(error)
        if kind == "Timeout":
            return self._late(request)
        cause, status = _CAUSES.get(kind), getattr(error, "status_code", None)
        if cause is not None:
            return EpisodeError(
                cause,
                f"{self.name}: {said.brief}; {_REMEDIES[cause]}",
                detail=said.message[:5000],
                status=status if isinstance(status, int) else None,
            )
        if not isinstance(status, int):
            return EpisodeError(Cause.MODEL_INVALID, f"{self.name}: LiteLLM raised {kind}: {said.brief}")
        headers = getattr(error, "litellm_response_headers", None) or {}
        where = without_credentials(self._base_url) if self._base_url else "LiteLLM"
        return RefusalContext(self.name, where, status, said, headers.get, request.max_tokens).error()


class AnthropicModel(LiteLLMModel):
    """One model of Anthropic, or of a server that speaks its protocol. Implements core.proxy.Reachable."""

    def __init__(self, name: ModelName, settings: ModelSettings) -> None:
        super().__init__(name, settings)
        url = (name.base_url or configured("anthropic") or ANTHROPIC).rstrip("/")
        check_url(url, f"{name.provider}/{name.model}")
        # Clients of this protocol add the version themselves.
        root = url.removesuffix("/messages").removesuffix("/v1")
        key = self._key or (
            os.environ.get(ANTHROPIC_KEY, "").strip() if takes_key_of(url, "anthropic", ANTHROPIC) else ""
        )
        key = "" if key == "none" else key
        self._upstream = Upstream("anthropic", root, key, self._route.partition("/")[2])

    @property
    def upstream(self) -> Upstream:
        """The server that programs' calls are forwarded to."""
        return self._upstream

    def priced(self, usage: Usage, written: tuple[int, int] = (0, 0)) -> Usage:
        """Return `usage` with its cost; the cost is None if the price is unknown."""
        return chat_completions.priced(usage, self._price, written)

    def adapt(self, settings: dict[str, Any]) -> None:
        """Remove from a program's request the settings that the server does not accept."""
        self._concessions.apply(settings)

    def concedes(self, status: int, answer: bytes, settings: dict[str, Any]) -> bool:
        """Return whether the server rejected one of `settings`; that setting is then left out from now on."""
        return self._concessions.make(status, words(answer), settings)

    def refusal(
        self, path: str, status: int, headers: Mapping[str, str], answer: bytes, max_tokens: int
    ) -> EpisodeError:
        """Return the error for a response to a program with a status other than 200."""
        url = without_credentials(f"{self._upstream.base_url}/v1{path}")
        return RefusalContext(self.name, url, status, words(answer), headers.get, max_tokens, (ANTHROPIC_KEY,)).error()


_CAUSES = {
    "APIConnectionError": Cause.MODEL_UNAVAILABLE,
    "ContextWindowExceededError": Cause.CONTEXT_OVERFLOW,
    "ContentPolicyViolationError": Cause.REFUSED,
    "APIResponseValidationError": Cause.MODEL_INVALID,
    "JSONSchemaValidationError": Cause.MODEL_INVALID,
}
_REMEDIES = {
    Cause.MODEL_UNAVAILABLE: "check the network and the base URL",
    Cause.CONTEXT_OVERFLOW: "the conversation is longer than the model takes; a smaller history window helps",
    Cause.REFUSED: "the provider's content filter refused the prompt",
    Cause.MODEL_INVALID: "the provider answered something else than a completion",
}
