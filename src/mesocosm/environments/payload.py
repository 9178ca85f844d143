"""Convert values that environments return to strict JSON.

Environments return values without a JSON type: dataclasses, tuples, sets, numpy values, bytes, NaN. The C encoder
handles the usual case in one pass; only values that it rejects are converted in Python.
"""

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import ModuleType, UnionType
from typing import Any
from uuid import UUID

from mesocosm.core.foreign import finite


class PayloadError(ValueError):
    """A value without a JSON form; the message names the value and its path."""


def encode(value: object) -> bytes:
    """Return `value` as compact UTF-8 JSON without NaN.

    NaN and infinities become null, bytes base64 text, sets lists (sorted if possible), dates ISO 8601, other objects
    their public attributes. Lone surrogates become U+FFFD.

    Raises:
        PayloadError: a value has no JSON form, or contains itself.
    """
    try:
        return _ENCODER.encode(value).encode()
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        return _ENCODER.encode(_plain(value, "value")).encode()
    except RecursionError:
        raise PayloadError("the value is nested too deeply, or contains itself") from None


def jsonable(value: object) -> Any:
    """Return `value` as plain JSON data: only dict, list, str, int, float, bool and None. Raise as `encode`."""
    return json.loads(encode(value))


def info_payload(info: Mapping[Any, Any] | None) -> dict[str, Any]:
    """Return the info of a step as plain JSON data with text keys; None is an empty info.

    Raises:
        PayloadError: `info` is not a mapping, or contains a value without a JSON form.
    """
    fields: dict[str, Any] = jsonable(text_keys(info))
    return fields


def is_wrapped(returned: Any) -> bool:
    """Return whether `reset` returned `{"data": observation, …}` rather than an observation.

    Observations may have their own key `data`, so a second key is required: `content_type` or `system_prompt`, or an
    `info` with `active_role` and no further keys.
    """
    if not isinstance(returned, Mapping) or "data" not in returned:
        return False
    if "content_type" in returned or "system_prompt" in returned:
        return True
    info = returned.get("info")
    return len(returned) == 2 and isinstance(info, Mapping) and "active_role" in info


def text_keys(info: Mapping[Any, Any] | None) -> dict[str, Any]:
    """Return `info` with its top-level keys as text and its values unchanged; None is an empty info.

    Raises:
        PayloadError: `info` is not a mapping.
    """
    if info is None:
        return {}
    if not isinstance(info, Mapping):
        raise PayloadError(f"info must be a dict, not {describe(info)}")
    return {str(key): value for key, value in info.items()}


def reward_payload(reward: Any) -> float:
    """Return a reward as a float; every value that `float()` accepts is allowed.

    Raises:
        PayloadError: the reward is not a number, or not finite.
    """
    try:
        number = float(reward)
    except (TypeError, ValueError, OverflowError):
        raise PayloadError(f"reward must be a number, not {describe(reward)}") from None
    if finite(number) is None:
        raise PayloadError(f"reward must be a finite number, not {number}")
    return number


def describe(value: object, limit: int = 80) -> str:
    """Return type and beginning of a value for messages."""
    if value is None:
        return "None"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= limit else text[:limit] + '…'}"


def _plain(value: object, place: str) -> Any:
    """Return `value` converted to JSON types; `place` is its path for error messages."""
    match value:
        case None | bool() | int():
            return value
        case float():
            return float(value) if math.isfinite(value) else None
        case str():
            return _text(value)
        case Mapping():
            return {_key(key): _plain(item, f"{place}.{key}") for key, item in value.items()}
        case list() | tuple():
            return [_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]
        case _:
            return _plain(_simpler(value, place), place)


def _simpler(value: Any, place: str = "value") -> Any:
    """Return `value` converted by one level; its parts may still need conversion.

    Raises:
        PayloadError: there is no sensible JSON form.
    """
    for kind, convert in _FORMS:
        if isinstance(value, kind):
            return convert(value)
    if isinstance(value, type | ModuleType):
        raise PayloadError(f"{place} is {describe(value)}, which has no JSON form")
    if dataclasses.is_dataclass(value):
        return {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    for method in ("model_dump", "tolist"):  # pydantic models; numpy arrays and scalars, tensors
        if callable(dump := getattr(value, method, None)):
            return dump()
    if isinstance(value, Iterable):
        return dict(value) if isinstance(value, Mapping) else list(value)
    if hasattr(value, "__dict__") and not callable(value):
        return {name: item for name, item in vars(value).items() if not name.startswith("_")}
    raise PayloadError(f"{place} is {describe(value)}, which has no JSON form")


def _ordered(members: Iterable[Any]) -> list[Any]:
    """Return a set as a list; sorted if possible, because the order of a set of strings differs between processes."""
    try:
        return sorted(members)
    except TypeError:
        return list(members)


def _key(key: object) -> str:
    """Return a mapping key as text, in the same way as the C encoder."""
    match key:
        case str():
            return _text(key)
        case None:
            return "null"
        case bool():
            return "true" if key else "false"
        case _:
            return str(key)


def _text(text: str) -> str:
    """Return `text` with surrogate pairs joined; lone ones, which UTF-8 cannot encode, are replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _one_level(value: object) -> Any:
    """Convert a value that the C encoder does not support.

    Iterators are left to `_plain`: consumed here, they would be empty if the encoder failed on a later value.
    """
    if isinstance(value, Iterator):
        raise TypeError("iterators are read only once")
    return _simpler(value)


_FORMS: tuple[tuple[type | UnionType, Callable[[Any], Any]], ...] = (
    (bytes | bytearray | memoryview, lambda value: base64.b64encode(value).decode("ascii")),
    (Enum, lambda value: value.value),
    (Decimal, float),
    (date | time, lambda value: value.isoformat()),
    (timedelta, lambda value: value.total_seconds()),
    (PurePath | UUID, str),
    (set | frozenset, _ordered),
)
_ENCODER = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_one_level)
