"""The agent of foreign programs: it gives them the model and stays out of the way."""

from collections.abc import Mapping
from typing import Any

from mesocosm.core.failure import UsageError
from mesocosm.core.ports import Context

ITEM = "item"
"""In the metadata of a task: it is an item that a program has dealt with before, and only needs to be taken in. Where
what is observed of it has an `output`, that is what the program answered.
"""


class ProgramAgent:
    """Lets the program behind the environment play. Implements core.ports.Agent."""

    async def play(self, context: Context) -> None:
        """Hand the episode over; an item is taken in as the program left it, step by step where it has several."""
        observation = await context.reset()
        if context.task.metadata.get(ITEM):
            shown = observation.data
            await context.step(shown["output"] if isinstance(shown, Mapping) and "output" in shown else shown)
            while not context.over:
                await context.step(None)
        else:
            await context.hand_over()


def open_program(options: Mapping[str, Any]) -> ProgramAgent:
    """Return the agent. Raises UsageError for options, of which it has none."""
    if options:
        raise UsageError(f"the agent 'program' has no options, but got {', '.join(options)}")
    return ProgramAgent()
