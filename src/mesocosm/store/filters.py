"""What a listing is asked for: filters of runs and of episodes."""

from dataclasses import dataclass
from typing import Literal

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.run import RunStatus
from mesocosm.store.visibility import VisibleTo

Outcome = Literal["", "pass", "fail", "scored", "worst", "missing", "skipped"]


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs: every field that is given must fit.

    Of several values of one field any will do, except `tags`, which a run must all have. `text` are words that must
    all occur in id, name, benchmark, title, model, agent or tags, without regard to case. `since` (inclusive) and
    `until` (exclusive) bound the time of creation in UNIX seconds. `visible_to` leaves the runs that a person may see,
    `team` and `environment` those that were submitted for them; without `tests` test episodes are left out.
    """

    statuses: tuple[RunStatus, ...] = ()
    benchmarks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    text: str = ""
    since: float | None = None
    until: float | None = None
    visible_to: VisibleTo | None = None
    team: str = ""
    environment: str = ""
    tests: bool = True


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """Which episodes: every field that is given must fit; of several values any will do.

    `causes` are words of core.failure.Cause: what the episode failed for, or what one of its scores is missing for
    while it did not fail. `text` must occur in task id, cluster, failure message, terminal info or
    labels, without regard to the case of ASCII letters. `outcome` looks at the score that the primary metric reads:
    `scored`, `missing`, `skipped` (left out by its grader), `worst` (failed by the agent's own doing), `pass` (above
    the threshold of the run's pass rate or else of its metric, 0 where neither has one), `fail` (scored but not above
    it, or worst). `score_low` and `score_high` bound that score, inclusively. `task` is
    a task digest, `label` a label of the task with its value: `difficulty=hard`.
    """

    statuses: tuple[EpisodeStatus, ...] = ()
    causes: tuple[str, ...] = ()
    text: str = ""
    outcome: Outcome = ""
    score_low: float | None = None
    score_high: float | None = None
    task: str = ""
    label: str = ""
