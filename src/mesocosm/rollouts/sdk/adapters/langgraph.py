"""LangChain and LangGraph bound to the rollout's model.

Inside `AgentWorkflow.run`, build a graph around `chat_model()`. Return `chat_messages(state["messages"])`, or keep the
messages in a MessagesSampleSource, so that a workflow that fails still leaves its transcript.
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

from mesocosm.rollouts.sdk.adapters.address import ambient_context, named
from mesocosm.rollouts.sdk.clients import http_client
from mesocosm.rollouts.sdk.context import SampleSource, get_rollout_context
from mesocosm.rollouts.sdk.sample import MessageDict, RolloutSample


def chat_model(**options: Any) -> ChatOpenAI:
    """Return the rollout's model; `options` are passed to ChatOpenAI. Raises RuntimeError outside a rollout."""
    url, key = ambient_context().model_address()
    return ChatOpenAI(
        **{
            "base_url": url,
            "api_key": key,
            "model": named(options.pop("model", None)),
            "http_async_client": http_client(url),
            "http_client": http_client(url, "OpenAI"),
            **options,
        }
    )


def chat_messages(messages: Iterable[Any]) -> list[MessageDict]:
    """Convert LangChain messages to chat messages."""
    converted: list[MessageDict] = convert_to_openai_messages(list(messages))
    return converted


class MessagesSampleSource(SampleSource):
    """Creates the sample from LangChain messages. Inside a rollout it registers itself as the sample source."""

    def __init__(self, messages: Iterable[Any] = ()) -> None:
        self.messages: list[Any] = list(messages)
        context = get_rollout_context()
        if context is not None:
            context.set_sample_source(self)

    def follow(self, state: Any) -> None:
        """Store the messages of a graph's state, as its stream of values yields it."""
        self.messages = list(state["messages"])

    async def get_sample(self) -> RolloutSample:
        """Return the current sample."""
        return RolloutSample(messages=chat_messages(self.messages))
