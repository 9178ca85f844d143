"""An agent that asks several times and takes the answer that is given most often: `--agent vote`."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from mesocosm.core.failure import UsageError
from mesocosm.core.message import Message
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Context
from mesocosm.core.turn import read_turn


def open_vote(options: Mapping[str, Any]) -> "VoteAgent":
    """Return the agent; its option is `votes`, how often it asks."""
    votes = options.get("votes", 3)
    if set(options) - {"votes"} or not isinstance(votes, int) or votes < 1:
        raise UsageError("the agent 'vote' has one option, votes, a number from 1")
    return VoteAgent(votes)


class VoteAgent:
    """Implements mesocosm.core.ports.Agent.

    One agent plays many episodes at the same time: what belongs to an episode is kept in `play`, never in `self`.
    """

    def __init__(self, votes: int = 3) -> None:
        self.votes = votes

    async def play(self, context: Context) -> None:
        """Answer until the episode is over. Failures of the model are the engine's: they are not caught."""
        messages: list[Message] = []
        observation = await context.reset()
        while not context.over:
            turn = read_turn(observation.data)
            if turn.system:
                messages.append(Message("system", turn.system))
            messages += turn.messages
            settings = context.settings
            request = ModelRequest(tuple(messages), settings.temperature, settings.max_tokens, settings.top_p)
            answers = [(await context.ask(request)).text for _ in range(self.votes)]
            ((answer, _count),) = Counter(answers).most_common(1)
            messages.append(Message("assistant", answer))
            observation = (await context.step(answer)).observation
