"""Where the model of the rollout is that this code runs in."""

from dataclasses import dataclass, field

from mesocosm.rollouts.sdk.context import CHAT_COMPLETIONS_URL_ENV, RolloutContext, get_rollout_context

MODEL = "osmosis-rollout"
"""The model's name where a framework wants one; the controller decides which model answers."""


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """An OpenAI-compatible URL before `/chat/completions`, and its key."""

    base_url: str
    api_key: str = field(repr=False)

    @property
    def root_url(self) -> str:
        """The URL without `/v1`, as clients of the Anthropic protocol want it."""
        return self.base_url.removesuffix("/v1")


def ambient_address() -> ApiAddress:
    """Return the address of the ambient rollout context, or of the environment. Raises RuntimeError without either."""
    return address_of(get_rollout_context() or RolloutContext())


def address_of(context: RolloutContext) -> ApiAddress:
    """Return the address that a context names. Raises RuntimeError when it names none."""
    if not context.chat_completions_url:
        raise RuntimeError(
            "no rollout is running here, so there is no model to talk to: make clients within AgentWorkflow.run, "
            f"or set {CHAT_COMPLETIONS_URL_ENV}"
        )
    # Clients refuse to be made without a key, though a local model may need none.
    return ApiAddress(context.chat_completions_url.rstrip("/"), context.api_key or "none")


def named(model: object) -> str:
    """Return a model's name as an OpenAI client sends it: without the provider that LiteLLM wants before it."""
    return str(model or MODEL).removeprefix("openai/")
