"""Play a run in this process until its end: DATABASE, EXECUTOR, WORLD, COUNT, and the id of a run to resume."""

import asyncio
import sys
from pathlib import Path

from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store

WORLDS = Path(__file__).with_name("worlds.py")


async def main() -> None:
    """Start or resume, and print how it ended."""
    database, executor, world, count, *resumed = sys.argv[1:]
    store = open_store(database)
    options = session.SessionOptions(executor=executor)
    if resumed:
        run = await session.resume(resumed[0], store, settings=options)
    else:
        ref = BenchmarkRef("python", f"{WORLDS}:{world}")
        spec = RunSpec(ref, ModelSettings("builtin/random"), selection=Selection(count=int(count)), parallel=6)
        run = await session.run(spec, store, settings=options)
    print(run.status)


if __name__ == "__main__":
    asyncio.run(main())
