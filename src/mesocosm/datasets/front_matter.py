"""Parse the front matter of a Markdown file, between lines of `---` (simple YAML) or `+++` (TOML)."""

import json
import re
import tomllib
from typing import Any

import msgspec

from mesocosm.core.foreign import read_json

__all__ = ["BadFrontMatter", "front_matter"]

_KEY = re.compile(r"([\w.-]+)\s*:(?:\s+(.*))?$")
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}


class BadFrontMatter(ValueError):
    """Front matter that cannot be read; the message says why and, for YAML, on which line of the file."""


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the fields and the rest of a text; {} and the whole text if it has no front matter.

    The supported subset of YAML is `key: value`, lists of `- item`, blocks after `|` and `>`, and values in JSON
    notation. Raise BadFrontMatter for anything else.
    """
    lines = text.splitlines(keepends=True)
    fence = lines[0].rstrip() if lines else ""
    if fence not in ("---", "+++"):
        return {}, text
    end = next((place for place, line in enumerate(lines[1:], 1) if line.rstrip() == fence), 0)
    head = [line.rstrip("\r\n") for line in lines[1:end]]
    if not end:
        return {}, text
    rest = "".join(lines[end + 1 :]).lstrip("\r\n")
    if fence == "+++":
        try:
            return _jsonable(tomllib.loads("\n".join(head))), rest
        except (ValueError, RecursionError) as error:
            raise BadFrontMatter(f"its TOML head cannot be read: {error}") from error
    first = next((line for line in head if line.strip() and not line.startswith("#")), "")
    if any(line.strip() for line in head) and not _KEY.match(first):
        return {}, text  # Horizontal rules, not front matter.
    return _facts(head), rest


def _jsonable(facts: dict[str, Any]) -> dict[str, Any]:
    plain = msgspec.to_builtins(facts)
    assert isinstance(plain, dict)
    try:
        json.dumps(plain, allow_nan=False)
    except ValueError as error:
        raise BadFrontMatter("its TOML head holds a number that JSON does not know (nan, inf)") from error
    return plain


def _facts(head: list[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    place = 0
    while place < len(head):
        line = head[place]
        if not line.strip() or line.lstrip().startswith("#"):
            place += 1
            continue
        found = _KEY.match(line)
        if found is None:
            raise BadFrontMatter(f"line {place + 2} of its head is no `key: value`: {line.strip()!r:.60}")
        key, value = found[1], (found[2] or "").strip()
        inner = _inner(head, place + 1)
        if key in facts:
            raise BadFrontMatter(f"line {place + 2} of its head names {key} again")
        facts[key] = _value(value, inner, place + 2)
        place += 1 + len(inner)
    return facts


def _inner(head: list[str], start: int) -> list[str]:
    """Return the lines that belong to the preceding key: indented lines and list items."""
    end = start
    while end < len(head) and (head[end][:1] in (" ", "\t", "") or head[end].startswith("- ")):
        end += 1
    while end > start and not head[end - 1].strip():
        end -= 1
    return head[start:end]


def _value(value: str, inner: list[str], line: int) -> Any:
    if value in ("|", "|-", ">", ">-"):
        indent = min((len(text) - len(text.lstrip()) for text in inner if text.strip()), default=0)
        texts = [text[indent:] for text in inner]
        body = "\n".join(texts) if value[0] == "|" else " ".join(text.strip() for text in texts)
        return body if value.endswith("-") or not body else body + "\n"
    if not inner:
        return _scalar(value, line)
    items = [text.strip() for text in inner if text.strip()]
    if value or not all(item.startswith("- ") for item in items):
        raise BadFrontMatter(f"line {line + 1} of its head is more than a list or a text; write the value as JSON")
    return [_scalar(item[2:].strip(), line) for item in items]


def _scalar(text: str, line: int) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    try:
        return read_json(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        if text[0] in "[{\"'":
            raise BadFrontMatter(f"line {line} of its head has a value that is not JSON: {text!r:.60}") from error
        return text
