"""One call of the rollout's model with the standard library alone."""

import asyncio
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from mesocosm.rollouts.sdk.context import get_rollout_context

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


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
    request = urllib.request.Request(  # noqa: S310 -- the address that the run itself gave
        f"{context.chat_completions_url.rstrip('/')}/chat/completions",
        json.dumps({"messages": list(messages), **options}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {context.api_key or ''}"},
    )
    return _message(await _in_thread(request, timeout_s))


async def _in_thread(request: urllib.request.Request, timeout_s: float) -> bytes:
    """Send `request` on a new thread: the shared pool has few, and waiting for them would limit the rollouts."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes] = loop.create_future()

    def settle(body: bytes, error: Exception | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(body)
        else:
            answer.set_exception(error)

    def work() -> None:
        body, error = b"", None
        try:
            body = _send(request, timeout_s)
        except Exception as failure:  # noqa: BLE001 -- it belongs to whoever awaits the answer
            error = failure
        # The rollout was abandoned together with its loop, so this answer has no reader.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, body, error)

    threading.Thread(target=work, name="completion", daemon=True).start()
    return await answer


def _send(request: urllib.request.Request, timeout_s: float) -> bytes:
    # A proxy of the machine cannot reach addresses on this machine itself.
    direct = [urllib.request.ProxyHandler({})] if urlsplit(request.full_url).hostname in _LOOPBACK else []
    try:
        with urllib.request.build_opener(*direct).open(request, timeout=timeout_s) as response:
            body: bytes = response.read()
            return body
    except urllib.error.HTTPError as error:
        with error:
            text = error.read().decode(errors="replace")
        raise CompletionError(f"the model answered {error.code}: {text[:500]}", error.code, text) from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise CompletionError(
            f"the model at {request.host} gave no answer: {reason or type(error).__name__}"
        ) from error


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
