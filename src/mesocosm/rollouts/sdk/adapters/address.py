"""The rollout's model as frameworks are told of it."""

from mesocosm.rollouts.sdk.context import RolloutContext, get_rollout_context

MODEL = "osmosis-rollout"
"""The model's name for frameworks that require one; the controller decides which model answers."""


def ambient_context() -> RolloutContext:
    """Return the current rollout context, otherwise one with the address in the environment."""
    return get_rollout_context() or RolloutContext()


def named(model: object) -> str:
    """Return a model's name as OpenAI clients send it: without the prefix `openai/` for LiteLLM."""
    return str(model or MODEL).removeprefix("openai/")
