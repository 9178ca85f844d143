"""Lists of runs, in a handful of queries however long they are."""

from collections.abc import Sequence

from mesocosm.compat.swecc.documents import RunListItem, RunStatus
from mesocosm.core.run import Run
from mesocosm.server.auth.belonging import PUBLIC, public
from mesocosm.server.auth.principal import Principal
from mesocosm.server.auth.redaction import Discretion
from mesocosm.server.run_requests.view import run_fields
from mesocosm.server.service import Service
from mesocosm.store.run_requests import RunRequest

_TYPES = {"user": "member", "guest": "guest"}


def run_items(service: Service, caller: Principal, orders: Sequence[RunRequest]) -> list[RunListItem]:
    """Return runs as items of a list, in the order given; those that were deleted meanwhile are left out.

    Whoever calls has chosen runs that the caller may read; what the caller may see of each is decided here.
    """
    ids = [order.run_id for order in orders]
    runs, rewards = service.store.run_requests.runs(ids), service.store.run_requests.mean_rewards(ids)
    titles = {row.id: row.name for row in service.store.domains.some({order.domain_id for order in orders}).values()}
    own = inside_of(service, caller, orders)
    return [
        _item(order, runs[order.run_id], rewards.get(order.run_id), titles, inside=order.run_id in own)
        for order in orders
        if order.run_id in runs
    ]


def inside_of(service: Service, caller: Principal, orders: Sequence[RunRequest]) -> frozenset[str]:
    """Return the ids of those of these runs that are the caller's or their teams'; as `belonging.inside`, for many."""
    if caller.admin:
        return frozenset(order.run_id for order in orders)
    if caller.anonymous:
        return frozenset()
    member = caller.member and caller.user_id is not None and any(order.team_id for order in orders)
    teams = {team.id for team in service.store.teams.teams_of(caller.user_id)} if member and caller.user_id else set()
    return frozenset(order.run_id for order in orders if order.actor == caller.actor or order.team_id in teams)


def readable_requests(service: Service, caller: Principal, orders: Sequence[RunRequest]) -> list[RunRequest]:
    """Return those of these orders that the caller may read."""
    own = inside_of(service, caller, orders)
    others = [order.run_id for order in orders if order.run_id not in own and order.visibility == PUBLIC]
    runs = service.store.run_requests.runs(others) if others else {}
    shown = own | {order.run_id for order in orders if order.run_id in runs and public(order, runs[order.run_id])}
    return [order for order in orders if order.run_id in shown]


def _item(order: RunRequest, run: Run, reward: float | None, titles: dict[str, str], *, inside: bool) -> RunListItem:
    kind, _, name = order.actor.partition(":")
    fields = run_fields(order, run, inside=inside)
    if fields["error"]:
        # A failure may quote where the operator's models are asked.
        fields["error"] = Discretion(run, ())(str(fields["error"]).encode()).decode()
    unplayed = run.counts.owed if fields["status"] in {RunStatus.CANCELLED, RunStatus.PARTIAL, RunStatus.FAILED} else 0
    return RunListItem.model_validate(
        {
            **fields,
            "completed_count": run.counts.completed + run.counts.truncated,
            "failed_count": run.counts.failed + run.counts.timeout + unplayed,
            "avg_reward": reward,
            "actor_type": _TYPES.get(kind, "system"),
            "actor_id": name if inside else None,
            "actor_username": (order.actor_name or None) if inside else None,
            "domain_name": titles.get(order.domain_id, ""),
        }
    )
