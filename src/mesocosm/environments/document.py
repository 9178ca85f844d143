"""Read JSON documents written by people; errors name line and column."""

import json
import re
from pathlib import Path
from typing import Any

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.foreign import DEEPEST, deeper_than

_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(NaN|-?Infinity)')


def read_json(path: Path, what: str = "file") -> tuple[object, list[Problem]]:
    """Return the JSON document at `path`, with a warning for each repeated key; `what` names it in errors.

    Raise UsageError if the file cannot be read, InvalidInput with line and column if it is not JSON.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{what} {path} cannot be read ({reason}); name an existing file") from error
    return parse_json(data, f"{what} {path}")


def parse_json(data: bytes, subject: str) -> tuple[object, list[Problem]]:
    """Return the JSON document in `data` (UTF-8, -16 or -32, with or without BOM), with warnings as `read_json`.

    Raise InvalidInput about `subject`, with line and column.
    """
    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"line {line} is not text in {error.encoding}: byte 0x{data[error.start]:02x}"
        raise InvalidInput(subject, [Problem("", message, "save the file as UTF-8")]) from error
    repeated: list[str] = []
    try:
        document = json.loads(text, object_pairs_hook=_pairs(repeated), parse_constant=_refused)
    except json.JSONDecodeError as error:
        message = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise InvalidInput(subject, [Problem("", message, _syntax_fix(text, error))]) from error
    except _NotJson as error:
        raise InvalidInput(subject, [_constant_problem(text, str(error))]) from error
    except RecursionError as error:
        raise InvalidInput(subject, [Problem("", "is nested too deeply to be read")]) from error
    except ValueError as error:
        raise InvalidInput(subject, [Problem("", f"holds a number that cannot be read: {error}")]) from error
    problem = _unstorable(document)
    if problem:
        raise InvalidInput(subject, [problem])
    message = "is given twice in one object; the last one counts"
    return document, [Problem(key, message, "remove one of the two", "warning") for key in dict.fromkeys(repeated)]


def _unstorable(document: object) -> Problem | None:
    """Return the problem of a document that Python reads but that cannot be written as JSON in UTF-8 again."""
    if deeper_than(document, DEEPEST):
        return Problem("", f"is nested deeper than {DEEPEST} levels", "flatten it")
    try:
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        code = f"\\u{ord(error.object[error.start]):04x}"
        return Problem(
            "", f"holds {code}, half of a character", "write the whole character, or its two halves together"
        )
    except ValueError:
        return Problem("", "holds a number beyond the range of floating point", "write a smaller number")
    return None


class _NotJson(Exception):
    """The document contains NaN or Infinity, which Python reads although they are not JSON."""


def _refused(constant: str) -> float:
    raise _NotJson(constant)


def _pairs(repeated: list[str]) -> Any:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    repeated.append(key)
                seen.add(key)
        return built

    return build


def _constant_problem(text: str, constant: str) -> Problem:
    match = next(match for match in _CONSTANT.finditer(text) if match[1])
    line, column = text.count("\n", 0, match.start()) + 1, match.start() - text.rfind("\n", 0, match.start())
    return Problem(
        "", f"line {line}, column {column}: {constant} is not JSON", "leave the value out, or write a number"
    )


def _syntax_fix(text: str, error: json.JSONDecodeError) -> str:
    position, expecting = error.pos, error.msg.startswith("Expecting")
    if not text.strip():
        return "the file is empty; `mesocosm init` writes one to start from"
    before = text[:position].rstrip()
    # Python 3.13 reports this itself, with the position of the comma.
    if error.msg.startswith("Illegal trailing comma"):
        return "remove the comma before the bracket"
    if expecting and before.endswith(",") and text[position : position + 1] in ("}", "]"):
        return "remove the comma before the bracket"
    if expecting and text[position : position + 1] == "'":
        return "JSON strings stand in double quotes"
    if expecting and text[position : position + 1] in ("/", "#"):
        return "JSON has no comments; remove it"
    return "look at this line and the one before it"
