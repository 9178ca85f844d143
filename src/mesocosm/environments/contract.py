"""The declared spaces of an environment, held against what really goes in and out."""

from dataclasses import dataclass
from typing import Any

from mesocosm.core.space import Space, deviations

NAMED = 3
"""Deviations of one value that are named; an author who mends three sees the next ones in the next run."""


@dataclass(frozen=True, slots=True)
class Contract:
    """What a binding vow says about observations and actions; None where nothing is declared.

    Deviations never fail an episode: they come back as notes, the same words for the same mistake.
    """

    observation: Space | None = None
    action: Space | None = None

    def observed(self, data: Any) -> tuple[str, ...]:
        """Return how an observation differs from the declared observation space."""
        return _notes("observation", self.observation, data)

    def acted(self, action: Any) -> tuple[str, ...]:
        """Return how an action differs from the declared action space."""
        return _notes("action", self.action, action)


def _notes(what: str, space: Space | None, value: Any) -> tuple[str, ...]:
    if space is None:
        return ()
    lead = f"an {what} is outside the declared {what} space: "
    return tuple(lead + deviation for deviation in deviations(space, value, limit=NAMED))
