"""Benchmarks that are external programs: one run of the program is one episode, and each of its items is another."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.benchmarks.attempt import AttemptEnd, accept, latest
from mesocosm.benchmarks.findings import REPORTED, AttemptScores, ProgramPlan, kept_scores
from mesocosm.benchmarks.identity import FileDigests, faults, identity, read_files, shown_parameters
from mesocosm.benchmarks.items import ITEMS, PART, PROGRAM, RECORD, ItemEnvironment, ItemsFile, ProgramItem
from mesocosm.benchmarks.native import metrics
from mesocosm.benchmarks.program import ProgramCommand, ProgramEnvironment
from mesocosm.benchmarks.requirements import lacking
from mesocosm.benchmarks.result import Bounds
from mesocosm.benchmarks.setup import BenchmarkSetup
from mesocosm.core.content import Content
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Incompatible, InvalidInput, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment
from mesocosm.core.run import Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task

TRIAL, PARAMETERS = "trial", "knobs"
"""Metadata keys of the program's own task: its repetition and its parameters. Stored runs use these names."""

_ADVICE = "name files that the program writes itself in `writes` of its benchmark.toml"
_NAMED = 3


class CommandBenchmark:
    """Runs the program of a descriptor. Implements core.ports.Benchmark and core.abilities.Growing.

    Each run of the program gets its own directory below `setup.output`, which belongs to one run of ours. If that is
    None, a temporary directory is used; items then cannot be found when the run is resumed or graded again. Raises
    InvalidInput that lists every fault of the command.
    """

    action_space: Any = None
    observation_space: Any = None

    def __init__(self, setup: BenchmarkSetup) -> None:
        part = setup.descriptor.command
        if part is None:
            raise UsageError(f"{setup.descriptor.id} has no table [command], so there is no program to run")
        self.setup = setup
        score = setup.descriptor.score
        self.plan = ProgramPlan(part, score.field, Bounds(score.low, score.high))
        problems = list(faults(setup.descriptor))
        if problems:
            raise InvalidInput(f"{setup.descriptor.id}: its table [command]", problems)
        self._temporary: Path | None = None
        self._read: tuple[AttemptEnd, ItemsFile] | None = None

    @cached_property
    def info(self) -> BenchmarkInfo:
        """Facts of the descriptor; the digest covers the command, its inputs, and the files of both."""
        descriptor = self.setup.descriptor
        items = bool(self.plan.part.items)
        return BenchmarkInfo(
            id=descriptor.id,
            title=descriptor.title,
            version=descriptor.version,
            digest=digest(identity(self.setup, self.plan.part, self._files)),
            kind=descriptor.kind,
            metrics=self._metrics(),
            description=descriptor.description,
            parallel=1,
            growing=items,
            unscored=int(items),
            offline=descriptor.offline,
            files=self._files.named(),
            card=descriptor.card(),
        )

    @cached_property
    def _files(self) -> FileDigests:
        return read_files(self.setup, self.plan.part)

    @cached_property
    def _content(self) -> Content:
        subject = f"benchmark {self.setup.descriptor.id}"
        return Content(subject, self._files.named(), self._seen, _ADVICE)

    def _seen(self) -> dict[str, str]:
        return read_files(self.setup, self.plan.part).named()

    def warnings(self) -> tuple[str, ...]:
        """Warn about files that the program left in its folder, because they change the benchmark for the next run."""
        try:
            left = sorted(self._seen().keys() - self._files.named().keys())
        except UsageError as error:
            return (str(error),)
        if not left:
            return ()
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        finding = f"{', '.join(left[:_NAMED])}{more} appeared beside the program while it ran"
        return (f"{finding}, so that its next run is another experiment; {_ADVICE}",)

    def count(self, selection: Selection) -> int:
        """Return the number of tasks: the program's own, and the items that it has written so far."""
        return sum(1 for _ in self.tasks_of(selection, 0))

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the tasks of the first repetition."""
        return self.tasks_of(selection, 0)

    def tasks_of(self, selection: Selection, trial: int) -> Iterator[Task]:
        """Yield the program's own task, then the items of its last run in this repetition. Raises UsageError."""
        if selection.seeds is not None:
            raise UsageError(f"{self.setup.descriptor.id} is a program that takes no list of seeds; use its parameters")
        parameters = self._parameters(selection)
        yield Task(
            self.setup.descriptor.id,
            input={
                "benchmark": self.setup.descriptor.id,
                PARAMETERS: shown_parameters(self.setup.descriptor, parameters),
            },
            metadata={PART: PROGRAM, TRIAL: trial, PARAMETERS: parameters},
        )
        if self.plan.part.items:
            yield from self._items(trial)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Check that this machine has what the program needs. Raises Incompatible."""
        missing = lacking(self.setup)
        if missing:
            raise Incompatible(self.setup.descriptor.id, missing)
        if self.setup.output is None and self.plan.part.items:
            notice("the program's output goes into a temporary directory: its items can be read in this session alone")

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of the program, or of one of its items."""
        del episode_id
        item = task.metadata.get(RECORD)
        if isinstance(item, ProgramItem):
            return ItemEnvironment(item)
        folder, metadata = self.setup.folder.resolve(), task.metadata
        kinds = self.setup.descriptor.parameters
        paths = tuple(
            Path(value) for name, value in metadata[PARAMETERS].items() if value and kinds[name].type == "path"
        )
        command = ProgramCommand(self.plan, metadata[PARAMETERS], folder, self._output(), metadata[TRIAL], paths)
        return ProgramEnvironment(command, task.input, self._content)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the scores of an item, or those in the program's result file.

        If that file is gone, return the values that were read when the program ended.
        """
        item = task.metadata.get(RECORD)
        if isinstance(item, ProgramItem):
            return item.scores(task, self.plan.score, self.info.metrics)
        facts = episode.terminal_info
        accept(self._output(), int(facts["attempt"]))
        names = list(self.plan.paths)
        result = str(facts.get("result", ""))
        if not result:
            return []
        if not (self._output() / result).is_file():
            return kept_scores(facts.get("found"), names)
        ended = AttemptEnd(int(facts["attempt"]), 0, facts.get("returncode"), 0.0, result=result)
        readings = AttemptScores(self.plan, self._output(), ended).readings()
        return [reading.score(name) for name, reading in readings.items()]

    async def close(self) -> None:
        """Remove a temporary output directory."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _metrics(self) -> tuple[Metric, ...]:
        """Return the declared metrics and those of the command; with items, the primary one covers only the items."""
        part, items = self.plan.part, bool(self.plan.part.items)
        own = {*part.metrics, REPORTED} if items else {*part.metrics, self.plan.score}
        declared = [
            msgspec.structs.replace(
                metric,
                where={**metric.where, PART: PROGRAM if metric.score in own else ITEMS} if items else metric.where,
                lone=metric.score in own,
            )
            for metric in metrics(self.setup.descriptor)
        ]
        scored = {metric.score for metric in declared}
        where = {PART: PROGRAM} if items else {}
        further = (
            Metric(name, name, directed=False, where=where, lone=True) for name in part.metrics if name not in scored
        )
        return (*declared, *further)

    def _parameters(self, selection: Selection) -> dict[str, Any]:
        """Return what the program is started with; a selected number of tasks overrides the sampling parameter."""
        parameters = dict(self._settled)
        if self.setup.descriptor.sampling and selection.count is not None:
            parameters[self.setup.descriptor.sampling] = selection.count
        return parameters

    @cached_property
    def _settled(self) -> dict[str, Any]:
        """All parameters, with defaults and absolute paths. Raises UsageError for a path that does not exist."""
        parameters = dict(self.setup.parameters)
        for name, parameter in self.setup.descriptor.parameters.items():
            parameters.setdefault(name, parameter.default)
            if parameter.type == "path" and parameters[name]:
                path = self.setup.path(name)
                parameters[name] = str(path) if path is not None else None
        return parameters

    def _items(self, trial: int) -> Iterator[Task]:
        ended = latest(self._output(), trial)
        if ended is None or not ended.accepted:
            return
        if self._read is None or self._read[0] != ended:
            self._read = (ended, AttemptScores(self.plan, self._output(), ended).items)
        yield from self._read[1].tasks()

    def _output(self) -> Path:
        if self.setup.output is not None:
            return self.setup.output.resolve()
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="mesocosm-"))
        return self._temporary
