"""The benchmark `eliza-format`: questions from a seed or a file, answers graded by form and content."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.eliza_format.bucket import BUCKETS
from mesocosm.benchmarks.builtin.eliza_format.generator import generated
from mesocosm.benchmarks.builtin.eliza_format.grading import judge
from mesocosm.benchmarks.builtin.eliza_format.notation import Notation
from mesocosm.benchmarks.builtin.eliza_format.prompt import best_answer, system_prompt
from mesocosm.benchmarks.builtin.eliza_format.record import FormatRecord, read_records
from mesocosm.benchmarks.drawing import draw
from mesocosm.benchmarks.native import SEED, LoadedTasks, NativeBenchmark
from mesocosm.benchmarks.question import ANSWER
from mesocosm.core.episode import Episode
from mesocosm.core.ids import digest
from mesocosm.core.message import Message
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.core.turn import Turn, read_answer

GENERATED = 50
"""Default number of questions in each bucket."""


class ElizaFormat(NativeBenchmark):
    """Structured answers in four buckets."""

    max_steps = 1

    @property
    def notation(self) -> Notation:
        """The notation of answers."""
        return "toon" if self.parameters.get("format") == "toon" else "json"

    def load(self) -> LoadedTasks:
        """Return the records as tasks, at most `max_per_bucket` of each bucket."""
        most, seed = self.parameters.get("max_per_bucket"), int(self.parameters.get(SEED) or 0)
        file = self.setup.path("test_file")
        if file is None:
            count = GENERATED if most is None else int(most)
            made = [self._task(generated(bucket, number, seed)) for bucket in BUCKETS for number in range(count)]
            return LoadedTasks(made, digest(["generated", seed]))
        records = read_records(file)
        tasks: list[Task] = []
        for found in records.by_bucket.values():
            tasks += draw([self._task(record) for record in found], most, seed, lambda _: "")
        return LoadedTasks(tasks, digest([records.content, most, seed if most is not None else None]))

    def metrics(self) -> tuple[Metric, ...]:
        """Return the metrics of the descriptor and the score of each bucket."""
        return (*super().metrics(), *(metric for metric in _parts() if self._asks(metric)))

    def best(self, task: Task) -> Any:
        """Return an answer with the right form and content."""
        return best_answer(msgspec.convert(task.target, FormatRecord), self.notation)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return half a point for the form and half for the content, and both separately."""
        record = msgspec.convert(task.target, FormatRecord)
        text = read_answer(episode.terminal_info.get(ANSWER)).text
        verdict = judge(record.bucket, text, record.expected, record.reference, self.notation)
        return [
            Score(self.descriptor.score.field, verdict.score, explanation=verdict.fault),
            Score("format_ok", float(verdict.format_ok), explanation=verdict.fault),
            Score("content_ok", float(verdict.content_ok), explanation=verdict.fault),
            Score(f"score_{record.bucket}", verdict.score, explanation=verdict.fault),
        ]

    def _task(self, record: FormatRecord) -> Task:
        turn = Turn((Message("user", record.prompt),), system=system_prompt(record, self.notation))
        target = msgspec.to_builtins(msgspec.structs.replace(record, id=""))
        return Task(record.id, turn.data(), target, metadata={"category": record.bucket})

    def _asks(self, metric: Metric) -> bool:
        return any(metric.covers(task) for task in self.loaded.tasks)


def _parts() -> Iterator[Metric]:
    for bucket in BUCKETS:
        yield Metric(f"score_{bucket}", f"score_{bucket}", low=0.0, high=1.0, where={"category": bucket})


open_benchmark = ElizaFormat
