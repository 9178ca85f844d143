"""Call the rollout's model once, with the standard library only."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.rollouts.sdk.context import get_rollout_context
from mesocosm.rollouts.sdk.delivery import DeliveryError, send


class CompletionError(Exception):
    """The model did not answer. `status` is the HTTP status, 0 without a response; `body` is the response's body."""

    def __init__(self, message: str, status: int = 0, body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = body


async def complete(
    messages: Sequence[Mapping[str, Any]], *, timeout_s: float = 600.0, **options: Any
) -> dict[str, Any]:
    """Return the message with which the rollout's model answers `messages`, including its `tool_calls`.

    `options` are further fields of the request: `tools`, `temperature`, `max_tokens` and so on. The address comes from
    the rollout's context; the run chooses the model, so no name is needed. Raises RuntimeError outside of a rollout,
    CompletionError for an error response, or without a response within `timeout_s` seconds.
    """
    context = get_rollout_context()
    if context is None or not context.chat_completions_url:
        raise RuntimeError("complete() works inside of AgentWorkflow.run only: there the run says where its model is")
    url = f"{context.chat_completions_url.rstrip('/')}/chat/completions"
    body = json.dumps({"messages": list(messages), **options}).encode()
    try:
        reply = await send(url, body, {"Authorization": f"Bearer {context.api_key or ''}"}, seconds=timeout_s)
    except DeliveryError as error:
        raise CompletionError(f"the model gave no answer: {error}") from error
    if reply.status >= 300:
        text = reply.body.decode(errors="replace")
        raise CompletionError(f"the model answered {reply.status}: {text[:500]}", reply.status, text)
    return _message(reply.body)


def _message(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)["choices"][0]["message"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        text = body.decode(errors="replace")
        raise CompletionError(f"the model answered without a message: {text[:500]}", 200, text) from error
    if not isinstance(message, dict):
        raise CompletionError(
            "the model answered with a message that is not an object", 200, body.decode(errors="replace")
        )
    return message
