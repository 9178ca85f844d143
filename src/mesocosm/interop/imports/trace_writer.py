"""Write what a foreign file says about an episode as a trace of ours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from mesocosm.core.entry import Blob, Chunk
from mesocosm.core.event import Event, Kind
from mesocosm.core.ids import digest_bytes
from mesocosm.core.redact import Redactor

CHUNK_EVENTS, CHUNK_BYTES = 128, 64 * 1024
LARGE = 16 * 1024
"""Content of at least this many characters is stored once by digest."""

JSON = dict[str, Any]

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class TraceWriter:
    """The trace of one episode. Messages are stored once; large texts are references to blobs.

    `at` is the UNIX time of events that have none of their own; `step` counts the calls of the agent's model so far.
    """

    redactor: Redactor
    at: float = 0.0
    step: int = 0
    _lines: list[tuple[int, bytes]] = field(default_factory=list)
    _messages: dict[bytes, int] = field(default_factory=dict)
    _blobs: dict[str, Blob] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of events so far."""
        return len(self._lines)

    def event(self, kind: Kind, payload: Any, at: float | None = None) -> int:
        """Append an event and return its position."""
        self.at = self.at if at is None else at
        place = len(self._lines)
        self._lines.append((self.step, _encode(Event(place, self.step, self.at, kind, payload))))
        return place

    def message(self, message: Mapping[str, Any], at: float | None = None, *, key: Any = None) -> int:
        """Record a message in the form of core.message.Message unless it is known; return its index.

        Messages are the same if they are equal, or, where `key` is given, if their keys are.
        """
        name = _encode(message if key is None else key)
        name = name if len(name) <= 64 else digest_bytes(name).encode()
        known = self._messages.get(name)
        if known is None:
            known = self._messages[name] = len(self._messages)
            self.event(Kind.MESSAGE, {"index": known, **self._stored(message)}, at)
        return known

    def call(
        self,
        model: str,
        messages: Sequence[int],
        reply: Mapping[str, Any],
        *,
        at: float | None = None,
        usage: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> int:
        """Record a model call with the indexes of its messages and its reply; return its position.

        A call with a `role` is one of a judge or of another player, and takes no step.
        """
        if not more.get("role"):
            self.step += 1
        payload: JSON = {
            "model": model,
            "messages": ranges(messages),
            "text": self.outline(reply.get("content") or ""),
            "usage": dict(usage or {"calls": 1}),
            **{name: self.outline(reply[name]) for name in ("reasoning", "tool_calls") if reply.get(name)},
            **{name: value for name, value in more.items() if value is not None},
        }
        return self.event(Kind.MODEL_CALL, payload, at)

    def outline(self, value: Any) -> Any:
        """Return a JSON value whose large texts are references to blobs."""
        if isinstance(value, str):
            return self.reference(value, "text/plain")
        if isinstance(value, Mapping):
            return {str(name): self.outline(item) for name, item in value.items()}
        return [self.outline(item) for item in value] if isinstance(value, list | tuple) else value

    def compact(self, value: Any) -> Any:
        """Return a JSON value, or a reference to its text if that is large."""
        if isinstance(value, str):
            return self.reference(value, "application/json")
        if not isinstance(value, list | dict):
            return value
        text = _encode(value).decode()
        return value if len(text) < LARGE else self.reference(text, "application/json")

    def reference(self, text: str, content_type: str) -> Any:
        """Return a text, or a reference to it if it is large."""
        if len(text) < LARGE:
            return text
        raw = self.redactor.text(text).encode("utf-8", "replace")
        name = digest_bytes(raw)
        self._blobs.setdefault(name, Blob(name, content_type, raw))
        return {"$blob": name, "bytes": len(raw)}

    def blobs(self) -> list[Blob]:
        """Return the large texts."""
        return list(self._blobs.values())

    def chunks(self) -> Iterator[Chunk]:
        """Yield the trace in chunks, without secrets."""
        first, size, number = 0, 0, 0
        for place, (step, line) in enumerate(self._lines):
            size += len(line) + 1
            full = size >= CHUNK_BYTES or place - first + 1 >= CHUNK_EVENTS
            if full or place == len(self._lines) - 1:
                raw = b"\n".join(text for _, text in self._lines[first : place + 1]) + b"\n"
                yield Chunk(number, first, place, self._lines[first][0], step, self.redactor.events(raw))
                first, size, number = place + 1, 0, number + 1

    def _stored(self, message: Mapping[str, Any]) -> JSON:
        content = message.get("content")
        if not isinstance(content, list):
            return {name: self.outline(value) for name, value in message.items()}
        parts = [self._part(part) for part in content]
        rest = {name: self.outline(value) for name, value in message.items() if name != "content"}
        return {**rest, "content": parts}

    def _part(self, part: Mapping[str, Any]) -> JSON:
        found = {str(name): self.outline(value) for name, value in part.items() if name != "data"}
        if isinstance(part.get("data"), str):
            found["data"] = self.reference(part["data"], str(part.get("media_type") or "image/png"))
        return found


def ranges(places: Sequence[int]) -> list[list[int]]:
    """Return indexes as ranges `[first, last]`, in their order."""
    found: list[list[int]] = []
    for place in places:
        if found and found[-1][1] == place - 1:
            found[-1][1] = place
        else:
            found.append([place, place])
    return found


def places(found: Sequence[Sequence[int]]) -> list[int]:
    """Return the indexes of ranges `[first, last]`."""
    return [place for first, last in found for place in range(first, last + 1)]


def record_chat(
    trace: TraceWriter, messages: Sequence[Mapping[str, Any]], model: str, facts: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Record a conversation: each message of the assistant is a call with all messages before it.

    `messages` have the form of core.message.Message. `facts` has for each message the arguments of `TraceWriter.call`
    that are known about it: `at`, `usage` and others.
    """
    known: list[int] = []
    for place, message in enumerate(messages):
        more = dict(facts[place]) if place < len(facts) else {}
        if message.get("role") == "assistant":
            trace.call(more.pop("model", None) or model, known, message, **more)
            if place + 1 == len(messages):
                return
        known.append(trace.message(message, more.get("at"), key=[place, message]))
