"""The ordered, redacted record of one episode, passed to the journal in chunks."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from mesocosm.core.entry import Blob, Chunk, Entry, is_reference
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.ids import digest_bytes
from mesocosm.core.message import Image, Message
from mesocosm.core.ports import Journal
from mesocosm.core.redact import Redactor
from mesocosm.core.row_redaction import CONTENT, clean_row

CHUNK_EVENTS = 128
CHUNK_BYTES = 64 * 1024
BLOB_BYTES = 16 * 1024
"""Content of at least this size is stored once by digest; for less, the reference would cost more than it saves."""

_encode = msgspec.json.Encoder().encode


class Recorder:
    """Records the events of one episode in order.

    Nothing is written before `flush` or before a chunk is full, so a short episode costs one entry. Messages are stored
    once: they are recognised by object identity first, then by content.
    """

    def __init__(self, episode: Episode, journal: Journal, redactor: Redactor) -> None:
        self.episode = episode
        self.pending_since: float | None = None
        self.written = False
        self._journal = journal
        self._redactor = redactor
        self._lines: list[bytes] = []
        self._size = 0
        self._first = 0
        self._first_step = 0
        self._last_step = 0
        self._seq = 0
        self._chunk = 0
        self._blobs: list[Blob] = []
        self._known_blobs: set[str] = set()
        self._messages: dict[int, tuple[int, Message]] = {}
        self._contents: dict[bytes, int] = {}

    @property
    def step(self) -> int:
        """The step of the last event."""
        return self._last_step

    @property
    def next_seq(self) -> int:
        """The position of the next event."""
        return self._seq

    def record(self, kind: Kind, payload: Any, step: int) -> None:
        """Append one event."""
        now = time.time()
        line = _encode(Event(self._seq, step, now, kind, payload))
        if not self._lines:
            self._first, self._first_step, self.pending_since = self._seq, step, now
        self._lines.append(line)
        self._seq += 1
        self._size += len(line) + 1
        self._last_step = step
        if self._size >= CHUNK_BYTES or len(self._lines) >= CHUNK_EVENTS:
            self.flush()

    def messages(self, messages: Sequence[Message], step: int) -> list[list[int]]:
        """Record messages not seen before; return the indexes of all messages, as ranges `[first, last]`."""
        runs: list[list[int]] = []
        for message in messages:
            known = self._messages.get(id(message))
            index = known[0] if known is not None else self._message(message, step)
            if runs and runs[-1][1] == index - 1:
                runs[-1][1] = index
            else:
                runs.append([index, index])
        return runs

    def _message(self, message: Message, step: int) -> int:
        content = _encode(message)
        key = content if len(content) <= 64 else digest_bytes(content).encode()
        index = self._contents.get(key)
        if index is None:
            index = self._contents[key] = len(self._contents)
            self.record(Kind.MESSAGE, {"index": index, **self._stored(message)}, step)
        # Keep a reference to the message: the id of a freed object may be reused.
        self._messages[id(message)] = (index, message)
        return index

    def _stored(self, message: Message) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(message)
        if not isinstance(message.content, str):
            fields["content"] = [
                {**part, "data": self.reference(original.data, original.media_type)}
                if isinstance(original, Image) and original.data
                else part
                for part, original in zip(fields["content"], message.content, strict=True)
            ]
        return fields

    def reference(self, data: Any, content_type: str) -> Any:
        """Return `data`, or a reference `{"$blob": digest, "bytes": n}` to it if it is a large text."""
        if not isinstance(data, str) or len(data) < BLOB_BYTES:
            return data
        raw = self._redactor.text(data).encode()
        name = digest_bytes(raw)
        if name not in self._known_blobs:
            self._known_blobs.add(name)
            self._blobs.append(Blob(name, content_type, raw))
        return {"$blob": name, "bytes": len(raw)}

    def compact(self, value: Any) -> Any:
        """Return a JSON value, or a reference to its text if that is large."""
        if not isinstance(value, str | list | dict | tuple):
            return value
        text = value if isinstance(value, str) else _encode(value).decode()
        return value if len(text) < BLOB_BYTES else self.reference(text, "application/json")

    def outline(self, value: Any) -> Any:
        """Return a JSON value whose large texts are references; the whole is one if it still is very large."""
        small = self._outlined(value)
        if not isinstance(small, list | dict) or len(text := _encode(small).decode()) < CHUNK_BYTES:
            return small
        return self.reference(text, "application/json")

    def _outlined(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.reference(value, "text/plain")
        if isinstance(value, list | tuple):
            return [self._outlined(item) for item in value]
        return {key: self._outlined(item) for key, item in value.items()} if isinstance(value, dict) else value

    def flush(self) -> None:
        """Write the events recorded so far, with the current row of the episode.

        The row is marked as running even if the episode is over: while it is being graded it has no scores, and a row
        with a final status would count as finished.
        """
        if self._lines:
            row = self._row()
            row.status = EpisodeStatus.RUNNING
            self._journal.write(Entry(row, self._take(), self._take_blobs()))
            self.written = True

    def finish(self) -> None:
        """Write the remaining events and the episode's final row; both are committed, or neither."""
        self.episode.events = self._seq
        self._journal.write(Entry(self._row(), self._take(), self._take_blobs()))
        self.written = True

    def _row(self) -> Episode:
        return clean_row(msgspec.structs.replace(self.episode, events=self._seq), self._redactor)

    def _take(self) -> list[Chunk]:
        if not self._lines:
            return []
        raw = self._redactor.events(b"\n".join(self._lines) + b"\n")
        chunk = Chunk(self._chunk, self._first, self._seq - 1, self._first_step, self._last_step, raw)
        self._chunk += 1
        self._lines, self._size, self.pending_since = [], 0, None
        return [chunk]

    def _take_blobs(self) -> list[Blob]:
        blobs, self._blobs = self._blobs, []
        return blobs


def redacted(entry: Entry, redactor: Redactor) -> Entry:
    """Return an entry that another process recorded, without secrets that only this process knows."""
    names: dict[bytes, bytes] = {}
    blobs = []
    for blob in entry.blobs:
        text = blob.data.decode(errors="surrogateescape")
        if (clean := redactor.text(text)) == text:
            blobs.append(blob)
            continue
        data = clean.encode(errors="surrogateescape")
        name = digest_bytes(data)
        names[blob.digest.encode()] = name.encode()
        blobs.append(Blob(name, blob.content_type, data))
    chunks = []
    for chunk in entry.chunks:
        raw = redactor.events(chunk.raw)
        for old, new in names.items():
            raw = raw.replace(old, new)
        chunks.append(chunk if raw == chunk.raw else replace(chunk, raw=raw))
    row = clean_row(entry.episode, redactor)
    for name in CONTENT if names else ():
        value = getattr(row, name)
        if is_reference(value) and (named := names.get(value["$blob"].encode())):
            setattr(row, name, {**value, "$blob": named.decode()})
    return Entry(row, chunks, blobs)
