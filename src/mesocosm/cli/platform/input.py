"""Documents for a platform, made of what was said on the command line."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mesocosm.core.failure import InvalidInput, Problem

D = TypeVar("D", bound=BaseModel)


def document(kind: type[D], fields: Mapping[str, Any]) -> D:
    """Return a document with the fields that say something. Raises InvalidInput that names every wrong one."""
    try:
        return kind.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        problems = [
            Problem(".".join(str(part) for part in fault["loc"]), fault["msg"].removeprefix("Value error, "))
            for fault in error.errors(include_url=False)
        ]
        raise InvalidInput("what is asked for", problems) from error
