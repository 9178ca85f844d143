"""Traces as returned by the API: lines of stored JSON, passed through without decoding."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec
from msgspec.structs import asdict

from mesocosm.core.entry import whole
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.interop.again import NewAnswer
from mesocosm.interop.wire import as_curl, as_python, whole_body
from mesocosm.server.permissions.visible_runs import VisibleEpisode
from mesocosm.server.schemas.document import shortened
from mesocosm.server.schemas.episode import AgainDocument, CallDocument, WireDocument
from mesocosm.server.schemas.query import EventQuery

_PATIENCE = 2.0
_MOST_MESSAGES = 20_000
"""Maximum seconds and messages for one call; a conversation of 400 turns takes milliseconds."""

_NEAR = 1_000
"""Events before a call among which the previous one is looked for."""

FAR = 2**62
"""A position beyond every event."""

_Index = Annotated[int, msgspec.Meta(ge=0, le=FAR)]
_Run = Annotated[list[_Index], msgspec.Meta(min_length=2, max_length=2)]

_events = msgspec.json.Decoder(Event)


def event_page(episode: VisibleEpisode, query: EventQuery) -> bytes:
    """Return an EventPage as JSON. Raises UsageError for an unknown kind of event."""
    kinds, events = _kinds(query.kind), episode.record.events
    start = min(query.start, FAR)
    if query.step is not None:
        first = first_event(episode, query.step)
        start = events if first is None else max(first, query.start)
    if kinds is None and not query.q:
        lines: list[bytes] = list(read_lines(episode, start, query.limit))
        end = start + len(lines)
        following = end if len(lines) == query.limit and end < events else None
    else:
        page = episode.find_events(first=start, kinds=kinds, text=query.q, limit=query.limit)
        lines, following = [_whole(line) for line in page.lines], page.next
    after = b"null" if following is None else b"%d" % following
    return b'{"items":[%b],"next":%b,"total":%d}' % (b",".join(lines), after, events)


def first_event(episode: VisibleEpisode, step: int) -> int | None:
    """Return the position of the first event of a step, None if it has none."""
    return episode.first_event_of_step(step) if step <= FAR else None


def read_lines(episode: VisibleEpisode, first: int, limit: int) -> Iterator[bytes]:
    """Yield at most `limit` events from position `first` as JSON, each with all the fields of an EventDocument."""
    left = limit
    for chunk in episode.chunks(first):
        lines = chunk.raw.rstrip(b"\n").split(b"\n")
        start = max(first - chunk.first, 0)
        some = lines[start : start + left]
        yield from map(_whole, some)
        left -= len(some)
        if not left:
            return


def read_call(episode: VisibleEpisode, seq: int) -> CallDocument:
    """Return the model call at position `seq` with the messages sent with it. Raises UnknownName."""
    found = next(read_lines(episode, seq, 1), None) if 0 <= seq <= FAR else None
    event = None if found is None else _events.decode(found)
    if event is None or event.kind is not Kind.MODEL_CALL or not isinstance(event.payload, dict):
        raise UnknownName(
            f"event {seq} of episode {episode.id} is not a model call; request events with kind=model_call"
        )
    payload = event.payload
    places = _places(payload.get("messages"))
    page = episode.messages(places, seq, limit=_MOST_MESSAGES, budget_s=_PATIENCE)
    reply = {"role": "assistant", "content": payload.get("text", "")}
    reply |= {name: payload[name] for name in ("reasoning", "tool_calls") if name in payload}
    return CallDocument(
        seq=event.seq,
        step=event.step,
        model=str(payload.get("model", "")),
        messages=[shortened(message) for message in _as_sent(places, page.messages)],
        reply=shortened(reply) if "text" in payload else None,
        payload=shortened({name: value for name, value in payload.items() if name != "wire"}),
        previous=_previous(episode, seq, payload.get("role")),
        wire=_wire(episode, payload.get("wire"), _as_sent(places, page.messages)),
        again=episode.run.may_work,
    )


def again_document(answer: NewAnswer) -> AgainDocument:
    """Return the document of a call that was asked again."""
    reply = answer.reply
    said: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        said["reasoning"] = reply.reasoning
    if reply.tool_calls:
        said["tool_calls"] = msgspec.to_builtins(reply.tool_calls)
    return AgainDocument.model_validate(
        {
            "model": answer.model,
            "reply": shortened(said),
            "finish_reason": reply.finish_reason,
            "usage": {**asdict(reply.usage), "total": reply.usage.total},
            "latency_s": reply.latency_s,
            "same_body": answer.same_body,
            "notes": list(answer.notes),
        }
    )


def _previous(episode: VisibleEpisode, seq: int, role: Any) -> int | None:
    """Return the position of the call before one in the same role, among the events near it."""
    first = max(seq - _NEAR, 0)
    page = episode.find_events(first=first, kinds=frozenset({Kind.MODEL_CALL}), text="", limit=_NEAR)
    calls = [event for event in map(_events.decode, page.lines) if event.seq < seq and isinstance(event.payload, dict)]
    return next((event.seq for event in reversed(calls) if event.payload.get("role") == role), None)


def _wire(episode: VisibleEpisode, given: Any, messages: list[dict[str, Any]]) -> WireDocument | None:
    """Return a call as it was sent; None if that is not recorded, or if the caller may not see it."""
    if not isinstance(given, dict):
        return None
    sent: Any = given
    if isinstance(place := given.get("as"), int):
        line = next(read_lines(episode, place, 1), None)
        payload = None if line is None else _events.decode(line).payload
        sent = payload.get("wire") if isinstance(payload, dict) else None
    if not isinstance(sent, dict) or not isinstance(sent.get("body"), dict):
        return None
    path, run = str(sent.get("path", "")), episode.run
    try:
        body = whole_body(path, whole(sent["body"], run), whole(messages, run))
    except msgspec.ValidationError:
        return None
    address = run.record.provenance.get("server", {}).get("address") or "$BASE_URL"
    provider = run.record.spec.model.name.partition("/")[0]
    return WireDocument(
        path=path,
        body=body,
        answer=str(whole(given.get("answer", ""), run)),
        curl=as_curl(address, path, body, provider),
        python=as_python(address, path, body, provider),
    )


def _places(given: Any) -> list[list[int]]:
    """Return the ranges `[first, last]` of message indexes that a call refers to; an imported trace may have none."""
    try:
        return msgspec.convert(given, list[_Run])
    except msgspec.ValidationError:
        return []


def _as_sent(places: list[list[int]], messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages in the order of the request; they are stored in the order in which they first occurred."""
    known = {int(message["index"]): message for message in messages}
    return [known[index] for first, last in places for index in sorted(known) if first <= index <= last]


def _kinds(words: list[str]) -> frozenset[Kind] | None:
    unknown = sorted(set(words) - set(Kind))
    if unknown:
        raise UsageError(f"there are no events of kind {unknown[0]!r}; there are {', '.join(Kind)}")
    return frozenset(map(Kind, words)) if words else None


def _whole(line: bytes) -> bytes:
    """Return a line with an explicit payload: the record omits a null payload."""
    if b'"payload":' in line:
        return line
    event = _events.decode(line)
    return msgspec.json.encode({**msgspec.to_builtins(event), "payload": event.payload})
