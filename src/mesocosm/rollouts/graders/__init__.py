"""Ready-made graders: each is a rule that works on its own, and a thin SDK grader around it.

Except for running code they need only the standard library, pydantic and `mesocosm.rollouts.sdk`.
`catalogue.open_grader` opens them by name; `docs/graders.md` describes the attacks that each was tested with.
"""

import importlib
from typing import Any

_PLACES = {
    "ChoiceConfig": "choice",
    "ChoiceGrader": "choice",
    "ChoiceRule": "choice",
    "CodeConfig": "code",
    "CodeGrader": "code",
    "CodeRule": "code",
    "Criterion": "judge",
    "ExactConfig": "exact",
    "ExactGrader": "exact",
    "ExactRule": "exact",
    "JsonSchemaConfig": "json_schema",
    "JsonSchemaGrader": "json_schema",
    "JsonSchemaRule": "json_schema",
    "JudgeConfig": "judge",
    "JudgeGrader": "judge",
    "JudgeRule": "judge",
    "NormalisedConfig": "normalised",
    "NormalisedGrader": "normalised",
    "NormalisedRule": "normalised",
    "NumericConfig": "numeric",
    "NumericGrader": "numeric",
    "NumericRule": "numeric",
    "RegexConfig": "regex",
    "RegexGrader": "regex",
    "RegexRule": "regex",
    "Verdict": "verdict",
    "answer_text": "answer",
    "open_grader": "catalogue",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PLACES)
