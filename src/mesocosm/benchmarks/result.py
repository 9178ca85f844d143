"""The result of an external program: the file that it wrote in this run, and the numbers in it."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.json_path import PathNotFound, look_up, parse_path
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.score import Score

MOST_BYTES = 256 * 1024 * 1024
"""Larger files are not read."""


class ResultFileError(ValueError):
    """A result file that cannot be read as JSON; the message says why."""


@dataclass(frozen=True, slots=True)
class ResultValue:
    """One number of a result: its value, or why it is missing."""

    value: float | None
    missing: Cause | None = None
    explanation: str = ""

    def score(self, name: str) -> Score:
        """Return the value as the score called `name`."""
        return Score(name, self.value, self.missing, explanation=self.explanation)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of a value; None is unbounded."""

    low: float | None = None
    high: float | None = None

    def allow(self, value: float) -> bool:
        """Return whether a value is within the bounds, allowing for rounding errors."""
        slack = 1e-9 * max(abs(value), 1.0)
        return not (self.low is not None and value < self.low - slack) and not (
            self.high is not None and value > self.high + slack
        )

    def __str__(self) -> str:
        return f"[{'-∞' if self.low is None else f'{self.low:g}'}, {'∞' if self.high is None else f'{self.high:g}'}]"


UNBOUNDED = Bounds()


def check_pattern(pattern: str) -> None:
    """Raise UsageError for a pattern that could leave the output directory."""
    path = Path(pattern)
    if not pattern or path.is_absolute() or ".." in path.parts:
        raise UsageError(f"the pattern {pattern!r} must stay inside the output directory: relative, and without '..'")


def locate(folder: Path, patterns: Sequence[str]) -> Path | None:
    """Return the newest file of the first pattern with a match in `folder`, ignoring links that lead outside."""
    root = folder.resolve()
    for pattern in patterns:
        found = sorted(_inside(root, pattern), key=lambda path: (path.stat().st_mtime_ns, str(path)))
        if found:
            return found[-1]
    return None


def _inside(root: Path, pattern: str) -> Iterator[Path]:
    for path in root.glob(pattern):
        if path.is_file() and path.resolve().is_relative_to(root):
            yield path


def read_document(path: Path) -> Any:
    """Return the JSON of a file. Raises ResultFileError."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ResultFileError(f"it is larger than {MOST_BYTES >> 20} MiB")
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ResultFileError(error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ResultFileError(f"it is not JSON: {error}") from error


def number(document: Any, path: str, bounds: Bounds = UNBOUNDED) -> ResultValue:
    """Return the number at a JSON path, or why it is missing. A string that looks like a number does not count."""
    try:
        value = look_up(document, parse_path(path))
    except PathNotFound as nowhere:
        return ResultValue(None, Cause.VALUE_MISSING, f"{path}: {nowhere}")
    if value is None:
        return ResultValue(None, Cause.VALUE_MISSING, f"{path} is null")
    if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
        return ResultValue(None, Cause.VALUE_UNUSABLE, f"{path} is {value!r:.80}, which is not a finite number")
    if not bounds.allow(value):
        return ResultValue(None, Cause.VALUE_UNUSABLE, f"{path} is {value!r:.80}, outside of {bounds}")
    return ResultValue(float(value))


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
