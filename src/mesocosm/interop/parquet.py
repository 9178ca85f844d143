"""Samples as a parquet file, in groups of rows. pyarrow is imported here only, when it is needed."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, BinaryIO

from mesocosm.core.failure import Incompatible
from mesocosm.interop.samples import FIXED, Cell, RowSample, heads

_GROUP = 10_000

_TYPES = {
    **dict.fromkeys(("row_index", "trial", "prompt_tokens", "completion_tokens", "total_tokens"), "int64"),
    **dict.fromkeys(("reward", "cost_usd", "duration_s"), "float64"),
    "passed": "bool",
}
"""Types of the columns that are not text."""


def write_parquet(file: BinaryIO, found: Iterable[RowSample], scores: Sequence[str], labels: Sequence[str]) -> int:
    """Write samples into `file` and return how many. Raises Incompatible where pyarrow is missing."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise Incompatible("a parquet file", ["it needs pyarrow: pip install 'mesocosm[hub]'"]) from error
    types = [*(_TYPES.get(name, "string") for name in FIXED), *("float64" for _ in scores), *("string" for _ in labels)]
    named = zip(heads(scores, labels), types, strict=True)
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in named])
    count, rest = 0, iter(found)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := [one.cells(scores, labels) for one in islice(rest, _GROUP)]:
            writer.write_table(_table(pyarrow, batch, schema))
            count += len(batch)
    return count


def _table(pyarrow: Any, batch: Sequence[Sequence[Cell]], schema: Any) -> Any:
    whole = zip(*batch, strict=True)
    arrays = [pyarrow.array(values, type=field.type) for values, field in zip(whole, schema, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=schema)
