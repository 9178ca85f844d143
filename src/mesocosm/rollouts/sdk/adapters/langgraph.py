"""LangChain and LangGraph bound to the rollout's model.

Inside `AgentWorkflow.run`: a graph around `chat_model()`; return `chat_messages(state["messages"])`, or keep the
messages in a MessagesSampleSource, from which a workflow that fails half-way still leaves its transcript.
"""

from collections.abc import Iterable
from typing import Any

try:
    from langchain_core.messages import convert_to_openai_messages  # type: ignore[import-not-found]
    from langchain_openai import ChatOpenAI  # type: ignore[import-not-found]
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "this rollout uses LangChain, which is not installed: pip install langchain-openai", name=error.name
    ) from error

from mesocosm.rollouts.sdk.adapters.address import ambient_address, named
from mesocosm.rollouts.sdk.context import SampleSource, get_rollout_context
from mesocosm.rollouts.sdk.sample import MessageDict, RolloutSample


def chat_model(**options: Any) -> ChatOpenAI:
    """Return the rollout's model; `options` go to ChatOpenAI. Raises RuntimeError outside a rollout."""
    address = ambient_address()
    name = named(options.pop("model", None))
    return ChatOpenAI(**{"base_url": address.base_url, "api_key": address.api_key, "model": name, **options})


def chat_messages(messages: Iterable[Any]) -> list[MessageDict]:
    """Return messages of LangChain as chat messages."""
    converted: list[MessageDict] = convert_to_openai_messages(list(messages))
    return converted


class MessagesSampleSource(SampleSource):
    """Makes the sample of messages of LangChain. Made within a rollout, it is the source of its sample."""

    def __init__(self, messages: Iterable[Any] = ()) -> None:
        self.messages: list[Any] = list(messages)
        context = get_rollout_context()
        if context is not None:
            context.set_sample_source(self)

    def follow(self, state: Any) -> None:
        """Take the messages of a graph's state, as its stream of values yields it."""
        self.messages = list(state["messages"])

    async def get_sample(self) -> RolloutSample:
        """Return what there is by now."""
        return RolloutSample(messages=chat_messages(self.messages))
