"""Look up ready-made graders by name and check their options, as a configuration's `[grader]` table gives them."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from mesocosm.core.failure import InvalidInput, Problem, UnknownName, UsageError
from mesocosm.core.reading import format_value
from mesocosm.core.registry import GRADERS, fold, suggestion
from mesocosm.rollouts.graders.answer import AnswerConfig
from mesocosm.rollouts.graders.ready import ReadyGrader

_PYDANTIC = "Input should be "
_SPELLINGS = {"normalized": "normalised", "multiple-choice": "choice", "number": "numeric", "schema": "json_schema"}


def grader_class(use: str) -> type[ReadyGrader[Any]]:
    """Return the class of the grader `use`, ignoring case, hyphens and underscores.

    Only registered names are looked up: a configuration may come from someone who must not choose what is imported
    here. Raises UnknownName, or UsageError if the registered object is not a ready-made grader.
    """
    name = _SPELLINGS.get(fold(use), use)
    if ":" in name:
        known = [entry.name for entry in GRADERS.entries()]
        raise UnknownName(f"no grader is called {use!r}{suggestion(use, known)}")
    found = GRADERS.get(name)
    if not (isinstance(found, type) and issubclass(found, ReadyGrader)):
        raise UsageError(f"grader {use!r} is {found!r}, no subclass of mesocosm.rollouts.graders.ready.ReadyGrader")
    return found


def open_grader(use: str, options: Mapping[str, Any]) -> ReadyGrader[Any]:
    """Return a ready-made grader. Raises UnknownName, UsageError, or InvalidInput with all problems of the options."""
    made = grader_class(use)
    try:
        return made(**{str(name): value for name, value in options.items()})
    except ValidationError as error:
        raise InvalidInput(f"[grader] {use}", _problems(error, made.Config)) from None


def _problems(error: ValidationError, config: type[AnswerConfig]) -> Iterator[Problem]:
    known = sorted({*(field.alias or name for name, field in config.model_fields.items())} - {"concurrency"})
    for found in error.errors():
        path = ".".join(str(part) for part in found["loc"])
        if found["type"] == "extra_forbidden":
            yield Problem(path, f"there is no such option{suggestion(path, known)}")
        elif found["type"] == "missing":
            yield Problem(path, "is required, but missing")
        elif found["msg"].startswith(_PYDANTIC):
            words, _, _ = found["msg"].removeprefix(_PYDANTIC).partition(", ")
            yield Problem(path, f"must be {words}, not {format_value(found['input'])}")
        else:
            yield Problem(path, found["msg"].removeprefix("Value error, "))
