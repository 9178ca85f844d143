"""The contract of a model: core.ports.Model."""

import asyncio
from abc import ABC, abstractmethod

import pytest

from mesocosm.core.failure import RULES, Boundary, EpisodeError
from mesocosm.core.message import Message
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, Tool
from mesocosm.core.ports import Model

LOOK_UP = Tool(
    "look_up",
    "Looks a word up.",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
)
OF_MODEL = {cause for cause, rule in RULES.items() if rule.boundary in {Boundary.MODEL, Boundary.AGENT}}
"""Causes that a model may give: its own, and those of what the agent asked it."""


class ModelContract(ABC):
    """Tests of a model. Its endpoint should run on this machine, or be the part of a server that you need."""

    @abstractmethod
    def model(self) -> Model:
        """Return a new model whose endpoint answers."""

    def unreachable(self) -> Model | None:
        """Return a model whose endpoint does not answer; None if yours has none."""
        return None

    def request(self) -> ModelRequest:
        """Return a request that the model answers."""
        return ModelRequest([Message("system", "Answer in one word."), Message("user", "Name a colour.")])

    def test_its_capabilities_are_known_before_it_is_asked(self) -> None:
        assert isinstance(self.model().capabilities, Capabilities)

    def test_an_endpoint_that_answers_passes_the_check(self) -> None:
        async def check() -> None:
            model = self.model()
            try:
                await model.check()
            finally:
                await model.close()

        asyncio.run(check())

    def test_a_reply_has_a_text_and_counts_its_tokens(self) -> None:
        (reply,) = self._replies(self.request())
        assert isinstance(reply, ModelReply)
        assert isinstance(reply.text, str)
        assert reply.finish_reason
        assert reply.usage.calls == 1
        assert reply.usage.prompt >= reply.usage.cached >= 0
        assert reply.usage.completion >= reply.usage.reasoning >= 0
        assert reply.usage.cost_usd is None or reply.usage.cost_usd >= 0.0

    def test_calls_at_the_same_time_are_all_answered(self) -> None:
        replies = self._replies(*[self.request() for _ in range(8)])
        assert all(isinstance(reply, ModelReply) for reply in replies)

    def test_a_request_is_not_changed(self) -> None:
        request = self.request()
        before = repr(request)
        self._replies(request)
        assert repr(request) == before

    def test_calls_of_tools_name_a_tool_that_was_offered(self) -> None:
        if not self.model().capabilities.tools:
            pytest.skip("the model has no tools")
        request = self.request()
        offering = ModelRequest(request.messages, tools=(LOOK_UP,), view=request.view)
        (reply,) = self._replies(offering)
        assert {call.name for call in reply.tool_calls} <= {LOOK_UP.name}

    def test_a_cancelled_call_ends_and_the_model_answers_the_next(self) -> None:
        async def cancel() -> None:
            model = self.model()
            try:
                task = asyncio.ensure_future(model.ask(self.request()))
                await asyncio.sleep(0)
                task.cancel()
                ended, _ = await asyncio.wait({task}, timeout=10.0)
                assert ended, "the call goes on after it was cancelled"
                assert task.cancelled() or task.exception() is None, task.exception()
                assert isinstance(await model.ask(self.request()), ModelReply)
            finally:
                await model.close()

        asyncio.run(cancel())

    def test_it_can_be_closed_twice_and_unused(self) -> None:
        async def close() -> None:
            model = self.model()
            await model.close()
            await model.close()

        asyncio.run(close())

    def test_an_endpoint_that_does_not_answer_is_a_failure_of_the_model(self) -> None:
        model = self.unreachable()
        if model is None:
            pytest.skip("the model has no endpoint")

        async def ask() -> None:
            try:
                await model.ask(self.request())
            finally:
                await model.close()

        with pytest.raises(EpisodeError) as raised:
            asyncio.run(ask())
        assert raised.value.cause in OF_MODEL
        assert str(raised.value)

    def _replies(self, *requests: ModelRequest) -> list[ModelReply]:
        async def ask() -> list[ModelReply]:
            model = self.model()
            try:
                return await asyncio.gather(*(model.ask(request) for request in requests))
            finally:
                await model.close()

        return asyncio.run(ask())
