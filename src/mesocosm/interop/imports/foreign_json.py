"""Read JSON that other programs wrote: with NaN, integers of any size, and lone surrogates."""

import json
import re
from typing import Any

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def read_foreign_json(data: bytes) -> Any:
    """Return the JSON value in `data`; NaN and infinities stay what they are. Raises ValueError for anything else."""
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_int=integer)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return encodable(value) if _SURROGATE.search(data) else value


def encodable(value: Any) -> Any:
    """Return JSON with lone surrogates replaced: JSON can escape them, but UTF-8 cannot encode them."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {encodable(key): encodable(inner) for key, inner in value.items()}
    return [encodable(inner) for inner in value] if isinstance(value, list) else value


def integer(digits: str) -> int | float:
    """Return an integer, or a float if it exceeds 64 bits, which loses its last digits as in a browser."""
    value = int(digits) if len(digits) < 20 else float(digits)
    return value if abs(value) < 2**63 else float(value)


def has_surrogates(data: bytes) -> bool:
    """Return whether JSON escapes surrogates, which may be lone ones."""
    return _SURROGATE.search(data) is not None
