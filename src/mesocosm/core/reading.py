"""Read untrusted JSON into pydantic models; report all problems at once, each with its path and a fix."""

import difflib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mesocosm.core.failure import Problem

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

Record = TypeVar("Record", bound="BaseModel")

MOST_PROBLEMS = 50
"""Maximum number of faults of one object to list; the rest is only counted."""

_EXPECTED = {
    "string_type": "a string",
    "string_unicode": "a string of valid Unicode",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_parsing_size": "an integer of fewer digits",
    "int_from_float": "an integer",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}

_PLAIN_KEY = re.compile(r"[\w$@-]+")


@dataclass(frozen=True, slots=True)
class ReadRecord(Generic[Record]):
    """The result of reading one object.

    `value` is the record, None if any field was invalid. `partial` always exists: it has harmless values in place of
    invalid fields, so that rules about the valid fields can still be checked.
    """

    value: Record | None
    partial: Record
    problems: tuple[Problem, ...] = ()


def join(path: str, key: str | int) -> str:
    """Return the path of `key` below `path`: `a.b`, `a[0]`, `a["strange key"]`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not _PLAIN_KEY.fullmatch(key):
        return f"{path}[{json.dumps(key)}]"
    return f"{path}.{key}" if path else key


def format_value(value: Any) -> str:
    """Return a short, printable form of any JSON value for an error message."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, str):
        text = json.dumps(value if len(value) <= 60 else value[:57] + "…", ensure_ascii=not value.isprintable())
        return f"the string {text}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return f"the number {value!r:.40}" if isinstance(value, float) else f"the number {_digits(value)}"


def _digits(value: Any) -> str:
    """Return an integer in digits, or its length in bits if it is very large (Python refuses to convert those)."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"of {value.bit_length()} bits"
    return str(value)[:40]


def nearest(word: object, known: Iterable[str]) -> str | None:
    """Return the known word closest to `word`, ignoring case and hyphen/underscore; None if none is close."""
    if not isinstance(word, str) or len(word) > 60:
        return None
    folded = {known_word.lower().replace("-", "_"): known_word for known_word in known}
    close = difflib.get_close_matches(word.strip().lower().replace("-", "_"), list(folded), n=1)
    return folded[close[0]] if close else None


def not_an_object(raw: object, path: str, what: str) -> Problem:
    """Return the problem of a value that should be a JSON object."""
    return Problem(path, f"must be an object, not {format_value(raw)}", f"write {what} as an object in braces")


def read_fields(
    model: type[Record], raw: Mapping[str, Any], path: str, stand_ins: Mapping[str, Any]
) -> ReadRecord[Record]:
    """Read `raw` as `model`. `stand_ins` has a valid value for every required field, for `ReadRecord.partial`."""
    # Most users of this module only want its words; pydantic takes as long to import as the rest of a small evaluation.
    from pydantic import ValidationError

    try:
        value = model.model_validate(raw)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        bad = {str(fault["loc"][0]) for fault in faults if fault["loc"]}
        kept = {key: item for key, item in raw.items() if key not in bad}
        kept.update({key: item for key, item in stand_ins.items() if key in bad})
        return ReadRecord(None, model.model_validate(kept), tuple(_problems(model, faults, path)))
    return ReadRecord(value, value)


def _problems(model: type["BaseModel"], faults: list["ErrorDetails"], path: str) -> list[Problem]:
    found = [_problem(model, fault, path) for fault in faults[:MOST_PROBLEMS]]
    if len(faults) > MOST_PROBLEMS:
        found.append(Problem(path, f"{len(faults) - MOST_PROBLEMS} more faults of these kinds"))
    return found


def _problem(model: type["BaseModel"], fault: "ErrorDetails", path: str) -> Problem:
    where = path
    for key in fault["loc"]:
        where = join(where, key)
    field = str(fault["loc"][0]) if fault["loc"] else ""
    known = model.model_fields.get(field)
    fix = f"`{field}` is {known.description}" if known is not None and known.description else ""
    kind, given = fault["type"], fault["input"]
    if kind == "missing":
        return Problem(where, "is required, but missing", fix)
    if kind in ("enum", "literal_error"):
        return no_such_word(where, given, re.findall(r"'([^']*)'", fault.get("ctx", {}).get("expected", "")))
    if kind in _EXPECTED:
        return Problem(where, f"must be {_EXPECTED[kind]}, not {format_value(given)}", fix)
    return Problem(where, fault["msg"], fix)


def no_such_word(path: str, given: object, allowed: list[str], synonyms: Mapping[str, str] | None = None) -> Problem:
    """Return the problem of a word that is not allowed, with the closest allowed one as its fix."""
    near = (synonyms or {}).get(given.strip().lower()) if isinstance(given, str) else None
    near = near or nearest(given, allowed)
    fix = f"did you mean {near!r}?" if near else f"choose one of {', '.join(allowed)}"
    return Problem(path, f"{format_value(given)} is none of {', '.join(allowed)}", fix)


def unknown_keys(
    raw: Mapping[str, Any],
    known: Collection[str],
    path: str,
    *,
    harmless: Collection[str] = (),
    renamed: Mapping[str, str] | None = None,
) -> list[Problem]:
    """Return a warning for each key that is not read. Keys that start with `_`, `$` or `x-` are comments.

    `harmless` keys are ignored silently; `renamed` maps usual mistakes to the right key.
    """
    found = []
    for key in raw:
        if key in known or key in harmless or key.startswith(("_", "$", "x-")):
            continue
        meant = (renamed or {}).get(key) or nearest(key, known)
        fix = f"did you mean `{meant}`?" if meant else "remove it, or put it under `metadata`"
        found.append(Problem(join(path, key), "is not read by anything", fix, "warning"))
    return found
