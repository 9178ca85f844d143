"""The executor interface: what it takes to run one row of a rollout, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mesocosm.core.failure import Cause

GRACE_S = 1.0
"""Seconds beyond its time limits within which a row in a worker process ends, even if its code hangs."""

NO_SAMPLE = "the workflow left no sample: return the messages from run, or give the rollout's context a sample source"
"""Message for a workflow that ended without a sample."""

LineLog = Callable[[str, str], None]
"""Called with `stdout` or `stderr` and a line that the rollout's code printed."""


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """A model at an OpenAI-compatible address: the URL without `/chat/completions`, the API key, the model's name."""

    base_url: str
    api_key: str = field(repr=False)
    model: str


@dataclass(frozen=True, slots=True)
class RowJob:
    """One attempt at one row.

    `prompt` holds the initial messages; `row` is the index of the row in its dataset. `seed` is the same for a row and
    trial in every run. `judge` is for the grader. A time limit of None is unlimited. Files in `artifacts` are kept; the
    folder is created on first use.
    """

    id: str
    prompt: Sequence[Mapping[str, Any]]
    label: str | None
    metadata: Mapping[str, Any] | None
    row: int
    trial: int
    seed: int
    model: ModelAccess
    judge: ModelAccess | None
    artifacts: Path
    workflow_seconds: float | None = None
    grader_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PlayedSample:
    """The sample of a workflow after grading.

    `reward` is None if the sample was not graded or the grader failed. `left_out`: the grader excluded it from all
    counts. `metrics` are named numbers; `extra` holds everything else about the sample.
    """

    messages: Sequence[Mapping[str, Any]] = ()
    reward: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class RowFailure:
    """Why a workflow or a grader failed."""

    cause: Cause
    message: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BlockedLoop:
    """How long the code of the row `name` blocked its event loop, and where (`main.py:31 in run`), if known."""

    seconds: float = 0.0
    where: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The result of a row. The sample is kept if the grader fails. Times are in seconds."""

    sample: PlayedSample | None = None
    failure: RowFailure | None = None
    queued_s: float = 0.0
    workflow_s: float = 0.0
    grader_s: float = 0.0
    blocked: BlockedLoop | None = None

    @property
    def graded(self) -> bool:
        """Whether the sample has a grade that counts."""
        return self.failure is None and self.sample is not None and self.sample.reward is not None


class RolloutExecutor(Protocol):
    """Runs rows of a rollout, in worker processes or in this process."""

    @property
    def capacity(self) -> int | None:
        """Maximum number of concurrent rows, known after `open`; None is unlimited."""
        ...

    async def open(self, notice: Callable[[str], None]) -> None:
        """Start what all rows share; `notice` is called with lines to show. Raises MesocosmError."""
        ...

    async def run(self, job: RowJob, log: LineLog) -> RowOutcome:
        """Run one row; cancelling the call cancels the row. Raises EpisodeError (rollout_failed).

        With worker processes it returns within the time limits of workflow and grader plus `GRACE_S`, even if code
        hangs.
        """
        ...

    async def close(self) -> None:
        """Stop what `open` started, including child processes."""
        ...
