"""Read the decompressed bytes of a data file, and decode its text."""

import codecs
import gzip
import zlib
from pathlib import Path

from mesocosm.core.failure import InvalidInput, Problem, UsageError

__all__ = ["MOST_BYTES", "encoding_of", "read_bytes", "read_text", "utf8"]

MOST_BYTES = 5 * 2**30
"""Maximum decompressed size of a file, because files are read into memory as a whole."""

_CHUNK = 1 << 24
_BOM = codecs.BOM_UTF8


def read_bytes(file: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content, decompressed for `.gz`. Raise UsageError if it is unreadable or larger than `most` bytes."""
    try:
        if file.suffix.lower() != ".gz":
            if file.stat().st_size > most:
                raise _too_large(file, most)
            return file.read_bytes()
        with gzip.open(file) as packed:
            return _drained(file, packed, most)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error


def _drained(file: Path, packed: gzip.GzipFile, most: int) -> bytes:
    pieces: list[bytes] = []
    total = 0
    while piece := packed.read(_CHUNK):
        total += len(piece)
        if total > most:
            raise _too_large(file, most)
        pieces.append(piece)
    return b"".join(pieces)


def _too_large(file: Path, most: int) -> UsageError:
    return UsageError(
        f"{file}: more than {most:,} bytes, and datasets are read into memory as a whole; split it into files, "
        "or keep the rows that you evaluate on"
    )


def read_text(name: str, data: bytes) -> str:
    """Return the text of a file in UTF-8, with or without byte order mark, or in UTF-16 with one.

    Raise InvalidInput, which names the invalid byte (counted from 0) and its line. NUL characters are invalid.
    """
    encoding = encoding_of(name, data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidInput(name, [_unreadable(data, encoding, error)]) from error
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        what = "holds a NUL character: the file is not text, or UTF-16 without byte order mark"
        raise InvalidInput(name, [Problem(f"line {line}", what, "save it as UTF-8")])
    return text


def utf8(name: str, data: bytes) -> bytes:
    """Return the file's text as UTF-8 without byte order mark. UTF-8 is not validated. Raise InvalidInput."""
    if encoding_of(name, data) != "utf-8":
        return read_text(name, data).encode()
    return data.removeprefix(_BOM)


def encoding_of(name: str, data: bytes) -> str:
    """Return the encoding that the first bytes of a file show: utf-8 or utf-16. Raise InvalidInput for UTF-32."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise InvalidInput(name, [Problem("", "is in UTF-32, which is not read", "save it as UTF-8")])
    return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8"


def _unreadable(data: bytes, encoding: str, error: UnicodeDecodeError) -> Problem:
    before = data[: error.start]
    line = before.decode(encoding, errors="replace").count("\n") if encoding == "utf-16" else before.count(b"\n")
    kind = "UTF-16" if encoding == "utf-16" else "UTF-8"
    what = f"is not {kind} text: {error.reason} at byte {error.start:,} (0x{data[error.start]:02x})"
    return Problem(f"line {line + 1}", what, "save the file as UTF-8")
