"""Read the task of an episode from its trace: what the model was asked first, the label, the metadata."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from mesocosm.core.entry import whole
from mesocosm.core.episode import Episode
from mesocosm.core.event import Event, Kind
from mesocosm.core.message import Message
from mesocosm.core.ports import BlobStore
from mesocosm.core.task import Task
from mesocosm.interop.replay import inline
from mesocosm.models.chat_completions import wire_messages

__all__ = ["RecordedTask", "read_task"]

_PARTS = {"prompt", "metadata"}
_OCCURRENCES = 16


class RecordedTask(msgspec.Struct, frozen=True, omit_defaults=True):
    """The task of an episode: the first messages, and for a row of a dataset also its label and its metadata.

    `altered`: the row is not recorded as it was, because it contained a secret or a path that is hidden.
    """

    prompt: tuple[dict[str, Any], ...]
    label: str | None = None
    metadata: dict[str, Any] | None = None
    altered: bool = False


def read_task(episode: Episode, events: Iterable[Event], blobs: BlobStore) -> RecordedTask | None:
    """Return the task of an episode, None if the trace has none: the model was not asked.

    The first observation of a rollout is its row. Otherwise the task is the messages of the agent's first model call,
    and its metadata are the seed and the labels.
    """
    said: dict[int, Mapping[str, Any]] = {}
    row: Mapping[str, Any] | None = None
    observed = False
    last: Any = None
    for event in events:
        payload = event.payload
        if not isinstance(payload, Mapping):
            continue
        if event.kind is Kind.OBSERVATION:
            last = payload.get("data")
            row = row if observed else _row(whole(last, blobs))
            observed = True
        elif row is not None:
            continue
        elif event.kind is Kind.MESSAGE and isinstance(payload.get("index"), int):
            said[payload["index"]] = payload
        elif event.kind is Kind.MODEL_CALL and not payload.get("role"):
            places = [place for begin, end in payload.get("messages", ()) for place in range(begin, end + 1)]
            return _asked(episode, [said[place] for place in places if place in said], blobs)
    return None if row is None else _of_row(episode, row, whole(last, blobs))


def _row(given: Any) -> Mapping[str, Any] | None:
    """Return an observation if it is the row of a rollout."""
    if isinstance(given, Mapping) and given.keys() <= _PARTS and isinstance(given.get("prompt"), list):
        return given
    return None


def _of_row(episode: Episode, given: Mapping[str, Any], ended: Any) -> RecordedTask:
    label = ended.get("label") if isinstance(ended, Mapping) else None
    label = episode.terminal_info.get("label") if label is None else label
    label = label if isinstance(label, str) else None
    altered = not _is_of(episode.task_digest, dict(given), label)
    return RecordedTask(tuple(given["prompt"]), label, given.get("metadata"), altered)


def _is_of(digest: str, given: dict[str, Any], label: str | None) -> bool:
    """Return whether a row is the task with this digest, at one of its first occurrences in the dataset."""
    same = (Task("", input=given, target=label, occurrence=place) for place in range(_OCCURRENCES))
    return any(task.digest() == digest for task in same)


def _asked(episode: Episode, said: Sequence[Mapping[str, Any]], blobs: BlobStore) -> RecordedTask | None:
    """Return the task of an episode whose first call had these messages."""
    seed: dict[str, Any] = {} if episode.seed is None else {"seed": episode.seed}
    return RecordedTask(_wire(said, blobs), metadata={**seed, **episode.labels} or None) if said else None


def _wire(said: Iterable[Mapping[str, Any]], blobs: BlobStore) -> tuple[dict[str, Any], ...]:
    """Return recorded messages in OpenAI's format."""
    messages = [msgspec.convert(inline(dict(one), blobs), Message) for one in said]
    return tuple(map(msgspec.to_builtins, wire_messages(messages)))
