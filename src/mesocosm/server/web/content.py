"""Content types that are safe for stored content: a browser never runs it."""

import base64
import binascii
import re
from dataclasses import dataclass

from mesocosm.core.entry import Blob

TEXT = "text/plain; charset=utf-8"
BYTES = "application/octet-stream"

_MAGIC = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
"""Image types that are sent as images, with their magic bytes."""

_TEXTS = re.compile(r"text/|application/([\w.+-]+\+)?(json|xml|javascript|x-ndjson|yaml|toml)\b|image/svg")
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes with the media type to send, and the type that they were recorded with."""

    data: bytes
    media_type: str
    recorded: str


def content_of(blob: Blob) -> Content:
    """Return the content of a blob. Images in messages are recorded as base64 text; they are decoded."""
    found = _TYPE.match(blob.content_type.strip().lower())
    recorded = found[0] if found else BYTES
    beginnings = _MAGIC.get(recorded)
    if beginnings is not None:
        data = blob.data if blob.data.startswith(beginnings) else _decoded(blob.data)
        if data.startswith(beginnings):
            return Content(data, recorded, recorded)
    if _TEXTS.match(recorded):
        return Content(blob.data, TEXT, recorded)
    return Content(blob.data, BYTES, recorded)


def _decoded(data: bytes) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        return b""


def byte_range(given: str | None, total: int) -> tuple[int, int] | None:
    """Return begin and end of the bytes of a `Range` header (RFC 9110, section 14.2); None if it is to be ignored.

    If the end is not after the beginning, the range lies outside the content.
    """
    wanted = None if given is None else _RANGE.fullmatch(given.strip())
    if wanted is None or wanted[0] == "bytes=-":
        return None
    first, last = wanted[1], wanted[2]
    begin = int(first) if first else max(total - int(last), 0)
    end = min(int(last) + 1, total) if first and last else total
    return begin, end


def window(data: bytes, first: int, count: int) -> tuple[int, int]:
    """Return start and end of at most `count` bytes from about `first` on that split no UTF-8 character.

    A window that would be empty is extended to one character.
    """
    start = _border(data, min(first, len(data)))
    end = _border(data, min(start + count, len(data)))
    if end == start and start < len(data):
        end = min(start + 4, len(data))
        while end > start + 1 and end < len(data) and _continues(data[end]):
            end -= 1
    return start, end


def _border(data: bytes, place: int) -> int:
    """Return the start of the character at `place`; `place` itself after four continuation bytes, which are no text."""
    for back in range(4):
        if place - back <= 0 or place - back >= len(data) or not _continues(data[place - back]):
            return max(place - back, 0)
    return place


def _continues(byte: int) -> bool:
    return byte & 0xC0 == 0x80
