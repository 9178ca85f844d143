"""Filters of runs and episodes, and who may see a run, as conditions of SQL."""

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

    `actor` is that of RunRequest, empty without an account; `user_id` is None for those who cannot be in a team.
    `whose` narrows it to one of the three.
    """

    actor: str = ""
    user_id: int | None = None
    whose: Whose = ""

    def owns(self) -> ColumnElement[bool]:
        """Return the condition on run requests that they are the person's, or a team's of theirs."""
        return or_(self._mine(), self._team())

    def sees(self) -> ColumnElement[bool]:
        """Return the condition on run requests that the person may see their runs and asked for them."""
        if self.whose == "public":
            return public_request()
        if self.whose == "mine":
            return self._mine()
        return self._team() if self.whose == "team" else or_(self.owns(), public_request())

    def runs(self, run_id: ColumnElement[str]) -> ColumnElement[bool]:
        """Return the condition that `run_id` is that of such a run."""
        if self.whose in {"mine", "team"}:
            # Few: they are looked up by their owner.
            return run_id.in_(select(requests.c.run_id).where(self.sees()))
        # One by one, until a page is full: how many there are besides does not matter.
        return exists().where(requests.c.run_id == run_id, self.sees())

    def _mine(self) -> ColumnElement[bool]:
        return requests.c.actor == self.actor if self.actor else false()

    def _team(self) -> ColumnElement[bool]:
        if self.user_id is None:
            return false()
        return requests.c.team_id.in_(select(memberships.c.team_id).where(memberships.c.user_id == self.user_id))


def submitted(run_id: ColumnElement[str], team: str, environment: str, *, tests: bool) -> list[ColumnElement[bool]]:
    """Return the conditions that a run was submitted for a team or in an environment, and was no test episode."""
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
