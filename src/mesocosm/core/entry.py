"""What is written to the journal of a run: trace chunks, blobs, and episodes with both."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from mesocosm.core.episode import Episode
from mesocosm.core.failure import UnknownName

if TYPE_CHECKING:
    from mesocosm.core.ports import BlobStore


@dataclass(frozen=True, slots=True)
class Chunk:
    """Part of a trace: events `first`…`last` (inclusive) of steps `first_step`…`last_step` as raw JSON lines."""

    seq: int
    first: int
    last: int
    first_step: int
    last_step: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Blob:
    """Large content, stored once by digest."""

    digest: str
    content_type: str
    data: bytes


def is_reference(value: Any) -> bool:
    """Return whether a recorded value is a reference to a blob."""
    return isinstance(value, dict) and value.keys() == {"$blob", "bytes"} and isinstance(value["$blob"], str)


def whole(value: Any, blobs: "BlobStore") -> Any:
    """Return a recorded value with references replaced; a value that was stored as JSON text is decoded."""
    if is_reference(value):
        with suppress(UnknownName):
            blob = blobs.get(value["$blob"])
            text = blob.data.decode("utf-8", "replace")
            if blob.content_type != "application/json":
                return text
            with suppress(msgspec.DecodeError):
                return msgspec.json.decode(text)
            return text
        return value
    if isinstance(value, dict):
        return {key: whole(item, blobs) for key, item in value.items()}
    return [whole(item, blobs) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Entry:
    """One transaction of an episode: row, new chunks, new blobs. Only imported ones have `checksum` and `link`."""

    episode: Episode
    chunks: Sequence[Chunk] = ()
    blobs: Sequence[Blob] = ()
    checksum: str = ""
    link: int | None = None
