"""The OpenAI Agents SDK bound to the rollout's model, with a session that becomes the sample.

Inside `AgentWorkflow.run`, create an OsmosisAgent with `model=OsmosisRolloutModel()`, and call `Runner.run(agent,
prompt, session=OsmosisMemorySession())`. Return None: the session's items are the sample. The names are those of the
osmosis-ai package; calls use the framework's own chat completions client, not LiteLLM.
"""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

try:
    from agents.memory import Session  # type: ignore[import-not-found]
    from agents.memory.session import SessionABC  # type: ignore[import-not-found]
    from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel  # type: ignore[import-not-found]

    from agents import Agent, Model  # type: ignore[import-not-found]
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "this rollout uses the OpenAI Agents SDK, which is not installed: pip install openai-agents", name=error.name
    ) from error

from mesocosm.rollouts.sdk.adapters.address import named
from mesocosm.rollouts.sdk.adapters.transcript import from_responses
from mesocosm.rollouts.sdk.context import RolloutContext, SampleSource, get_rollout_context
from mesocosm.rollouts.sdk.sample import RolloutSample


class OsmosisRolloutModel(Model):  # type: ignore[misc]
    """A placeholder for the rollout's model outside of rollouts, for example in a module; OsmosisAgent replaces it.

    `kwargs` are passed on to OsmosisLitellmModel. Calling it raises NotImplementedError.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError."""
        raise NotImplementedError("OsmosisRolloutModel only stands for a model: give it to an OsmosisAgent")

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Raise NotImplementedError."""
        raise NotImplementedError("OsmosisRolloutModel only stands for a model: give it to an OsmosisAgent")


class OsmosisLitellmModel(Model):  # type: ignore[misc]
    """The model of the current rollout. Of `kwargs` only `model`, a name, is used.

    Calling it raises RuntimeError outside a rollout or without a session, because the sample would be lost.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._name = named(kwargs.get("model"))
        self._bound: tuple[RolloutContext, Any] | None = None

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model once."""
        return await self._model().get_response(*args, **kwargs)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Call the model and yield the events of the response."""
        events: AsyncIterator[Any] = self._model().stream_response(*args, **kwargs)
        return events

    def _model(self) -> Any:
        context = get_rollout_context()
        if context is None:
            raise RuntimeError("no rollout is running here: ask an OsmosisAgent within AgentWorkflow.run")
        if context.sample_source is None and not context.sample_sources:
            raise RuntimeError("nothing keeps the messages: pass session=OsmosisMemorySession() to Runner.run")
        if self._bound is None or self._bound[0] is not context:
            self._bound = context, OpenAIChatCompletionsModel(model=self._name, openai_client=context.openai())
        return self._bound[1]


class OsmosisAgent(Agent):  # type: ignore[misc]
    """An agent that uses the rollout's model if its model is an OsmosisRolloutModel."""

    def __init__(self, *args: Any, model: Any = None, **kwargs: Any) -> None:
        if isinstance(model, OsmosisRolloutModel):
            model = OsmosisLitellmModel(**model.kwargs)
        super().__init__(*args, model=model, **kwargs)


class SessionSampleSource(SampleSource):
    """Creates the sample from a session: its items, and for the trajectory the items as chat messages."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def get_sample(self) -> RolloutSample:
        """Return the current items of the session as a sample."""
        items = list(await self._session.get_items())
        return RolloutSample(messages=items, trajectory_messages=from_responses(items))


class OsmosisMemorySession(SessionABC):  # type: ignore[misc]
    """A session in memory. If it is created inside a rollout, its items are the rollout's sample.

    `name` is for older rollouts with several sessions. Using the session in another rollout than its own raises
    RuntimeError.
    """

    session_settings = None

    def __init__(self, name: str | None = None) -> None:
        self.session_id = name or uuid4().hex
        self.items: list[Any] = []
        self._context = get_rollout_context()
        if self._context is not None and name is None:
            self._context.set_sample_source(SessionSampleSource(self))
        elif self._context is not None and name is not None:
            self._context.register_sample_source(name, SessionSampleSource(self))

    def _check(self) -> None:
        here = get_rollout_context()
        if here is not None and here is not self._context:
            raise RuntimeError("this session was made outside this rollout: make it within AgentWorkflow.run")

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the items, or the last `limit` of them."""
        self._check()
        return list(self.items if limit is None else self.items[max(0, len(self.items) - limit) :])

    async def add_items(self, items: list[Any]) -> None:
        """Append items."""
        self._check()
        self.items.extend(items)

    async def pop_item(self) -> Any:
        """Remove and return the last item, or None if there is none."""
        self._check()
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        """Remove all items."""
        self._check()
        self.items.clear()
