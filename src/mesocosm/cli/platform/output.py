"""Documents of a platform on standard output."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any

from pydantic import BaseModel

from mesocosm.cli.render import emit


def plain(value: Any) -> Any:
    """Return documents as JSON values; times keep the offset that the platform wrote."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(item) for item in value]
    return value


def show(value: Any) -> None:
    """Print documents of a platform as JSON."""
    emit(plain(value))
