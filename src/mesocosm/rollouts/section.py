"""Read one table of a TOML document key by key, collecting all problems."""

import math
from collections.abc import Mapping
from datetime import date, time
from typing import Any, TypeVar

from mesocosm.core.failure import Problem
from mesocosm.core.reading import format_value, join, nearest

Value = TypeVar("Value")
_MOST = 2**31 - 1


def kind(value: object) -> str:
    """Return the type of `value` in words, without revealing the value."""
    names = {bool: "a boolean", int: "an integer", float: "a number", str: "a string", list: "a list", dict: "a table"}
    return names.get(type(value), "a date or time")


def describe_value(value: object) -> str:
    """Return `value` in a short, readable form."""
    if isinstance(value, dict):
        return "a table"
    return f"the date {value.isoformat()}" if isinstance(value, (date, time)) else format_value(value)


class Section:
    """The table `name`. Problems are added to `problems`; readers return `default` for missing or invalid values."""

    def __init__(self, name: str, raw: Mapping[str, Any], problems: list[Problem]) -> None:
        self.name = name
        self.raw = raw
        self.problems = problems

    def blame(self, key: str, message: str, fix: str = "") -> None:
        """Add a problem for `key`, or for the whole table if `key` is empty."""
        self.problems.append(Problem(join(self.name, key) if key else self.name, message, fix))

    def text(self, key: str, default: str = "", *, fix: str = "", required: bool = False) -> str:
        """Return a string that is not blank and has no control characters, without surrounding space."""
        if key not in self.raw:
            if required:
                self.blame(key, "is required, but missing", fix)
            return default
        value = self.raw[key]
        if not isinstance(value, str):
            self.blame(key, f"must be a string, not {describe_value(value)}", fix or "put it into quotes")
        elif not value.strip():
            self.blame(key, "is empty", fix or "remove it, or fill it in")
        elif any(ord(char) < 32 or ord(char) == 127 for char in value):
            self.blame(key, f"has a control character in it: {describe_value(value)}", fix)
        else:
            return value.strip()
        return default

    def whole(self, key: str, default: Value, *, low: int = 1, high: int = _MOST) -> int | Value:
        """Return an integer from `low` to `high`."""
        value = self.raw.get(key, default)
        if key not in self.raw:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            self.blame(key, f"must be an integer, not {describe_value(value)}", f"for example {key} = {max(low, 1)}")
        elif not low <= value <= high:
            # Mention the maximum only if it is exceeded.
            most = f"at most {high:,}" if value > high else _bounds(low, high)
            self.blame(key, f"must be {most}, not {describe_value(value)}")
        else:
            return value
        return default

    def number(
        self, key: str, default: Value, *, low: float = -math.inf, high: float = math.inf, above: bool = False
    ) -> float | Value:
        """Return a finite number from `low` (with `above`, greater than `low`) to `high`."""
        value = self.raw.get(key, default)
        if key not in self.raw:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.blame(key, f"must be a number, not {describe_value(value)}")
        elif not _finite(value):
            self.blame(key, f"must be a finite number, not {describe_value(value)}")
        elif not low <= value <= high or (above and value == low):
            self.blame(key, f"must be {_bounds(low, high, above=above)}, not {describe_value(value)}")
        else:
            return float(value)
        return default

    def flag(self, key: str, *, default: bool) -> bool:
        """Return a boolean."""
        value = self.raw.get(key, default)
        if isinstance(value, bool):
            return value
        self.blame(key, f"must be true or false, not {describe_value(value)}", "without quotes")
        return default

    def word(self, key: str, words: tuple[str, ...], default: str = "") -> str:
        """Return one of `words`."""
        value = self.text(key, default, fix=f"choose one of {', '.join(words)}")
        if value == default or value in words:
            return value
        near = nearest(value, words)
        fix = f"did you mean {near!r}?" if near else f"choose one of {', '.join(words)}"
        self.blame(key, f"{describe_value(value)} is none of {', '.join(words)}", fix)
        return default

    def table(self, key: str) -> "Section":
        """Return the table at `key`, empty if missing."""
        value = self.raw.get(key, {})
        if not isinstance(value, Mapping):
            self.blame(key, f"must be a table, not {describe_value(value)}", f"write it as [{join(self.name, key)}]")
            value = {}
        return Section(join(self.name, key), value, self.problems)

    def only(self, known: tuple[str, ...], elsewhere: Mapping[str, str] | None = None) -> None:
        """Add a problem for every key not in `known`; `elsewhere` has the fix for keys of other tables."""
        for key in self.raw:
            if key in known:
                continue
            near = nearest(key, known)
            fix = (elsewhere or {}).get(key) or (f"did you mean `{near}`?" if near else f"known: {', '.join(known)}")
            self.blame(key, "is not a known key", fix)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _bounds(low: float, high: float, *, above: bool = False) -> str:
    least = f"more than {low:g}" if above else f"at least {low:,}"
    if high in (math.inf, _MOST):
        return least
    return f"at most {high:,}" if low == -math.inf else f"{least} and at most {high:,}"
