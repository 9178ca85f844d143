"""Server-sent events: split streams into events, and write events."""

import re
from typing import Any

import msgspec

_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\r\n|\n|\r")
_encode = msgspec.json.Encoder().encode

HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


class Splitter:
    """Splits a stream into events, unchanged and each with the blank line that ends it."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the events that `piece` completes."""
        self._buffer += piece
        events: list[bytes] = []
        start = 0
        while (match := _END.search(self._buffer, max(start, self._searched))) is not None:
            events.append(bytes(self._buffer[start : match.end()]))
            start = self._searched = match.end()
        if start:
            del self._buffer[:start]
        # An end of up to four bytes may be split across two pieces.
        self._searched = max(len(self._buffer) - 3, 0)
        return events

    def rest(self) -> bytes:
        """Return the bytes after the last complete event."""
        rest, self._searched = bytes(self._buffer), 0
        self._buffer.clear()
        return rest


def data_of(event: bytes) -> bytes:
    """Return the data of an event; empty for comments."""
    body = event.rstrip(b"\r\n")
    if body.startswith(b"data: ") and b"\n" not in body and b"\r" not in body:
        return body[6:]
    lines = [line[5:].removeprefix(b" ") for line in _LINE.split(event) if line.startswith(b"data:")]
    return b"\n".join(lines)


def event(data: Any, name: str = "") -> bytes:
    """Return an event with `data` as JSON."""
    head = b"event: %b\n" % name.encode() if name else b""
    return b"%bdata: %b\n\n" % (head, _encode(data))


DONE = b"data: [DONE]\n\n"
"""The last event of a stream of chat completions."""
