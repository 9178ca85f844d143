"""A process that starts or resumes a run and says when it works: python runner.py DATABASE [RUN_ID]."""

import asyncio
import sys
from pathlib import Path

from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store

WORLD = f"{Path(__file__).with_name('worlds.py')}:Slow"
EPISODES = 400


class Speaker(Observer):
    """Says the id of the run as soon as it works."""

    def run_started(self, progress: Progress) -> None:
        print(progress.run.id, flush=True)


def spec() -> RunSpec:
    """What the tests run."""
    return RunSpec(
        BenchmarkRef("python", WORLD), ModelSettings("builtin/random"), selection=Selection(count=EPISODES), parallel=8
    )


async def main(database: str, run_id: str | None) -> None:
    """Work until the run is finished."""
    store = open_store(database if "://" in database else Path(database))
    try:
        if run_id is None:
            await session.run(spec(), store, [Speaker()])
        else:
            await session.resume(run_id, store, [Speaker()])
    finally:
        store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
