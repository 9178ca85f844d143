"""Memory does not grow with the number of episodes."""

import gc
import tracemalloc
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from mesocosm.core.episode import Episode
from mesocosm.core.ports import Context, Observer

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

EPISODES = 3_000
WEIGHED = range(600, EPISODES + 1, 600)
PER_EPISODE = 200
"""Bytes that may stay of an episode: tables and buffers grow in jumps, but its row alone has more than a thousand."""


class Counter(Observer):
    """Counts episodes that are durable."""

    def __init__(self) -> None:
        self.durable = 0

    def episode_finished(self, episode: Episode) -> None:
        self.durable += 1


async def test_three_thousand_episodes_leave_no_trace_in_memory(lab: "Lab") -> None:
    counter = Counter()
    weights: list[int] = []

    async def play(context: Context) -> None:
        seed = context.task.seed
        if seed in WEIGHED:
            # Nothing is on its way now: what is weighed is what stays.
            await lab.until(lambda: counter.durable == seed)
            gc.collect()
            weights.append(tracemalloc.get_traced_memory()[0])
        await context.reset()
        await context.step("end")

    spec = lab.spec(lab.model(), agent=lab.agent(play), count=EPISODES + 1)
    tracemalloc.start()
    try:
        run = await lab.run(spec, counter)
    finally:
        tracemalloc.stop()
    assert run.counts.completed == EPISODES + 1
    # A leak grows in every stretch; a table that doubles, or a module that is loaded, in one of them.
    stretches = [after - before for before, after in pairwise(weights)]
    assert median(stretches) < PER_EPISODE * WEIGHED.step
