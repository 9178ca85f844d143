"""`--set section.key=value`: values that take precedence over those of the file."""

import re
import tomllib
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from mesocosm.core.failure import Problem, UsageError
from mesocosm.core.reading import nearest
from mesocosm.rollouts.section import kind

FLAG = "--set"
TABLES = ("experiment", "evaluation", "dataset", "grader", "model", "advanced", "env", "secrets")
"""The tables of a configuration."""

_FORM = f"write {FLAG} section.key=value, for example {FLAG} evaluation.n=3"
_KEY = re.compile(r"[\w-]+(\.[\w-]+){1,15}", re.ASCII)
_DEEPEST = 15
_TEXTS = ("experiment.", "env.", "dataset.revision", "dataset.split", "dataset.config")
"""Keys that are always text, even if the value looks like a number: commits, years, variables."""


def parse_override(text: str) -> tuple[str, Any]:
    """Return key and value of `section.key=value`.

    The value is parsed as TOML (`3`, `["A", "B"]`), else taken as a string (`all`). Raises UsageError, which never
    repeats the value.
    """
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not _KEY.fullmatch(key):
        raise UsageError(f"{FLAG} {key!r}: {'that is not a section.key' if equals else 'there is no ='}; {_FORM}")
    section = key.partition(".")[0]
    if section not in TABLES:
        near = nearest(section, TABLES)
        hint = f"did you mean {near}?" if near else f"known: {', '.join(TABLES)}"
        raise UsageError(f"{FLAG} {key}: there is no section {section!r}; {hint}")
    return key, _value(key, value.strip())


def parse_overrides(texts: Iterable[str]) -> dict[str, Any]:
    """Return the values of several `section.key=value`; the last one of a key counts. Raises UsageError."""
    return dict(map(parse_override, texts))


def apply(tables: MutableMapping[str, Any], overrides: Mapping[str, Any]) -> list[Problem]:
    """Add `overrides` to `tables` in place; return a problem for each override without a valid place."""
    problems = []
    for path, value in overrides.items():
        *sections, key = path.split(".")
        if not sections or sections[0] not in TABLES or len(sections) > _DEEPEST:
            problems.append(Problem(path, "names no key of a section", _FORM))
            continue
        place: Any = tables
        for name in sections:
            place = place.setdefault(name, {})
            if not isinstance(place, MutableMapping):
                problems.append(Problem(path, f"lies below {name}, which is {kind(place)}"))
                break
        else:
            place[key] = value
    return problems


def _value(key: str, text: str) -> Any:
    try:
        read = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    # More than one key: the text contained a line break, and TOML parsed what followed as further keys.
    if list(read) != ["value"] or (key.startswith(_TEXTS) and not isinstance(read["value"], str)):
        return text
    return read["value"]
