"""What is written to the journal of a run: trace chunks, blobs, and episodes with both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mesocosm.core.episode import Episode


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


@dataclass(frozen=True, slots=True)
class Entry:
    """One transaction of an episode: row, new chunks, new blobs. Only imported ones have `checksum` and `link`."""

    episode: Episode
    chunks: Sequence[Chunk] = ()
    blobs: Sequence[Blob] = ()
    checksum: str = ""
    link: int | None = None
