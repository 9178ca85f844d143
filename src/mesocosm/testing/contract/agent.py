"""The contract of an agent: core.ports.Agent."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.model import ModelReply, ModelRequest
from mesocosm.core.ports import Agent, Observation
from mesocosm.testing.context import MemoryContext, Said, ScriptedEnvironment

Replies = Sequence[Said] | Callable[[ModelRequest], Said]


class CountingEnvironment(ScriptedEnvironment):
    """A scripted environment that counts how often it was started."""

    def __init__(self, *shown: Any) -> None:
        super().__init__(*shown)
        self.started: int = 0

    async def reset(self) -> Observation:
        """Start once more."""
        self.started += 1
        return await super().reset()


class AgentContract(ABC):
    """Tests of an agent in episodes in memory. Its model replies with `reply`, as often as it is asked.

    By default an episode has two choices with one number from 0 to 9 each. Override `shown`, `action_space` and `reply`
    for an agent that plays other episodes.
    """

    shown: Sequence[Any] = ("Choose a number.", "Choose another one.", "Thank you.")
    """The first observation, and the answer to each action; the last one ends the episode."""
    action_space: ClassVar[Any] = {"type": "discrete", "n": 10}
    reply: Said = '{"action": 3}'
    """What the model replies with to every request."""

    @abstractmethod
    def agent(self) -> Agent:
        """Return a new agent."""

    def context(self, replies: Replies | None = None, *, max_steps: int | None = None) -> MemoryContext:
        """Return the context of an episode."""
        said = (lambda _request: self.reply) if replies is None else replies
        environment = CountingEnvironment(*self.shown)
        return MemoryContext(environment, said, action_space=self.action_space, max_steps=max_steps)

    def test_it_plays_an_episode_to_its_end(self) -> None:
        context = self._played(self.context())
        assert context.over
        assert len(context.actions) == len(self.shown) - 1

    def test_it_starts_the_environment_once(self) -> None:
        context = self._played(self.context())
        assert isinstance(context.environment, CountingEnvironment)
        assert context.environment.started == 1

    def test_it_stops_at_the_limit_of_steps(self) -> None:
        context = self._played(self.context(max_steps=1))
        assert len(context.actions) == 1

    def test_one_agent_plays_several_episodes_at_once_and_mixes_nothing(self) -> None:
        agent = self.agent()
        alone, *together = (self.context() for _ in range(4))

        async def play() -> None:
            await self.agent().play(alone)
            await asyncio.gather(*(agent.play(context) for context in together))

        asyncio.run(play())
        for context in together:
            assert context.actions == alone.actions
            assert [request.content for request in context.requests] == [one.content for one in alone.requests]

    def test_a_failure_of_the_model_is_passed_on_unchanged(self) -> None:
        failure = EpisodeError(Cause.MODEL_UNAVAILABLE, "the server is gone")
        context = self.context([failure])
        if not self._asks():
            pytest.skip("the agent asks no model")
        with pytest.raises(EpisodeError) as raised:
            self._played(context)
        assert raised.value is failure

    def test_a_cancelled_episode_ends(self) -> None:
        if not self._asks():
            pytest.skip("the agent asks no model")

        async def cancel() -> None:
            context, asked = self.context(), asyncio.Event()

            async def never(_request: ModelRequest) -> ModelReply:
                asked.set()
                await asyncio.Event().wait()
                raise AssertionError

            context.ask = never  # type: ignore[assignment, method-assign]
            task = asyncio.ensure_future(self.agent().play(context))
            await asyncio.wait_for(asked.wait(), 10.0)
            task.cancel()
            ended, _ = await asyncio.wait({task}, timeout=10.0)
            assert ended, "the agent goes on after its episode was cancelled"
            assert task.cancelled()

        asyncio.run(cancel())

    def _played(self, context: MemoryContext) -> MemoryContext:
        asyncio.run(self.agent().play(context))
        return context

    def _asks(self) -> bool:
        return bool(self._played(self.context()).requests)
