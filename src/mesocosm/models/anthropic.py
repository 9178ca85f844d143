"""Anthropic's models: asked through LiteLLM, and reachable for programs that speak Anthropic's own protocol."""

import os
from collections.abc import Mapping
from typing import Any

from mesocosm.core.failure import EpisodeError
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.proxy import Upstream
from mesocosm.core.usage import Usage
from mesocosm.models import chat
from mesocosm.models.endpoint import check_url, configured, takes_key_of, without_credentials
from mesocosm.models.litellm import LiteLLMModel
from mesocosm.models.refusal import RefusalContext, words

PUBLIC = "https://api.anthropic.com"
KEY = "ANTHROPIC_API_KEY"


class AnthropicModel(LiteLLMModel):
    """One model of Anthropic, or of a server that speaks its protocol. Implements core.proxy.Reachable."""

    def __init__(self, name: ModelName, settings: ModelSettings) -> None:
        super().__init__(name, settings)
        url = (name.base_url or configured("anthropic") or PUBLIC).rstrip("/")
        check_url(url, f"{name.provider}/{name.model}")
        # Clients of this protocol add the version themselves.
        root = url.removesuffix("/messages").removesuffix("/v1")
        key = self._key or (os.environ.get(KEY, "").strip() if takes_key_of(url, "anthropic", PUBLIC) else "")
        key = "" if key == "none" else key
        self._upstream = Upstream("anthropic", root, key, self._route.partition("/")[2])

    @property
    def upstream(self) -> Upstream:
        """Where programs' calls are passed on to."""
        return self._upstream

    def priced(self, usage: Usage) -> Usage:
        """Return `usage` with its cost, None when the price is unknown."""
        return chat.priced(usage, self._price)

    def adapt(self, settings: dict[str, Any]) -> None:
        """Remove the settings of a program's request that the server does not take."""
        self._concessions.apply(settings)

    def concedes(self, status: int, answer: bytes, settings: dict[str, Any]) -> bool:
        """Return whether the server refused one of `settings`, which is removed from now on."""
        return self._concessions.make(status, words(answer), settings)

    def refusal(
        self, path: str, status: int, headers: Mapping[str, str], answer: bytes, max_tokens: int
    ) -> EpisodeError:
        """Return the failure that an answer other than 200 to a program stands for."""
        url = without_credentials(f"{self._upstream.base_url}/v1{path}")
        return RefusalContext(self.name, url, status, words(answer), headers.get, max_tokens, (KEY,)).error()
