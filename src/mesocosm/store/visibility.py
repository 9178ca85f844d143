"""Who may see a run, as conditions of SQL: lists and counts ask for it in the query itself."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, exists, false, or_, select

from mesocosm.store.run_requests import public_request
from mesocosm.store.tenancy import memberships, requests

Whose = Literal["", "mine", "team", "public"]


@dataclass(frozen=True, slots=True)
class VisibleTo:
    """The runs that one person may see: their own, those of their teams, and public ones.

    `actor` is that of RunRequest, empty without an account; `user_id` is None for those who cannot be in a team.
    `whose` narrows it to one of the three..
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
