"""The contract of the environment of one episode: core.ports.Environment."""

import asyncio
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from mesocosm.core.ports import Environment, Observation, Step


class EnvironmentContract(ABC):
    """Tests of an environment."""

    @abstractmethod
    async def environment(self) -> Environment:
        """Return a new environment of one and the same task."""

    @abstractmethod
    def actions(self) -> Sequence[Any]:
        """Return actions that play an episode from its start to its end."""

    def test_it_starts_with_an_observation_that_is_json(self) -> None:
        async def start() -> Observation:
            environment = await self.environment()
            try:
                return await environment.reset()
            finally:
                await environment.close()

        observation = asyncio.run(start())
        assert isinstance(observation, Observation)
        json.dumps([observation.data, observation.info])

    def test_the_last_action_ends_the_episode_and_no_earlier_one(self) -> None:
        steps = self._play()
        assert [step.terminated or step.truncated for step in steps] == [False] * (len(steps) - 1) + [True]

    def test_steps_have_a_number_as_reward_and_json_as_data(self) -> None:
        for step in self._play():
            assert isinstance(step, Step)
            assert math.isfinite(step.reward)
            json.dumps([step.observation.data, step.info])

    def test_the_same_actions_have_the_same_results(self) -> None:
        assert self._play() == self._play()

    def test_it_can_be_closed_without_a_start_and_twice(self) -> None:
        async def close() -> None:
            environment = await self.environment()
            await environment.close()
            await environment.close()

        asyncio.run(close())

    def _play(self) -> list[Step]:
        async def play() -> list[Step]:
            environment = await self.environment()
            try:
                await environment.reset()
                return [await environment.step(action) for action in self.actions()]
            finally:
                await environment.close()

        return asyncio.run(play())
