"""Finish work even if the task that waits for it is cancelled."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def to_the_end(work: Awaitable[T]) -> T:
    """Return the result of `work`. If this task is cancelled, even repeatedly (Ctrl-C), finish `work` first."""
    future = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return future.result()
    if not future.cancelled():
        future.exception()  # retrieved so that asyncio does not log it; the cancellation takes precedence
    raise cancelled
