"""What the journal of a run is given: pieces of traces, large content, and episodes with both."""

from collections.abc import Sequence
from dataclasses import dataclass

from mesocosm.core.episode import Episode


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a trace: events `first`…`last` (inclusive) of steps `first_step`…`last_step` as raw JSON lines."""

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


@dataclass(frozen=True, slots=True)
class Entry:
    """What is written of one episode in one transaction: its row as it is now, new chunks, new blobs.

    `checksum` is the one that the episode has in the store that it comes from, and `link` its place in the chain of the
    run there; neither for what is new.
    """

    episode: Episode
    chunks: Sequence[Chunk] = ()
    blobs: Sequence[Blob] = ()
    checksum: str = ""
    link: int | None = None
