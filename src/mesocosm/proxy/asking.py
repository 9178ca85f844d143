"""Calls that go through the engine, because the run's model is not behind the same API."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.model import ModelName, ModelRequest, ModelSettings
from mesocosm.core.proxy import GONE, JUDGE, Forwarded, ModelRecorder
from mesocosm.http import sse
from mesocosm.proxy.api import Api, Asked, MalformedRequest
from mesocosm.proxy.server import JSON, ProxyReply

_encode = msgspec.json.Encoder().encode

FINAL = {**JSON, "x-should-retry": "false"}
"""Headers of an error that a retry cannot fix; common clients respect them."""

_STATUS = {
    Cause.RATE_LIMITED: 429,
    Cause.MODEL_TIMEOUT: 504,
    Cause.MODEL_REJECTED: 400,
    Cause.MODEL_FORBIDDEN: 403,
    Cause.MODEL_MISSING: 404,
    Cause.CONTEXT_OVERFLOW: 400,
    Cause.REFUSED: 400,
    Cause.BUDGET: 403,
}
CODES = {
    Cause.BUDGET: "budget_exceeded",
    Cause.CONTEXT_OVERFLOW: "context_length_exceeded",
    Cause.REFUSED: "content_filter",
}
"""What an error is called by its cause, in words that clients of OpenAI know."""


async def answer(api: Api, asked: Asked, recorder: ModelRecorder, settings: ModelSettings, reply: ProxyReply) -> None:
    """Call the model and answer in the format of `api`. Raises ClientDisconnected, MalformedRequest."""
    if asked.unportable:
        raise MalformedRequest(
            f"the run's model {settings.name} is asked in its own way and cannot be given {', '.join(asked.unportable)}"
        )
    request = api.ask(asked, settings)
    if recorder.role != JUDGE:
        request = of_run(request, settings)
    call = replace(asked.call, sent=_sent(request, settings))
    started = time.perf_counter()

    def failed(status: int, error: str, cause: Cause | None = None) -> None:
        recorder.forwarded(Forwarded(call, request.messages, None, status, error, time.perf_counter() - started, cause))

    try:
        said = await recorder.ask(request, call)
    except EpisodeError as error:
        # The engine has already retried what can be retried, and has recorded the call that exceeded a budget.
        status = _STATUS.get(error.cause, 502)
        if error.cause is not Cause.BUDGET:
            failed(status, str(error), error.cause)
        await reply.send(status, _encode(api.error(status, str(error), CODES.get(error.cause, ""))), FINAL)
        return
    except asyncio.CancelledError:
        failed(GONE, "the program closed the connection")
        raise
    if not asked.call.streamed:
        await reply.send(200, _encode(api.answer(said, asked)))
        return
    await reply.start(200, sse.HEADERS)
    for event in api.events(said, asked):
        await reply.write(event)
    await reply.end()


def of_run(request: ModelRequest, settings: ModelSettings) -> ModelRequest:
    """Return a request with the settings of the run's model; the program's own apply where the run has none."""
    return replace(
        request,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        top_p=request.top_p if settings.top_p is None else settings.top_p,
        # The model itself adds its extra settings, and those of a request would override them.
        extra={name: value for name, value in request.extra.items() if name not in settings.extra},
    )


def _sent(request: ModelRequest, settings: ModelSettings) -> Mapping[str, Any]:
    sent = {
        "model": ModelName.parse(settings.name).model,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
    }
    if request.top_p is not None:
        sent["top_p"] = request.top_p
    return sent | settings.extra
