"""What all documents of the API have in common."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Json = JsonValue
"""Any JSON."""


class Document(BaseModel):
    """A frozen document. Numbers that JSON does not know (NaN, infinity) are written as null."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null", json_schema_serialization_defaults_required=True)


class ErrorDocument(Document):
    """What went wrong: the kind of error, what happened on which object, what to do next."""

    error: str
    detail: str
    problems: list[dict[str, Any]] = Field(default=[], description="every single thing wrong with the input")


def moment(stamp: float | None) -> datetime | None:
    """Return a UNIX time as a time with offset; None for none."""
    return None if not stamp else datetime.fromtimestamp(stamp, UTC)
