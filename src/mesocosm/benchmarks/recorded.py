"""Benchmarks that score recorded results: nothing is run and no model is called."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import msgspec

from mesocosm.benchmarks.items import RECORD, ItemEnvironment, ItemsFile, ProgramItem
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.core.episode import Episode
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment
from mesocosm.core.score import Score
from mesocosm.core.task import Task


class RecordedBenchmark(NativeBenchmark):
    """Scores recorded items; subclasses define `read`. Tasks pair by id and input."""

    @abstractmethod
    def read(self) -> ItemsFile:
        """Return all recorded items and the problems found in them. Raises UsageError."""

    @cached_property
    def items(self) -> ItemsFile:
        """The recorded items, read once."""
        return self.read()

    def load(self) -> LoadedTasks:
        """Return the items as tasks; the digest also covers their recorded results."""
        found = self.items
        return LoadedTasks(list(found.tasks()), digest([_content(item) for item in found.found]))

    @cached_property
    def info(self) -> BenchmarkInfo:
        """The facts of the descriptor, marked as offline."""
        described = super().info
        return msgspec.structs.replace(described, offline=True, oracle=False)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Read the recorded items and report their problems."""
        for problem in self.items.problem_list():
            notice(problem)

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of a recorded item."""
        del episode_id
        return ItemEnvironment(task.metadata[RECORD])

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the recorded scores."""
        del episode
        item: ProgramItem = task.metadata[RECORD]
        return item.scores(task, self.descriptor.score.field, self.info.metrics)


def _content(item: ProgramItem) -> Iterable[object]:
    reading = item.reading
    return [item.id, item.input, item.output, item.error, reading.value, reading.missing, item.further]
