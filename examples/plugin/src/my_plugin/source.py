"""A source of benchmarks: `mesocosm run guess:10 -m MODEL` and `mc.evaluate("guess:10", model=…)`.

What precedes the colon is the name of the entry point, the rest is for the source to understand.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Observation, Step
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.space import SpaceSpec, SpaceType
from mesocosm.core.task import Task


def open_guess(ref: BenchmarkRef) -> "GuessBenchmark":
    """Return the benchmark of `guess:MOST`; its option is `guesses`, how many an episode has."""
    if not ref.source.isdecimal() or int(ref.source) < 1:
        raise UsageError(f"guess:{ref.source} has no number; write guess:10 for numbers from 1 to 10")
    if unknown := sorted(set(ref.options) - {"guesses"}):
        raise UsageError(f"guess has no parameter {unknown[0]!r}; it has guesses")
    return GuessBenchmark(int(ref.source), int(ref.options.get("guesses", 3)))


class GuessBenchmark:
    """Implements mesocosm.core.ports.Benchmark."""

    observation_space = None  # texts

    def __init__(self, most: int, guesses: int) -> None:
        self.most, self.guesses = most, guesses
        self.action_space = SpaceSpec(type=SpaceType.DISCRETE, enum_values=[str(n) for n in range(1, most + 1)])
        # Runs of one digest are the same experiment: everything that changes what is measured belongs into it.
        self.info = BenchmarkInfo(
            id=f"guess:{most}",
            title=f"Guess a number from 1 to {most}",
            version="1",
            digest=digest(["guess", 1, most, guesses]),
            kind="guess",
            metrics=(Metric("found", "found", low=0.0, high=1.0, primary=True),),
            max_steps=guesses,
        )

    def count(self, selection: Selection) -> int:
        """Return how many tasks there are; a source with rows of its own counts them."""
        return sum(1 for _ in self.tasks(selection))

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield a task for each seed, 50 if nothing is selected."""
        count = 50 if selection.count is None else selection.count
        for seed in range(count) if selection.seeds is None else selection.seeds:
            yield Task(f"seed-{seed}", seed=seed)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Start what all episodes share: nothing."""

    async def environment(self, task: Task, episode_id: str) -> "Guess":
        """Return the environment of one episode."""
        return Guess(random.Random(task.seed).randint(1, self.most), self.most, self.guesses)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the scores of an episode that has ended."""
        return [Score("found", float(episode.total_reward > 0))]

    async def close(self) -> None:
        """Stop what `open` started."""


class Guess:
    """Implements mesocosm.core.ports.Environment: one episode."""

    def __init__(self, number: int, most: int, guesses: int) -> None:
        self.number, self.most, self.left = number, most, guesses

    async def reset(self) -> Observation:
        """Return what the agent sees first."""
        return Observation(f"Guess a number from 1 to {self.most}. You have {self.left} guesses. Reply with a number.")

    async def step(self, action: Any) -> Step:
        """Take one guess."""
        self.left -= 1
        if action == str(self.number):
            return Step(Observation("That is it."), reward=1.0, terminated=True)
        # A reply without a number reaches an environment only if the run wants that.
        said = "No." if not str(action).isdecimal() else "Higher." if int(action) < self.number else "Lower."
        return Step(Observation(said), terminated=self.left <= 0)

    async def oracle(self) -> Any:
        """Refuse: the best action is not told. An environment that knows it returns it."""
        raise EpisodeError(Cause.MODEL_MISSING, "guess has no oracle")

    async def close(self) -> None:
        """Release what the episode holds."""
