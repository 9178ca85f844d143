"""Rollouts: an AgentWorkflow and a Grader, evaluated on the rows of a dataset.

The names of the SDK are available here too, each loaded on first use.
"""

from typing import TYPE_CHECKING, Any

from mesocosm.rollouts import sdk

if TYPE_CHECKING:
    from mesocosm.rollouts.sdk import *  # noqa: F403

__all__ = list(sdk.PLACES)


def __getattr__(name: str) -> Any:
    if name not in sdk.PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(sdk, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *sdk.PLACES})
