"""One call of the rollout's model with the standard library alone."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.rollouts.sdk.context import get_rollout_context
from mesocosm.rollouts.sdk.delivery import DeliveryError, send


class CompletionError(Exception):
    """The model gave no answer. `status` is the HTTP status, 0 where none came; `body` what came with it."""

    def __init__(self, message: str, status: int = 0, body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = body


async def complete(
    messages: Sequence[Mapping[str, Any]], *, timeout_s: float = 600.0, **options: Any
) -> dict[str, Any]:
    """Return the message with which the rollout's model answers `messages`, its `tool_calls` included.

    `options` are further fields of the request: `tools`, `temperature`, `max_tokens` and the like. The address comes
    from the rollout's context, and the model behind it is the one of the run; none needs to be named. Raises
    RuntimeError outside of a rollout, CompletionError when no answer came within `timeout_s` seconds, or an error.
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
