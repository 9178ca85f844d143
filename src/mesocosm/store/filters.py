"""Filters of runs and episodes, and the visibility of runs, as SQL conditions."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, exists, false, or_, select

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.run import RunStatus
from mesocosm.store.run_requests import public_request
from mesocosm.store.tenancy import memberships, requests

Whose = Literal["", "mine", "team", "public"]


@dataclass(frozen=True, slots=True)
class VisibleTo:
    """The runs that one person may see: their own, those of their teams, and public ones.

    `actor` is as in RunRequest, empty without an account; `user_id` is None for anyone who cannot join teams. `whose`
    narrows the runs down to one of the three groups.
    """

    actor: str = ""
    user_id: int | None = None
    whose: Whose = ""

    def owns(self) -> ColumnElement[bool]:
        """Return the condition that a run request belongs to the person or to one of their teams."""
        return or_(self._mine(), self._team())

    def sees(self) -> ColumnElement[bool]:
        """Return the condition that the person may see the run of a request, and `whose` includes it."""
        if self.whose == "public":
            return public_request()
        if self.whose == "mine":
            return self._mine()
        return self._team() if self.whose == "team" else or_(self.owns(), public_request())

    def runs(self, run_id: ColumnElement[str]) -> ColumnElement[bool]:
        """Return the condition that `run_id` is the id of a visible run."""
        if self.whose in {"mine", "team"}:
            # There are few of these: look them up by owner.
            return run_id.in_(select(requests.c.run_id).where(self.sees()))
        # Check one by one until a page is full, independent of the total number.
        return exists().where(requests.c.run_id == run_id, self.sees())

    def _mine(self) -> ColumnElement[bool]:
        return requests.c.actor == self.actor if self.actor else false()

    def _team(self) -> ColumnElement[bool]:
        if self.user_id is None:
            return false()
        return requests.c.team_id.in_(select(memberships.c.team_id).where(memberships.c.user_id == self.user_id))


def submitted(run_id: ColumnElement[str], team: str, environment: str, *, tests: bool) -> list[ColumnElement[bool]]:
    """Return the conditions that a run was submitted for a team or environment and (unless `tests`) is no test."""
    submissions = select(requests.c.run_id)
    found: list[ColumnElement[bool]] = []
    if team:
        found.append(run_id.in_(submissions.where(requests.c.team_id == team)))
    if environment:
        found.append(run_id.in_(submissions.where(requests.c.environment_id == environment)))
    return found if tests else [*found, run_id.not_in(submissions.where(requests.c.purpose == "test"))]


Outcome = Literal["", "pass", "fail", "scored", "worst", "missing", "skipped"]


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter of runs: all given fields must match.

    Any of several values of a field matches, except for `tags`, which a run must all have. All words of `text` must
    occur in id, name, benchmark, title, model, agent or tags, ignoring case. `since` (inclusive) and `until`
    (exclusive) bound the creation time in UNIX seconds. `visible_to` keeps the runs that a person may see, `team` and
    `environment` those submitted for them; without `tests`, test episodes are left out.
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
    """A filter of episodes: all given fields must match; any of several values of a field matches.

    `causes` are values of core.failure.Cause: the cause of the episode's failure, or why one of its scores is missing
    although it did not fail. `text` must occur in task id, cluster, failure message, terminal info or labels, ignoring
    the case of ASCII letters. `outcome` is that of the score the primary metric reads: `scored`, `missing`, `skipped`
    (by its grader), `worst` (a failure of the agent), `pass` (above the threshold of the run's pass rate, else of its
    metric, else 0), `fail` (scored but not above it, or worst). `score_low` and `score_high` bound that score,
    inclusively. `task` is a task digest, `label` a task label with its value: `difficulty=hard`.
    """

    statuses: tuple[EpisodeStatus, ...] = ()
    causes: tuple[str, ...] = ()
    text: str = ""
    outcome: Outcome = ""
    score_low: float | None = None
    score_high: float | None = None
    task: str = ""
    label: str = ""
