"""The benchmark `gsm8k`."""

import re
from collections.abc import Sequence

from mesocosm.benchmarks.builtin.gsm8k.grading import same, stated
from mesocosm.benchmarks.dataset import DatasetRows, HubDataset, read_rows
from mesocosm.benchmarks.native import LoadedTasks, NativeBenchmark
from mesocosm.benchmarks.question import ANSWER
from mesocosm.core.episode import Episode
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.core.turn import read_answer

REPOSITORY = "openai/gsm8k"
FILES = ("main/test-00000-of-00001.parquet",)
NAMES = ("test.jsonl", *FILES)
_GOLD = re.compile(r"####\s*(-?[\d,]*\.?\d+)\s*$")

_ASK = """{question}

Solve this step by step. Then end with a line that holds nothing but `A:` and the final number, without unit."""


class Gsm8k(NativeBenchmark):
    """One word problem per task; its solution is a number."""

    def load(self) -> LoadedTasks:
        """Return the problems in order. Raises UsageError, InvalidInput, Incompatible."""
        hub = HubDataset(REPOSITORY, str(self.parameters["revision"]), FILES)
        found = read_rows(self.descriptor.id, self.setup.path("data_path"), hub, NAMES)
        return LoadedTasks([_task(found, place) for place in range(len(found.rows))], found.content)

    def shown(self, task: Task) -> str:
        """Return the problem and the required form of the answer."""
        return _ASK.format(question=task.input)

    def best(self, task: Task) -> str:
        """Return the right final line."""
        return f"A: {task.target}"

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return 1 for a reply with the right final number, else 0."""
        given = stated(read_answer(episode.terminal_info.get(ANSWER)).text)
        explanation = "it states no single final number" if given is None else f"it states {given:.12g}"
        right = same(given, float(task.target))
        return [Score(self.descriptor.score.field, value=float(right), explanation="" if right else explanation)]


def _task(found: DatasetRows, place: int) -> Task:
    gold = _GOLD.search(found.text(place, "answer"))
    if gold is None:
        raise found.wrong(place, "its answer does not end in `####` and a number")
    return Task(str(place), input=found.text(place, "question"), target=gold[1].replace(",", ""))


open_benchmark = Gsm8k
