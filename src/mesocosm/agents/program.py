"""The agent for foreign programs, which run the whole episode and call the model themselves."""

from collections.abc import Mapping
from typing import Any

from mesocosm.core.failure import UsageError
from mesocosm.core.ports import Context

ITEM = "item"
"""Key in the metadata of a task: the task is an item that a program has already processed and that is only imported. If
its observation has an `output`, that is the program's answer.
"""


class ProgramAgent:
    """Lets the program behind the environment run the episode. Implements core.ports.Agent."""

    async def play(self, context: Context) -> None:
        """Hand the episode over to the program; import an already processed item step by step."""
        observation = await context.reset()
        if context.task.metadata.get(ITEM):
            shown = observation.data
            await context.step(shown["output"] if isinstance(shown, Mapping) and "output" in shown else shown)
            while not context.over:
                await context.step(None)
        else:
            await context.hand_over()


def open_program(options: Mapping[str, Any]) -> ProgramAgent:
    """Return the agent. Raise UsageError for any option, because it has none."""
    if options:
        raise UsageError(f"the agent 'program' has no options, but got {', '.join(options)}")
    return ProgramAgent()
