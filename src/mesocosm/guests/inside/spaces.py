"""Spaces of Gymnasium as spaces of ours, and values between the two."""

import base64
import math
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import Failed

MOST_CHOICES = 256
"""A discrete space with more values than this is declared as a whole number between bounds."""
MOST_PARTS = 16
"""A multi-discrete space with more parts than this is declared as an array."""
PNG, TEXT = "image/png", "text/plain"
_LARGEST_BOUND = 1e30
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


def action_space(space: Any, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON of an action space; `names` are those of the values of a discrete one. Raises Failed."""
    kind = type(space).__name__
    if kind == "Discrete":
        return _discrete(int(space.n), int(space.start), names)
    if kind in {"MultiDiscrete", "MultiBinary"}:
        return _many(space)
    if kind == "Box" and math.prod(space.shape) == 1 and len(space.shape) <= 1:
        bounds = _limits(space.low, space.high, ("low", "high"))
        return {"type": "continuous", "dtype": str(space.dtype), **({"bounds": bounds} if bounds else {})}
    if kind == "Box":
        return {"type": "json", "schema": schema(space)}
    if kind == "Text":
        characters = "".join(sorted(space.character_set))
        return {"type": "text", "description": f"at most {space.max_length} of the characters {characters}"}
    if kind == "Tuple":
        return {"fields": {str(place): action_space(part) for place, part in enumerate(space.spaces)}}
    if kind == "Dict":
        return {"fields": {str(name): action_space(part) for name, part in space.spaces.items()}}
    raise Failed(f"its actions are a space of the kind {kind}, which is not supported", "environment_invalid")


def observation_space(space: Any) -> dict[str, Any] | None:
    """Return the JSON of an observation space; None for kinds whose values have no schema."""
    if is_picture(space):
        return {"type": "image", "dtype": "uint8", "shape": list(space.shape)}
    if type(space).__name__ == "Text":
        return {"type": "text"}
    known = schema(space)
    return None if known is None else {"type": "json", "schema": known}


def is_picture(space: Any) -> bool:
    """Return whether the values of a space are pictures: height, width and three colours, as bytes."""
    return (
        type(space).__name__ == "Box"
        and str(space.dtype) == "uint8"
        and len(space.shape) == 3
        and space.shape[2] == 3
        and min(space.shape[:2]) > 7
    )


def schema(space: Any) -> dict[str, Any] | None:
    """Return the JSON Schema of the values of a space, as `plain` writes them; None if there is none."""
    kind = type(space).__name__
    if kind == "Discrete":
        return {"type": "integer", "minimum": int(space.start), "maximum": int(space.start + space.n) - 1}
    if kind == "MultiBinary":
        return _nested({"type": "integer", "minimum": 0, "maximum": 1}, space.shape)
    if kind == "MultiDiscrete":
        return _nested({"type": "integer"}, space.shape)
    if kind == "Box":
        return _box(space)
    if kind == "Tuple":
        parts = [schema(part) for part in space.spaces]
        known = [part or {} for part in parts]
        return {"type": "array", "prefixItems": known, "minItems": len(known), "maxItems": len(known)}
    if kind == "Dict":
        properties = {str(name): schema(part) or {} for name, part in space.spaces.items()}
        return {"type": "object", "properties": properties, "required": list(properties)}
    if kind == "Text":
        return {"type": "string", "maxLength": int(space.max_length)}
    return None


def action(space: Any, given: Any, names: Sequence[str] = ()) -> Any:
    """Return the value of an action space that our JSON means. Raises Failed with malformed_action."""
    kind = type(space).__name__
    if kind == "Discrete":
        return _whole(given, int(space.start), int(space.n), names)
    if kind in {"Tuple", "Dict"}:
        return _composite(space, kind, given)
    if kind == "Text":
        if not isinstance(given, str):
            raise _malformed(given, "a text")
        return given
    import numpy as np

    try:
        if kind in {"MultiDiscrete", "MultiBinary"} and isinstance(given, Mapping):
            given = [given[f"part_{place}"] for place in range(math.prod(space.shape))]
        value = np.asarray(given, dtype=float).reshape(space.shape).astype(space.dtype)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise _malformed(given, f"numbers of shape {tuple(space.shape)}") from error
    if kind == "Box" and not np.isfinite(value).all():
        raise _malformed(given, "finite numbers")
    return value


def plain(value: Any) -> Any:
    """Return a value of a framework as JSON can hold it: arrays become lists, numbers of numpy ordinary ones."""
    if type(value) in (str, int, float, bool, type(None)):
        return value
    tolist = getattr(value, "tolist", None)
    if callable(tolist):
        return tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    return value


def legal(mask: Any, space: Any, names: Sequence[str] = ()) -> list[str]:
    """Return the names of the values of a discrete space that a mask allows."""
    start = int(space.start)
    return [names[place] if names else str(start + place) for place, on in enumerate(mask) if on]


def named(given: Any, space: Any) -> list[str]:
    """Return the names of actions in an option: a list, or texts between commas. Raises Failed."""
    names = [str(name).strip() for name in (given.split(",") if isinstance(given, str) else given or ())]
    if not names:
        return []
    if type(space).__name__ != "Discrete" or len(names) != int(space.n) or len(set(names)) != len(names):
        raise Failed(f"names= has {len(names)} names, and its actions are {space}: give each action one name")
    return names


def picture(pixels: Any) -> str:
    """Return an array of bytes (height, width, three colours) as a PNG in base64."""
    height, width = int(pixels.shape[0]), int(pixels.shape[1])
    data = pixels.tobytes()
    row = width * 3
    lines = b"".join(b"\0" + data[start : start + row] for start in range(0, height * row, row))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (_chunk(b"IHDR", head), _chunk(b"IDAT", zlib.compress(lines, 6)), _chunk(b"IEND", b""))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def uncoloured(text: str) -> str:
    """Return a text with colours as words, `<red>S</red>`: a colour may be all that marks a place."""
    parts: list[str] = []
    open_tag, last = "", 0
    for match in _ESCAPE.finditer(text):
        span = text[last : match.start()]
        parts.append(f"<{open_tag}>{span}</{open_tag}>" if open_tag and span.strip() else span)
        codes = [int(code) for code in match[1].split(";") if code]
        open_tag = next((_COLOURS[code % 10] for code in codes if 30 <= code <= 47 and code % 10 < 8), "")
        last = match.end()
    return "".join(parts) + text[last:]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _discrete(size: int, start: int, names: Sequence[str]) -> dict[str, Any]:
    if names:
        return {"type": "discrete", "enum_values": list(names)}
    if size > MOST_CHOICES:
        return {"type": "continuous", "dtype": "int64", "bounds": {"low": start, "high": start + size - 1}}
    return {"type": "discrete", "enum_values": [str(start + place) for place in range(size)]}


def _many(space: Any) -> dict[str, Any]:
    sizes = [2] * math.prod(space.shape) if type(space).__name__ == "MultiBinary" else space.nvec.ravel().tolist()
    if len(sizes) > MOST_PARTS or max(sizes, default=0) > MOST_CHOICES or len(space.shape) > 1:
        return {"type": "json", "schema": schema(space)}
    starts = [0] * len(sizes) if type(space).__name__ == "MultiBinary" else space.start.ravel().tolist()
    parts = zip(sizes, starts, strict=True)
    return {"fields": {f"part_{place}": _discrete(size, start, ()) for place, (size, start) in enumerate(parts)}}


def _box(space: Any) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "integer" if space.dtype.kind in "iub" else "number"}
    shape = tuple(int(size) for size in space.shape)
    if math.prod(shape) == 0 or ((space.low == space.low.flat[0]).all() and (space.high == space.high.flat[0]).all()):
        limits = _limits(space.low, space.high, ("minimum", "maximum")) if math.prod(shape) else {}
        return _nested({**item, **limits}, shape)
    if len(shape) == 1 and shape[0] <= MOST_PARTS:
        pairs = zip(space.low, space.high, strict=True)
        parts = [{**item, **_limits(low, high, ("minimum", "maximum"))} for low, high in pairs]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    return _nested(item, shape)


def _limits(low: Any, high: Any, names: tuple[str, str]) -> dict[str, float]:
    """Return the bounds of numbers; none of those that stand for infinity, as the largest float does."""
    import numpy as np

    found = {}
    for name, value in zip(names, (np.min(low), np.max(high)), strict=True):
        if np.isfinite(value) and abs(float(value)) < _LARGEST_BOUND:
            found[name] = value.item()
    return found


def _nested(item: dict[str, Any], shape: Sequence[int]) -> dict[str, Any]:
    for size in reversed(shape):
        item = {"type": "array", "items": item, "minItems": int(size), "maxItems": int(size)}
    return item


def _whole(given: Any, start: int, size: int, names: Sequence[str]) -> int:
    if names and given in names:
        return start + names.index(given)
    try:
        number = int(given) if isinstance(given, str) else given
        whole = int(number)
    except (TypeError, ValueError, OverflowError) as error:
        raise _malformed(given, "one of the actions") from error
    if isinstance(number, bool) or whole != number or not start <= whole < start + size:
        raise _malformed(given, f"a whole number from {start} to {start + size - 1}")
    return whole


def _composite(space: Any, kind: str, given: Any) -> Any:
    parts = dict(enumerate(space.spaces)) if kind == "Tuple" else dict(space.spaces)
    if isinstance(given, list | tuple) and kind == "Tuple":
        given = {str(place): one for place, one in enumerate(given)}
    if not isinstance(given, Mapping) or any(str(name) not in given for name in parts):
        raise _malformed(given, f"an object with {', '.join(map(str, parts))}")
    found = {name: action(part, given[str(name)]) for name, part in parts.items()}
    return tuple(found.values()) if kind == "Tuple" else found


def _malformed(given: Any, wanted: str) -> Failed:
    return Failed(f"the action {given!r:.80} is not {wanted}", "malformed_action")
