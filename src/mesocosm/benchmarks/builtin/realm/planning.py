"""The environment of one problem: it is posed, planned, possibly disrupted, and planned again."""

from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Infeasible
from mesocosm.benchmarks.builtin.realm.problems import HIDDEN
from mesocosm.benchmarks.builtin.realm.referee import Referee
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import Message
from mesocosm.core.ports import Observation, Step
from mesocosm.core.turn import Turn, read_answer

FIRST = "first"
REVISED = "revised"
KEPT_CHARACTERS = 60_000


def posed(referee: Referee) -> str:
    """Return the prompt of a problem: its rules, its data, and the form of an answer."""
    family = referee.problem.family
    data = msgspec.json.format(msgspec.json.encode(hidden(referee.case.posed)), indent=1).decode()
    return (
        f"{family.rules}\n\nThe problem:\n{data}\n\n"
        f"Answer with one JSON object of this form and nothing else (names and numbers here are examples):\n"
        f"{family.example}"
    )


def hidden(instance: Any) -> dict[str, Any]:
    """Return an instance as it is shown, without the fields that only a disruption sets."""
    shown: dict[str, Any] = msgspec.to_builtins(instance)
    return {name: value for name, value in shown.items() if name not in HIDDEN}


class Planning:
    """Implements core.ports.Environment. `replies` is the number of replies; spare ones are for corrections."""

    def __init__(self, referee: Referee, replies: int) -> None:
        self._referee = referee
        self._left = replies
        self._first: Any = None
        self._texts: dict[str, str] = {}

    @property
    def _disrupted(self) -> bool:
        return self._referee.case.changed is not None

    async def reset(self) -> Observation:
        """Return the problem."""
        return self._say(posed(self._referee))

    async def step(self, action: Any) -> Step:
        """Process a plan. A valid first plan may be disrupted; an invalid one may be corrected in the replies left."""
        text = read_answer(action).text[:KEPT_CHARACTERS]
        self._left -= 1
        stage = FIRST if self._first is None else REVISED
        self._texts[stage] = text
        try:
            plan = self._referee.first(text) if stage == FIRST else self._referee.revised(text, self._first)
        except Infeasible as error:
            needed = 2 if self._disrupted and stage == FIRST else 1
            if self._left < needed:
                return self._over()
            return Step(self._say(f"This plan cannot be carried out: {error}. Answer with a corrected plan."))
        if stage == REVISED or not self._disrupted:
            return self._over()
        self._first = plan
        news = self._referee.problem.family.news(self._referee.case.changed)
        return Step(
            self._say(f"{news}\n\nAnswer with the whole revised plan (what has begun included), as JSON like before.")
        )

    async def oracle(self) -> Any:
        """Return the best plan. Raises EpisodeError for an instance that is too large to solve."""
        best = self._referee.best(self._first)
        if best is None:
            raise EpisodeError(Cause.ENVIRONMENT_ERROR, "realm: the instance is too large for the exact solver")
        return best

    async def close(self) -> None:
        """Do nothing: there are no resources to release."""

    def _over(self) -> Step:
        return Step(Observation(None), terminated=True, info=dict(self._texts))

    def _say(self, text: str) -> Observation:
        return Observation(Turn((Message("user", text),), schema=self._referee.problem.family.schema).data())
