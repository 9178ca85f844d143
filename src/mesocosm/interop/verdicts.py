"""Verdicts of people as tables: CSV, and JSON lines."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from mesocosm.interop.cell import harmless

VerdictFormat = Literal["csv", "jsonl"]


def verdict_lines(records: Iterable[Mapping[str, Any]], kind: VerdictFormat) -> Iterator[bytes]:
    """Yield records with the same fields as lines; cells of CSV are no formulas in a spreadsheet."""
    if kind == "jsonl":
        yield from (msgspec.json.encode(record) + b"\n" for record in records)
        return
    first = True
    for record in records:
        text = io.StringIO()
        lines = csv.writer(text)
        if first:
            lines.writerow(map(harmless, record))
            first = False
        lines.writerow(map(_cell, record.values()))
        yield text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return harmless(value) if isinstance(value, str) else value
