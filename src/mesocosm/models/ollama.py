"""Ollama through its own `/api/chat`."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import read_json
from mesocosm.core.ids import digest
from mesocosm.core.message import Image, Message, Text, ToolCall
from mesocosm.core.model import Capabilities, ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.usage import Usage
from mesocosm.models import chat_completions
from mesocosm.models.endpoint import assigned_variable, check_url, is_loopback, takes_key_of, without_credentials
from mesocosm.models.http_client import CHECK_S, ModelHttpClient
from mesocosm.models.prices import Price, price
from mesocosm.models.server_model import wire_call

PATH = "/api/chat"
GENERATE = "/api/generate"
"""Used instead of PATH if the extra settings contain `"api": "generate"`."""

DEFAULT = "http://localhost:11434"
_TOP_LEVEL = frozenset({"think", "keep_alive", "format", "options", "stream", "raw", "truncate", "shift"})
_encode = msgspec.json.Encoder().encode


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    function: _Function | None = None
    id: str | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_Call] | None = None


class _Answer(msgspec.Struct):
    message: _Message | None = None
    done_reason: str | None = None
    prompt_eval_count: Any = 0
    eval_count: Any = 0
    error: Any = None


class _Generated(_Answer):
    response: str | None = None
    thinking: str | None = None


def base_url(name: ModelName) -> str:
    """Return Ollama's URL: the name's own address, OLLAMA_HOST, OLLAMA_API_BASE, or else port 11434 on this machine.

    OLLAMA_HOST may be a host, a host with port, or a URL; 0.0.0.0, a listening address, is replaced by 127.0.0.1.
    Raises UsageError if it is not an address.
    """
    for text, source in (
        (name.base_url, f"ollama/{name.model}"),
        (os.environ.get("OLLAMA_HOST", ""), "OLLAMA_HOST"),
        (os.environ.get("OLLAMA_API_BASE", ""), "OLLAMA_API_BASE"),
    ):
        if text.strip():
            url = _address(text.strip())
            check_url(url, source)
            return url
    return DEFAULT


def _address(text: str) -> str:
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "http", text
    place, slash, path = rest.rstrip("/").partition("/")
    host, colon, port = place.rpartition(":")
    if not colon or "]" in port or (host.count(":") and not host.startswith("[")):
        host, port = place, ""
    if host.count(":") and not host.startswith("["):
        host = f"[{host}]"
    host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    default = "11434" if scheme == "http" and not separator else ""
    port = port or default
    return f"{scheme}://{host}{':' if port else ''}{port}{slash}{path}"


def runs_elsewhere(model: str) -> bool:
    """Return whether Ollama forwards this model to its own cloud, as its tag indicates."""
    tag = model.partition(":")[2]
    return tag == "cloud" or tag.endswith("-cloud")


def open_model(settings: ModelSettings) -> Model:
    """Return a model of an Ollama server. Raises UsageError for an invalid address."""
    name = ModelName.parse(settings.name)
    elsewhere = runs_elsewhere(name.model)
    return OllamaModel(name, base_url(name), settings.extra, price(name, local=not elsewhere, elsewhere=elsewhere))


class OllamaModel:
    """One model of one Ollama server. `think` is off unless the extra settings enable it."""

    def __init__(self, name: ModelName, url: str, extra: Mapping[str, Any], cost: Price | None) -> None:
        self.name = f"{name.provider}/{name.model}"
        self._model = name.model
        self._extra = dict(extra)
        self._generates = self._extra.pop("api", "chat") == "generate"
        self._digest = ""
        self._price = cost
        self._local = is_loopback(url) and not runs_elsewhere(name.model)
        self._exchange = ModelHttpClient(self.name, url, _key(name, url), start="start it with `ollama serve`")

    @property
    def capabilities(self) -> Capabilities:
        """Ollama's capabilities. Ollama itself reports an error if a model does not support images or tools."""
        return Capabilities(structured=True, images=True, tools=True, local=self._local)

    async def check(self) -> None:
        """Check that Ollama runs and has the model. Raises EpisodeError that names the missing command."""
        response = await self._exchange.get("/api/tags", CHECK_S)
        if response.status != 200:
            raise self._exchange.refusal("/api/tags", response, 0)
        try:
            listing = read_json(response.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._exchange.invalid("/api/tags", response.body, f"is not JSON ({error})") from error
        entries = listing.get("models") if isinstance(listing, dict) else None
        have = [str(entry.get("name") or entry.get("model")) for entry in entries or [] if isinstance(entry, dict)]
        self._digest = digest(_digests(entries, self._model))
        if not has(have, self._model):
            there = f"it has {', '.join(sorted(have))}" if have else "it has no models yet"
            raise EpisodeError(
                Cause.MODEL_MISSING,
                f"{self.name}: Ollama at {without_credentials(self._exchange.base_url)} does not have it; {there}. "
                f"Get it with `ollama pull {self._model}`",
            )

    @property
    def server(self) -> Mapping[str, str]:
        """The server's address, and a digest of the model as Ollama listed it during the check."""
        found = {"address": without_credentials(self._exchange.base_url)}
        return {**found, "models": self._digest} if self._digest else found

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the answer to one call. Raises EpisodeError."""
        if self._generates:
            return await self._generated(request)
        started = time.perf_counter()
        body = self._body(request)
        response = await self._exchange.post(PATH, _encode(body), request.timeout_s)
        if response.status != 200:
            raise self._exchange.refusal(PATH, response, request.max_tokens, missing=f"run `ollama pull {self._model}`")
        try:
            answer = read_json(response.body, _Answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._exchange.invalid(PATH, response.body, f"is not an answer of Ollama ({error})") from error
        if answer.message is None:
            raise self._exchange.invalid(PATH, response.body, "holds no message")
        reply = self._reply(answer, answer.message, time.perf_counter() - started)
        return replace(reply, wire=wire_call(PATH, body, response.body))

    async def _generated(self, request: ModelRequest) -> ModelReply:
        """Return the answer of `/api/generate` to one flat prompt, in LiteLLM's format."""
        started = time.perf_counter()
        body = self.generate_body(request)
        response = await self._exchange.post(GENERATE, body, request.timeout_s)
        if response.status != 200:
            raise self._exchange.refusal(
                GENERATE, response, request.max_tokens, missing=f"run `ollama pull {self._model}`"
            )
        try:
            answer = read_json(response.body, _Generated)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._exchange.invalid(GENERATE, response.body, f"is not an answer of Ollama ({error})") from error
        if answer.response is None:
            raise self._exchange.invalid(GENERATE, response.body, "holds no response")
        message = _Message(content=answer.response, thinking=answer.thinking)
        return self._reply(answer, message, time.perf_counter() - started)

    def generate_body(self, request: ModelRequest) -> bytes:
        """Return the body for `/api/generate` as LiteLLM sends it, byte for byte."""
        prompt = "".join(f"### {message.role.capitalize()}:\n{_joined(message)}\n\n" for message in request.messages)
        options: dict[str, Any] = {"temperature": request.temperature, "num_predict": request.max_tokens}
        if request.top_p is not None:
            options["top_p"] = request.top_p
        extra = {**self._extra, **{key: value for key, value in request.extra.items() if key != "api"}}
        options |= {key: value for key, value in extra.items() if key not in _TOP_LEVEL}
        pictures = [
            _picture(part)
            for message in request.messages
            if not isinstance(message.content, str)
            for part in message.content
            if not isinstance(part, Text)
        ]
        body = {"model": self._model, "prompt": prompt, "options": options, "stream": False, "images": pictures}
        return json.dumps({**body, "think": extra.get("think", False)}).encode()

    async def close(self) -> None:
        """Close connections."""
        await self._exchange.close()

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        options: dict[str, Any] = {"temperature": request.temperature, "num_predict": request.max_tokens}
        if request.top_p is not None:
            options["top_p"] = request.top_p
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [wire_message(message) for message in request.messages],
            "think": False,
            # By default Ollama truncates the start of a prompt that is too long and answers the rest.
            "truncate": False,
        }
        if request.schema is not None:
            body["format"] = request.schema
        if request.tools:
            body["tools"] = chat_completions.wire_tools(request.tools)
        extra = {**self._extra, **{key: value for key, value in request.extra.items() if key != "api"}}
        for key, value in extra.items():
            if key not in _TOP_LEVEL:
                options[key] = value
            elif key == "options" and isinstance(value, Mapping):
                options |= value
            else:
                body[key] = value
        body["options"] = options
        body["stream"] = False
        return body

    def _reply(self, answer: _Answer, message: _Message, latency_s: float) -> ModelReply:
        calls = tuple(_called(call, n) for n, call in enumerate(message.tool_calls or ()))
        prompt, completion = chat_completions.count(answer.prompt_eval_count), chat_completions.count(answer.eval_count)
        cost = self._price.cost(prompt, completion) if self._price is not None else None
        return ModelReply(
            text=message.content or "",
            reasoning=message.thinking or "",
            tool_calls=calls,
            finish_reason="tool_calls" if calls else answer.done_reason or "stop",
            usage=Usage(prompt, completion, cost_usd=cost, calls=1),
            model=self.name,
            latency_s=latency_s,
        )


def _digests(entries: Any, wanted: str) -> list[str]:
    """Return the names and content digests that Ollama lists for a model."""
    found = [entry for entry in entries or [] if isinstance(entry, dict)]
    named = [(str(entry.get("name") or entry.get("model")), str(entry.get("digest") or "")) for entry in found]
    return sorted(f"{name} {content}" for name, content in named if has([name], wanted))


def _key(name: ModelName, url: str) -> str:
    """Return OLLAMA_API_KEY; empty if `url` belongs to another provider or is not the configured Ollama.

    A variable that is assigned to the model goes before that.
    """
    if (assigned := assigned_variable(name)) is not None:
        return os.environ.get(assigned, "").strip()
    set_up = base_url(ModelName(name.provider, name.model))
    elsewhere = bool(name.base_url) and set_up not in {DEFAULT, url}
    return "" if elsewhere or not takes_key_of(url, "ollama") else os.environ.get("OLLAMA_API_KEY", "")


def has(have: Sequence[str], wanted: str) -> bool:
    """Return whether `wanted` is among the models of an Ollama server; a name without a tag means `latest`."""
    full = wanted if ":" in wanted.rpartition("/")[2] else f"{wanted}:latest"
    return any(full.lower() == (name if ":" in name.rpartition("/")[2] else f"{name}:latest").lower() for name in have)


def wire_message(message: Message) -> dict[str, Any]:
    """Return a message in the form of `/api/chat`."""
    wire: dict[str, Any] = {"role": message.role, "content": message.text}
    if not isinstance(message.content, str):
        pictures = [_picture(part) for part in message.content if not isinstance(part, Text)]
        if pictures:
            wire["images"] = pictures
    if message.tool_calls:
        wire["tool_calls"] = [
            {"function": {"name": call.name, "arguments": _object(call)}} for call in message.tool_calls
        ]
    return wire


def _joined(message: Message) -> str:
    """Return the text of a message, as LiteLLM joins it: in a message with images it is stripped."""
    return message.content if isinstance(message.content, str) else message.text.strip()


def _picture(image: Image) -> str:
    """Return the base64 data of an image. Raises EpisodeError for a remote one: Ollama does not fetch images."""
    if image.data:
        return image.data
    if image.url.startswith("data:"):
        return image.url.partition(",")[2]
    raise EpisodeError(
        Cause.MODEL_REJECTED,
        "Ollama takes images as data, and the environment gave the address "
        f"{without_credentials(image.url)}; send the image itself "
        "as base64",
    )


def _object(call: ToolCall) -> Mapping[str, Any]:
    return call.arguments if isinstance(call.arguments, Mapping) else {"input": call.arguments}


def _called(call: _Call, position: int) -> ToolCall:
    function = call.function or _Function()
    return ToolCall(call.id or f"call_{position}", function.name or "", chat_completions.arguments(function.arguments))
