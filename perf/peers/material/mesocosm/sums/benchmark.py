"""The work as a benchmark."""

from collections.abc import Sequence

from mesocosm.benchmarks.dataset import read_rows
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.core.episode import Episode
from mesocosm.core.score import Score
from mesocosm.core.task import Task


class Sums(NativeBenchmark):
    """Each question is asked once; the answer has to be the number."""

    def load(self) -> LoadedTasks:
        """Read the questions."""
        found = read_rows(self.descriptor.id, self.setup.path("data_path"), None)
        tasks = [Task(str(n), input=row["question"], target=row["answer"]) for n, row in enumerate(found.rows)]
        return LoadedTasks(tasks, found.content)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return 1 for the right number."""
        return [Score("accuracy", float(episode.terminal_info["answer"].strip() == task.target))]


open_benchmark = Sums
