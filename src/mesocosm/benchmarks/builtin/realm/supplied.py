"""Values in a user's file that know their position, so that every error names file and key."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesocosm.core.failure import InvalidInput, Problem

_CLOCK = re.compile(r"([0-9]{1,2}):([0-5][0-9])")


@dataclass(frozen=True, slots=True)
class FileValue:
    """A value of a file at `path`. Every method raises InvalidInput if the value does not have the required type."""

    file: str
    path: str
    value: Any

    def wrong(self, message: str) -> InvalidInput:
        """Return an error about this value."""
        return InvalidInput(self.file, [Problem(self.path, message)])

    def maybe(self, *names: str) -> "FileValue | None":
        """Return the value under the first of `names` that is present, or None."""
        if not isinstance(self.value, Mapping):
            raise self.wrong(f"is {self.value!r:.60}, no object")
        found = next((name for name in names if self.value.get(name) is not None), None)
        return None if found is None else FileValue(self.file, f"{self.path}.{found}".lstrip("."), self.value[found])

    def part(self, *names: str) -> "FileValue":
        """Return the value under the first of `names` that is present. Raises InvalidInput if none is."""
        found = self.maybe(*names)
        if found is None:
            others = f" (or {', '.join(names[1:])})" if len(names) > 1 else ""
            raise InvalidInput(self.file, [Problem(f"{self.path}.{names[0]}".lstrip("."), f"is missing{others}")])
        return found

    def items(self) -> "list[FileValue]":
        """Return the members of a list."""
        if not isinstance(self.value, list):
            raise self.wrong(f"is {self.value!r:.60}, no list")
        return [FileValue(self.file, f"{self.path}[{i}]", value) for i, value in enumerate(self.value)]

    def named(self, *keys: str) -> "Iterator[tuple[str, FileValue]]":
        """Yield name and value: of an object its members; of a list its objects, named by one of `keys`."""
        if isinstance(self.value, Mapping):
            for name in self.value:
                yield str(name), FileValue(self.file, f"{self.path}.{name}", self.value[name])
            return
        for item in self.items():
            if isinstance(item.value, str):
                yield item.value, FileValue(item.file, item.path, {})
            else:
                yield item.part(*keys).text(), item

    def text(self) -> str:
        """Return a name; a number is converted to text."""
        if isinstance(self.value, bool) or not isinstance(self.value, str | int):
            raise self.wrong(f"is {self.value!r:.60}, no name")
        return str(self.value)

    def number(self) -> float:
        """Return a non-negative number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float) or not 0 <= self.value < 1e12:
            raise self.wrong(f"is {self.value!r:.60}, no number from 0 on")
        return self.value

    def whole(self) -> int:
        """Return a non-negative number, rounded to an integer."""
        return round(self.number())

    def minute(self, unit: int = 1) -> int:
        """Return a time of day in minutes, from "HH:MM" or a number in units of `unit` minutes (60 for hours)."""
        if isinstance(self.value, str):
            clock = _CLOCK.fullmatch(self.value.strip())
            if clock is None:
                raise self.wrong(f"is {self.value!r:.60}, no time of the form HH:MM")
            return int(clock[1]) * 60 + int(clock[2])
        return round(self.number() * unit)

    def span(self, unit: int = 1) -> tuple[int, int]:
        """Return a pair of times in minutes."""
        items = self.items()
        if len(items) != 2:
            raise self.wrong(f"has {len(items)} members; a window is a pair of times")
        return items[0].minute(unit), items[1].minute(unit)


def distances(table: FileValue, places: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return minutes between all places, from keys "a-b" (either way) or nested objects."""
    rows = table.value if isinstance(table.value, Mapping) else {}

    def between(a: str, b: str) -> int:
        for one, other in ((a, b), (b, a)):
            if f"{one}-{other}" in rows:
                return table.part(f"{one}-{other}").whole()
            if isinstance(rows.get(one), Mapping) and other in rows[one]:
                return table.part(one).part(other).whole()
        return table.part(f"{a}-{b}").whole()

    return {a: {b: between(a, b) for b in places if b != a} for a in places}
