"""Adapters of frameworks that are not installed here: their own logic, over stand-ins of what they subclass."""

import gc
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from mesocosm.rollouts.sdk.clients import http_client
from mesocosm.rollouts.sdk.context import RolloutContext
from mesocosm.testing.model_server import ModelServer

PLACE = "mesocosm.rollouts.sdk.adapters"


class Agent:
    """Takes what the frameworks' agents take."""

    def __init__(self, model: Any = None, messages: Any = None, **kwargs: Any) -> None:
        self.model = model
        self.messages = messages or []
        self.kwargs = kwargs


class Model:
    """What models are subclasses of."""


class ChatCompletions(Model):
    """Asks by the client, as the OpenAI Agents SDK does."""

    def __init__(self, model: str, openai_client: Any) -> None:
        self.model = model
        self.client = openai_client

    async def get_response(self, text: str) -> str:
        reply = await self.client.chat.completions.create(
            model=self.model, messages=[{"role": "user", "content": text}]
        )
        return str(reply.choices[0].message.content)

    async def stream_response(self, text: str) -> Any:
        yield await self.get_response(text)


class OpenAIModel:
    """Keeps what Strands' model keeps."""

    def __init__(self, client_args: dict[str, Any], model_id: str, **config: Any) -> None:
        self.client_args = client_args
        self.model_id = model_id
        self.config = config


class ChatOpenAI:
    """Keeps what LangChain's model is given."""

    def __init__(self, **options: Any) -> None:
        self.options = options


def convert(messages: list[Any]) -> list[dict[str, Any]]:
    return [{"role": role, "content": text} for role, text in messages]


FRAMEWORKS: dict[str, dict[str, dict[str, Any]]] = {
    "openai_agents": {
        "agents": {"Agent": Agent, "Model": Model},
        "agents.memory": {"Session": object},
        "agents.memory.session": {"SessionABC": object},
        "agents.models": {},
        "agents.models.openai_chatcompletions": {"OpenAIChatCompletionsModel": ChatCompletions},
    },
    "strands": {
        "strands": {"Agent": Agent},
        "strands.models": {},
        "strands.models.openai": {"OpenAIModel": OpenAIModel},
    },
    "langgraph": {
        "langchain_core": {},
        "langchain_core.messages": {"convert_to_openai_messages": convert},
        "langchain_openai": {"ChatOpenAI": ChatOpenAI},
    },
}


@pytest.fixture
def adapter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Load an adapter over the stand-in of its framework."""
    name = f"{PLACE}.{request.param}"
    for framework, names in FRAMEWORKS[request.param].items():
        made = ModuleType(framework)
        made.__dict__.update(names)
        monkeypatch.setitem(sys.modules, framework, made)
    sys.modules.pop(name, None)
    # In Python 3.11 an import fails when the collector runs a finalizer that imports within it.
    gc.disable()
    try:
        module = import_module(name)
    finally:
        gc.enable()
    yield module
    sys.modules.pop(name, None)


agents = pytest.mark.parametrize("adapter", ["openai_agents"], indirect=True)
strands = pytest.mark.parametrize("adapter", ["strands"], indirect=True)
langgraph = pytest.mark.parametrize("adapter", ["langgraph"], indirect=True)


@pytest.mark.parametrize("name", list(FRAMEWORKS))
def test_a_missing_framework_is_named_with_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in FRAMEWORKS[name]:
        monkeypatch.setitem(sys.modules, module, None)
    sys.modules.pop(f"{PLACE}.{name}", None)
    with pytest.raises(ModuleNotFoundError, match="pip install"):
        import_module(f"{PLACE}.{name}")


@agents
async def test_an_agent_asks_the_rollouts_model_and_its_session_is_the_sample(adapter: Any) -> None:
    placeholder = adapter.OsmosisRolloutModel(model="openai/osmosis-rollout")
    async with ModelServer("four") as server:
        with RolloutContext(server.openai_url, "key") as context:
            agent = adapter.OsmosisAgent(name="a", model=placeholder)
            session = adapter.OsmosisMemorySession()
            said = await agent.model.get_response("2+2?")
            streamed = [event async for event in agent.model.stream_response("2+2?")]
            await session.add_items([{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": said}])
            sample = await context.get_sample()
    assert agent.kwargs == {"name": "a"}
    assert streamed == ["four"]
    assert server.calls[0].body["model"] == "osmosis-rollout"
    assert server.calls[0].header("authorization") == "Bearer key"
    assert sample is not None
    assert sample.messages == session.items
    assert sample.trajectory_messages == session.items


@agents
async def test_asking_without_a_session_or_a_rollout_is_refused(adapter: Any) -> None:
    agent = adapter.OsmosisAgent(model=adapter.OsmosisRolloutModel())
    with pytest.raises(RuntimeError, match="no rollout is running"):
        await agent.model.get_response("2+2?")
    with RolloutContext("http://model.test/v1", "key"), pytest.raises(RuntimeError, match="OsmosisMemorySession"):
        await agent.model.get_response("2+2?")


@agents
async def test_a_placeholder_cannot_be_asked(adapter: Any) -> None:
    with pytest.raises(NotImplementedError):
        await adapter.OsmosisRolloutModel().get_response("x")
    with pytest.raises(NotImplementedError):
        adapter.OsmosisRolloutModel().stream_response("x")


@agents
def test_another_model_is_left_in_its_place(adapter: Any) -> None:
    assert adapter.OsmosisAgent(model="gpt").model == "gpt"


@agents
async def test_a_session_keeps_items_in_order(adapter: Any) -> None:
    session = adapter.OsmosisMemorySession()
    await session.add_items([1, 2, 3])
    assert await session.get_items() == [1, 2, 3]
    assert await session.get_items(limit=2) == [2, 3]
    assert await session.get_items(limit=0) == []
    assert await session.pop_item() == 3
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None


@agents
async def test_a_session_of_another_rollout_is_refused(adapter: Any) -> None:
    session = adapter.OsmosisMemorySession()
    with RolloutContext("http://model.test/v1", "key"), pytest.raises(RuntimeError, match="outside this rollout"):
        await session.get_items()


@agents
async def test_named_sessions_are_samples_of_their_own(adapter: Any) -> None:
    with RolloutContext("http://model.test/v1", "key") as context:
        for name in ("first", "second"):
            await adapter.OsmosisMemorySession(name=name).add_items([{"role": "user", "content": name}])
        samples = await context.get_samples()
    assert {name: sample.messages[0]["content"] for name, sample in samples.items()} == {
        "first": "first",
        "second": "second",
    }


@strands
async def test_a_strands_agent_gets_the_rollouts_model_and_is_the_sample(adapter: Any) -> None:
    placeholder = adapter.OsmosisRolloutModel(params={"temperature": 0.1}, client_args={"timeout": 3})
    with RolloutContext("http://model.test/v1", "key") as context:
        agent = adapter.OsmosisStrandsAgent(
            model=placeholder, messages=[{"role": "user", "content": "2+2?"}], system_prompt="be good"
        )
        sample = await context.get_sample()
    shared = http_client("http://model.test/v1")
    assert agent.model.client_args == {
        "http_client": shared,
        "timeout": 3,
        "base_url": "http://model.test/v1",
        "api_key": "key",
    }
    assert (agent.model.model_id, agent.model.config) == ("osmosis-rollout", {"params": {"temperature": 0.1}})
    assert agent.kwargs == {"system_prompt": "be good"}
    assert sample is not None
    assert sample.messages == [{"role": "user", "content": [{"text": "2+2?"}]}]
    assert sample.trajectory_messages == [{"role": "user", "content": "2+2?"}]


@strands
def test_a_strands_placeholder_needs_a_rollout(adapter: Any) -> None:
    with pytest.raises(RuntimeError, match="no rollout is running"):
        adapter.OsmosisStrandsAgent(adapter.OsmosisRolloutModel())


@strands
def test_a_strands_agent_with_a_model_of_its_own_is_left_alone(adapter: Any) -> None:
    assert adapter.OsmosisStrandsAgent("mine").model == "mine"
    with pytest.raises(TypeError, match="by name"):
        adapter.OsmosisStrandsAgent("mine", [])


@strands
async def test_named_strands_agents_are_samples_of_their_own(adapter: Any) -> None:
    with RolloutContext("http://model.test/v1", "key") as context:
        adapter.OsmosisStrandsAgent(model="m", name="first")
        adapter.OsmosisStrandsAgent(model="m", name="second")
        assert list(await context.get_samples()) == ["first", "second"]


@langgraph
def test_a_langchain_model_is_the_rollouts(adapter: Any) -> None:
    with RolloutContext("http://model.test/v1", "key"):
        options = adapter.chat_model(temperature=0).options
    assert options == {
        "base_url": "http://model.test/v1",
        "api_key": "key",
        "model": "osmosis-rollout",
        "http_async_client": http_client("http://model.test/v1"),
        "http_client": http_client("http://model.test/v1", "OpenAI"),
        "temperature": 0,
    }


@langgraph
async def test_messages_of_langchain_are_the_sample(adapter: Any) -> None:
    with RolloutContext("http://model.test/v1", "key") as context:
        source = adapter.MessagesSampleSource([("user", "2+2?")])
        source.follow({"messages": [("user", "2+2?"), ("assistant", "four")]})
        sample = await context.get_sample()
    assert sample is not None
    assert [message["content"] for message in sample.messages] == ["2+2?", "four"]
