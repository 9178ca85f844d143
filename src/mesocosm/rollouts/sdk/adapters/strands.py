"""Strands agents bound to the rollout's model; an agent's messages become the sample.

Inside `AgentWorkflow.run`, create an OsmosisStrandsAgent with `model=OsmosisRolloutModel()`. Return None: the agent's
messages are the sample. The names are those of the osmosis-ai package; calls use Strands' OpenAI model, not LiteLLM.
"""

from typing import Any

try:
    from strands import Agent  # type: ignore[import-not-found]
    from strands.models.openai import OpenAIModel  # type: ignore[import-not-found]
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'this rollout uses Strands, which is not installed: pip install "strands-agents[openai]"', name=error.name
    ) from error

from mesocosm.rollouts.sdk.adapters.address import named
from mesocosm.rollouts.sdk.adapters.transcript import from_blocks, to_blocks
from mesocosm.rollouts.sdk.clients import http_client
from mesocosm.rollouts.sdk.context import RolloutContext, SampleSource, get_rollout_context
from mesocosm.rollouts.sdk.sample import MessageDict, RolloutSample


class OsmosisRolloutModel(OpenAIModel):  # type: ignore[misc]
    """A placeholder for the rollout's model outside of rollouts, as in a module; OsmosisStrandsAgent replaces it.

    `kwargs` are those of Strands' model: `params` with temperature, top_p, max_tokens, and `client_args`.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs
        self.config = {"model_id": named(kwargs.get("model_id")), **kwargs}


def bound_model(placeholder: OsmosisRolloutModel, context: RolloutContext) -> OpenAIModel:
    """Return the model that replaces a placeholder. Raises RuntimeError if the context has no address."""
    url, key = context.model_address()
    kwargs = dict(placeholder.kwargs)
    # Strands makes a client for each request. It may do so on another event loop than this one.
    client = {
        "http_client": http_client(url),
        **(kwargs.pop("client_args", None) or {}),
        "base_url": url,
        "api_key": key,
    }
    name = named(kwargs.pop("model_id", None))
    return OpenAIModel(client_args=client, model_id=name, **kwargs)


class OsmosisStrandsAgent(Agent):  # type: ignore[misc]
    """An agent that uses the rollout's model if its model is an OsmosisRolloutModel; its messages are the sample.

    Text content of `messages` is converted to blocks. Raises RuntimeError for a placeholder outside a rollout.
    """

    def __init__(self, *args: Any, messages: list[MessageDict] | None = None, model: Any = None, **kwargs: Any) -> None:
        if args:
            model, *rest = args
            if rest:
                raise TypeError("an OsmosisStrandsAgent takes all its arguments but the model by name")
        context = get_rollout_context()
        if isinstance(model, OsmosisRolloutModel):
            if context is None:
                raise RuntimeError("no rollout is running here: make an OsmosisStrandsAgent within AgentWorkflow.run")
            model = bound_model(model, context)
        super().__init__(model=model, messages=to_blocks(messages) if messages is not None else None, **kwargs)
        if context is not None:
            _register(context, kwargs.get("name"), StrandsAgentSampleSource(self))


def _register(context: RolloutContext, name: str | None, source: SampleSource) -> None:
    """Register a sample source; older rollouts name their agents, and may have several."""
    if name is None:
        context.set_sample_source(source)
    else:
        context.register_sample_source(name, source)


class StrandsAgentSampleSource(SampleSource):
    """Creates the sample from an agent: its messages, and for the trajectory the same as chat messages."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def get_sample(self) -> RolloutSample:
        """Return the agent's current messages as a sample."""
        messages = list(self._agent.messages)
        return RolloutSample(messages=messages, trajectory_messages=from_blocks(messages))
