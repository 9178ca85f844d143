"""What runs may cost: budgets of people, guests and teams over 24 hours."""

import time
from dataclasses import dataclass

from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequest

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of the tightest budget in USD (None: nothing is limited), and whose budget that is."""

    usd: float | None = None
    whose: str = ""

    @property
    def used_up(self) -> bool:
        """Whether nothing is left."""
        return self.usd is not None and self.usd <= 0


def left_for(service: Service, actor: str, team_id: str | None) -> Left:
    """Return what an actor may spend now, for a team where one is named. `actor` is as in `Principal.actor`."""
    found = []
    own = budget_of(service, actor)
    if own is not None:
        found.append(Left(own - spent_of(service, actor), "your budget"))
    team = service.teams.get(team_id) if team_id is not None else None
    budget = None if team is None else budget_of(service, actor, team.id)
    if team is not None and budget is not None:
        found.append(Left(budget - spent_of(service, actor, team.id), f"the budget of team {team.name}"))
    return min(found, key=lambda left: left.usd or 0.0) if found else Left()


def budget_of(service: Service, actor: str, team_id: str | None = None) -> float | None:
    """Return what an actor, or a team, may spend in 24 hours, USD; None: as much as they like."""
    if team_id is None:
        return _personal(service, actor)
    team = service.teams.get(team_id)
    own = None if team is None else team.budget_usd
    return own if own is not None else service.settings.team_budget_usd


def spent_of(service: Service, actor: str, team_id: str | None = None) -> float:
    """Return what an actor, or a team, spent in the last 24 hours, USD."""
    since, whose = time.time() - DAY, {"team_id": team_id} if team_id is not None else {"actor": actor}
    return service.run_requests.spent(**whose, since=since).usd


def run_limit(service: Service, left: Left) -> float | None:
    """Return what one run may cost in USD; None: nothing is limited."""
    limits = [limit for limit in (left.usd, service.settings.run_budget_usd) if limit is not None]
    return min(limits) if limits else None


def over_budget(service: Service, order: RunRequest) -> str:
    """Return whose budget is used up that a run which is being played belongs to; empty while there is money.

    Runs of one budget that are played at the same time each got all that was left; whoever plays them asks this now and
    then and stops. What costs nothing goes on.
    """
    if not service.catalogue.costs(order.model):
        return ""
    left = left_for(service, order.actor, order.team_id)
    return f"{left.whose} of the last 24 hours is used up" if left.used_up else ""


def _personal(service: Service, actor: str) -> float | None:
    kind, _, name = actor.partition(":")
    if kind == "guest":
        return service.settings.guest_budget_usd
    if kind != "user":
        return None
    user = service.users.get(int(name)) if name.isdecimal() else None
    own = None if user is None else user.budget_usd
    return own if own is not None else service.settings.user_budget_usd
