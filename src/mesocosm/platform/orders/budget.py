"""What runs may cost: budgets of people, guests and teams over 24 hours."""

import time
from dataclasses import dataclass

from mesocosm.platform.service import Service
from mesocosm.store.orders import Order

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
    since = time.time() - DAY
    found = []
    own = _personal(service, actor)
    if own is not None:
        found.append(Left(own - service.orders.spent(actor=actor, since=since).usd, "your budget"))
    team = service.teams.get(team_id) if team_id is not None else None
    if team is not None:
        budget = team.budget_usd if team.budget_usd is not None else service.settings.team_budget_usd
        if budget is not None:
            spent = service.orders.spent(team_id=team.id, since=since).usd
            found.append(Left(budget - spent, f"the budget of team {team.name}"))
    return min(found, key=lambda left: left.usd or 0.0) if found else Left()


def run_limit(service: Service, left: Left) -> float | None:
    """Return what one run may cost in USD; None: nothing is limited."""
    limits = [limit for limit in (left.usd, service.settings.run_budget_usd) if limit is not None]
    return min(limits) if limits else None


def over_budget(service: Service, order: Order) -> str:
    """Return whose budget is used up that a run which is being played belongs to; empty while there is money.

    Runs of one budget that are played at the same time each got all that was left; whoever plays them asks this now and
    then and stops.
    """
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
