"""A model for rollouts through LiteLLM, or at an OpenAI-compatible address if LiteLLM is not installed.

Requests are passed on with the model's name replaced; replies are returned unchanged, streamed on request.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from types import ModuleType
from typing import Any

from mesocosm.rollouts.sdk.delivery import DeliveryError, send

ANSWER_S = 600.0
"""Time limit of one completion in seconds."""


class BridgeError(Exception):
    """The model did not answer."""


class LiteLLMBridge:
    """Answers chat completions with one model, regardless of the model that a rollout names.

    `model` is LiteLLM's name for it (`openai/gpt-4o`). With `api_base` and without LiteLLM, completions are requested
    there directly. `tokens` counts the tokens of each rollout.
    """

    def __init__(
        self, *, model: str, api_key: str | None = None, api_base: str | None = None, retries: int = 3
    ) -> None:
        self.model = model
        self.tokens: Counter[str] = Counter()
        self._key = api_key
        self._base = api_base
        self._retries = retries

    async def complete(self, rollout_id: str, body: Mapping[str, Any]) -> bytes:
        """Return the JSON of a completion. Raises BridgeError."""
        litellm = installed_litellm()
        if litellm is None:
            reply = await self._post({**body, "stream": False})
            self._count(rollout_id, json.loads(reply))
            return reply
        try:
            answer = await litellm.acompletion(**self._arguments(body, stream=False))
        except Exception as error:
            raise BridgeError(f"{type(error).__name__}: {error}") from error
        said: dict[str, Any] = answer.model_dump(mode="json", exclude_none=True)
        self._count(rollout_id, said)
        return json.dumps(said).encode()

    async def stream(self, rollout_id: str, body: Mapping[str, Any]) -> AsyncIterator[bytes]:
        """Yield server-sent events of a completion. Raises BridgeError."""
        litellm = installed_litellm()
        if litellm is None:
            yield await self._post({**body, "stream": True})
            return
        try:
            chunks = await litellm.acompletion(**self._arguments(body, stream=True))
            async for chunk in chunks:
                said: dict[str, Any] = chunk.model_dump(mode="json", exclude_none=True)
                self._count(rollout_id, said)
                yield f"data: {json.dumps(said)}\n\n".encode()
        except Exception as error:
            raise BridgeError(f"{type(error).__name__}: {error}") from error
        yield b"data: [DONE]\n\n"

    def _arguments(self, body: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
        ours = {"model": self.model, "api_key": self._key, "api_base": self._base, "num_retries": self._retries}
        return {**body, **ours, "stream": stream, "drop_params": True}

    async def _post(self, body: Mapping[str, Any]) -> bytes:
        if self._base is None:
            raise BridgeError("LiteLLM is not installed (pip install litellm), and no api_base was given to do without")
        url = f"{self._base.rstrip('/')}/chat/completions"
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        asked = json.dumps({**body, "model": self.model.removeprefix("openai/")}).encode()
        try:
            reply = await send(url, asked, headers, seconds=ANSWER_S)
        except DeliveryError as error:
            raise BridgeError(str(error)) from error
        if reply.status >= 300:
            raise BridgeError(f"{url} answered {reply.status}: {reply.body[:500].decode('utf-8', 'replace')}")
        return reply.body

    def _count(self, rollout_id: str, said: object) -> None:
        usage = said.get("usage") if isinstance(said, Mapping) else None
        total = usage.get("total_tokens") if isinstance(usage, Mapping) else None
        if isinstance(total, int):
            self.tokens[rollout_id] += total


def installed_litellm() -> ModuleType | None:
    """Return the litellm module, or None if it is not installed."""
    try:
        import litellm
    except ModuleNotFoundError:
        return None
    module: ModuleType = litellm
    return module
