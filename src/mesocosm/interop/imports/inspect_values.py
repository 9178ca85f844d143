"""What values, limits and errors of an Inspect log mean here."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import RULES, Cause, Failure
from mesocosm.core.score import Score
from mesocosm.core.usage import Usage

JSON = dict[str, Any]

GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Inspect's letters: correct, incorrect, partial credit, no answer."""

_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

LIMITS: dict[str, tuple[EpisodeStatus, str]] = {
    "time": (EpisodeStatus.TIMEOUT, "wall_time_limit"),
    "working": (EpisodeStatus.TIMEOUT, "wall_time_limit"),
    "context": (EpisodeStatus.TRUNCATED, Cause.CONTEXT_OVERFLOW.value),
    "token": (EpisodeStatus.TRUNCATED, Cause.BUDGET.value),
    "cost": (EpisodeStatus.TRUNCATED, Cause.BUDGET.value),
    "message": (EpisodeStatus.TRUNCATED, "step_limit"),
    "turn": (EpisodeStatus.TRUNCATED, "step_limit"),
}
"""Status of an episode that a limit ended, and the reason as ours say it. Limits not listed truncate."""

_GRADER_REASONS = frozenset({"grader_failed", "scoring_failed"})
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line \d+, in ', re.MULTILINE)
_SENDS = re.compile(r"/(openai|anthropic|httpx|httpcore|aiohttp|requests|botocore|google/genai|mistralai|groq)/")


def as_number(value: Any) -> float | None:
    """Return a value of a score as Inspect's `value_to_float` does; None for NaN and for what it has no number for.

    Inspect counts text without a number as 0; here it is not a number, and the score is missing.
    """
    if isinstance(value, bool | int | float):
        return float(value) if math.isfinite(value) else None
    if not isinstance(value, str):
        return None
    if value in GRADES:
        return GRADES[value]
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def is_grade(value: Any) -> bool:
    """Return whether a value is a grade, which lies between 0 and 1, and not a number of any size."""
    return isinstance(value, bool) or (isinstance(value, str) and (value in GRADES or value.lower() in _WORDS))


def named_values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of a score by name: one for each key of an object or place of a list, else one."""
    if isinstance(value, Mapping):
        yield from ((f"{scorer}.{key}", inner) for key, inner in value.items())
    elif isinstance(value, list):
        yield from ((f"{scorer}.{place}", inner) for place, inner in enumerate(value))
    else:
        yield scorer, value


def read_score(name: str, value: Any, score: Mapping[str, Any]) -> Score:
    """Return one value of a score with its explanation, missing if it has no number."""
    number = as_number(value)
    explanation = str(score.get("explanation") or "")
    if number is not None:
        return Score(name, number, explanation=explanation)
    unscored = value is None or isinstance(value, float)
    cause = Cause.VALUE_MISSING if unscored else Cause.VALUE_UNUSABLE
    if unscored and score.get("reason") in _GRADER_REASONS:
        cause = Cause.GRADER_ERROR
    return Score(name, missing=cause, explanation=explanation or ("" if unscored else f"its value is {value!r:.200}"))


def read_usage(found: Mapping[str, Any] | None, calls: int = 0) -> Usage:
    """Return the tokens and the cost of a `ModelUsage`; a cost that it does not state is unknown."""
    given = found or {}
    prompt, completion, read, written = (
        _count(given.get(name))
        for name in ("input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    )
    # Some providers count what was cached in `input_tokens`, some beside it; the total tells.
    if read + written and _count(given.get("total_tokens")) == prompt + completion + read + written:
        prompt += read + written
    cost = given.get("total_cost")
    known = float(cost) if isinstance(cost, int | float) and math.isfinite(cost) else None
    return Usage(prompt, completion, read, _count(given.get("reasoning_tokens")), known, calls)


def _count(value: Any) -> int:
    usable = isinstance(value, int | float) and math.isfinite(value)
    return max(int(value), 0) if usable else 0


def read_failure(error: Mapping[str, Any], *, scoring: bool, asked: bool) -> Failure:
    """Return the failure of a sample with an error, whose cause follows from where its exception was raised.

    `scoring`: the sample had begun to be scored; `asked`: the agent had called its model before.
    """
    trace = str(error.get("traceback") or "")
    cause = _cause(trace, scoring=scoring, asked=asked)
    return Failure(cause, RULES[cause].boundary, str(error.get("message") or "the sample failed"), trace)


def _cause(trace: str, *, scoring: bool, asked: bool) -> Cause:
    frames = [found["file"].replace("\\", "/") for found in _FRAME.finditer(trace)]
    last = frames[-1] if frames else ""
    solving = any("/inspect_ai/solver/" in frame or "/inspect_ai/agent/" in frame for frame in frames)
    if "/inspect_ai/util/_sandbox/" in last or "/inspect_ai/_util/subprocess" in last:
        return Cause.SANDBOX_FAILED
    if any("/inspect_ai/model/_call_tools.py" in frame for frame in frames):
        # Tools are the environment of the agent.
        return Cause.ENVIRONMENT_ERROR
    if scoring and not solving:
        return Cause.GRADER_ERROR
    if _SENDS.search(last) or "/inspect_ai/model/" in last:
        return Cause.MODEL_UNAVAILABLE
    return Cause.AGENT_ERROR if solving and asked else Cause.ENVIRONMENT_ERROR
