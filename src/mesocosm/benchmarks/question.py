"""An environment for a single question with a single answer."""

from collections.abc import Callable
from typing import Any

import msgspec

from mesocosm.core.ports import Observation, Step
from mesocosm.core.turn import Answer, CalledTool, read_answer

ANSWER = "answer"
MOST_CHARACTERS = 200_000
"""Number of characters kept of an answer. No benchmark needs more, and very long replies must not fill the database."""


class QuestionEnvironment:
    """Implements core.ports.Environment for one question. `best` returns the oracle's action."""

    def __init__(self, shown: Any, best: Callable[[], Any]) -> None:
        self._shown = shown
        self._best = best

    async def reset(self) -> Observation:
        """Return the question as an observation."""
        return observation(self._shown)

    async def step(self, action: Any) -> Step:
        """Accept the answer and store it in the step's info, where the grader finds it."""
        return Step(Observation(None), terminated=True, info={ANSWER: kept(action)})

    async def oracle(self) -> Any:
        """Return the best answer."""
        return self._best()

    async def close(self) -> None:
        """Do nothing: there are no resources to release."""


def observation(shown: Any) -> Observation:
    """Return `shown` as an observation: a string as plain text, anything else as JSON."""
    return Observation(shown, content_type="text/plain" if isinstance(shown, str) else "application/json")


def kept(action: Any) -> Any:
    """Return an action as it is stored: strings are cut at `MOST_CHARACTERS`, longer arguments become a cut JSON
    string.
    """
    if isinstance(action, str):
        return action[:MOST_CHARACTERS]
    answer = read_answer(action)
    return Answer(answer.text[:MOST_CHARACTERS], tuple(map(_kept, answer.tool_calls))).data()


def _kept(call: CalledTool) -> CalledTool:
    arguments = msgspec.json.encode(call.arguments)
    if max(len(call.name), len(arguments)) <= MOST_CHARACTERS:
        return call
    cut = arguments[:MOST_CHARACTERS].decode(errors="ignore")
    return CalledTool(call.name[:MOST_CHARACTERS], cut, call.id)
