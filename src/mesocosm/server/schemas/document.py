"""What all documents of the API have in common."""

import json
import re
from datetime import UTC, datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, JsonValue

Json = JsonValue
"""Any JSON."""

DEPTH = 100
"""Levels of nesting that documents have; pydantic gives up at 255."""

_PASSWORD = re.compile(r"(://[^/@\s:]*):[^/@\s]+@")

_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0
"""The years 1 and 9999."""


class Document(BaseModel):
    """A frozen document. Numbers that JSON does not know (NaN, infinity) are written as null."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null", json_schema_serialization_defaults_required=True)

    @classmethod
    def of(cls, record: object) -> Self:
        """Return the document of a record whose attributes have the names of its fields."""
        return cls.model_validate(record, from_attributes=True)


def moment(stamp: float | None) -> datetime | None:
    """Return a UNIX time as a time with offset; None for none, which 0 stands for too."""
    return instant(stamp) if stamp else None


def instant(stamp: float) -> datetime:
    """Return a UNIX time as a time with offset; one beyond the years that there are is the first or the last."""
    return datetime.fromtimestamp(min(max(stamp, _FIRST), _LAST), UTC)


def discreet(text: str) -> str:
    """Return `text` without the passwords of URLs in it: a library may have run with such a one."""
    return _PASSWORD.sub(r"\1:[redacted]@", text) if "@" in text else text


def shortened(value: Any, depth: int = DEPTH) -> Any:
    """Return a JSON value that can be shown: discreet, and what is nested deeper than `depth` as its JSON text."""
    if isinstance(value, str):
        return discreet(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == 0:
        return discreet(json.dumps(value, ensure_ascii=False))
    if isinstance(value, list | tuple):
        return [shortened(item, depth - 1) for item in value]
    return {discreet(name): shortened(item, depth - 1) for name, item in value.items()}
