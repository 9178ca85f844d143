"""The benchmark `context-bench`."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.context_bench.context import POSITIONS, Recipe, prompt
from mesocosm.benchmarks.builtin.context_bench.grading import right
from mesocosm.benchmarks.builtin.context_bench.puzzle import FAMILIES
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.benchmarks.question import ANSWER
from mesocosm.benchmarks.setup import BenchmarkSetup
from mesocosm.core.episode import Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.turn import read_answer

SHORTEST, LONGEST = 512, 1_000_000
ACCURACY = "accuracy"
LOST = "lost_in_the_middle"
EDGES = ("start", "end")
_FULL: dict[str, Any] = {
    "context_lengths": [1024, 4096, 16384],
    "positions": list(POSITIONS),
    "tasks_per_position": 2,
    "families": list(FAMILIES),
}
_QUICK: dict[str, Any] = {
    "context_lengths": [1024, 4096],
    "positions": ["start", "middle", "end"],
    "tasks_per_position": 2,
    "families": ["needle"],
}


class ContextBench(NativeBenchmark):
    """Texts are generated when they are shown: a task holds only the recipe of its text."""

    def __init__(self, setup: BenchmarkSetup) -> None:
        super().__init__(setup)
        chosen = _QUICK if self.parameters.get("quick") else _FULL
        given = {name: self.parameters.get(name) for name in chosen}
        self.size = {name: chosen[name] if value is None else value for name, value in given.items()}
        for tokens in self.size["context_lengths"]:
            if isinstance(tokens, bool) or not isinstance(tokens, int) or not SHORTEST <= tokens <= LONGEST:
                raise UsageError(
                    f"context-bench: context_lengths holds {tokens!r:.40}; a length is a whole number of tokens "
                    f"from {SHORTEST} to {LONGEST}"
                )
        for name in ("context_lengths", "positions", "families"):
            if not self.size[name]:
                raise UsageError(f"context-bench: {name} is empty; name at least one")

    def load(self) -> LoadedTasks:
        """Return the tasks: every family, length and position, `tasks_per_position` times each."""
        seed = int(self.parameters.get("seed") or 0)
        tasks = [
            _task(Recipe(family, tokens, position, number, seed))
            for family in dict.fromkeys(self.size["families"])
            for tokens in dict.fromkeys(self.size["context_lengths"])
            for position in dict.fromkeys(self.size["positions"])
            for number in range(self.size["tasks_per_position"])
        ]
        return LoadedTasks(tasks, digest([task.digest() for task in tasks]))

    def shown(self, task: Task) -> Any:
        """Return the text followed by the question."""
        return prompt(_recipe(task))

    def stratum(self, task: Task) -> str:
        """Return the position, so that small samples compare positions evenly."""
        return str(task.metadata["position"])

    @cached_property
    def info(self) -> BenchmarkInfo:
        """Facts of the descriptor, with one more metric for each family, length and position in the run."""
        general = super().info
        return msgspec.structs.replace(general, metrics=(*general.metrics, *self._slices()))

    def _slices(self) -> list[Metric]:
        slices = {
            "family": dict.fromkeys(self.size["families"]),
            "context_length": dict.fromkeys(self.size["context_lengths"]),
            "position": dict.fromkeys(self.size["positions"]),
        }
        found = [
            Metric(name=(name := f"{ACCURACY}_{value}"), score=name, low=0.0, high=1.0, where={key: str(value)})
            for key, values in slices.items()
            for value in values
            if len(values) > 1
        ]
        if "middle" in slices["position"] and any(edge in slices["position"] for edge in EDGES):
            found.append(Metric(LOST, LOST, directed=False, where={"compared": LOST}))
        return found

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the accuracy, again under the names of family, length and position, and the share of the difference.

        The mean of `lost_in_the_middle` over the tasks at edges and middle is the accuracy at the edges minus that in
        the middle, if all positions were run equally often.
        """
        correct, reason = right(read_answer(episode.terminal_info.get(ANSWER)).text, str(task.target))
        value = float(correct)
        kind = task.metadata
        names = [ACCURACY, *(f"{ACCURACY}_{kind[key]}" for key in ("family", "context_length", "position"))]
        known = {metric.score for metric in self.info.metrics}
        scores = [Score(name, value, explanation=reason) for name in names if name in known]
        if LOST in known and "compared" in kind:
            scores.append(Score(LOST, value * self._weight(kind["position"])))
        return scores

    def _weight(self, position: str) -> float:
        edges = sum(edge in self.size["positions"] for edge in EDGES)
        return -(edges + 1.0) if position == "middle" else (edges + 1.0) / edges


def _task(recipe: Recipe) -> Task:
    kind = {"family": recipe.family, "context_length": recipe.tokens, "position": recipe.position}
    compared = {"compared": LOST} if recipe.position in (*EDGES, "middle") else {}
    return Task(
        id=f"{recipe.family}-{recipe.tokens}-{recipe.position}-{recipe.number}",
        input={**kind, "number": recipe.number},
        target=recipe.puzzle().answer,
        seed=recipe.seed,
        metadata={**kind, "context_length": str(recipe.tokens), "category": recipe.family, **compared},
        labels={name: str(value) for name, value in kind.items()},
    )


def _recipe(task: Task) -> Recipe:
    made = task.input
    return Recipe(made["family"], made["context_length"], made["position"], made["number"], int(task.seed or 0))


open_benchmark = ContextBench
