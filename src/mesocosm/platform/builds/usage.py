"""How much an environment or a domain was used, as documents."""

from collections.abc import Sequence

from mesocosm.client.documents.environment import Usage
from mesocosm.client.documents.run import RunStatus
from mesocosm.platform.access.belonging import PUBLIC
from mesocosm.platform.boards.boards import leaderboards_of
from mesocosm.platform.orders.view import public_status
from mesocosm.platform.service import Service
from mesocosm.store.boards import Field
from mesocosm.store.environments import EnvironmentRow
from mesocosm.store.usage import UsageGroup, Usages


def environment_usage(service: Service, environment: EnvironmentRow) -> Usage:
    """Return how much an environment was used, all its versions together; its board is that of its domain."""
    return _usage(service, Usages(service.store.database).of_environment(environment.id), environment.domain_id)


def domain_usage(service: Service, domain_id: str) -> Usage:
    """Return how much a domain was used; zeros for one that is not there."""
    return _usage(service, Usages(service.store.database).of_domain(domain_id), domain_id)


def _usage(service: Service, groups: Sequence[UsageGroup], domain_id: str | None) -> Usage:
    examples = [group.example for group in groups]
    orders, runs = service.orders.of(examples), service.orders.runs(examples)
    by_status: dict[str, int] = {}
    finished = []
    for group in groups:
        if group.example not in orders or group.example not in runs:
            continue
        status = public_status(orders[group.example], runs[group.example])
        by_status[status.value] = by_status.get(status.value, 0) + group.count
        if status is RunStatus.COMPLETED:
            finished.append(group)
    shown = [group for group in finished if group.visibility == PUBLIC]
    scored = sum(group.scored for group in finished)
    return Usage(
        total_runs=sum(by_status.values()),
        total_episodes=sum(group.episodes for group in groups),
        avg_score=sum(group.total for group in finished) / scored if scored else None,
        best_score=_best(finished),
        leaderboard_entries=len(leaderboards_of(service).entries(Field(domain_id=domain_id))) if domain_id else 0,
        by_status=by_status,
        gallery_eligible=sum(group.count for group in shown),
        leaderboard_eligible=sum(group.scored for group in shown),
    )


def _best(groups: Sequence[UsageGroup]) -> float | None:
    scored = [group for group in groups if group.scored]
    if not scored:
        return None
    if all(group.higher_is_better for group in scored):
        return max(group.most for group in scored if group.most is not None)
    return min(group.least for group in scored if group.least is not None)
