"""Read the HTTP responses of environments.

Reading is tolerant, because adapters are written in many languages: a value with one sensible meaning is accepted, and
a note on the result names each deviation. Anything else raises EpisodeError with cause environment_invalid, which names
the field. Notes contain no values, so that the same deviation gives the same note at every step.
"""

import json
import math
import re
from typing import Any

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.foreign import LARGEST, finite, read_json
from mesocosm.core.ports import Observation, Step
from mesocosm.core.reading import format_value

JSON = "application/json"
TEXT_LIMIT = 2048
"""Maximum characters of the environment's own text in an error."""

WRAPPER = frozenset({"data", "content_type", "system_prompt"})
STEP = frozenset({"observation", "reward", "terminated", "truncated", "info", "system_prompt"})
TRUE = frozenset({"true", "1", "yes"})
FALSE = frozenset({"false", "0", "no", ""})
_TAGS = re.compile(r"<[^<>]*>")
"""Tags, which are removed from HTML error pages."""

NAMED = 5
"""Maximum number of unknown keys that a note names."""


def decode(body: bytes) -> Any:
    """Return the JSON value in `body`. Raise EpisodeError that says what is wrong with it, and where."""
    try:
        return read_json(body)
    except ValueError as error:
        problem = _problem(body, error)
    raise invalid(problem, body=body)


def read_reset(value: Any) -> Observation:
    """Return the first observation from the response to POST /reset; `{"observation": X}` is read as X.

    An object under `info` is kept with it: environments name there the role that acts first. Raise EpisodeError.
    """
    observation = _first_observation(value)
    info = value.get("info") if isinstance(value, dict) else None
    return msgspec.structs.replace(observation, info=info) if isinstance(info, dict) else observation


def _first_observation(value: Any) -> Observation:
    if isinstance(value, dict) and len(value) == 1 and "observation" in value:
        inner = read_observation(value["observation"])
        note = "the answer to /reset wraps the observation in `observation`; send the observation itself"
        return msgspec.structs.replace(inner, notes=(note, *inner.notes))
    return read_observation(value, known=WRAPPER | {"info"})


def read_observation(value: Any, *, known: frozenset[str] = WRAPPER) -> Observation:
    """Return an observation, sent bare or wrapped as `{data, content_type, system_prompt}`.

    One of these keys is enough for a wrapper; a note names its keys that are not `known`. Raise EpisodeError.
    """
    if not isinstance(value, dict) or WRAPPER.isdisjoint(value):
        return Observation(value)
    content_type = value.get("content_type")
    if content_type is not None and not isinstance(content_type, str):
        raise invalid(f"`content_type` is {format_value(content_type)}; it must be a media type such as image/png")
    notes: list[str] = []
    if "data" not in value:
        notes.append("the observation is a wrapper without `data`, so the agent sees null")
    if foreign := value.keys() - known:
        given = _listed(value.keys() & WRAPPER)
        notes.append(
            f"the observation has {given}, so it is read as a wrapper, and its {_listed(foreign)} not shown to "
            "the agent; put the whole observation into `data`"
        )
    return Observation(value.get("data"), content_type or JSON, _prompt(value), tuple(notes))


def read_step(value: Any, *, literal: bool = False) -> Step:
    """Return the step from a response to POST /step. Raise EpisodeError.

    Unless `literal`, `done` is read as `terminated` if that is missing.
    """
    if not isinstance(value, dict):
        raise invalid(f"the body is {format_value(value)}; it must be an object with {', '.join(sorted(STEP))}")
    notes: list[str] = []
    if "observation" in value:
        observation = read_observation(value["observation"])
    else:
        observation = Observation({})
        notes.append("the answer to /step has no `observation`; the agent sees an empty object")
    reward = _reward(value, notes)
    terminated = _flag(value, "terminated", notes) if literal else _terminated(value, notes)
    truncated = _flag(value, "truncated", notes)
    info = _info(value, notes)
    prompt = _prompt(value)
    if prompt is None:
        prompt = observation.system_prompt
    ignored = value.keys() - STEP
    if "terminated" not in value:
        ignored.discard("done")
    if ignored:
        notes.append(f"the answer to /step has {_listed(ignored)}, which means nothing here")
    return Step(observation, reward, terminated, truncated, info, prompt, tuple(notes))


def read_oracle(value: Any) -> Any:
    """Return the action from a response to POST /oracle, `{"action": …}`. Raise EpisodeError."""
    if not isinstance(value, dict) or "action" not in value:
        raise invalid(f"the body is {format_value(value)}; it must be an object with `action`")
    return value["action"]


def own_words(body: bytes) -> str:
    """Return the text of an error response, at most TEXT_LIMIT characters: `detail`, `error` or `message` if any."""
    text = body[: 8 * TEXT_LIMIT].decode(errors="replace").strip()
    try:
        value = read_json(body)
    except ValueError:
        return cut(" ".join(_TAGS.sub(" ", text).split()) if text.startswith("<") else text)
    if isinstance(value, dict):
        words = next((value[key] for key in ("detail", "error", "message") if value.get(key)), value)
        if isinstance(words, list):
            return cut("; ".join(_validation_problem(item) for item in words))
        if words is not value:
            return cut(words if isinstance(words, str) else _json(words))
    return cut(value if isinstance(value, str) else text)


def cut(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return `text`, without its middle if it is longer than `limit`, because both ends of a traceback matter."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]} … {text[head + 5 - limit :]}"


def invalid(problem: str, *, body: bytes = b"") -> EpisodeError:
    """Return the failure for a response that cannot be read."""
    detail = cut(body[: 8 * TEXT_LIMIT].decode(errors="replace"))
    return EpisodeError(Cause.ENVIRONMENT_INVALID, problem, detail=detail)


def no_oracle(name: str, words: str = "") -> EpisodeError:
    """Return the failure for requesting the best action from an environment without an oracle."""
    said = f" ({words})" if words else ""
    return EpisodeError(
        Cause.MODEL_MISSING, f"environment {name} offers no oracle{said}: define BaseEnv.oracle, or use another model"
    )


def _reward(value: dict[str, Any], notes: list[str]) -> float:
    if "reward" not in value:
        notes.append("the answer to /step has no `reward`; it counts as 0")
        return 0.0
    given = value["reward"]
    if type(given) is not float and type(given) is not int:
        if not isinstance(given, str | bool):
            raise invalid(f"`reward` is {format_value(given)}; it must be a finite number")
        notes.append(f"`reward` is a {'text' if isinstance(given, str) else 'boolean'}; send a number")
    reward = finite(float(given) if isinstance(given, bool) else given)
    if reward is None:
        raise invalid(f"`reward` is {format_value(given)}; it must be a finite number, at most {LARGEST:g}")
    return reward


def _terminated(value: dict[str, Any], notes: list[str]) -> bool:
    if "terminated" in value:
        return _flag(value, "terminated", notes)
    if "done" in value:
        notes.append("the answer to /step has `done` but no `terminated`; `done` is taken for it")
        return _flag(value, "done", notes)
    if "truncated" not in value:
        notes.append("the answer to /step has no `terminated`; the episode goes on")
    return False


def _flag(value: dict[str, Any], key: str, notes: list[str]) -> bool:
    given = value.get(key, False)
    if given is True or given is False:
        return given
    word = given.strip().lower() if isinstance(given, str) else str(given) if type(given) is int else None
    if word not in TRUE and word not in FALSE:
        raise invalid(f"`{key}` is {format_value(given)}; it must be true or false")
    notes.append(f"`{key}` is a {'text' if isinstance(given, str) else 'number'}; send true or false")
    return word in TRUE


def _info(value: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    info = value.get("info")
    if info is None:
        if "info" in value:
            notes.append("`info` is null; send an object")
        return {}
    if not isinstance(info, dict):
        raise invalid(f"`info` is {format_value(info)}; it must be an object")
    return info


def _prompt(value: dict[str, Any]) -> str | None:
    prompt = value.get("system_prompt")
    if prompt is None or isinstance(prompt, str):
        return prompt
    raise invalid(f"`system_prompt` is {format_value(prompt)}; it must be a text or null")


def _problem(body: bytes, error: ValueError) -> str:
    if not body.strip():
        return "the body is empty; it must be JSON"
    place = _not_a_number(body)
    if place is not None:
        return f"{place} is NaN or infinite, which JSON does not know; send null or a text"
    return f"the body is not JSON ({error}): {cut(body[:200].decode(errors='replace'), 120)!r}"


def _not_a_number(body: bytes) -> str | None:
    """Return the path of the first NaN or infinity; None if there is none or the body has other errors."""
    try:
        value = json.loads(body, parse_constant=lambda _: math.nan)
        return _find_nan(value, "")
    except (ValueError, RecursionError):
        return None


def _find_nan(value: Any, place: str) -> str | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else f"`{place}`" if place else "the body"
    if isinstance(value, dict):
        parts = ((item, f"{place}.{key}" if place else key) for key, item in value.items())
    elif isinstance(value, list):
        parts = ((item, f"{place}[{index}]") for index, item in enumerate(value))
    else:
        return None
    return next((found for item, path in parts if (found := _find_nan(item, path)) is not None), None)


def _validation_problem(item: Any) -> str:
    """Return one entry of FastAPI's list `detail` as a line."""
    if isinstance(item, dict) and isinstance(item.get("loc"), list) and isinstance(item.get("msg"), str):
        return f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}"
    return item if isinstance(item, str) else _json(item)


def _listed(keys: set[str] | frozenset[str]) -> str:
    names = sorted(keys)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(f"`{cut(name, 40)}`" for name in names[:NAMED]) + more


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
