"""Read rows of JSON files: an object per line, a list of objects, or such a list under `data`."""

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.file_rows import FileRows

__all__ = ["document_rows", "line_rows"]

_OBJECT = msgspec.json.Decoder(dict[str, Any])
_ANY = msgspec.json.Decoder()
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def line_rows(
    data: bytes, faults: DatasetProblems, start: int = 0, *, lines_before: int = 0, rows_before: int = 0
) -> FileRows:
    """Return the rows of UTF-8 text with a JSON object on each line; skip empty lines.

    `start` is the byte offset of the text in its file, after the given numbers of lines and rows; for messages.
    """
    body = data.rstrip()
    try:
        rows = _OBJECT.decode_lines(body)
    except _UNREADABLE:
        return _each_line(data, faults, start, lines_before, rows_before)
    if body[:1] == b"{" and body.count(b"\n") + 1 == len(rows):
        return FileRows(rows, range(lines_before + 1, lines_before + len(rows) + 1))
    return _each_line(data, faults, start, lines_before, rows_before)


def _each_line(data: bytes, faults: DatasetProblems, start: int, lines_before: int, rows_before: int) -> FileRows:
    rows: list[dict[str, Any]] = []
    lines = array("Q")
    offset, number = start, rows_before
    for line, text in enumerate(data.split(b"\n"), lines_before + 1):
        if text.strip():
            number += 1
            try:
                value = _ANY.decode(text)
            except _UNREADABLE as error:
                _unreadable(f"line {line}", number, text, error, faults, offset)
            else:
                _keep(rows, number, value, faults)
                lines.append(line)
        offset += len(text) + 1
    return FileRows(rows, lines)


def document_rows(data: bytes, faults: DatasetProblems, start: int = 0) -> FileRows:
    """Return the rows of a JSON document: a list, the list under `data`, or a single object; otherwise JSON lines."""
    try:
        whole = _ANY.decode(data)
    except _UNREADABLE as error:
        if data.lstrip()[:1] == b"{":
            return _lines_or_document(data, error, faults, start)
        _unreadable("", 0, data, error, faults, start)
        return FileRows([])
    if isinstance(whole, dict):
        whole = whole["data"] if isinstance(whole.get("data"), list) else [whole]
    if not isinstance(whole, list):
        faults.add("", f"is {whole!r:.60}, no list of objects")
        return FileRows([])
    rows: list[dict[str, Any]] = []
    for number, value in enumerate(whole, 1):
        _keep(rows, number, value, faults)
    return FileRows(rows)


def _lines_or_document(data: bytes, error: Exception, faults: DatasetProblems, start: int) -> FileRows:
    """Read an invalid document as lines; if its first line is not an object, report the document as invalid."""
    head = data.strip().split(b"\n", 1)
    try:
        _OBJECT.decode(head[0])
    except _UNREADABLE:
        if len(head) > 1 or not data.strip():
            _unreadable("", 0, data, error, faults, start)
            return FileRows([])
    return line_rows(data, faults, start)


def _keep(rows: list[dict[str, Any]], number: int, value: Any, faults: DatasetProblems) -> None:
    if isinstance(value, dict):
        rows.append(value)
    else:
        faults.add(f"row {number}", f"is {value!r:.60}, no object")


def _unreadable(place: str, number: int, text: bytes, error: Exception, faults: DatasetProblems, offset: int) -> None:
    """Report why text is not JSON: invalid UTF-8, NaN or Infinity, otherwise the parser's message."""
    try:
        text.decode()
    except UnicodeDecodeError as wrong:
        lines_before = text.count(b"\n", 0, wrong.start)
        line = "" if number else f", on line {lines_before + 1}"
        at = offset + wrong.start
        what = f"is not JSON: no UTF-8 at byte {at:,} of the file (0x{text[wrong.start]:02x}){line}"
        faults.add(place, what, "save the file as UTF-8")
        return
    unknown = list(_unknown_numbers(number, text))
    for path, name in unknown:
        faults.add(path, f"is {name}, which is not JSON", 'write null, or a text ("NaN")')
    if not unknown:
        faults.add(place, f"is not JSON: {_why(text, error)}")


def _why(text: bytes, error: Exception) -> str:
    if b"\0" in text:
        return "it holds a NUL character: the file is not text, or UTF-16 without byte order mark"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    # The parser's path is not informative for rows of any shape.
    return str(error).partition(" - at `")[0]


@dataclass(frozen=True, slots=True)
class _Unknown:
    """A constant that is not JSON: NaN, Infinity, -Infinity."""

    name: str


def _unknown_numbers(number: int, text: bytes) -> Iterator[tuple[str, str]]:
    """Yield path and name of the constants that are not JSON; `number` is the row's, 0 for a whole document."""
    try:
        value = json.loads(text, parse_constant=_Unknown)
    except (ValueError, RecursionError):
        return
    if number:
        rows = [(number, value)]
    else:
        listed = value.get("data") if isinstance(value, dict) else value
        rows = list(enumerate(listed if isinstance(listed, list) else [value], 1))
    for place, row in rows:
        cells = row.items() if isinstance(row, dict) else [("", row)]
        for column, cell in cells:
            name = _first_unknown(cell)
            if name:
                yield f"row {place}" + (f", column {column}" if column else ""), name


def _first_unknown(value: Any) -> str:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, _Unknown):
            return item.name
        if isinstance(item, (dict, list)):
            pending += item.values() if isinstance(item, dict) else item
    return ""
