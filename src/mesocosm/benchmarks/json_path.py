"""Paths to values in a JSON document: `metrics.score`, `results[0].acc`, `tasks."gsm8k, 5-shot".acc`."""

import json
import re
from typing import Any

from mesocosm.core.failure import UsageError

Path = tuple[str | int, ...]

_PART = re.compile(r"""(?P<name>[^.\[\]"\s]+)|(?P<quoted>"(?:[^"\\]|\\.)*")|\[(?P<index>-?\d+)\]""")


class PathNotFound(LookupError):
    """A path does not exist in the document; the message says at which step."""


def parse_path(text: str) -> Path:
    """Return the steps of a path: member names and element indexes. `$` alone is the whole document.

    Raises UsageError for a malformed path.
    """
    rest = text.removeprefix("$").removeprefix(".") if text.startswith(("$.", "$[")) or text == "$" else text
    steps: list[str | int] = []
    at = 0
    while at < len(rest):
        if steps and rest[at] != "[":
            if rest[at] != ".":
                raise _unusable(text)
            at += 1
        found = _PART.match(rest, at)
        if found is None:
            raise _unusable(text)
        steps.append(_step(found))
        at = found.end()
    if not steps and text != "$":
        raise _unusable(text)
    return tuple(steps)


def _step(found: re.Match[str]) -> str | int:
    if found["index"] is not None:
        return int(found["index"])
    return str(json.loads(found["quoted"])) if found["quoted"] is not None else found["name"]


def _unusable(text: str) -> UsageError:
    return UsageError(f'{text!r} is not a JSON path; write a.b, a[0].b, or a."strange name".b')


def look_up(document: Any, path: Path) -> Any:
    """Return the value at `path`. Raises PathNotFound."""
    value = document
    for place, step in enumerate(path):
        if isinstance(step, str):
            held = isinstance(value, dict) and step in value
        else:
            held = isinstance(value, list) and -len(value) <= step < len(value)
        if not held:
            raise PathNotFound(f"there is no {_shown(step)} in {_place(path[:place])}")
        value = value[step]
    return value


def _shown(step: str | int) -> str:
    return f"element {step}" if isinstance(step, int) else f"{step!r:.80}"


def _place(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".") or "it"
