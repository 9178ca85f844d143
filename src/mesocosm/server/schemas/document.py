"""Base class and conversions of the API's documents."""

import json
import re
from datetime import UTC, datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, JsonValue

Json = JsonValue
"""Any JSON value."""

DEPTH = 100
"""Maximum nesting depth of JSON values; pydantic fails at 255."""

_PASSWORD = re.compile(r"(://[^/@\s:]*):[^/@\s]+@")

_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0
"""Limits of `datetime`: the years 1 and 9999."""


class Document(BaseModel):
    """A frozen document. Numbers that JSON cannot represent (NaN, infinity) become null."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null", json_schema_serialization_defaults_required=True)

    @classmethod
    def of(cls, record: object) -> Self:
        """Return the document of a record with attributes named like its fields."""
        return cls.model_validate(record, from_attributes=True)


def moment(stamp: float | None) -> datetime | None:
    """Return a UNIX timestamp as a datetime in UTC; None for None and 0."""
    return instant(stamp) if stamp else None


def instant(stamp: float) -> datetime:
    """Return a UNIX timestamp as a datetime in UTC, clamped to the range of `datetime`."""
    return datetime.fromtimestamp(min(max(stamp, _FIRST), _LAST), UTC)


def discreet(text: str) -> str:
    """Return `text` with passwords in URLs masked: a library may have logged such a URL."""
    return _PASSWORD.sub(r"\1:[redacted]@", text) if "@" in text else text


def shortened(value: Any, depth: int = DEPTH) -> Any:
    """Return a JSON value for output: passwords masked, and content nested deeper than `depth` as JSON text."""
    if isinstance(value, str):
        return discreet(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == 0:
        return discreet(json.dumps(value, ensure_ascii=False))
    if isinstance(value, list | tuple):
        return [shortened(item, depth - 1) for item in value]
    return {discreet(name): shortened(item, depth - 1) for name, item in value.items()}
