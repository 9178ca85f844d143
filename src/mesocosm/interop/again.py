"""Ask a recorded model call again: as it was, of another model, or with another prompt.

The answer is shown and stored nowhere. It is one draw of a model beside another, and no part of the run: what is to be
counted is a run of its own, or a fork.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from mesocosm.core.entry import whole
from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.message import Message, Role
from mesocosm.core.model import EpisodeView, ModelReply, ModelRequest, ModelSettings, Tool
from mesocosm.core.ports import BlobStore, Model
from mesocosm.core.redact import Redactor
from mesocosm.core.registry import MODELS
from mesocosm.interop.wire import whole_body

_MOST_MESSAGES, _PATIENCE_S = 20_000, 10.0
_LONGEST_NAME = 100


class FoundMessages(Protocol):
    """Messages of a trace; `rest` are ranges that were not looked through."""

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        """The messages, each with its index."""
        ...

    @property
    def rest(self) -> tuple[tuple[int, int], ...]:
        """Ranges that were not looked through in time."""
        ...


class CallTraces(Protocol):
    """The traces that calls are read from."""

    def events(self, episode_id: str, *, first: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield events of an episode."""
        ...

    def messages(
        self, episode_id: str, indexes: Sequence[Sequence[int]], before_seq: int, *, limit: int, budget_s: float
    ) -> FoundMessages:
        """Return the messages that an event refers to."""
        ...


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A model call: what was asked, and what came. `path` and `body` are as sent; empty if that is not recorded."""

    seq: int
    step: int
    messages: tuple[Message, ...]
    payload: Mapping[str, Any]
    path: str = ""
    body: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The reply that came then."""
        return str(self.payload.get("text") or "")


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """The answer to a call that was asked again; `same_body`: whether the same was sent, None if that is not known."""

    reply: ModelReply
    model: str
    same_body: bool | None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the reply, in words: that it is empty, cut off or withheld, of another model, uncounted."""
        reply, asked = self.reply, self.model.partition("@")[0]
        empty = not reply.text.strip() and not reply.tool_calls
        other = reply.served and not (asked.endswith(reply.served) or asked.rpartition("/")[2] in reply.served)
        known = (
            ("the reply was cut off at its limit of tokens", reply.finish_reason == "length"),
            ("the provider withheld the reply", reply.finish_reason == "content_filter" and empty),
            ("the model refused", reply.finish_reason == "content_filter" and not empty),
            ("the reply is empty", empty and reply.finish_reason != "content_filter"),
            (f"the server says that {reply.served[:_LONGEST_NAME]} answered", bool(other)),
            ("the server does not say how many tokens it took", reply.estimated),
        )
        return tuple(words for words, holds in known if holds)


def call_positions(traces: CallTraces, episode_id: str) -> list[int]:
    """Return the positions of the events of an episode's model calls, without those of graders."""
    return [
        event.seq
        for event in traces.events(episode_id)
        if event.kind is Kind.MODEL_CALL and isinstance(event.payload, dict) and event.payload.get("role") != "judge"
    ]


def recorded_call(traces: CallTraces, blobs: BlobStore, episode_id: str, seq: int) -> RecordedCall:
    """Return the model call at a position of a trace. Raises UnknownName without one, UsageError if it is damaged."""
    event = next(traces.events(episode_id, first=seq, limit=1), None) if seq >= 0 else None
    if event is None or event.kind is not Kind.MODEL_CALL or not isinstance(event.payload, dict):
        raise UnknownName(f"event {seq} of episode {episode_id} is not a model call")
    try:
        places = msgspec.convert(event.payload.get("messages"), list[tuple[int, int]])
        page = traces.messages(episode_id, places, seq, limit=_MOST_MESSAGES, budget_s=_PATIENCE_S)
        known = {int(message["index"]): message for message in page.messages}
        listed = [whole(known[index], blobs) for first, last in places for index in range(first, last + 1)]
        messages = tuple(
            msgspec.convert({name: value for name, value in one.items() if name != "index"}, Message) for one in listed
        )
    except (KeyError, msgspec.ValidationError):
        raise UsageError(f"the messages of call {seq} of episode {episode_id} are not all recorded") from None
    path, rest = _sent(traces, episode_id, event.payload.get("wire"))
    body = None if rest is None else whole_body(path, whole(rest, blobs), listed)
    return RecordedCall(event.seq, event.step, messages, event.payload, path, body)


def _sent(traces: CallTraces, episode_id: str, given: Any) -> tuple[str, Mapping[str, Any] | None]:
    """Return path and body of a call as recorded, without its messages; a body may be that of an earlier call."""
    if isinstance(given, dict) and isinstance(place := given.get("as"), int):
        before = next(traces.events(episode_id, first=place, limit=1), None)
        given = before.payload.get("wire") if before is not None and isinstance(before.payload, dict) else None
    if not isinstance(given, dict) or not isinstance(given.get("body"), dict):
        return "", None
    return str(given.get("path", "")), given["body"]


def edited(messages: Sequence[Message], system: str | None, prompt: str | None) -> tuple[Message, ...]:
    """Return a conversation with another system message, or another last message of the user. None: as it is.

    Raises UsageError if there is no message to replace.
    """
    found = list(messages)
    changes: tuple[tuple[Role, str | None], ...] = (("system", system), ("user", prompt))
    for role, text in changes:
        if text is None:
            continue
        place = next((at for at in range(len(found) - 1, -1, -1) if found[at].role == role), None)
        if place is not None:
            found[place] = Message(role, text)
        elif role == "system":
            found.insert(0, Message("system", text))
        else:
            raise UsageError("this call has no message of the user to replace")
    return tuple(found)


async def ask_again(
    call: RecordedCall, episode: Episode, settings: ModelSettings, messages: Sequence[Message]
) -> NewAnswer:
    """Ask a call once more, of the model in `settings`, and return the answer. Nothing is stored.

    Parameters that are recorded with the call, and its tools and schema, replace those of the settings. Raises
    EpisodeError if the model does not answer, UsageError if it cannot be asked.
    """
    model: Model = MODELS.get("*")(msgspec.structs.replace(settings, cache=""))
    try:
        await model.check()
        reply = await model.ask(_request(call, episode, settings, messages))
    finally:
        await model.close()
    return NewAnswer(_without_secrets(reply), settings.name, _same(call, reply, messages))


def _without_secrets(reply: ModelReply) -> ModelReply:
    """Return a reply as it would be recorded."""
    clean = Redactor()
    calls = tuple(clean.value(call) for call in reply.tool_calls)
    return replace(reply, text=clean.text(reply.text), reasoning=clean.text(reply.reasoning), tool_calls=calls)


def _request(
    call: RecordedCall, episode: Episode, settings: ModelSettings, messages: Sequence[Message]
) -> ModelRequest:
    body = call.body or {}
    asked = _parameters(body)
    schema, name = schema_in(body)
    view = EpisodeView(episode.seed, episode.task_id, episode.trial, max(call.step - 1, 0), input=episode.input)
    return ModelRequest(
        list(messages),
        asked.get("temperature", settings.temperature),
        int(asked.get("max_tokens", settings.max_tokens)),
        asked.get("top_p", settings.top_p),
        schema=schema,
        schema_name=name,
        tools=tools_in(body),
        timeout_s=settings.timeout_s,
        extra=settings.extra,
        view=view,
    )


def _parameters(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters in a body by our names."""
    places = [body, body.get("options"), body.get("generationConfig")]
    names = {
        "temperature": ("temperature",),
        "max_tokens": ("max_tokens", "max_completion_tokens", "num_predict", "maxOutputTokens"),
        "top_p": ("top_p", "topP"),
    }
    return {
        ours: place[theirs]
        for place in places
        if isinstance(place, Mapping)
        for ours, spelled in names.items()
        for theirs in spelled
        if isinstance(place.get(theirs), int | float)
    }


def tools_in(body: Mapping[str, Any]) -> tuple[Tool, ...]:
    """Return the tools in the body of any API."""
    found = []
    for entry in _dicts(body.get("tools")):
        declared = entry.get("functionDeclarations", entry.get("function_declarations"))
        for one in _dicts(declared) if declared is not None else [entry.get("function", entry)]:
            if isinstance(one, Mapping) and isinstance(one.get("name"), str):
                given: dict[str, Any] = next((one[name] for name in _SCHEMAS if isinstance(one.get(name), dict)), {})
                found.append(Tool(one["name"], str(one.get("description") or ""), given))
    return tuple(found)


_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema")


def schema_in(body: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    """Return the schema of the reply in the body of any API, and its name; None without one."""
    form = body.get("response_format")
    named = form.get("json_schema") if isinstance(form, Mapping) else None
    if isinstance(named, Mapping) and isinstance(named.get("schema"), Mapping):
        return named["schema"], str(named.get("name") or "answer")
    config, generation = body.get("output_config"), body.get("generationConfig")
    shape = config.get("format") if isinstance(config, Mapping) else None
    candidates = (
        body.get("format"),
        shape.get("schema") if isinstance(shape, Mapping) else None,
        generation.get("responseJsonSchema") if isinstance(generation, Mapping) else None,
    )
    return next((one for one in candidates if isinstance(one, Mapping)), None), "answer"


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _same(call: RecordedCall, reply: ModelReply, messages: Sequence[Message]) -> bool | None:
    """Return whether a call was sent as it was then."""
    if call.body is None or reply.wire is None:
        return None
    said = [msgspec.to_builtins(one) for one in messages]
    now = whole_body(reply.wire.path, msgspec.to_builtins(reply.wire.body), said)
    return (reply.wire.path, now) == (call.path, dict(call.body))
