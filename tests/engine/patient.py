"""A process that runs four episodes and waits in the second for a line: python patient.py DATABASE GAMES."""

import asyncio
import sys

from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Observer, Progress
from mesocosm.core.registry import MODELS
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store


class Patient:
    """A model that waits for a line of standard input in the episode of seed 1."""

    capabilities = Capabilities()

    async def check(self) -> None:
        """It can always answer."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        """End the walk, sooner or later."""
        if request.view is not None and request.view.seed == 1:
            print("waiting", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
        return ModelReply("end")

    async def close(self) -> None:
        """It holds nothing."""


class Speaker(Observer):
    """Says the id of the run as soon as it works."""

    def run_started(self, progress: Progress) -> None:
        print(progress.run.id, flush=True)


async def main(database: str, games: str) -> None:
    """Run to the end and say how it ended."""
    MODELS.register("patient")(lambda settings: Patient())
    spec = RunSpec(
        BenchmarkRef("python", f"{games}:Walk"),
        ModelSettings("patient/m"),
        AgentSettings(f"{games}:walker"),
        Selection(count=4),
    )
    run = await session.run(spec, open_store(database), [Speaker()])
    print(run.status, run.counts.completed, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
