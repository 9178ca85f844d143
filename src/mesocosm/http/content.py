"""Content encodings: gzip and deflate, undone with a cap so that a small body cannot unfold into all memory."""

import zlib

ACCEPTED = frozenset({"gzip", "x-gzip", "deflate"})
_MOST = 3


class TooLarge(Exception):
    """The decoded content is larger than the cap."""


def decode(body: bytes, encodings: str, limit: int) -> bytes:
    """Undo the encodings of a Content-Encoding field, last one first.

    Raises TooLarge past `limit` bytes, ValueError for broken or unknown encodings.
    """
    names = [name for part in encodings.split(",") if (name := part.strip().lower()) not in {"", "identity"}]
    if len(names) > _MOST:
        raise ValueError(f"{len(names)} content encodings on top of each other")
    for name in reversed(names):
        if name not in ACCEPTED:
            raise ValueError(f"the content encoding {name!r} was not asked for and is not known")
        body = _inflate(body, name, limit)
    return body


def _inflate(body: bytes, name: str, limit: int) -> bytes:
    # Servers send deflate both with the zlib wrapper that the standard asks for and bare; 0x78 tells them apart.
    bare = name == "deflate" and not (body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0)
    pieces: list[bytes] = []
    size = 0
    while body:
        decoder = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
        try:
            piece = decoder.decompress(body, limit - size + 1)
        except zlib.error as error:
            raise ValueError(f"the {name} content is broken ({error})") from error
        size += len(piece)
        if size > limit:
            raise TooLarge
        if not decoder.eof:
            raise ValueError(f"the {name} content ends too early")
        pieces.append(piece)
        body = decoder.unused_data.lstrip(b"\0")
    return b"".join(pieces)
