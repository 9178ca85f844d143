"""gaia_orchestrated: questions from the bundled sample, from GAIA, or from a file."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.gaia_orchestrated.corpus import Corpus, read_corpus
from mesocosm.benchmarks.builtin.gaia_orchestrated.grading import correct
from mesocosm.benchmarks.builtin.gaia_orchestrated.research import Research, Solved, work_tools
from mesocosm.benchmarks.dataset import DatasetRows, HubDataset, read_rows
from mesocosm.benchmarks.native import LoadedTasks
from mesocosm.benchmarks.orchestrated.job import CellJob
from mesocosm.benchmarks.orchestrated.matrix import MatrixBenchmark
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Incompatible, InvalidInput, Problem, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.score import Score
from mesocosm.core.task import Task
from mesocosm.sandboxes.bubblewrap import available

_HUB = "gaia-benchmark/GAIA"
_FILE = "2023/validation/metadata.parquet"
QUESTION = ("question", "Question")
ANSWER = ("answer", "final_answer", "Final answer")
LEVEL = ("level", "Level")


class Gaia(MatrixBenchmark):
    """Questions with one short answer."""

    def instances(self) -> LoadedTasks:
        """Return the questions of the selected level. Raises UsageError, InvalidInput, Incompatible."""
        rows = self._rows
        tasks = list(_instances(self.descriptor.id, rows.rows))
        level = self.parameter("level")
        if level is not None:
            tasks = [task for task in tasks if task.metadata["category"] == f"level {level}"]
        corpus = digest([[document.url, document.words] for document in self.corpus.documents]) if self.corpus else ""
        return LoadedTasks(tasks, digest([rows.content, corpus, self.programs]))

    def job(self, task: Task) -> CellJob:
        """Return the research job for a question."""
        return Research(
            task.input["question"], msgspec.convert(task.target, Solved), self.corpus, programs=self.programs
        )

    def offered(self) -> tuple[str, ...]:
        """Return the capabilities of the available tools."""
        return tuple(dict.fromkeys(own.capability for own in work_tools(self.corpus, programs=self.programs)))

    async def verdict(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return whether the final answer is the right one."""
        answer = episode.terminal_info.get("answer")
        name = self.descriptor.score.field
        if not isinstance(answer, str):
            return [Score(name, 0.0, explanation="no final answer was given")]
        gold = msgspec.convert(task.target, Solved).answer
        right = correct(answer, gold)
        return [Score(name, float(right), explanation=f"answered {answer[:200]!r}, expected {gold!r}")]

    @cached_property
    def programs(self) -> bool:
        """Whether the native worker can run programs, which must be confined."""
        return bool(available())

    @cached_property
    def corpus(self) -> Corpus | None:
        """The documents for the tools, or None."""
        own = self.setup.folder / "corpus.jsonl" if self.parameter("dataset") == "sample" else None
        place = self.setup.path("corpus_path") or own
        return read_corpus(str(place), read_rows(self.descriptor.id, place, None).rows) if place is not None else None

    @cached_property
    def _rows(self) -> DatasetRows:
        subject, path = self.descriptor.id, self.setup.path("dataset_path")
        match self.parameter("dataset"):
            case "sample":
                return read_rows(subject, self.setup.folder / "questions.jsonl", None)
            case "jsonl" if path is None:
                raise UsageError(f"{subject}: dataset jsonl needs the parameter dataset_path, a file of questions")
            case "jsonl":
                return read_rows(subject, path, None)
        return _published(subject, path, str(self.parameter("revision")))


def _published(subject: str, path: Path | None, revision: str) -> DatasetRows:
    """Return GAIA's validation questions that have no attached file, from the hub or from a copy."""
    if path is None and not os.environ.get("HF_TOKEN"):
        reason = (
            f"the dataset {_HUB} is gated: accept its terms on the Hugging Face hub and set HF_TOKEN, or name a copy "
            "of it with dataset_path, or take the dataset 'sample'"
        )
        raise Incompatible(subject, [reason])
    rows = read_rows(subject, path, HubDataset(_HUB, revision, (_FILE,)))
    return DatasetRows([row for row in rows.rows if not row.get("file_name")], rows.content)


def _instances(subject: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Task]:
    problems: list[Problem] = []
    names: set[str] = set()
    for place, row in enumerate(rows, 1):
        question, answer = _text(row, QUESTION), _text(row, ANSWER)
        name = str(row.get("task_id") or f"question-{place}")
        if not question or not answer or answer == "?":
            problems.append(Problem(f"row {place}", "needs a question and an answer (question, answer)"))
        elif name in names:
            problems.append(Problem(f"row {place}", f"its task_id {name!r} was there before"))
        else:
            names.add(name)
            sources = tuple(map(str, row.get("sources") or ()))
            gold = msgspec.to_builtins(Solved(answer, sources, str(row.get("calculation") or "")))
            level = _text(row, LEVEL)
            about = {"category": f"level {level}"} if level else {"category": ""}
            yield Task(name, {"question": question}, gold, metadata=about)
    if problems:
        raise InvalidInput(f"the questions of {subject}", problems)


def _text(row: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((str(row[name]).strip() for name in names if row.get(name) is not None), "")


open_benchmark = Gaia
