"""The model that graders may call."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mesocosm.rollouts.sdk import clients
from mesocosm.rollouts.sdk.delivery import DeliveryError, send

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

PATIENCE_S = 300.0
"""Seconds without an answer after which a judge has failed. The grader's own deadline is usually earlier."""


class JudgeError(Exception):
    """The judge did not answer; `status` is the HTTP status, if there was a response."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Judge:
    """A model at an OpenAI-compatible address: the URL without `/chat/completions`, the key, the model's name."""

    base_url: str
    api_key: str = field(repr=False)
    model: str

    async def ask(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 1024,
    ) -> str:
        """Return the judge's answer to a prompt or to messages.

        With a JSON schema the answer is requested as JSON of that form, but not checked. A temperature or limit of None
        leaves the choice to the server. Raises JudgeError.
        """
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(m) for m in prompt]
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        if temperature is not None:
            body["temperature"] = temperature
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        if schema is not None:
            form = {"name": "answer", "schema": dict(schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return self._text(await self._post(body))

    def openai(self) -> "AsyncOpenAI":
        """Return an AsyncOpenAI client for the judge; see RolloutContext.openai."""
        return clients.openai(self.base_url, self.api_key)

    def sync_openai(self) -> "OpenAI":
        """Return a blocking OpenAI client for the judge."""
        return clients.sync_openai(self.base_url, self.api_key)

    async def _post(self, body: Mapping[str, Any]) -> bytes:
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        headers = {"Authorization": f"Bearer {self.api_key}"}
        try:
            reply = await send(url, json.dumps(body).encode(), headers, seconds=PATIENCE_S)
        except DeliveryError as error:
            raise JudgeError(f"judge {self.model!r} at {self.base_url} cannot be reached: {error}") from error
        if reply.status >= 300:
            said = reply.body[:2000].decode(errors="replace")
            raise JudgeError(f"judge {self.model!r} answered {reply.status}: {said}", reply.status)
        return reply.body

    def _text(self, reply: bytes) -> str:
        try:
            choice = json.loads(reply)["choices"][0]
            text = choice["message"]["content"]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            shown = reply[:300].decode(errors="replace")
            raise JudgeError(f"judge {self.model!r} answered what is not a chat completion: {shown}") from error
        if not isinstance(text, str) or not text:
            reason = choice.get("finish_reason")
            raise JudgeError(f"judge {self.model!r} answered without text (finish reason: {reason}); raise max_tokens?")
        return text
