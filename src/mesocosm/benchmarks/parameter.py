"""One parameter of a benchmark: its type and bounds, and a check of values."""

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from mesocosm.core.failure import UsageError

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Parameter(BaseModel):
    """One parameter of a benchmark. `aliases` are other names for it.

    `content` says whether it can change the tasks or the grading; if so, it is part of the benchmark's identity. The
    type `names` is a list of names, which may also be given as a comma-separated string.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["integer", "number", "boolean", "text", "list", "names", "object", "path"]
    help: Text
    default: Any = None
    choices: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    aliases: tuple[Id, ...] = ()
    content: bool = True

    @property
    def usual(self) -> Any:
        """The default, normalized like a given value."""
        return None if self.default is None else check_parameter(self, self.default)

    @model_validator(mode="after")
    def _usable(self) -> "Parameter":
        try:
            _ = self.usual
        except UsageError as error:
            raise ValueError(f"the default {error}") from error
        return self


_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "boolean": ((bool,), "true or false"),
    "text": ((str,), "a text"),
    "path": ((str,), "a path"),
    "list": ((list, tuple), "a list"),
    "names": ((list, tuple, str), "a list of names or a text with commas"),
    "object": ((dict,), "an object"),
}


def check_parameter(parameter: Parameter, value: Any) -> Any:
    """Return the normalized value of a parameter. Raises UsageError that says what it must be."""
    types, what = _TYPES[parameter.type]
    if not isinstance(value, types) or (isinstance(value, bool) and parameter.type != "boolean"):
        raise UsageError(f"must be {what}, not {value!r:.80}")
    if parameter.type == "names" and isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if isinstance(value, list | tuple):
        if parameter.type == "names" and not all(isinstance(item, str) for item in value):
            raise UsageError(f"must be {what}, not {value!r:.80}")
        return [_chosen(parameter, item) for item in value]
    return _chosen(parameter, value)


def _bounded(parameter: Parameter, value: float) -> None:
    if not math.isfinite(value):
        raise UsageError(f"must be a finite number, not {value!r}")
    if parameter.minimum is not None and not value >= parameter.minimum:
        raise UsageError(f"must be at least {parameter.minimum:g}, not {value!r}")
    if parameter.maximum is not None and not value <= parameter.maximum:
        raise UsageError(f"must be at most {parameter.maximum:g}, not {value!r}")


def _chosen(parameter: Parameter, value: Any) -> Any:
    if isinstance(value, int | float):
        _bounded(parameter, value)
    if parameter.choices and value not in parameter.choices:
        shown = ", ".join(str(choice) for choice in parameter.choices)
        raise UsageError(f"must be one of {shown}, not {value!r:.80}")
    return value
