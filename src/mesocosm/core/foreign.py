"""Documents and numbers that others sent: read so that neither can stop or fool what reads them."""

import math
import re
from functools import lru_cache
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

DEEPEST = 150
"""Levels of nesting that every later reader and writer of a document bears."""
MOST_PARTS = {b"[": 100_000, b":": 200_000, b",": 2_000_000}
"""Lists and objects, keys and values of one document from a wire, counted where they stand in texts too.

Three bytes of `[],` take hundreds of bytes of memory, and 16 MiB of them 17 seconds.
"""
_PARTS = {b"[": "lists and objects", b":": "keys", b",": "values"}
_SCALARS = frozenset({str, int, float, bool, bytes, type(None), msgspec.Raw})
LARGEST = 1e100
"""The largest magnitude of a number from outside. Sums and squares of such numbers stay finite."""
MOST = 10**12
"""The largest count from outside. Nothing has more tokens or steps; whoever says so would spoil every sum."""

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

    Raises msgspec.DecodeError for what is no JSON, is nested deeper than DEEPEST, has more parts than MOST_PARTS says,
    or (its subclass ValidationError) has another shape. `large` is for files that somebody named: they may have more
    parts. A document from a wire may not, because reading it would stop everything else on the event loop.
    """
    whole = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    brackets = whole.count(b"[") + whole.count(b"{")
    if not large and len(whole) > min(MOST_PARTS.values()):
        for mark, most in MOST_PARTS.items():
            if (brackets if mark == b"[" else whole.count(mark)) > most:
                raise msgspec.DecodeError(f"it has more than {most:,} {_PARTS[mark]}")
    try:
        value = _decoder(kind).decode(data)
    except RecursionError:
        raise msgspec.DecodeError(f"it is nested deeper than {DEEPEST} levels") from None
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(str(error)) from error
    if brackets > DEEPEST and deeper_than(value, DEEPEST):
        raise msgspec.DecodeError(f"it is nested deeper than {DEEPEST} levels")
    return value


@lru_cache(maxsize=256)
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def deeper_than(value: object, limit: int) -> bool:
    """Return whether lists and objects nest more than `limit` levels deep in a JSON value, or in structs of such."""
    level: list[object] = [value] if type(value) not in _SCALARS else []
    for _ in range(limit):
        if not level:
            return False
        level = [child for item in level for child in _children(item) if type(child) not in _SCALARS]
    return bool(level)


def _children(item: Any) -> Any:
    if isinstance(item, dict):
        return item.values()
    if isinstance(item, list | tuple):
        return item
    return msgspec.structs.astuple(item) if isinstance(item, msgspec.Struct) else ()


def finite(value: object, *, least: float = -LARGEST, most: float = LARGEST) -> float | None:
    """Return a number from outside as a float; None for NaN, infinity, what is out of bounds, and what is no number.

    A text counts when it spells a decimal number in ASCII digits. Truth values are no numbers.
    """
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
    """Return a count from outside, fractions cut off; None for what is negative, more than `most`, or no number."""
    number = finite(value, least=0.0, most=float(most))
    if number is None:
        return None
    return value if isinstance(value, int) else int(number)
