"""Filters of runs and episodes, and the visibility of runs, as SQL conditions."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Column, ColumnElement, and_, exists, false, or_, select, true

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.run import RunStatus
from mesocosm.store.rows import plain
from mesocosm.store.run_requests import public_request
from mesocosm.store.tenancy import memberships, requests, workspace_members

Whose = Literal["", "mine", "team", "workspace", "public"]


@dataclass(frozen=True, slots=True)
class VisibleTo:
    """The runs that one person may see: their own, those of their teams and workspaces, and public ones.

    A run in a workspace is seen by the members of the workspace alone: neither by its team nor by the public, nor by a
    person who submitted it and left. `actor` is as in RunRequest, empty without an account; `user_id` is None for
    anyone who cannot join teams and workspaces; `every_workspace` is set for those who see all workspaces. `whose`
    narrows the runs down to one of the four groups.
    """

    actor: str = ""
    user_id: int | None = None
    whose: Whose = ""
    every_workspace: bool = False

    def owns(self) -> ColumnElement[bool]:
        """Return the condition that the person sees everything of the run of a request, also what is hidden in public.

        The run is theirs, or of one of their teams or workspaces.
        """
        return or_(self._mine(), self._team(), self._workspace())

    def sees(self) -> ColumnElement[bool]:
        """Return the condition that the person may see the run of a request, and `whose` includes it."""
        if self.whose == "public":
            return public_request()
        if self.whose == "mine":
            return self._mine()
        if self.whose == "workspace":
            return self._workspace()
        return self._team() if self.whose == "team" else or_(self.owns(), public_request())

    def runs(self, run_id: ColumnElement[str]) -> ColumnElement[bool]:
        """Return the condition that `run_id` is the id of a visible run."""
        if self.whose in {"mine", "team", "workspace"}:
            # There are few of these: look them up by owner.
            return run_id.in_(select(requests.c.run_id).where(self.sees()))
        # Check one by one until a page is full, independent of the total number.
        return exists().where(requests.c.run_id == run_id, self.sees())

    def _mine(self) -> ColumnElement[bool]:
        if not self.actor:
            return false()
        return and_(requests.c.actor == self.actor, or_(requests.c.workspace_id.is_(None), self._workspace()))

    def _team(self) -> ColumnElement[bool]:
        if self.user_id is None:
            return false()
        theirs = select(memberships.c.team_id).where(memberships.c.user_id == self.user_id)
        return and_(requests.c.workspace_id.is_(None), requests.c.team_id.in_(theirs))

    def _workspace(self) -> ColumnElement[bool]:
        if self.every_workspace:
            return requests.c.workspace_id.is_not(None)
        if self.user_id is None:
            return false()
        theirs = select(workspace_members.c.workspace_id).where(workspace_members.c.user_id == self.user_id)
        return requests.c.workspace_id.in_(theirs)


Outcome = Literal["", "pass", "fail", "scored", "worst", "missing", "skipped"]


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter of runs: all given fields must match.

    Any of several values of a field matches, except for `tags`, which a run must all have. All words of `text` must
    occur in id, name, benchmark, title, model, agent or tags, ignoring case. `since` (inclusive) and `until`
    (exclusive) bound the creation time in UNIX seconds. `visible_to` keeps the runs that a person may see; `team`,
    `environment`, `workspace` (ids), `datasets` (ids), `dataset_versions` (numbers), `configurations` (paths) and
    `branches` those submitted for them; `creators` those that accounts of these names submitted, as far as the person
    sees all of them; without `builtin`, runs of built-in agents, and without `tests`, test episodes
    are left out.
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
    workspace: str = ""
    datasets: tuple[str, ...] = ()
    dataset_versions: tuple[int, ...] = ()
    configurations: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    creators: tuple[str, ...] = ()
    builtin: bool = True
    tests: bool = True

    def submitted(self, run_id: ColumnElement[str]) -> list[ColumnElement[bool]]:
        """Return the conditions on the request of a run."""
        given = (
            # A run in a workspace does not belong to a team.
            (self.team, and_(requests.c.team_id == plain(self.team), requests.c.workspace_id.is_(None))),
            (self.environment, requests.c.environment_id == plain(self.environment)),
            (self.workspace, requests.c.workspace_id == plain(self.workspace)),
            (self.datasets, _among(requests.c.dataset_id, self.datasets)),
            (self.dataset_versions, requests.c.dataset_version.in_(self.dataset_versions)),
            (self.configurations, _among(requests.c.configuration, self.configurations)),
            (self.branches, _among(requests.c.branch, self.branches)),
            (self.creators, and_(_among(requests.c.actor_name, self.creators), self._named())),
        )
        submissions = select(requests.c.run_id)
        found: list[ColumnElement[bool]] = [
            run_id.in_(submissions.where(condition)) for value, condition in given if value
        ]
        return found if self.tests else [*found, run_id.not_in(submissions.where(requests.c.purpose == "test"))]

    def _named(self) -> ColumnElement[bool]:
        """Return the condition that the person may know who submitted a run."""
        return true() if self.visible_to is None else self.visible_to.owns()


@dataclass(frozen=True, slots=True)
class EpisodeFilter:
    """A filter of episodes: all given fields must match; any of several values of a field matches.

    `causes` are values of core.failure.Cause: the cause of the episode's failure, or why one of its scores is missing
    although it did not fail. `text` must occur in task id, cluster, failure message, terminal info or labels, ignoring
    the case of ASCII letters. `outcome` is that of the score the primary metric reads: `scored`, `missing`, `skipped`
    (by its grader), `worst` (a failure of the agent), `pass` (above the threshold of the run's pass rate, else of its
    metric, else 0), `fail` (scored but not above it, or worst). `score_low` and `score_high` bound that score,
    inclusively. `task` is a task digest, `label` a task label with its value: `difficulty=hard`, or
    `trial=2`, which counts from 1.
    `mistake` and `behaviour` are those of the episode (core.episode).
    """

    statuses: tuple[EpisodeStatus, ...] = ()
    causes: tuple[str, ...] = ()
    text: str = ""
    outcome: Outcome = ""
    score_low: float | None = None
    score_high: float | None = None
    task: str = ""
    label: str = ""
    mistake: str = ""
    behaviour: str = ""


def _among(column: Column[str], values: tuple[str, ...]) -> ColumnElement[bool]:
    return column.in_(list(map(plain, values)))
