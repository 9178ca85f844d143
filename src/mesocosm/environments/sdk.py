"""The API for authors of environments: subclass `BaseEnv` and return a `StepResult` from every step.

Uses the standard library only, so that importing an environment is fast.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any


@dataclass
class StepResult:
    """The result of one action.

    `observation` and `info` may contain any JSON value, and also dataclasses, tuples, sets, numpy values and bytes
    (sent as base64). `reward` is one finite number. `terminated` means that the episode reached its end, `truncated`
    that it was cut off. A `system_prompt` replaces the previous one. `content_type` is the media type of `observation`,
    for example `image/png` for an image as base64 text.

    >>> StepResult("you win", reward=1.0, terminated=True).truncated
    False
    """

    observation: Any
    reward: float
    terminated: bool
    truncated: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    system_prompt: str | None = None
    content_type: str = "application/json"


class BaseEnv(ABC):
    """One episode of an environment; the server creates a new instance for each.

    Calls of one instance never overlap, but they may come from different threads, and other instances may run
    at the same time: keep the state of an episode in `self`, never in module globals or class attributes.
    `reset`, `step`, `close`, `render` and `oracle` may also be coroutine functions; the server awaits them.

    >>> class Once(Environment):
    ...     def reset(self, seed=None, **params):
    ...         return "Say yes."
    ...     def step(self, action):
    ...         return StepResult("", float(action == "yes"), terminated=True)
    ...     def oracle(self):
    ...         return "yes"
    >>> evaluate(Once, model="builtin/oracle", limit=3).score
    1.0000 n=3/3
    """

    @abstractmethod
    def reset(self, seed: int | None = None, **params: Any) -> Any:
        """Start the episode and return its first observation.

        Return either the observation itself, or `{"data": observation, "content_type": …, "system_prompt": …}` with
        at least one of the last two, or `{"data": observation, "info": {"active_role": …}}`. The same
        `seed` must give the same episode. `params` are scenario parameters.
        """

    @abstractmethod
    def step(self, action: Any) -> StepResult:
        """Apply one action, already passed through `parse_action`, and return its result."""

    def parse_action(self, action: Any) -> Any:
        """Convert the agent's action to the form that `step` expects; by default return it unchanged."""
        return action

    def close(self) -> None:
        """Release the resources of the episode; called once at its end."""
        return

    def render(self, mode: str = "text") -> Any:
        """Return a human-readable view; the environment defines the values of `mode`."""
        return {}

    def oracle(self) -> Any:
        """Return an optimal, or nearly optimal, action for the current state, without changing it.

        Optional: overriding it gives every run on this environment a known upper bound.

        Raises:
            NotImplementedError: the environment has no oracle.
        """
        raise NotImplementedError(f"{type(self).__name__} offers no oracle")
