"""Ready-made graders: each is a rule that works on its own, and a thin SDK grader around it.

Except for running code they need only the standard library, pydantic and `mesocosm.rollouts.sdk`.
`catalogue.open_grader` opens them by name; `docs/graders.md` describes the attacks that each was tested with.

>>> import mesocosm as mc
>>> mc.graders.NumericGrader(tolerance=0.1).options.tolerance
0.1
"""

import importlib
from typing import Any

NAMES = ("exact", "normalised", "numeric", "regex", "json_schema", "choice", "math", "code", "judge")
"""The ready-made graders of this package; plug-ins add more under the entry point group `mesocosm.graders`."""

_PLACES = {
    **{f"{name.title().replace('_', '')}{part}": name for name in NAMES for part in ("Config", "Grader", "Rule")},
    "Criterion": "judge",
    "GraderVerdict": "ready",
    "answer_text": "answer",
    "open_grader": "catalogue",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PLACES)
