"""Read untrusted JSON documents and numbers with bounds on depth, work and magnitude."""

import gc
import math
import re
from functools import lru_cache
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

DEEPEST = 150
"""Levels of nesting that every later reader and writer of a document can handle."""
MOST_WORK = 800_000
"""Maximum work of reading one document from the network, in units of about 50 ns.

One unit is one non-whitespace byte outside strings. Reading blocks the event loop. Bytes in strings cost less;
containers, strings and numbers with large exponents cost more. The limit corresponds to about 700 kB of numbers, 3 MB
of escaped text, or an image of 11 MB.
"""
_SMALL = 24 * 1024
"""Documents up to this many bytes are never too much work, regardless of their content."""
_TEXT_BYTES = {"plain": 14, "wide": 8, "escaped": 4}
"""Bytes in strings per unit of work: plain ASCII, other characters, documents with escapes."""
_INDENTED = 4
"""Maximum bytes outside strings, whitespace included, per unit of the limit."""
_CONTAINER, _STRING = 7, 6
"""Units per list or object, and per string, in addition to their bytes."""
_EXPONENT = 280
"""Units per number with an exponent of three or more digits: reading one takes up to 14 microseconds."""
_EXPONENTS = re.compile(rb"[eE][+-]?0*[1-9][0-9]{2}")
_SLICE = 64 * 1024
_SCALARS = frozenset({str, int, float, bool, bytes, type(None), msgspec.Raw})
LARGEST = 1e100
"""The largest magnitude of a number from outside. Sums and squares of such numbers stay finite."""
MOST = 10**12
"""The largest count from outside. No episode has more tokens or steps; a larger value would spoil every sum."""

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_LONGEST_TEXT = 400


@overload
def read_json(data: bytes | str | msgspec.Raw, *, large: bool = False) -> Any: ...
@overload
def read_json(data: bytes | str | msgspec.Raw, kind: type[T], *, large: bool = False) -> T: ...
@overload
def read_json(data: bytes | str | msgspec.Raw, kind: Any, *, large: bool = False) -> Any: ...
def read_json(data: bytes | str | msgspec.Raw, kind: Any = Any, *, large: bool = False) -> Any:
    """Return the JSON value in `data` as `kind`.

    Raise msgspec.DecodeError if `data` is not JSON, is nested deeper than DEEPEST, takes more work than MOST_WORK, or
    (subclass ValidationError) has another shape. `large` lifts the limit on work, for files that the user named.
    """
    whole = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    if not large and len(whole) > _SMALL and too_much_work(whole):
        raise msgspec.DecodeError(f"it is too large to be read: {len(whole):,} bytes with too many values")
    try:
        value = _decoder(kind).decode(data)
    except RecursionError:
        raise msgspec.DecodeError(f"it is nested deeper than {DEEPEST} levels") from None
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from error
    # Each level takes a byte at least, and most of what is read is shorter than that.
    deep = len(whole) > DEEPEST and (_has(whole, b"{", DEEPEST // 2) or _has(whole, b"[", DEEPEST // 2))
    if deep and deeper_than(value, DEEPEST):
        raise msgspec.DecodeError(f"it is nested deeper than {DEEPEST} levels")
    return value


def too_much_work(document: bytes, most: int = MOST_WORK) -> bool:
    """Return whether reading a JSON document takes more than `most` units of work; much faster than reading it."""
    kind = "escaped" if b"\\" in document else "plain" if document.isascii() else "wide"
    # Count first: splitting a hostile document would itself take too long.
    marks = (b'"', b"\\\\") if kind == "escaped" else (b'"',)
    if len(document) > most * _TEXT_BYTES[kind] or any(
        _more_than(document, mark, most // _STRING * 2) for mark in marks
    ):
        return True
    if kind == "escaped":
        document = document.replace(b"\\\\", b"").replace(b'\\"', b"")
    pieces = document.split(b'"')
    outside = sum(map(len, pieces[::2]))
    if outside > most * _INDENTED:
        return True
    structure = b"".join(pieces[::2]).translate(None, b" \t\r\n")
    work = (len(document) - outside) // _TEXT_BYTES[kind] + len(structure) + len(pieces) // 2 * _STRING
    work += (structure.count(b"[") + structure.count(b"{")) * _CONTAINER
    if b"e" in structure or b"E" in structure:
        found = _EXPONENTS.finditer(structure)
        while work <= most and next(found, None):
            work += _EXPONENT
    return work > most


def _has(document: bytes, mark: bytes, number: int) -> bool:
    """Return whether `mark` occurs at least `number` times; much faster than counting if it is rare."""
    if len(document) <= _SMALL:
        return document.count(mark) >= number
    place = -1
    for _ in range(number):
        place = document.find(mark, place + 1)
        if place < 0:
            return False
    return True


def _more_than(document: bytes, mark: bytes, most: int) -> bool:
    found = 0
    for start in range(0, len(document), _SLICE):
        found += document.count(mark, start, start + _SLICE)
        if found > most:
            return True
    return False


@lru_cache(maxsize=256)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def deeper_than(value: object, limit: int) -> bool:
    """Return whether lists and objects nest more than `limit` levels deep in a JSON value or in msgspec structs."""
    level: list[object] = [value] if type(value) not in _SCALARS else []
    for _ in range(limit):
        if not level:
            return False
        plain = [item for item in level if type(item) is list or type(item) is dict]
        others = [item for item in level if type(item) is not list and type(item) is not dict]
        # The garbage collector tracks containers only, so a million numbers are skipped in C. It does not track
        # dictionaries of scalars either; they have no deeper level.
        children = list(filter(gc.is_tracked, gc.get_referents(*plain)))
        level = children + [child for item in others for child in _children(item) if type(child) not in _SCALARS]
    return bool(level)


def _children(item: Any) -> Any:
    if isinstance(item, list | tuple):
        return item
    if isinstance(item, dict):
        return item.values()
    return msgspec.structs.astuple(item) if isinstance(item, msgspec.Struct) else ()


def finite(value: object, *, least: float = -LARGEST, most: float = LARGEST) -> float | None:
    """Return a number or decimal text as a float; None for NaN, infinity, values out of bounds, and anything else.

    Booleans are not numbers.
    """
    if type(value) is float and least <= value <= most:
        # Nearly all that is read is of this kind.
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT or not _NUMBER.fullmatch(value):
            return None
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and least <= number <= most else None


def whole(value: object, *, most: int = MOST) -> int | None:
    """Return a count with its fraction cut off; None if it is negative, larger than `most`, or not a number."""
    if type(value) is int and 0 <= value <= most:
        return value
    number = finite(value, least=0.0, most=float(most))
    if number is None:
        return None
    return value if isinstance(value, int) else int(number)
