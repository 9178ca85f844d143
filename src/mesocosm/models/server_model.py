"""What models behind an HTTP address have in common, whatever protocol they speak."""

import difflib
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import msgspec

from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.foreign import read_json
from mesocosm.core.ids import digest
from mesocosm.core.model import Capabilities, ModelName, ModelReply, ModelRequest, ModelSettings, WireCall
from mesocosm.core.proxy import Protocols, Upstream
from mesocosm.core.usage import Usage
from mesocosm.http.response import Response
from mesocosm.models import chat_completions
from mesocosm.models.endpoint import ModelEndpoint, endpoint, is_loopback, without_credentials
from mesocosm.models.http_client import CHECK_S, ModelHttpClient
from mesocosm.models.prices import Price, price
from mesocosm.models.refusal import Words, words
from mesocosm.models.unsupported import UnsupportedParameters

_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)

Opened = tuple[ModelName, ModelEndpoint, Mapping[str, Any], Price | None]
"""What a ServerModel is made of."""


def opened(settings: ModelSettings, efforts: Collection[str] = ()) -> Opened:
    """Return the name, address, extra settings and price of a model.

    Raises UsageError if there is no address, or for an extra setting that cannot be kept: `stream`, or a
    `reasoning_effort` that is not in `efforts`, if these are given.
    """
    name = ModelName.parse(settings.name)
    if settings.extra.get("stream"):
        raise UsageError(f"{settings.name}: answers are not streamed here; take `stream` out of the extra settings")
    effort = settings.extra.get("reasoning_effort")
    if efforts and effort is not None and effort not in efforts:
        raise UsageError(f"{settings.name}: reasoning_effort is {effort!r}; it is one of {', '.join(efforts)}")
    place = endpoint(name)
    return name, place, settings.extra, price(name, local=is_loopback(place.base_url), elsewhere=not place.needs_key)


class ServerModel(ABC):
    """One model at one address. Subclasses build the body of a request and read the answer.

    Features that the model rejects (structured output, a temperature, the field `max_tokens`) are remembered and left
    out or renamed from then on, with one warning.
    """

    path: str
    answer: ClassVar[str]
    """What a valid answer is called in errors."""
    hint: ClassVar[str] = ""
    """What the base URL usually looks like."""

    def __init__(
        self,
        name: ModelName,
        place: ModelEndpoint,
        extra: Mapping[str, Any],
        cost: Price | None,
        exchange: ModelHttpClient,
    ) -> None:
        self.name = f"{name.provider}/{name.model}"
        self._model = name.model
        self._place = place
        self._extra = dict(extra)
        self._price = cost
        self._exchange = exchange
        self._concessions = UnsupportedParameters(self.name)
        self._budget = False
        self._listed: list[str] = []
        self._local = is_loopback(place.base_url)

    @property
    def capabilities(self) -> Capabilities:
        """The model's capabilities, without those that it has rejected."""
        return Capabilities(self._concessions.structured, images=True, tools=True, local=self._local)

    @property
    def server(self) -> Mapping[str, str]:
        """The server's address, and a digest of the list of models that it had during the check.

        The digest is left out for a provider's public address, whose list grows with every release and says nothing
        about the model in use.
        """
        found = {"address": without_credentials(self._place.base_url)}
        listed = self._listed and not self._place.needs_key
        return {**found, "models": digest(sorted(self._listed))} if listed else found

    async def check(self) -> None:
        """Check that the server answers and accepts the key. Raises EpisodeError or UsageError.

        The model's name is not checked until the first call: not every server lists all the names that it accepts.
        """
        place = self._place
        if place.needs_key and not place.key:
            unset = (
                f"neither {' nor '.join(place.variables)} is" if place.variables[1:] else f"{place.variables[0]} is not"
            )
            raise UsageError(
                f"{self.name} needs a key, and {unset} set; "
                f"export {place.variables[0]}=…, or run a local model such as ollama/llama3.2"
            )
        response = await self._exchange.get("/models", CHECK_S)
        if response.status in {400, 401, 402, 403}:
            refused = self._exchange.refusal("/models", response, 0, variables=place.variables)
            if refused.cause is Cause.MODEL_FORBIDDEN:
                raise refused
        if response.status == 200:
            self._listed = _listed(response.body)

    async def ask(self, request: ModelRequest) -> ModelReply:
        """Return the answer to one call. Raises EpisodeError.

        A call is sent again only if the server rejected a field that can be left out.
        """
        started = time.perf_counter()
        while True:
            body = self._body(request)
            sent = self._spelled(body)
            response = await self._exchange.post(self.path, _encode(sent), request.timeout_s)
            if response.status == 200:
                break
            if not self._concede(response.status, self._exchange.words(response), body):
                raise self._refused(response, request.max_tokens)
        try:
            return replace(self._read(response, request, started), wire=wire_call(self.path, sent, response.body))
        except msgspec.ValidationError as error:
            raise self._exchange.invalid(self.path, response.body, f"is not a {self.answer} ({error})") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._exchange.invalid(self.path, response.body, f"is not JSON ({error})") from error

    async def close(self) -> None:
        """Close connections."""
        await self._exchange.close()

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

    @abstractmethod
    def _body(self, request: ModelRequest) -> dict[str, Any]:
        """Return the request under the names that UnsupportedParameters knows."""

    def _spelled(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body as it is sent."""
        return body

    @abstractmethod
    def _read(self, response: Response, request: ModelRequest, started: float) -> ModelReply:
        """Return the reply in a response with status 200. Raises EpisodeError, msgspec.DecodeError."""

    def _concede(self, status: int, said: Words, body: dict[str, Any]) -> bool:
        """Return whether the server rejected something that is left out or said otherwise from now on."""
        if self._concessions.make(status, said, body):
            return True
        if self._budget or status != 400 or not self._rejects_effort(said, body):
            return False
        self._budget = True
        _log.warning('%s gets a number of tokens for its thoughts instead of an effort: "%s"', self.name, said.brief)
        return True

    def _rejects_effort(self, said: Words, body: Mapping[str, Any]) -> bool:
        """Return whether the model takes a number of tokens for its thoughts instead of a degree of effort."""
        return False

    def _refused(self, response: Response, max_tokens: int, path: str = "") -> EpisodeError:
        return self._exchange.refusal(
            path or self.path, response, max_tokens, variables=self._place.variables, missing=self._missing()
        )

    def _missing(self) -> str:
        if self._listed and self._model not in self._listed:
            close = difflib.get_close_matches(self._model, self._listed, n=3, cutoff=0.4) or self._listed[:5]
            return f"it has {', '.join(close)}{' and others' if len(close) < len(self._listed) else ''}"
        if self._place.needs_key:
            return "check the name of the model, and that the account may use it"
        return f"check the name of the model, and the base URL {without_credentials(self._place.base_url)}{self.hint}"


class ReachableModel(ServerModel):
    """A model that programs' calls can be forwarded to. Implements core.proxy.Reachable."""

    protocol: ClassVar[Protocols]
    _reads: bool | None = None
    """Whether the server says how probable a given text is; None: not asked yet."""

    @property
    def capabilities(self) -> Capabilities:
        """The model's capabilities, without those that it has rejected."""
        return replace(super().capabilities, logprobs=self.protocol == "openai" and self._reads is not False)

    @property
    def upstream(self) -> Upstream:
        """The server that programs' calls are forwarded to."""
        return Upstream(self.protocol, self._place.base_url, self._place.key, self._model)

    def priced(self, usage: Usage, written: tuple[int, int] = (0, 0)) -> Usage:
        """Return `usage` with its cost; the cost is None if the price is unknown."""
        return chat_completions.priced(usage, self._price, written)

    def adapt(self, settings: dict[str, Any]) -> None:
        """Remove or rename the settings in a program's request that the server does not accept."""
        self._concessions.apply(settings)

    def concedes(self, status: int, answer: bytes, settings: dict[str, Any]) -> bool:
        """Return whether the server rejected one of `settings`, which is removed or renamed from now on."""
        return self._concede(status, words(answer), settings)

    def refusal(
        self, path: str, status: int, headers: Mapping[str, str], answer: bytes, max_tokens: int
    ) -> EpisodeError:
        """Return the error for a response to a program with a status other than 200."""
        return self._refused(Response(status, headers, answer), max_tokens, path)


CONVERSATION = frozenset({"messages", "system", "contents", "systemInstruction"})
"""Fields of a body that are made of the messages."""


def wire_call(path: str, body: Mapping[str, Any], answer: bytes) -> WireCall:
    """Return a call as it is recorded."""
    rest = {name: value for name, value in body.items() if name not in CONVERSATION}
    return WireCall(path, rest, answer.decode("utf-8", "replace"))


def _listed(body: bytes) -> list[str]:
    try:
        listing = read_json(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []
    if not isinstance(listing, dict):
        return []
    found = [str(entry["id"]) for entry in listing.get("data") or [] if isinstance(entry, dict) and "id" in entry]
    named = [entry["name"] for entry in listing.get("models") or [] if isinstance(entry, dict) and "name" in entry]
    return found or [str(name).removeprefix("models/") for name in named]
