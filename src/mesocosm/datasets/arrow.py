"""Read rows of parquet files as JSON values."""

import base64
import io
import math
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from mesocosm.core.failure import Incompatible
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.file_rows import FileRows

__all__ = ["parquet_rows"]

_PLAIN = ("bool", "int", "uint", "string", "large_string", "null")


def parquet_rows(name: str, data: bytes, faults: DatasetProblems) -> FileRows:
    """Return the rows of a parquet file; add problems, such as infinities, to `faults`.

    Dates and times become ISO 8601 text, durations seconds, decimals text, bytes base64, maps objects, NaN null. Raise
    Incompatible if pyarrow is missing.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise Incompatible(name, ["parquet files need pyarrow: pip install 'mesocosm[hub]'"]) from error
    try:
        file = parquet.ParquetFile(io.BytesIO(data))
        columns = list(file.schema_arrow.names)
        twice = sorted(column for column, count in Counter(columns).items() if count > 1)
        if twice:
            faults.add("header", f"several columns are named {twice[0]!r}", "rename all but one of them")
            return FileRows([])
        table = file.read()
    except (ArrowException, OSError, ValueError, OverflowError, RecursionError, KeyError) as error:
        faults.add("", f"is not a parquet file: {error}")
        return FileRows([])
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except (ArrowException, ValueError, TypeError, OverflowError) as error:
        faults.add("", f"holds values that cannot be read: {error}")
        return FileRows([])
    strange = [field.name for field in table.schema if not _is_plain(str(field.type))]
    notes = [note for column in strange if (note := _translate(rows, column, faults))]
    return FileRows(rows, columns=tuple(columns), notes=tuple(notes))


def _is_plain(kind: str) -> bool:
    return kind.rstrip("0123456789") in _PLAIN


def _translate(rows: list[dict[str, Any]], column: str, faults: DatasetProblems) -> str:
    """Replace the values of a column by JSON values; return a note about NaN read as null, or ""."""
    missing = 0
    for number, row in enumerate(rows, 1):
        value = row[column]
        if isinstance(value, float):
            if math.isfinite(value):
                continue
            if math.isnan(value):
                row[column] = None
                missing += 1
                continue
        try:
            row[column] = _json(value)
        except ValueError as error:
            faults.add(f"row {number}, column {column}", str(error), "write null, or a text")
    return f"column {column}: {missing:,} NaN read as null" if missing else ""


def _json(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list):
        pairs = bool(value) and all(isinstance(item, tuple) for item in value)
        return {str(key): _json(item) for key, item in value} if pairs else [_json(item) for item in value]
    for kind, spell in _SPELLED.items():
        if isinstance(value, kind):
            return spell(value)
    return str(value)


def _number(value: float) -> float | None:
    if math.isinf(value):
        raise ValueError(f"is {value}, which is not JSON")
    return None if math.isnan(value) else value


_SPELLED: dict[type, Callable[[Any], Any]] = {
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: timedelta.total_seconds,
    Decimal: str,
    UUID: str,
    bytes: lambda value: base64.b64encode(value).decode(),
}
