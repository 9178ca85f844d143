"""Read rows of parquet files as JSON values."""

import base64
import io
import math
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import IO, Any
from uuid import UUID

from mesocosm.core.failure import Incompatible
from mesocosm.datasets.faults import DatasetProblems
from mesocosm.datasets.file_rows import FileRows

__all__ = ["parquet_blocks", "parquet_rows"]

_BUFFER = 1 << 20
_BLOCK = 4 << 20
_MOST_ROWS = 4_096
_PLAIN = ("bool", "int", "uint", "string", "large_string", "null")


def parquet_rows(name: str, data: bytes, faults: DatasetProblems) -> FileRows:
    """Return the rows of a parquet file; add problems, such as infinities, to `faults`.

    Dates and times become ISO 8601 text, durations seconds, decimals text, bytes base64, maps objects, NaN null. Raise
    Incompatible if pyarrow is missing.
    """
    rows: list[dict[str, Any]] = []
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    for found in parquet_blocks(name, io.BytesIO(data), faults):
        rows += found.rows
        columns, notes = found.columns, found.notes
    return FileRows(rows, columns=columns, notes=notes)


def parquet_blocks(name: str, source: IO[bytes], faults: DatasetProblems) -> Iterator[FileRows]:
    """Yield the rows of `parquet_rows` in blocks of some megabytes; the notes of each are those of all before."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise Incompatible(name, ["parquet files need pyarrow: pip install 'mesocosm[hub]'"]) from error
    try:
        file = parquet.ParquetFile(source, buffer_size=_BUFFER, pre_buffer=False)
        columns = tuple(file.schema_arrow.names)
        twice = sorted(column for column, count in Counter(columns).items() if count > 1)
        if twice:
            faults.add("header", f"several columns are named {twice[0]!r}", "rename all but one of them")
            return
        strange = [field.name for field in file.schema_arrow if not _is_plain(str(field.type))]
        batches = file.iter_batches(batch_size=_batch_size(file.metadata))
        yield FileRows([], columns=columns)
        missing: Counter[str] = Counter()
        before = 0
        for batch in batches:
            try:
                rows: list[dict[str, Any]] = batch.to_pylist()
            except MemoryError:
                raise
            except (ArrowException, ValueError, TypeError, OverflowError) as error:
                faults.add("", f"holds values that cannot be read: {_line(error)}")
                return
            for column in strange:
                missing[column] += _translate(rows, before, column, faults)
            before += len(rows)
            notes = (f"column {column}: {count:,} NaN read as null" for column, count in missing.items() if count)
            yield FileRows(rows, columns=columns, notes=tuple(notes))
    except MemoryError as error:
        words = f"needs more memory than there is: {_line(error) or 'no room for its values'}"
        faults.add("", words, "make its rows, or its row groups, smaller")
    except (ArrowException, OSError, ValueError, OverflowError, RecursionError, KeyError) as error:
        faults.add("", f"is not a parquet file: {_line(error)}")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _batch_size(metadata: Any) -> int:
    """Return the number of rows whose declared size is about `_BLOCK`."""
    declared = sum(metadata.row_group(place).total_byte_size for place in range(metadata.num_row_groups))
    return int(min(max(_BLOCK * metadata.num_rows // max(declared, 1), 1), _MOST_ROWS))


def _is_plain(kind: str) -> bool:
    return kind.rstrip("0123456789") in _PLAIN


def _translate(rows: list[dict[str, Any]], before: int, column: str, faults: DatasetProblems) -> int:
    """Replace the values of a column by JSON values; return how many NaN were read as null."""
    missing = 0
    for number, row in enumerate(rows, before + 1):
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
    return missing


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
