"""The world of one question: it is shown, answered once, and over."""

from collections.abc import Callable
from typing import Any

import msgspec

from mesocosm.core.ports import Observation, Step
from mesocosm.core.turn import Answer, CalledTool, read_answer

ANSWER = "answer"
MOST_CHARACTERS = 200_000
"""Of an answer so much is kept; nothing that is asked here needs more, and spam must not fill the database."""


class QuestionEnvironment:
    """Implements core.ports.Environment for one question. `best` gives the oracle's action."""

    def __init__(self, shown: Any, best: Callable[[], Any]) -> None:
        self._shown = shown
        self._best = best

    async def reset(self) -> Observation:
        """Show the question."""
        return observation(self._shown)

    async def step(self, action: Any) -> Step:
        """Take the answer; it is kept in the info of the step, where the grader finds it."""
        return Step(Observation(None), terminated=True, info={ANSWER: kept(action)})

    async def oracle(self) -> Any:
        """Return the best answer."""
        return self._best()

    async def close(self) -> None:
        """Nothing is held."""


def observation(shown: Any) -> Observation:
    """Return what is shown as an observation: text as text, anything else as JSON."""
    return Observation(shown, content_type="text/plain" if isinstance(shown, str) else "application/json")


def kept(action: Any) -> Any:
    """Return an action as it is kept: texts are cut at `MOST_CHARACTERS`, arguments longer than that are cut text."""
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
