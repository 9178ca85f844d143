"""Content encodings: gzip and deflate, undone in steps of bounded work and with a cap.

A small body can unfold into gigabytes, or consist of a hundred thousand members that unfold into nothing. So each step
takes in at most STEP_IN bytes and gives out at most STEP_OUT, and the event loop has its turn between two steps.
"""

import asyncio
import zlib
from collections.abc import Iterator

ACCEPTED = frozenset({"gzip", "x-gzip", "deflate"})
STEP_IN = 16 * 1024
STEP_OUT = 256 * 1024
MOST_MEMBERS = 64
"""Members of one body. Making a decoder costs as much as many kilobytes, and servers send one member."""


class TooLarge(Exception):
    """The decoded content is larger than the cap."""


def encodings(field: str, most: int = 3) -> list[str]:
    """Return the encodings that a Content-Encoding field names, the one to undo first at the front.

    Raises ValueError for unknown ones, and for more than `most`.
    """
    names = [name for part in field.split(",") if (name := part.strip().lower()) not in {"", "identity"}]
    if len(names) > most:
        raise ValueError(f"{len(names)} content encodings on top of each other")
    for name in names:
        if name not in ACCEPTED:
            raise ValueError(f"the content encoding {name!r} was not asked for and is not known")
    return names[::-1]


async def decode(body: bytes, field: str, limit: int) -> bytes:
    """Undo the encodings of a Content-Encoding field, last one first.

    Raises TooLarge past `limit` bytes, ValueError for broken or unknown encodings.
    """
    for name in encodings(field):
        decoder = Decoder(name)
        pieces: list[bytes] = []
        size = 0
        for number, piece in enumerate(decoder.steps(body)):
            size += len(piece)
            if size > limit:
                raise TooLarge
            pieces.append(piece)
            if number:
                await asyncio.sleep(0)
        decoder.end()
        body = b"".join(pieces)
    return body


class Decoder:
    """Undoes one encoding of a body that comes in pieces."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._start = b""
        self._decoder: zlib._Decompress | None = None
        self._members = 0

    def steps(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` unfolds to, one bounded step after the other; some yield nothing. Raises ValueError."""
        view = memoryview(data)
        for start in range(0, len(view), STEP_IN):
            rest = self._start + bytes(view[start : start + STEP_IN])
            self._start = b""
            while rest:
                if self._decoder is None:
                    rest = self._begin(rest)
                    if self._decoder is None:
                        break
                try:
                    yield self._decoder.decompress(rest, STEP_OUT)
                except zlib.error as error:
                    raise ValueError(f"the {self._name} content is broken ({error})") from error
                if self._decoder.eof:
                    rest, self._decoder = self._decoder.unused_data, None
                else:
                    rest = self._decoder.unconsumed_tail

    def end(self) -> None:
        """Take the end of the body. Raises ValueError where it comes too early."""
        if self._decoder is not None or self._start:
            raise ValueError(f"the {self._name} content ends too early")

    def _begin(self, rest: bytes) -> bytes:
        """Make the decoder of the next member and return what it has to take in."""
        if self._members:
            rest = rest.lstrip(b"\0")
            if not rest:
                return rest
        # Servers send deflate both with the zlib wrapper that the standard asks for and bare; 0x78 tells them apart,
        # with the byte after it.
        if self._name == "deflate" and len(rest) < 2:
            self._start = rest
            return b""
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise ValueError(f"the {self._name} content has more than {MOST_MEMBERS} members")
        bare = self._name == "deflate" and not (rest[0] & 0x0F == 8 and int.from_bytes(rest[:2], "big") % 31 == 0)
        self._decoder = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
        return rest
