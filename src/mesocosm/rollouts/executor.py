"""The interface of executors: what plays one row of a rollout is given, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mesocosm.core.failure import Cause

GRACE_S = 1.0
"""Seconds beyond its timeouts within which a row ends in a worker process, whatever its code does."""

NO_SAMPLE = "the workflow left no sample: return the messages from run, or give the rollout's context a sample source"
"""The message for a workflow that ended without a sample."""

LineLog = Callable[[str, str], None]
"""Takes `stdout` or `stderr`, and a line that users' code printed."""


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """A model behind an OpenAI-compatible address: the URL before `/chat/completions`, the key, the model's name."""

    base_url: str
    api_key: str = field(repr=False)
    model: str


@dataclass(frozen=True, slots=True)
class RowJob:
    """One attempt at one row.

    `prompt` are the initial messages; `row` is the index of the row in its dataset. `seed` is the same for the same row
    and trial in every run. `judge` is for the grader. Seconds of None are unlimited. Files in `artifacts` are kept; the
    folder is made on first use.
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

    `reward` is None if it was not graded or the grader failed. `left_out`: the grader excluded it from all counts.
    `metrics` are named numbers; `extra` holds everything else of the sample.
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
    """How long code of a row blocked its event loop, and where: `main.py:31 in run`, if that is known."""

    seconds: float
    where: str = ""


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """The result of a row. A failure of the grader keeps the sample. Times are seconds."""

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
    """Plays rows of a rollout, in worker processes or in this one."""

    @property
    def capacity(self) -> int | None:
        """Maximum number of rows at once, known after `open`; None: any number."""
        ...

    async def open(self, notice: Callable[[str], None]) -> None:
        """Start what all rows share; `notice` takes lines to show. Raises MesocosmError."""
        ...

    async def run(self, job: RowJob, log: LineLog) -> RowOutcome:
        """Play one row; cancelling the call cancels the row. Raises EpisodeError (rollout_failed).

        In worker processes it returns within the seconds of workflow and grader plus `GRACE_S`, whatever the code does.
        """
        ...

    async def close(self) -> None:
        """Stop what `open` started, with all its children."""
        ...
