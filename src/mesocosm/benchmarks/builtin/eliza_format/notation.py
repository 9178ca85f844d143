"""The two notations of answers: JSON, and TOON (token-oriented object notation, https://github.com/toon-format/spec).

Of TOON only the part for flat answers is supported: one `key: value` per line, lists as `key[2]: a,b`, or as `key[2]:`
with lines `  - a`, texts in double quotes if they contain special characters. Parsing is strict: the whole answer is
one object, optionally in a code fence, without duplicate keys, and lists have the length that they declare.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

Notation = Literal["json", "toon"]
LONGEST = 20_000
"""Maximum characters of an answer; no question here needs a tenth of it."""

_FENCE = re.compile(r"```[ \t]*(?:json|toon)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
_LINE = re.compile(r'(?P<key>[A-Za-z_][\w.]*|"(?:[^"\\]|\\.)*")(?:\[(?P<count>\d{1,4})\])?:(?P<rest>.*)')
# Possessive, so that a run of spaces is scanned once without backtracking.
_CELL = re.compile(r'[ ]*+(?:(?P<quoted>"(?:[^"\\]|\\.)*+")[ ]*+|(?P<plain>[^",]*+))(?:,|$)')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
_MARKS = re.compile(r'[:"\\\[\]{},\n\r\t]|^[ -]|[ ]$|^$')


class NotationError(ValueError):
    """The answer is not an object in the notation; the message says why."""


def read(text: str, notation: Notation) -> Mapping[str, Any]:
    """Return the object that an answer holds. Raises NotationError."""
    text = text.strip()
    if not text:
        raise NotationError("the answer is empty")
    if len(text) > LONGEST:
        raise NotationError(f"the answer is longer than {LONGEST:,} characters")
    fenced = _FENCE.fullmatch(text)
    inner = fenced[1] if fenced else text
    return _json(inner) if notation == "json" else _toon(inner)


def write(value: Mapping[str, Any], notation: Notation) -> str:
    """Return an object of texts and lists of texts in the notation."""
    if notation == "json":
        return json.dumps(value, ensure_ascii=False)
    return "\n".join(
        f"{key}[{len(item)}]: {','.join(map(_spelled, item))}".rstrip()
        if isinstance(item, list | tuple)
        else f"{key}: {_spelled(item)}"
        for key, item in value.items()
    )


def _json(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refused)
    except NotationError:
        raise
    except (ValueError, RecursionError) as error:
        raise NotationError(f"the answer is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise NotationError("the answer is JSON, but no object")
    return value


def _distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotationError("a key stands twice in the answer")
    return found


def _refused(word: str) -> Any:
    raise NotationError(f"the answer holds {word}, which is not JSON")


def _toon(text: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    at = 0
    while at < len(lines):
        line = _LINE.fullmatch(lines[at])
        if line is None:
            raise NotationError(f"line {at + 1} is no `key: value`: {lines[at]:.60}")
        at += 1
        key = _value(line["key"]) if line["key"].startswith('"') else line["key"]
        if key in found:
            raise NotationError(f"the key {key} stands twice in the answer")
        if line["count"] is None:
            found[key] = _single(line["rest"], at)
            continue
        items = _cells(line["rest"]) if line["rest"].strip() else []
        while not line["rest"].strip() and at < len(lines) and lines[at].startswith("  - "):
            items.append(_single(lines[at][3:], at))
            at += 1
        if len(items) != int(line["count"]):
            raise NotationError(f"the list {key} has {len(items)} items and declares {line['count']}")
        found[key] = items
    return found


def _single(rest: str, line: int) -> Any:
    """Return the value after a colon. Raises NotationError if there is none."""
    if not rest.startswith(" ") or not rest.strip():
        raise NotationError(f"line {line} has no value behind the colon")
    return _value(rest.strip())


def _cells(rest: str) -> list[Any]:
    rest, found, at = rest.strip(), [], 0
    while at <= len(rest):
        cell = _CELL.match(rest, at)
        if cell is None:
            raise NotationError(f"a list is not separated by commas: {rest:.60}")
        found.append(_value(cell["quoted"] or cell["plain"].rstrip(" ")))
        if not cell[0].endswith(",") or cell.end() > len(rest):
            break
        at = cell.end()
    return found


def _value(text: str) -> Any:
    if text.startswith('"'):
        try:
            return json.loads(text)
        except ValueError as error:
            raise NotationError(f"a text in quotes is not closed or escaped as it should be: {text:.60}") from error
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return float(text) if len(text) < 300 else text
    return text


def _spelled(value: Any) -> str:
    text = str(value)
    ambiguous = _MARKS.search(text) or text in _WORDS or _NUMBER.fullmatch(text)
    return json.dumps(text, ensure_ascii=False) if ambiguous else text
