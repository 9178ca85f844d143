"""The configuration of `eval ask`: a TOML file with the names of `mesocosm.evaluate`'s arguments."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mesocosm.cli.evaluating import EvaluateCall
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.core.failure import Problem

DATA = "data"
"""The key that makes a TOML file a configuration of this kind."""
_TEXTS = ("system", "expected", "answers", "rubric", "agent", "judge", "name")
_LISTS = {
    "prompt": "prompts",
    "grader": "graders",
    "model": "models",
    "tags": "tags",
    "fail_if": "fail_if",
    "mcp": "mcp",
    "mcp_header": "mcp_header",
    "mcp_env": "mcp_env",
}
_NUMBERS = ("limit", "trials", "parallel", "budget", "mcp_rounds", "mcp_timeout", "mcp_characters")
KNOWN = (DATA, *_LISTS, *_TEXTS, *_NUMBERS, "set")


def is_ask_file(path: Path) -> bool:
    """Return whether a TOML file is a configuration of `eval ask`."""
    try:
        return DATA in tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return False


def read_ask_file(path: Path, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the data file, and the flags with what the file says where they say nothing.

    Paths in the file are relative to it. Raises UsageError and InvalidInput.
    """
    from mesocosm.cli.command import options
    from mesocosm.cli.gate_options import GateFlags
    from mesocosm.core.failure import InvalidInput
    from mesocosm.engine.comparison.gate import read_condition

    try:
        document = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    problems = problems_of(document)
    if problems:
        raise InvalidInput(str(path), problems)
    folder = path.parent
    merged = {**dict.fromkeys(_TEXTS), "prompts": (), "graders": (), "save": None, **given}
    merged["system"] = merged["system"] or ""
    for key, value in document.items():
        if key in _LISTS:
            values = tuple(value) if isinstance(value, list) else (value,)
            name = _LISTS[key]
            if key in {"prompt", "grader"}:
                values = tuple(_below(folder, one) for one in values)
            if key == "fail_if":
                gate = options().part(GateFlags)
                gate.conditions = gate.conditions or [read_condition(text) for text in values]
            elif not merged.get(name):
                merged[name] = values
        elif key == "set":
            merged["settings"] = (*(f"{name}={_toml(one)}" for name, one in _flat(value)), *merged["settings"])
        elif key != DATA and not merged.get(key):
            merged[key] = _below(folder, value) if key in {"system", "rubric", "agent"} else value
    data = str(document[DATA])
    place = folder / data
    return (str(place) if place.exists() else data), merged


def _below(folder: Path, text: str) -> str:
    """Return a text that names a file (`@FILE`, `FILE.py:NAME`) with the folder of the configuration before it."""
    if text.startswith("@"):
        return f"@{folder / text[1:]}"
    return str(folder / text) if ".py:" in text else text


def problems_of(document: Mapping[str, Any]) -> "list[Problem]":
    """Return what is wrong with the keys and values of a configuration."""
    from mesocosm.core.failure import Problem
    from mesocosm.core.reading import nearest

    found = []
    for key, value in document.items():
        if key not in KNOWN:
            near = nearest(key, list(KNOWN))
            found.append(
                Problem(key, "is not a known key", f"did you mean `{near}`?" if near else f"known: {', '.join(KNOWN)}")
            )
        elif key in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
            found.append(Problem(key, "must be a number"))
        elif key in (DATA, *_TEXTS) and not isinstance(value, str):
            found.append(Problem(key, "must be a text"))
        elif key in _LISTS and not _texts(value):
            found.append(Problem(key, "must be a text or a list of texts"))
        elif key == "set" and not isinstance(value, dict):
            found.append(Problem(key, "must be a table", 'write [set] and below it "model.temperature" = 0.7'))
    return found


def _texts(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))


def _flat(table: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Return the settings of a table, with dots for the tables in it."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        found += _flat(value, f"{before}{key}.") if isinstance(value, dict) else [(f"{before}{key}", value)]
    return found


def _toml(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def save(path: Path, calls: Sequence[EvaluateCall], given: Mapping[str, Any]) -> None:
    """Write the flags of `eval ask` as a configuration. Raises UsageError."""
    data = Path(calls[0].what)
    document: dict[str, Any] = {
        DATA: str(data.resolve()) if data.exists() and path.parent != data.parent else str(data)
    }
    for key, name in _LISTS.items():
        values = list(given.get(name) or ())
        if values:
            document[key] = values[0] if len(values) == 1 else values
    document |= {name: given[name] for name in (*_TEXTS, *_NUMBERS) if given.get(name)}
    lines = ["# mesocosm eval run " + path.name, *(f"{key} = {_toml(value)}" for key, value in document.items())]
    if given["settings"]:
        from mesocosm.cli.settings import read_settings

        lines += [
            "",
            "[set]",
            *(f'"{key}" = {_toml(value)}' for key, value in read_settings(given["settings"]).items()),
        ]
    try:
        path.write_text("\n".join(lines) + "\n", "utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
