"""Episodes: one attempt at one task in one trial, from start to score."""

from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from mesocosm.core.failure import RULES, Failure
from mesocosm.core.score import Score
from mesocosm.core.usage import NOTHING, Usage


class EpisodeStatus(StrEnum):
    """Status of an episode. `truncated` used up its step budget, `timeout` its time budget; both are scored."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    TRUNCATED = "truncated"
    TIMEOUT = "timeout"
    FAILED = "failed"
    CANCELLED = "cancelled"


SCOREABLE = frozenset({EpisodeStatus.COMPLETED, EpisodeStatus.TRUNCATED, EpisodeStatus.TIMEOUT})
FINISHED = SCOREABLE | {EpisodeStatus.FAILED}
"""A cancelled episode is pending, so resuming runs it. A finished one runs again only on request."""


class EpisodeKey(NamedTuple):
    """Identity of an episode within a run: digest of its task, index of its repetition."""

    task: str
    trial: int


class Episode(msgspec.Struct, omit_defaults=True):
    """The row of one episode. Times are UNIX seconds, `index` is its position in the plan, `labels` are its task's.

    `input`, `target` and `reference` are what its task asks, the right answer, and a worked solution, as JSON; `answer`
    is what was graded. All are None where there is none. `why` says in one sentence why the primary score is not the
    best; `mistake` names the kind of mistake, the same for like ones; `behaviour` is a value of
    core.behaviour.Behaviour. A large value is a reference to stored content, `{"$blob": digest, "bytes": n}`.
    """

    id: str
    run_id: str
    task_digest: str
    task_id: str
    trial: int = 0
    seed: int | None = None
    index: int = 0
    cluster: str = ""
    status: EpisodeStatus = EpisodeStatus.PENDING
    started_at: float = 0.0
    ended_at: float | None = None
    steps: int = 0
    total_reward: float = 0.0
    terminal_info: dict[str, Any] = {}
    failure: Failure | None = None
    usage: Usage = NOTHING
    retries: int = 0
    events: int = 0
    scores: tuple[Score, ...] = ()
    labels: dict[str, str] = {}
    input: Any = None
    target: Any = None
    reference: Any = None
    answer: Any = None
    why: str = ""
    mistake: str = ""
    behaviour: str = ""

    @property
    def key(self) -> EpisodeKey:
        """Identity within the run."""
        return EpisodeKey(self.task_digest, self.trial)

    @property
    def valid(self) -> bool:
        """Whether the outcome measures the agent: the episode was scored, or the agent caused the failure."""
        if self.status in SCOREABLE:
            return True
        return self.failure is not None and RULES[self.failure.cause].valid
