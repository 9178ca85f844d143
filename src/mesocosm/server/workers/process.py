"""A worker as a process: signals, the end of its server, and one event loop."""

import asyncio
import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from mesocosm.server.workers.worker import work

if TYPE_CHECKING:
    from mesocosm.server.service import Service

_log = logging.getLogger(__name__)
ORPHAN_S = 15.0
"""Seconds that a worker whose server is gone has to give back what it has."""


def run_worker(service: "Service", *, once: bool = False, attached: bool = False) -> None:
    """Work until SIGTERM or SIGINT, with `once` until nothing is left, with `attached` until standard input ends."""
    asyncio.run(_run(service, once=once, attached=attached))


async def _run(service: "Service", *, once: bool, attached: bool) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if attached:
        threading.Thread(target=_until_orphaned, args=(loop, stop), name="watch over the server", daemon=True).start()
    await work(service, once=once, stop=stop, hung=_end_hung)


def _end_hung() -> None:
    """End a worker whose event loop stands still: the runs that it holds can be played by others once it is gone."""
    _log.error("this worker ends, because its event loop does not turn; its runs go on in another worker")
    os._exit(1)


def _until_orphaned(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Stop when standard input ends: it is a pipe that the server holds as long as it lives."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    # A worker that has been told to end is on its way already, and the loop may be closed.
    try:
        loop.call_soon_threadsafe(stop.set)
    except RuntimeError:
        return
    # Nobody would notice a worker that hangs; what it has goes to the next one.
    threading.Event().wait(ORPHAN_S)
    os._exit(1)
