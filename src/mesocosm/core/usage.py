"""Tokens and cost."""

from collections.abc import Mapping

import msgspec

from mesocosm.core.foreign import finite


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one or more model calls, as counted by the provider.

    `cached` is the part of `prompt` read from the provider's cache, `reasoning` the part of `completion` used for
    hidden reasoning. `cost_usd` is None if any price is unknown: an unknown price never counts as 0.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    cost_usd: float | None = 0.0
    calls: int = 0

    @property
    def total(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt + self.completion

    def __add__(self, other: "Usage") -> "Usage":
        unknown = self.cost_usd is None or other.cost_usd is None
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
            None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
            self.calls + other.calls,
        )

    def charged(self, headers: Mapping[str, str]) -> "Usage":
        """Return it with the cost in US dollars that LiteLLM's proxy states in a response header, if it does."""
        cost = finite(headers.get("x-litellm-response-cost"), least=0.0)
        return self if cost is None else msgspec.structs.replace(self, cost_usd=cost)


NOTHING = Usage()
