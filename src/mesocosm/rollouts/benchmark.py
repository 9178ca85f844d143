"""A rollout on a dataset as a benchmark: every row is a task, and the workflow plays it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.content import Content
from mesocosm.core.episode import Episode
from mesocosm.core.failure import Cause, UsageError
from mesocosm.core.gateway import JUDGE_FAILED
from mesocosm.core.ids import digest
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Environment
from mesocosm.core.run import Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.rollouts.environment import (
    GRADER_FAILED,
    LEFT_OUT,
    METRICS,
    REWARD,
    ROW,
    TRIAL,
    UNGRADED,
    RowEpisode,
)
from mesocosm.rollouts.executor import RolloutExecutor
from mesocosm.rollouts.rows import Row
from mesocosm.rollouts.verdict import Judging

KIND = "rollout"
RATE = "pass_rate"
UNBOUNDED = 16
"""Rows in flight where neither the configuration nor the rollout names a number.

More would be faster with a large provider. With a model that answers one call at a time, which many on this machine do,
every further row makes each call slower, and a row that waits for its turn comes closer to its time limit.
"""
_OWN = frozenset({REWARD, RATE})


@dataclass(frozen=True, slots=True)
class Rows:
    """The chosen rows of a dataset: its name, how they were chosen, what digests cover, what readers must know.

    `digest` is that of content and choice together; `content` and `choice` tell which of the two has changed.
    """

    name: str
    rows: Sequence[Row]
    chosen: Sequence[int]
    told: str
    digest: str
    notes: tuple[str, ...] = ()
    content: str = ""
    choice: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """How rewards are read, and how long code may take."""

    pass_threshold: float = 1.0
    workflow_seconds: float | None = 450.0
    grader_seconds: float | None = 150.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a rollout comes from: its name, what it is measured by, its inputs by name, what viewers show.

    Rollouts with an equal `measure` on the same rows are measured alike, and can be ranked.
    """

    name: str
    measure: str
    inputs: dict[str, str]
    card: dict[str, Any] = field(default_factory=dict)


class RolloutBenchmark:
    """Implements core.ports.Benchmark. `place` executes the rollout; `judging` takes the place of its grader.

    At most as many rows are in flight as the place can take; where that is any number, `capped` allows UNBOUNDED.
    """

    action_space: Any = None
    observation_space: Any = None

    def __init__(
        self,
        origin: Origin,
        rows: Rows,
        terms: Terms,
        executor: RolloutExecutor,
        *,
        judging: Judging | None = None,
        content: Content | None = None,
        artifacts: Path = Path("artifacts"),
        capped: bool = False,
    ) -> None:
        self.origin = origin
        self.rows = rows
        self.terms = terms
        self._executor = executor
        self._judging = judging
        self._content = content
        self._artifacts = artifacts
        self._capped = capped
        self._opened = False

    @property
    def info(self) -> BenchmarkInfo:
        """Facts that hold before `open`; how many rows may be in flight is known after it."""
        if not self._opened:
            return self._known
        capacity = self._executor.capacity
        return msgspec.structs.replace(self._known, parallel=capacity or (UNBOUNDED if self._capped else None))

    @cached_property
    def _known(self) -> BenchmarkInfo:
        inputs = {**self.origin.inputs, "dataset": self.rows.content or self.rows.digest}
        if self.rows.choice:
            inputs["rows"] = self.rows.choice
        return BenchmarkInfo(
            id=self.rows.name,
            title=self.rows.name,
            version="1",
            digest=digest([self.rows.digest, self.origin.measure]),
            kind=KIND,
            metrics=metrics(self.terms),
            description=self.rows.told,
            card={**self.origin.card, "rows": self.rows.told},
            judged=True,
            discovers=True,
            inputs=inputs,
        )

    def count(self, selection: Selection) -> int:
        """Return how many rows `selection` picks."""
        return len(self._chosen(selection))

    def tasks(self, selection: Selection) -> Iterator[Task]:
        """Yield the rows of the first repetition."""
        return self.tasks_of(selection, 0)

    def tasks_of(self, selection: Selection, trial: int) -> Iterator[Task]:
        """Yield the chosen rows in the order of the dataset; each knows its repetition."""
        for place in self._chosen(selection):
            yield _task(self.rows.rows[place], trial)

    def _chosen(self, selection: Selection) -> Sequence[int]:
        if selection.seeds is None:
            return self.rows.chosen if selection.count is None else self.rows.chosen[: selection.count]
        known = len(self.rows.rows)
        unknown = next((place for place in selection.seeds if not 0 <= place < known), None)
        if unknown is not None:
            raise UsageError(f"{self.rows.name} has rows 0 to {known - 1}, no {unknown}")
        return selection.seeds

    async def open(self, notice: Callable[[str], None]) -> None:
        """Start the rollout. Raises MesocosmError."""
        for note in self.rows.notes:
            notice(f"note: {note}")
        await self._executor.open(notice)
        self._opened = True

    def warnings(self) -> Sequence[str]:
        """Return whether files of the rollout have changed since the run began."""
        return () if self._content is None else self._content.warnings()

    async def environment(self, task: Task, episode_id: str) -> Environment:
        """Return the world of one try of one row."""
        terms = self.terms
        return RowEpisode(
            task,
            episode_id,
            self._executor,
            seed=terms.seed,
            seconds=(terms.workflow_seconds, terms.grader_seconds),
            artifacts=self._artifacts / episode_id,
            judging=self._judging,
        )

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        """Return reward and metrics as the grader left them; nothing is graded again."""
        del task
        found = episode.terminal_info
        scores = [Score(_named(name), float(value)) for name, value in _numbers(found.get(METRICS))]
        return [_reward(found), *scores]

    async def close(self) -> None:
        """Stop the rollout."""
        await self._executor.close()


def metrics(terms: Terms) -> tuple[Metric, ...]:
    """Return the metrics of every rollout: a failed workflow is worth 0, or the lowest reward where that is less.

    Rewards mostly lie between 0 and 1; where they do not, these bounds cut nothing.
    """
    return (
        Metric(REWARD, REWARD, low=0.0, high=1.0, primary=True),
        Metric(RATE, REWARD, "pass_rate", threshold=terms.pass_threshold, inclusive=True),
    )


def _task(row: Row, trial: int) -> Task:
    shown: dict[str, Any] = {"prompt": list(row.prompt)}
    if row.metadata is not None:
        shown["metadata"] = row.metadata
    return Task(
        str(row.index),
        input=shown,
        target=row.label,
        metadata={ROW: row.index, TRIAL: trial},
        labels=row.labels,
    )


def _reward(found: dict[str, Any]) -> Score:
    failed = found.get(GRADER_FAILED)
    if failed is not None:
        # A grader whose judge did not answer is not to blame.
        judge = found.get(JUDGE_FAILED)
        blamed = judge if isinstance(judge, dict) else failed
        return Score(REWARD, missing=Cause(blamed["cause"]), explanation=str(failed["message"]))
    if found.get(LEFT_OUT):
        return Score(REWARD, missing=Cause.SKIPPED)
    if UNGRADED in found:
        return Score(REWARD, missing=Cause.VALUE_MISSING, explanation=str(found[UNGRADED]))
    return Score(REWARD, found.get(REWARD), explanation=str(found.get("explanation", "")))


def _named(name: str) -> str:
    """Return a metric's name as that of a score: the names of ours stay ours."""
    return f"metrics.{name}" if name in _OWN else name


def _numbers(found: Any) -> Iterator[tuple[str, float]]:
    for name, value in found.items() if isinstance(found, dict) else ():
        if isinstance(value, int | float):
            yield name, value
