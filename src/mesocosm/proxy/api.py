"""What the APIs of the proxy share: reading requests and answers, and writing answers."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from mesocosm.core import foreign
from mesocosm.core.foreign import read_json
from mesocosm.core.ids import digest_bytes
from mesocosm.core.message import Message, Text, ToolCall
from mesocosm.core.model import ModelReply, ModelRequest, ModelSettings
from mesocosm.core.proxy import Protocols, ProxyCall
from mesocosm.core.usage import Usage

Fields = dict[str, Any]

PASSED_ON = ("stop", "seed", "presence_penalty", "frequency_penalty", "logit_bias", "reasoning_effort", "top_k")
"""Settings of a program that are passed to any model unchanged, by their names in chat completions."""

LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
"""Names of the fields that limit the tokens of a reply."""


class MalformedRequest(Exception):
    """A request that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A parsed request of a program.

    `unportable` names features that only a model of the same protocol can be given. `scored`: it asks how probable its
    own text is, so that no setting of a reply applies. `echoed` is the prompt, if the reply is to begin with it.
    """

    call: ProxyCall
    messages: Sequence[Message]
    data: Mapping[str, Any]
    unportable: tuple[str, ...] = ()
    scored: bool = False
    echoed: str = ""

    @property
    def expected_tokens(self) -> int:
        """Maximum number of tokens in the answer, as the program's request allows; 0 if it sets no limit."""
        for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
            if isinstance(limit := self.data.get(name), int) and limit > 0:
                return limit
        return 0


class Omitted(Text, frozen=True):
    """A placeholder for content that our messages cannot hold (audio, files); `text` is its type."""


def omitted(messages: Iterable[Message]) -> list[str]:
    """Return the types of omitted content, sorted."""
    contents = (message.content for message in messages if not isinstance(message.content, str))
    return sorted({piece.text for content in contents for piece in content if isinstance(piece, Omitted)})


class Assembler(Protocol):
    """Assembles the events of a stream into a reply."""

    complete: bool
    """Whether the last event has arrived."""

    def feed(self, data: bytes) -> None:
        """Process the data of one event; unreadable data is ignored."""
        ...

    def reply(self) -> ModelReply | None:
        """Return the reply so far, or None before anything arrived."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the answer is complete: the server has sent a finish reason. Not all servers send a last event."""
        ...

    @property
    def error(self) -> str:
        """The error that the stream itself reports; empty without one."""
        ...

    @property
    def status(self) -> int:
        """The HTTP status that the error names; 200 if it names none."""
        ...


class Known:
    """Parsed messages of one episode, by their bytes: programs send their history again with every call."""

    def __init__(self) -> None:
        self._messages: dict[bytes, tuple[Message, ...]] = {}

    def take(self, raw: msgspec.Raw, read: Callable[[Any], tuple[Message, ...]]) -> tuple[Message, ...]:
        """Return `read` applied to a piece of JSON; each distinct piece is read once. Raises MalformedRequest."""
        data = bytes(raw)
        key = data if len(data) <= 64 else hashlib.sha256(data).digest()
        found = self._messages.get(key)
        if found is None:
            found = self._messages[key] = read(value_in(data))
        return found


class Api(Protocol):
    """One API, for instance chat completions."""

    protocol: Protocols
    path: str
    owned: frozenset[str]
    """Request fields that only the run may set: a program's values for them are never sent."""

    def put_in(self, settings: ModelSettings) -> Fields | None:
        """Return a model's settings as request fields, or None if this API cannot express them."""
        ...

    def translatable(self, asked: Asked) -> bool:
        """Return whether a request can be translated to another API if the server does not have this one."""
        ...

    def read(self, fields: Mapping[str, msgspec.Raw], known: Known) -> Asked:
        """Read a request. Raises MalformedRequest."""
        ...

    def ask(self, asked: Asked, settings: ModelSettings) -> ModelRequest:
        """Return a program's request as a ModelRequest; `settings` fill in missing values. Raises MalformedRequest."""
        ...

    def read_answer(self, data: Fields) -> ModelReply | None:
        """Return the reply in an answer, or None if it holds none."""
        ...

    def assembler(self) -> Assembler:
        """Return a new assembler of a stream."""
        ...

    def answer(self, reply: ModelReply, asked: Asked) -> Fields:
        """Return a reply as an answer."""
        ...

    def events(self, reply: ModelReply, asked: Asked) -> Iterator[bytes]:
        """Return a reply as a stream."""
        ...

    def error(self, status: int, message: str, code: str = "") -> Fields:
        """Return an error."""
        ...

    def error_event(self, message: str) -> bytes:
        """Return an error event for a stream that has already started."""
        ...


def read_fields(body: bytes) -> dict[str, msgspec.Raw]:
    """Split the body of a request into its fields. Raises MalformedRequest."""
    try:
        return read_json(body, dict[str, msgspec.Raw], large=True)
    except msgspec.DecodeError as error:
        raise MalformedRequest(f"the body is not a JSON object: {error}") from error


def object_in(data: bytes) -> Fields:
    """Return the JSON object in an answer or an event; empty for any other content.

    Values that take too long to parse, such as the vectors of many embeddings, stay msgspec.Raw.
    """
    try:
        found = read_json(data)
        return found if isinstance(found, dict) else {}
    except msgspec.DecodeError:
        return _readable(data)


def _readable(data: bytes) -> Fields:
    try:
        fields: Fields = read_json(data, dict[str, msgspec.Raw], large=True)
    except msgspec.DecodeError:
        return {}
    for name, raw in fields.items():
        try:
            fields[name] = read_json(raw)
        except msgspec.DecodeError:
            continue
    return fields


def value_in(data: bytes | msgspec.Raw) -> Any:
    """Return the JSON value in a part of a request. Raises MalformedRequest."""
    try:
        return read_json(data, large=True)
    except msgspec.DecodeError as error:
        raise MalformedRequest(f"the body is not JSON: {error}") from error


def values(fields: Mapping[str, msgspec.Raw], left_out: Sequence[str]) -> Fields:
    """Return the values of a request, except the fields in `left_out` (its messages). Raises MalformedRequest."""
    return {key: value_in(raw) for key, raw in fields.items() if key not in left_out}


def pieces(fields: Mapping[str, msgspec.Raw], name: str) -> list[msgspec.Raw]:
    """Return the elements of a list in a request. Raises MalformedRequest."""
    if name not in fields:
        raise MalformedRequest(f"{name!r} is missing")
    try:
        return read_json(fields[name], list[msgspec.Raw], large=True)
    except msgspec.DecodeError as error:
        raise MalformedRequest(f"{name!r} is not a list: {error}") from error


def listed(data: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of a request, empty if it is not given. Raises MalformedRequest."""
    found = data.get(name)
    if found is not None and not isinstance(found, list):
        raise MalformedRequest(f"{name!r} is not a list")
    return found or []


def call(path: str, data: Fields, unread: Iterable[msgspec.Raw] = ()) -> ProxyCall:
    """Return the call without its messages; `unread` are inputs that no message can hold, recorded as a digest."""
    model = data.get("model")
    rest = {key: value for key, value in data.items() if key not in {"model", "stream", "stream_options"}}
    raws = [bytes(raw) for raw in unread]
    digest = digest_bytes(b"\0".join(raws)) if raws else ""
    return ProxyCall(path, model if isinstance(model, str) else "", data.get("stream") is True, rest, unread=digest)


def status_in(error: Any) -> int:
    """Return the HTTP status that an error within an answer names as its code; 200 if it names none."""
    code = foreign.whole(part(error, "code")) or foreign.whole(part(error, "status"))
    return code if code is not None and 400 <= code < 600 else 200


def count(value: Any) -> int:
    """Return a token count; 0 for a value that is not a possible count."""
    return foreign.whole(value) or 0


def part(value: Any, *names: str) -> Any:
    """Return the value under `names` in nested objects, or None if one is missing."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def text_of(value: Any) -> str:
    """Return `value` if it is a string, otherwise an empty string."""
    return value if isinstance(value, str) else ""


def items_of(value: Any) -> list[Any]:
    """Return `value` if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []


def number(value: Any, otherwise: float, name: str) -> float:
    """Return a number in a request, or `otherwise` if it is not given. Raises MalformedRequest."""
    if value is None:
        return otherwise
    found = None if isinstance(value, str) else foreign.finite(value)
    if found is None:
        raise MalformedRequest(f"{name!r} must be a finite number")
    return found


def whole(value: Any, otherwise: int, name: str) -> int:
    """Return a positive integer in a request, or `otherwise` if it is not given. Raises MalformedRequest."""
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= foreign.MOST:
        raise MalformedRequest(f"{name!r} must be a positive whole number")
    return value


def given(data: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return which of `names` a request sets to anything but null and false; 0 log-probabilities are some, too."""
    return [name for name in names if data.get(name) is not None and data[name] is not False]


def arguments(text: Any) -> Any:
    """Return the arguments of a tool call: the decoded object, or the text if it is not JSON."""
    if not isinstance(text, str):
        return {} if text is None else text
    try:
        return read_json(text) if text.strip() else {}
    except msgspec.DecodeError:
        return text


def spelled(call: ToolCall) -> str:
    """Return the arguments of a tool call as text."""
    return call.arguments if isinstance(call.arguments, str) else msgspec.json.encode(call.arguments).decode()


def usage(prompt: Any, completion: Any, cached: Any, reasoning: Any, cost: Any = None) -> Usage:
    """Return the usage of one call; its price is not known here."""
    paid = None if isinstance(cost, str) else foreign.finite(cost, least=0.0)
    return Usage(count(prompt), count(completion), count(cached), count(reasoning), paid, 1)


@dataclass(slots=True)
class Calling:
    """A tool call that arrives in pieces."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def done(self, position: int) -> ToolCall:
        """Return the tool call with the pieces received so far."""
        return ToolCall(self.id or f"call_{position}", self.name, arguments("".join(self.arguments)))
