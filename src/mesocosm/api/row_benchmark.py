"""Rows with their graders as a benchmark."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mesocosm.api.grading import Answered, BoundGrader, grade, metrics_of
from mesocosm.api.rows import TaskRows
from mesocosm.api.running import ROWS as KIND
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment, JudgeModel, Observation, Step
from mesocosm.core.run import BenchmarkRef, Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.engine.earlier_answers import ANSWER, EXPECTED, INPUT, MESSAGES, SCORES


@dataclass(frozen=True, slots=True)
class RowEnvironment:
    """Shows a row, and takes its answer. Implements core.ports.Environment."""

    task: Task

    async def reset(self) -> Observation:
        """Return the row without the expected answer."""
        return Observation(self.task.input)

    async def step(self, action: Any) -> Step:
        """Take an answer with its conversation."""
        info = dict(action)
        if self.task.target is not None:
            info[EXPECTED] = self.task.target
        return Step(Observation(None), terminated=True, info=info)

    async def oracle(self) -> Any:
        """Return the expected answer. Raises EpisodeError if there is none."""
        if self.task.target is None:
            raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"row {self.task.id} has no expected answer to give")
        return self.task.target

    async def close(self) -> None:
        """Do nothing."""


class RowBenchmark:
    """Implements core.ports.Benchmark and AsksJudge for rows.

    `inputs` are the parts of the experiment besides rows and model, by name: prompt, agent, graders. Two prompts on the
    same rows are the same benchmark, so they are compared row by row.
    """

    action_space: Any = None
    observation_space: Any = None

    def __init__(
        self,
        rows: TaskRows,
        graders: Sequence[BoundGrader],
        *,
        inputs: Mapping[str, str],
        metrics: Sequence[Metric] = (),
        only: Sequence[int | str] = (),
        version: str = "1",
        card: Mapping[str, Any] | None = None,
        asks_model: bool = True,
        scored_by_agent: bool = False,
    ) -> None:
        self.rows = rows
        self.graders: tuple[BoundGrader, ...] = tuple(graders)
        self._inputs = dict(inputs)
        self._metrics = tuple(metrics) or metrics_of(self.graders)
        self._bounds = {
            one.score: (one.low, one.high) for one in self._metrics if one.low is not None and one.high is not None
        }
        self._beyond: dict[str, str] = {}
        self._only = tuple(only)
        self._version = version
        self._card = dict(card or {})
        self._asks_model = asks_model
        self._below = not scored_by_agent and all(grader.ready for grader in self.graders)

    @cached_property
    def info(self) -> BenchmarkInfo:
        """Facts about the rows. The digest covers their content, and not how they are asked or graded."""
        inputs = {**self._inputs, "rows": self.rows.digest}
        if self._only:
            inputs["only"] = digest(list(self._only))
        return BenchmarkInfo(
            id=self.rows.name,
            title=self.rows.name,
            version=self._version,
            digest=digest([self.rows.digest, [grader.identity for grader in self.graders]]),
            kind=KIND,
            metrics=self._metrics,
            oracle=bool(self.rows.expected),
            offline=not self._asks_model,
            discovers=True,
            below=self._below,
            card=self._card,
            inputs=inputs,
        )

    def count(self, selection: Selection) -> int:
        """Return the number of selected rows."""
        return sum(1 for _ in self.tasks(selection))

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the selected rows in order."""
        return self.rows.chosen(selection, self._only)

    async def open(self, notice: Callable[[str], None]) -> None:
        """Do nothing: rows are in memory."""

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the environment of one row."""
        return RowEnvironment(task)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return the scores of an answer without a judge; graders that need one leave their score missing."""
        return await self.grade_with(task, episode, _NoJudge())

    async def grade_with(self, task: Task, episode: Episode, judge: JudgeModel) -> Sequence[Score]:
        """Return the scores of an answer."""
        info = episode.terminal_info
        answered = Answered(info.get(ANSWER), info.get(MESSAGES) or (), info.get(INPUT))
        own = [Score(str(name), float(value)) for name, value in (info.get(SCORES) or {}).items()]
        scores = [*await grade(self.graders, answered, task, judge), *own]
        for score in scores:
            bounds = self._bounds.get(score.name)
            if score.value is not None and bounds is not None and not bounds[0] <= score.value <= bounds[1]:
                self._beyond.setdefault(score.name, f"{score.value:g} in {task.id}")
        return scores

    def warnings(self) -> tuple[str, ...]:
        """Return which graders gave scores beyond the bounds of their metrics. A mean over these is no share."""
        return tuple(
            f"{name} goes beyond {self._bounds[name][0]:g} to {self._bounds[name][1]:g} (first {first}); its mean has "
            "the interval of a quantity (Hall), and what is higher counts as better"
            for name, first in self._beyond.items()
        )

    async def close(self) -> None:
        """Do nothing."""


class _NoJudge:
    @property
    def settings(self) -> Any:
        raise EpisodeError(
            Cause.GRADER_ERROR, "there is no judge to ask here; run the same call again to grade with one"
        )

    async def ask(self, request: Any) -> Any:
        del request
        return self.settings


def open_rows(ref: BenchmarkRef) -> RowBenchmark:
    """Refuse to open rows by a stored reference: rows, graders and agents are objects of the call that made the run.

    Raises UsageError.
    """
    where = f" ({ref.options['call']})" if ref.options.get("call") else ""
    raise UsageError(
        f"the run on {ref.source!r} was made by a call of mesocosm.evaluate{where}; repeat that call: it runs only "
        "what is pending"
    )


__all__ = ["KIND", "RowBenchmark", "RowEnvironment", "open_rows"]
