"""What the author of an environment writes against: subclass `BaseEnv`, answer every step with a `StepResult`.

Standard library only, so that importing an environment costs nothing.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any


@dataclass
class StepResult:
    """What one action led to.

    `observation` and `info` hold anything that JSON can express, and also dataclasses, tuples, sets, numpy
    values and bytes (sent as base64). `reward` is one finite number. `terminated` says that the episode reached
    an end of its own, `truncated` that it was cut off. A `system_prompt` replaces the one given before.
    `content_type` is the media type of `observation`, for example `image/png` for base64 text of a picture.
    """

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any] = field(default_factory=dict)
    system_prompt: str | None = None
    content_type: str = "application/json"


class BaseEnv(ABC):
    """One episode of an environment; the server makes a fresh instance for each.

    Calls of one instance never overlap, but they may come from different threads, and other instances may run
    at the same time: keep the state of an episode on `self`, never in module globals or class attributes.
    `reset`, `step`, `close`, `render` and `oracle` may also be coroutine functions; the server awaits them.
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
        """Carry out one action, already passed through `parse_action`."""

    def parse_action(self, action: Any) -> Any:
        """Turn what the agent sent into what `step` expects; by default it stays as it is."""
        return action

    def close(self) -> None:
        """Release what the episode holds; called once at its end."""
        return

    def render(self, mode: str = "text") -> Any:
        """Return a view for people; `mode` is up to the environment."""
        return {}

    def oracle(self) -> Any:
        """Return an optimal, or nearly optimal, action for the present state, without changing it.

        Optional: an environment that overrides it gives every benchmark run on it a known ceiling.

        Raises:
            NotImplementedError: the environment offers no oracle.
        """
        raise NotImplementedError(f"{type(self).__name__} offers no oracle")
