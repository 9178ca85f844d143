"""Base class of built-in benchmarks: tasks are loaded once, sampled by seed, run and graded in this process."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec

from mesocosm.benchmarks.descriptor import Descriptor
from mesocosm.benchmarks.drawing import draw
from mesocosm.benchmarks.question import QuestionEnvironment
from mesocosm.benchmarks.setup import BenchmarkSetup
from mesocosm.core.episode import Episode
from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment
from mesocosm.core.run import Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import ROW, Task

SEED = "seed"


@dataclass(frozen=True, slots=True)
class LoadedTasks:
    """All tasks, and the digest of the data they were made from."""

    tasks: Sequence[Task]
    content: str


class NativeBenchmark(ABC):
    """Implements core.ports.Benchmark; subclasses define `load` and `grade`.

    A task's `input` is what the agent may see, its `target` the gold answer. By default an episode is one question: the
    agent sees `shown(task)`, and its answer is graded from `episode.terminal_info["answer"]`. The metric and the score
    are named by the descriptor's `score.field`. If there is a parameter `seed`, it also selects the sample when fewer
    tasks are requested than exist; the sample is spread evenly over `stratum`.
    """

    max_steps: int | None = None
    action_space: Any = None
    observation_space: Any = None

    def __init__(self, setup: BenchmarkSetup) -> None:
        self.setup = setup
        self.descriptor: Descriptor = setup.descriptor
        self.parameters = {
            **{name: parameter.default for name, parameter in setup.descriptor.parameters.items()},
            **setup.parameters,
        }

    # Abstract methods

    @abstractmethod
    def load(self) -> LoadedTasks:
        """Return all tasks that the parameters select, ignoring the sampling parameter. Raises UsageError,
        Incompatible.
        """

    @abstractmethod
    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the scores of an episode that ended normally."""

    # Hooks with defaults

    def shown(self, task: Task) -> Any:
        """Return what the agent sees of a task: a string, or the data of a core.turn.Turn."""
        return task.input

    def best(self, task: Task) -> Any:
        """Return the action that earns the full score, for builtin/oracle."""
        return task.target

    def stratum(self, task: Task) -> str:
        """Return the group of a task; a sample takes evenly from all groups."""
        return str(task.metadata.get("category", ""))

    def card(self) -> dict[str, Any]:
        """Return the facts that viewers show beside the benchmark's runs."""
        return self.descriptor.card()

    def metrics(self) -> tuple[Metric, ...]:
        """Return the descriptor's metrics, the primary one first."""
        return metrics(self.descriptor)

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of one episode: by default a single question."""
        del episode_id
        return QuestionEnvironment(self.shown(task), lambda: self.best(task))

    async def open(self, notice: Callable[[str], None]) -> None:
        """Load the tasks, so that errors appear before the first episode."""
        del notice
        _ = self.loaded

    async def close(self) -> None:  # noqa: B027 -- most benchmarks hold nothing
        """Do nothing; benchmarks that hold resources override this."""

    # Derived

    @cached_property
    def loaded(self) -> LoadedTasks:
        """The tasks, loaded once, each with its place among them."""
        loaded = self.load()
        placed = [
            msgspec.structs.replace(task, metadata={ROW: place, **task.metadata})
            for place, task in enumerate(loaded.tasks)
        ]
        return replace(loaded, tasks=placed)

    @cached_property
    def info(self) -> BenchmarkInfo:
        """Facts of the descriptor; the digest covers version, data, code, and the parameters that change the tasks."""
        descriptor = self.descriptor
        content = [descriptor.id, descriptor.version, self.loaded.content, content_parameters(self.setup)]
        return BenchmarkInfo(
            id=descriptor.id,
            title=descriptor.title,
            version=descriptor.version,
            digest=digest([*content, self.setup.code] if self.setup.code else content),
            kind=descriptor.kind,
            metrics=self.metrics(),
            description=descriptor.description,
            max_steps=self.max_steps,
            oracle=not descriptor.offline,
            offline=descriptor.offline,
            card=self.card(),
        )

    def count(self, selection: Selection) -> int:
        """Return how many tasks `selection` picks."""
        if selection.seeds is not None:
            return len(selection.seeds)
        known = len(self.loaded.tasks)
        return known if selection.count is None else min(max(selection.count, 0), known)

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield all tasks in order, a sample of them, or those at the indexes in `selection.seeds`."""
        tasks = self.loaded.tasks
        if selection.seeds is not None:
            unknown = next((place for place in selection.seeds if not 0 <= place < len(tasks)), None)
            if unknown is not None:
                raise UsageError(f"{self.descriptor.id} has tasks 0 to {len(tasks) - 1}, no {unknown}")
            yield from (tasks[place] for place in selection.seeds)
            return
        yield from draw(tasks, selection.count, int(self.parameters.get(SEED) or 0), self.stratum)


def content_parameters(setup: BenchmarkSetup) -> dict[str, Any]:
    """Return the parameters that are part of a benchmark's identity.

    Sampling size, paths, and parameters declared with `content = false` are left out.
    """
    parameters = setup.descriptor.parameters
    return {
        name: setup.parameters.get(name, parameter.default)
        for name, parameter in parameters.items()
        if parameter.content and parameter.type != "path" and name != setup.descriptor.sampling
    }


def metrics(descriptor: Descriptor) -> tuple[Metric, ...]:
    """Return the metrics of a descriptor, the primary one first."""
    score = descriptor.score
    primary = Metric(
        name=score.field,
        score=score.field,
        aggregation="mean" if score.threshold is None else "pass_rate",
        threshold=score.threshold or 0.0,
        higher_is_better=score.higher_is_better,
        low=score.low,
        high=score.high,
        primary=True,
    )
    further = (
        Metric(
            name=metric.name,
            score=metric.score or metric.name,
            aggregation=metric.aggregation,
            threshold=metric.threshold,
            higher_is_better=metric.higher_is_better is not False,
            directed=metric.higher_is_better is not None,
            low=metric.low,
            high=metric.high,
            where=metric.where,
        )
        for metric in descriptor.metric
    )
    return (primary, *further)
