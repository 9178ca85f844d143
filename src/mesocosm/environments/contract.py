"""Compare observations and actions with the declared spaces of an environment."""

from dataclasses import dataclass
from typing import Any

from mesocosm.core.space import Space, deviations

NAMED = 3
"""Maximum deviations named per value; after fixing three, the author sees the next ones in the next run."""


@dataclass(frozen=True, slots=True)
class Contract:
    """The spaces that a binding vow declares for observations and actions; None if undeclared.

    Deviations never fail an episode: they are returned as notes, with the same text for the same mistake.
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
