"""Resume of a run with 200,000 finished episodes: seconds until the first new one starts."""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

import perf.noop
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Limits, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store
from perf.machine import line

FINISHED = 200_000
FIRST: list[float] = []


class Watched(perf.noop.OneStep):
    """Notes when it is reset for the first time."""

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        """Note the time."""
        if not FIRST:
            FIRST.append(time.perf_counter())
        return super().reset(seed, **params)


def resume() -> None:
    """Finish 200,000 episodes of 220,000, then resume."""
    spec = RunSpec(
        BenchmarkRef("python", f"{__name__}:Watched"),
        ModelSettings("noop/noop"),
        selection=Selection(count=FINISHED + 20_000),
        limits=Limits(run_tokens=None),
        parallel=64,
    )
    with tempfile.TemporaryDirectory(dir=".") as place:
        store = open_store(Path(place) / "orchestrator.sqlite")
        control = session.Control()
        run = asyncio.run(session.run(spec, store, [_StopAt(control)], control=control))
        store.close()
        FIRST.clear()
        began = time.perf_counter()
        store = open_store(Path(place) / "orchestrator.sqlite")
        done = asyncio.run(session.resume(run.id, store))
        store.close()
    assert done.counts.done == FINISHED + 20_000
    line(f"first new episode after {run.counts.done:,} finished", (FIRST[0] - began) * 1000, "ms", 2000, above=False)


class _StopAt(session.Observer):
    def __init__(self, control: session.Control) -> None:
        self.control = control
        self.seen = 0

    def episode_finished(self, episode: Any) -> None:
        """Stop when there are enough; what is under way until then is finished too."""
        self.seen += 1
        if self.seen == FINISHED:
            self.control.stop("enough")
