"""A process that helps all runs of a database: `python -m tests.engine.executors.helping URL`.

It says when it is ready, and ends if the database cannot be opened.
"""

import asyncio
import sys

from mesocosm.core.failure import InfrastructureError
from mesocosm.engine.executors.queue import help_run
from mesocosm.store import open_store

LEASE_S = 4.0
"""So that tests soon notice that a helper was killed."""


async def _help(url: str) -> None:
    try:
        store = open_store(url, create=False)
    except InfrastructureError:
        return  # the database is restarting; who started this process starts another one
    bell = store.seats.bell()
    print("ready", flush=True)
    while True:
        seat = await asyncio.to_thread(store.seats.take, "helper", LEASE_S)
        if seat is not None:
            await help_run(store.seats, seat, lease_s=LEASE_S, poll_s=0.5)
        else:
            await asyncio.to_thread(bell.wait, 0.5)


if __name__ == "__main__":
    asyncio.run(_help(sys.argv[1]))
