"""Opens osworld: the authors' program in virtual machines, or recorded results."""

from mesocosm.benchmarks.builtin.osworld.results import as_items, read_results
from mesocosm.benchmarks.builtin.osworld.tasks import DesktopTask, TaskFilter, read_tasks
from mesocosm.benchmarks.command import CommandBenchmark
from mesocosm.benchmarks.items import ItemsFile
from mesocosm.benchmarks.recorded import RecordedBenchmark
from mesocosm.benchmarks.setup import BenchmarkSetup
from mesocosm.core.failure import UsageError
from mesocosm.core.ports import Benchmark
from mesocosm.core.task import Task


class RecordedOsWorld(RecordedBenchmark):
    """Scores results that were recorded elsewhere."""

    def read(self) -> ItemsFile:
        """Return the results of the selected tasks. Raises UsageError, or InvalidInput for task files."""
        path = self.setup.path("results_path")
        if path is None:
            raise UsageError("osworld: results_path is not set, so there is nothing recorded to be scored")
        return as_items(read_results(path), tasks_of(self.setup), choice_of(self.setup))

    def stratum(self, task: Task) -> str:
        """Return the domain: a sample takes evenly from all domains."""
        return str(task.metadata.get("domain", ""))


def choice_of(setup: BenchmarkSetup) -> TaskFilter:
    """Return the task filter that the parameters define."""
    return TaskFilter(str(setup.parameters.get("domain") or ""), str(setup.parameters.get("task_id") or ""))


def tasks_of(setup: BenchmarkSetup) -> list[DesktopTask]:
    """Return the checked tasks of tasks_path; empty if it is not set. Raises InvalidInput."""
    path = setup.path("tasks_path")
    return [] if path is None else read_tasks(path, choice_of(setup))


def open_benchmark(setup: BenchmarkSetup) -> Benchmark:
    """Return the benchmark for these parameters. Raises InvalidInput for invalid task files."""
    if setup.parameters.get("results_path"):
        return RecordedOsWorld(setup)
    tasks_of(setup)
    return CommandBenchmark(setup)
