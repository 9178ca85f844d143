"""The benchmark `gsm8k`."""

import re
from collections.abc import Sequence

from mesocosm.benchmarks.builtin.gsm8k.calculations import wrong
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
        reply = read_answer(episode.terminal_info.get(ANSWER)).text
        given = stated(reply)
        name, stated_words = self.descriptor.score.field, None if given is None else f"{given:.12g}"
        if same(given, float(task.target)):
            return [Score(name, value=1.0, answer=stated_words)]
        why, mistake = wrong(reply, given, str(task.input), str(task.reference or ""), float(task.target))
        return [Score(name, value=0.0, explanation=why, answer=stated_words, mistake=mistake)]


def _task(found: DatasetRows, place: int) -> Task:
    gold = _GOLD.search(found.text(place, "answer"))
    if gold is None:
        raise found.wrong(place, "its answer does not end in `####` and a number")
    solution = found.text(place, "answer")[: gold.start()].rstrip()
    steps = sum(1 for line in solution.splitlines() if line.strip())
    return Task(
        str(place),
        input=found.text(place, "question"),
        target=gold[1].replace(",", ""),
        reference=solution,
        labels={"steps": str(steps)} if steps else {},
    )


open_benchmark = Gsm8k
