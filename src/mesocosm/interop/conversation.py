"""Read the conversation of an episode from its trace: as OpenAI messages, and as prompt and answer texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Protocol

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.event import Event
from mesocosm.core.ports import BlobStore, EntryStore
from mesocosm.interop.replay import inline

Said = Mapping[str, Any]
"""A message in OpenAI's format."""

_HEAD = 160
"""Number of bytes at the start of a line that contain its kind."""

_events = msgspec.json.Decoder(Event)


class ConversationSource(Protocol):
    """The store that conversations are read from."""

    @property
    def bundles(self) -> EntryStore:
        """Episodes with their traces."""
        ...

    @property
    def blobs(self) -> BlobStore:
        """Large content."""
        ...


class EpisodeSelection(Protocol):
    """Selects episodes."""

    def __call__(self, episode: Episode) -> bool:
        """Return whether to include the episode."""
        ...


@dataclass(slots=True)
class EpisodeConversation:
    """The parts of a trace that make up the conversation. `calls` are the agent's model calls, not a judge's.
    `played` are actions, observations and rewards.

    Unless `whole`, only the data for the two texts is kept.
    """

    whole: bool = True
    begun: Any = None
    ended: Any = None
    asked: str = ""
    answered: str = ""
    calls: list[Mapping[str, Any]] = field(default_factory=list)
    recorded: dict[int, Said] = field(default_factory=dict)
    played: list[Event] = field(default_factory=list)

    def take(self, raw: bytes, blobs: BlobStore) -> None:
        """Read a piece of the trace: lines of JSON."""
        for line in raw.split(b"\n"):
            head = line[:_HEAD]
            if b'"kind":"observation"' in head:
                event = _events.decode(line)
                self._observed(event.payload, blobs)
                self._play(event, blobs)
            elif b'"kind":"action"' in head or b'"kind":"step_result"' in head:
                self._play(_events.decode(line), blobs)
            elif b'"kind":"model_call"' in head:
                self._called(_events.decode(line))
            elif b'"kind":"message"' in head and (self.whole or not self.asked):
                self._message(_events.decode(line).payload, blobs)

    def _observed(self, payload: Any, blobs: BlobStore) -> None:
        data = payload.get("data") if isinstance(payload, dict) else None
        data = inline(data, blobs) if isinstance(data, dict) and "$blob" in data else data
        if self.begun is None:
            self.begun = data
        self.ended = data

    def _play(self, event: Event, blobs: BlobStore) -> None:
        if self.whole:
            self.played.append(msgspec.structs.replace(event, payload=inline(event.payload, blobs)))

    def _called(self, event: Event) -> None:
        payload = event.payload
        if not isinstance(payload, dict) or payload.get("role"):
            return
        self.answered = str(payload.get("text") or self.answered)
        if self.whole:
            self.calls.append({**payload, "at": event.at})

    def _message(self, payload: Any, blobs: BlobStore) -> None:
        if not isinstance(payload, dict):
            return
        said = {name: value for name, value in payload.items() if name != "index"}
        if self.whole and isinstance(payload.get("index"), int):
            self.recorded[payload["index"]] = inline(said, blobs)
        if not self.asked and said.get("role") == "user":
            self.asked = text_of(said.get("content"))

    def messages(self, episode: Episode) -> Sequence[Said]:
        """Return the final messages of the episode, else those of its last model call with the reply."""
        if found := self.stated(episode):
            return found
        if not self.calls:
            return _listed(self.begun, "prompt")
        last = self.calls[-1]
        places = [place for first, end in last.get("messages", ()) for place in range(first, end + 1)]
        answer: dict[str, Any] = {"role": "assistant", "content": last.get("text", "")}
        for name in ("reasoning", "tool_calls"):
            if last.get(name):
                answer[name] = last[name]
        return [*(self.recorded[place] for place in places if place in self.recorded), answer]

    def stated(self, episode: Episode) -> Sequence[Said]:
        """Return the messages that a rollout says it ended with; empty if it does not."""
        return _listed(self.ended, "messages") or _listed(episode.terminal_info, "partial")

    def texts(self, episode: Episode) -> tuple[str, str]:
        """Return the prompt (the user's last message before the first answer) and the last answer."""
        found = _listed(self.ended, "messages") or _listed(episode.terminal_info, "partial")
        prompt, answer = "", ""
        for message in found or _listed(self.begun, "prompt"):
            if message.get("role") == "assistant":
                answer = text_of(message.get("content")) or answer
            elif message.get("role") == "user" and not answer:
                prompt = text_of(message.get("content"))
        if not prompt:
            prompt = self.begun if isinstance(self.begun, str) else self.asked
        return prompt, answer or self.answered


def conversations(
    store: ConversationSource, run_id: str, *, whole: bool = True, rows: EpisodeSelection | None = None
) -> Iterator[tuple[Episode, EpisodeConversation]]:
    """Yield the episodes of a run with their conversations, in plan order; only those that `rows` selects."""
    for _, entries in groupby(store.bundles.entries(run_id), key=lambda entry: entry.episode.id):
        found = EpisodeConversation(whole)
        episode: Episode | None = None
        for entry in entries:
            episode = entry.episode
            if rows is not None and not rows(episode):
                continue
            for chunk in entry.chunks:
                found.take(chunk.raw, store.blobs)
        if episode is not None and (rows is None or rows(episode)):
            yield episode, found


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or its text parts, joined by line breaks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable) or isinstance(content, Mapping):
        return ""
    parts = (part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | Mapping))
    return "\n".join(part for part in parts if isinstance(part, str))


def _listed(data: Any, name: str) -> list[Said]:
    found = data.get(name) if isinstance(data, Mapping) else None
    return [message for message in found if isinstance(message, Mapping)] if isinstance(found, list) else []
