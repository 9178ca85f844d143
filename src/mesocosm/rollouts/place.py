"""Where a rollout is executed: what one try of one row is given, and what comes back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mesocosm.core.failure import Cause

GRACE_S = 1.0
"""Beyond its timeout a row holds its slot at most so long, whatever its code does."""

NO_SAMPLE = "the workflow left no sample: return the messages from run, or give the rollout's context a sample source"
"""What is wrong with a workflow that ended well and has nothing to show."""

Log = Callable[[str, str], None]
"""Takes a line that foreign code wrote: `stdout` or `stderr`, the line."""


@dataclass(frozen=True, slots=True)
class Access:
    """A model behind an OpenAI-compatible address: the URL before `/chat/completions`, the key, the model's name."""

    base_url: str
    api_key: str = field(repr=False)
    model: str


@dataclass(frozen=True, slots=True)
class Work:
    """One try of one row.

    `prompt` are the initial messages; `row` is the place of the row in its dataset, from 0. `seed` is the same for
    the same row and trial, whatever else runs. `judge` is for the grader. Seconds of None are unlimited. Files that the
    rollout writes into `artifacts` are kept; the folder is there only once somebody has made it.
    """

    id: str
    prompt: Sequence[Mapping[str, Any]]
    label: str | None
    metadata: Mapping[str, Any] | None
    row: int
    trial: int
    seed: int
    model: Access
    judge: Access | None
    artifacts: Path
    workflow_seconds: float | None = None
    grader_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a workflow left, and what a grader made of it.

    A `reward` of None: nobody graded it, or the grader failed. `left_out`: the grader wants it counted nowhere.
    `metrics` are named numbers of either of them; `extra` whatever else the sample carries.
    """

    messages: Sequence[Mapping[str, Any]] = ()
    reward: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a workflow or a grader came to no good end: a cause of the workflow or of the grader, and their words."""

    cause: Cause
    message: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Blocked:
    """For how many seconds code of a try blocked its event loop, and where: `main.py:31 in run`, if that is known."""

    seconds: float
    where: str = ""


def read_blocked(told: Any) -> Blocked | None:
    """Return what diagnostics of the SDK say of it; None for anything else."""
    if not isinstance(told, Mapping) or not isinstance(told.get("seconds"), int | float):
        return None
    return Blocked(float(told["seconds"]), str(told.get("where", "")))


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a try. With a failure of the grader the sample is there all the same. Times are seconds."""

    sample: Sampled | None = None
    failure: Failed | None = None
    graded: bool = False
    queued_s: float = 0.0
    workflow_s: float = 0.0
    grader_s: float = 0.0
    blocked: Blocked | None = None


class Place(Protocol):
    """Executes rollouts: in this process, or in processes of their own behind the rollout protocol."""

    @property
    def capacity(self) -> int | None:
        """How many tries it can take at once, known after `open`; None: any number."""
        ...

    async def open(self, notice: Callable[[str], None]) -> None:
        """Start what all tries share; `notice` takes lines for people. Raises MesocosmError."""
        ...

    async def run(self, work: Work, log: Log) -> Ended:
        """Execute one try.

        It returns within the seconds of its workflow and its grader and `GRACE_S`, whatever their code does. When it is
        cancelled, the try is cancelled too. Raises EpisodeError (rollout_failed) when the place itself broke.
        """
        ...

    async def close(self) -> None:
        """Stop what `open` started, with all its children."""
        ...
