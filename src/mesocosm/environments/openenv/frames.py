"""Read the messages of an OpenEnv server's WebSocket.

Anything that cannot be read raises EpisodeError with cause environment_invalid, which names the field.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mesocosm.core.foreign import LARGEST, finite
from mesocosm.core.reading import format_value
from mesocosm.environments.answers import cut, decode, invalid

CAPACITY_REACHED = "CAPACITY_REACHED"
VALIDATION_ERROR = "VALIDATION_ERROR"
SESSION_ERROR = "SESSION_ERROR"

_UNWRITABLE = "serializ"
"""In the message of a SESSION_ERROR: the server failed while it wrote down its own answer."""
_NAMED = 5


class ServerError(NamedTuple):
    """An answer of type `error`: its code, its message, and what else came with it."""

    code: str
    message: str
    data: Mapping[str, Any]

    @property
    def most(self) -> int | None:
        """The maximum number of sessions that a full server reports."""
        given = self.data.get("max_sessions")
        return given if isinstance(given, int) and given > 0 else None

    def __str__(self) -> str:
        return f"{self.code}: {cut(self.message)}"


class SessionAnswer(NamedTuple):
    """An answer of type `observation`. `reward` is None if the server gave none."""

    data: dict[str, Any]
    reward: float | None
    done: bool
    metadata: dict[str, Any]


def read_answer(text: str) -> SessionAnswer | ServerError:
    """Return the answer to a reset or a step. Raises EpisodeError."""
    kind, data = _message(text)
    if kind == "error":
        return ServerError(str(data.get("code", "")) or "an error without a code", str(data.get("message", "")), data)
    if kind != "observation":
        raise invalid(
            f"the answer is of type {format_value(kind)}; it must be observation or error", body=text.encode()
        )
    shown, done = data.get("observation"), data.get("done", False)
    if not isinstance(shown, dict):
        raise invalid(f"`observation` is {format_value(shown)}; it must be an object", body=text.encode())
    if not isinstance(done, bool):
        raise invalid(f"`done` is {format_value(done)}; it must be true or false", body=text.encode())
    metadata = data.get("metadata")
    if not shown.get("metadata"):
        shown.pop("metadata", None)
    return SessionAnswer(shown, _reward(data.get("reward")), done, metadata if isinstance(metadata, dict) else {})


def _message(text: str) -> tuple[Any, Mapping[str, Any]]:
    value = decode(text.encode("utf-8", "surrogatepass"))
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(data, dict):
        raise invalid("the answer is no object with `type` and `data`", body=text.encode("utf-8", "replace"))
    return value.get("type"), data


def _reward(given: Any) -> float | None:
    if given is None:
        return None
    reward = finite(float(given) if isinstance(given, bool) else given) if isinstance(given, int | float) else None
    if reward is None:
        raise invalid(f"`reward` is {format_value(given)}; it must be a finite number, at most {LARGEST:g}, or null")
    return reward


def of_the_action(error: ServerError, action: Mapping[str, Any]) -> bool:
    """Return whether an error is about the action that was sent, and not about what the environment made of it.

    The server answers VALIDATION_ERROR also where an environment builds an observation that breaks its own rules. Each
    problem in `errors` says where it is and what was found there: for an action, that is what was sent. If a rule of an
    action was written as a function, the server fails to write the problem down and ends the session (SESSION_ERROR).
    """
    if error.code == SESSION_ERROR:
        return _UNWRITABLE in error.message.lower()
    if error.code != VALIDATION_ERROR:
        return False
    problems = error.data.get("errors")
    if not isinstance(problems, list) or not problems:
        return True
    return all(isinstance(problem, dict) and _found_in(problem, action) for problem in problems)


def problems_of(error: ServerError) -> str:
    """Return what is wrong with an action, in one line."""
    problems = error.data.get("errors")
    found = [problem for problem in problems if isinstance(problem, dict)] if isinstance(problems, list) else []
    lines = [
        f"{'.'.join(map(str, place))}: {message}" if place else str(message)
        for place, message in ((_place(problem), problem.get("msg", "")) for problem in found[:_NAMED])
    ]
    return "; ".join(lines) or error.message


def _place(problem: Mapping[str, Any]) -> Sequence[Any]:
    place = problem.get("loc")
    return place if isinstance(place, list) else []


def _found_in(problem: Mapping[str, Any], action: Mapping[str, Any]) -> bool:
    """Return whether the value in which a problem was found is part of an action at that place."""
    if "input" not in problem:
        return True
    place, value = _place(problem), problem["input"]
    if problem.get("type") == "missing":
        place = place[:-1]
    found: Any = action
    for step in place:
        in_list = isinstance(found, list) and isinstance(step, int) and 0 <= step < len(found)
        if in_list or (isinstance(found, Mapping) and step in found):
            found = found[step]
        # Other steps name a branch of a union.
    return bool(found == value)
