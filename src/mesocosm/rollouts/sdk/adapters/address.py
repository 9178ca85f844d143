"""The address of the current rollout's model."""

from dataclasses import dataclass, field

from mesocosm.rollouts.sdk.context import CHAT_COMPLETIONS_URL_ENV, RolloutContext, get_rollout_context

MODEL = "osmosis-rollout"
"""The model's name for frameworks that require one; the controller decides which model answers."""


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """An OpenAI-compatible URL without `/chat/completions`, and its key."""

    base_url: str
    api_key: str = field(repr=False)

    @property
    def root_url(self) -> str:
        """The URL without `/v1`, as clients of the Anthropic protocol expect it."""
        return self.base_url.removesuffix("/v1")


def ambient_address() -> ApiAddress:
    """Return the address in the current rollout context or in the environment. Raises RuntimeError without either."""
    return address_of(get_rollout_context() or RolloutContext())


def address_of(context: RolloutContext) -> ApiAddress:
    """Return the address in a context. Raises RuntimeError if it has none."""
    if not context.chat_completions_url:
        raise RuntimeError(
            "no rollout is running here, so there is no model to talk to: make clients within AgentWorkflow.run, "
            f"or set {CHAT_COMPLETIONS_URL_ENV}"
        )
    # Clients cannot be created without a key, though a local model may need none.
    return ApiAddress(context.chat_completions_url.rstrip("/"), context.api_key or "none")


def named(model: object) -> str:
    """Return a model's name as OpenAI clients send it: without the prefix `openai/` for LiteLLM."""
    return str(model or MODEL).removeprefix("openai/")
