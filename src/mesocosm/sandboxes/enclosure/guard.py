"""Ends a program as soon as something is too much."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from mesocosm.sandboxes.process import ForeignProcess

Watch = Coroutine[Any, Any, str]
"""Returns in words what was too much."""


async def guard(process: ForeignProcess, watches: Sequence[Watch], tell: Callable[[str], None]) -> None:
    """Wait until the program ends; when a watch returns before, `tell` its words and end the program.

    Everything that the program started is gone on return.
    """
    ended = asyncio.ensure_future(process.wait())
    watching = [asyncio.ensure_future(watch) for watch in watches]
    try:
        done, _ = await asyncio.wait({ended, *watching}, return_when=asyncio.FIRST_COMPLETED)
        if ended not in done:
            tell(next(task.result() for task in watching if task.done()))
    finally:
        ended.cancel()
        for task in watching:
            task.cancel()
        await asyncio.gather(ended, *watching, return_exceptions=True)
        await process.stop(grace=0)
