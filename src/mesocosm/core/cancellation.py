"""Work that is not left half done when the task that waits for it is cancelled."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def to_the_end(work: Awaitable[T]) -> T:
    """Return the result of `work`; cancelled, even repeatedly, this task lets it end first. Ctrl-C comes twice."""
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
        future.exception()  # looked at, lest asyncio complain; the cancellation goes first
    raise cancelled
