"""The contract of a technique: agents.technique.Technique."""

import asyncio
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import pytest

from mesocosm.agents.technique import Technique, ToolRefusal, check_params
from mesocosm.core.failure import UsageError
from mesocosm.core.message import ToolCall
from mesocosm.core.model import ModelReply, Tool
from mesocosm.core.ports import Observation
from mesocosm.testing.context import MemoryContext, ScriptedEnvironment


class TechniqueContract(ABC):
    """Tests of a technique."""

    params: ClassVar[dict[str, Any]] = {}
    """Parameters to test it with, besides its defaults."""

    @abstractmethod
    def technique(self) -> type[Technique]:
        """Return the class."""

    def context(self) -> MemoryContext:
        """Return the context of an episode in which the technique can be used."""
        return MemoryContext(ScriptedEnvironment("Choose.", "Done."), action_space={"type": "discrete", "n": 10})

    def start(self) -> Technique:
        """Return an instance for an episode."""
        technique = self.technique()
        return technique(check_params(technique.id, technique, self.params))

    def test_every_parameter_has_a_default(self) -> None:
        technique = self.technique()
        assert isinstance(technique.parameters(), technique.parameters)

    def test_a_parameter_that_it_does_not_have_is_refused(self) -> None:
        technique = self.technique()
        with pytest.raises(UsageError, match="no_such_parameter"):
            check_params(technique.id, technique, {"no_such_parameter": 1})

    def test_its_tools_have_different_names_and_take_objects(self) -> None:
        tools = self.start().tools()
        assert all(isinstance(tool, Tool) for tool in tools)
        assert len({tool.name for tool in tools}) == len(tools)
        assert all(tool.parameters.get("type", "object") == "object" for tool in tools)

    def test_a_call_of_a_tool_that_it_does_not_offer_is_refused(self) -> None:
        async def call() -> object:
            technique, context = self.start(), self.context()
            await technique.on_start(context)
            return await technique.call(ToolCall("call-0", "no_such_tool", {}), context)

        assert isinstance(asyncio.run(call()), ToolRefusal)

    def test_its_hooks_go_through_an_episode_and_write_text(self) -> None:
        self._episode(self.start())

    def test_two_episodes_share_nothing(self) -> None:
        first, second = self.start(), self.start()
        before = self._episode(first)
        assert self._episode(second) == before

    def _episode(self, technique: Technique) -> list[dict[str, str]]:
        """Return the sections of each step of an episode."""
        context, written = self.context(), []

        async def play() -> None:
            await technique.on_start(context)
            observation: Observation = await context.reset()
            number = 0
            while not context.over:
                number += 1
                role = technique.role(observation, observation.info)
                sections = dict(technique.sections(observation, number, role))
                assert isinstance(technique.role_prompt(role), str)
                assert all(isinstance(text, str) for text in (*sections, *sections.values()))
                written.append(sections)
                await technique.after_reply(ModelReply('{"action": 3}'), role)
                step = await context.step(3, role=role)
                await technique.after_step(3, step, number, role)
                observation = step.observation
            await technique.on_end(context)

        asyncio.run(play())
        return written
