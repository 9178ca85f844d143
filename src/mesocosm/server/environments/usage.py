"""Usage summaries of environments and domains."""

from collections.abc import Sequence

from mesocosm.compat.swecc.documents import RunStatus
from mesocosm.server.leaderboards.boards import leaderboards_of
from mesocosm.server.run_requests.view import public_status
from mesocosm.server.schemas.environment import UsageSummary
from mesocosm.server.service import Service
from mesocosm.store.domains import DomainRow
from mesocosm.store.environments import EnvironmentRow
from mesocosm.store.leaderboards import BoardScope
from mesocosm.store.run_requests import PUBLIC, is_public
from mesocosm.store.usage import UsageGroup


def environment_usage(service: Service, actor: str, environment: EnvironmentRow) -> UsageSummary:
    """Return the usage of all versions of an environment; `actor` is the caller."""
    groups = service.store.usage.of_environment(environment.id, actor)
    return _usage(service, groups, environment.domain_id)


def domain_usage(service: Service, actor: str, domain: DomainRow, *, inside: bool) -> UsageSummary:
    """Return the usage of a domain: with `inside` of all runs, else of public runs and those of `actor`."""
    groups = service.store.usage.of_domain(domain.id, actor)
    if not inside:
        groups = tuple(group for group in groups if group.own or _public(service, group))
    return _usage(service, groups, domain.id)


def _public(service: Service, group: UsageGroup) -> bool:
    found = service.store.run_requests.found(group.example, whole=False)
    return found is not None and found[1] is not None and is_public(found[1], found[0].status)


def _usage(service: Service, groups: Sequence[UsageGroup], domain_id: str | None) -> UsageSummary:
    examples = [group.example for group in groups]
    requests, runs = service.store.run_requests.of(examples), service.store.run_requests.runs(examples)
    by_status: dict[str, int] = {}
    finished = []
    for group in groups:
        if group.example not in requests or group.example not in runs:
            continue
        status = public_status(requests[group.example], runs[group.example])
        by_status[status.value] = by_status.get(status.value, 0) + group.count
        # Only its owner may see the score of a private run, even if the domain belongs to another account.
        if status is RunStatus.COMPLETED and (group.own or group.visibility == PUBLIC):
            finished.append(group)
    shown = [group for group in finished if group.visibility == PUBLIC]
    scored = sum(group.scored for group in finished)
    return UsageSummary(
        total_runs=sum(by_status.values()),
        total_episodes=sum(group.episodes for group in groups),
        avg_score=sum(group.total for group in finished) / scored if scored else None,
        best_score=_best(finished),
        leaderboard_entries=len(leaderboards_of(service).entries(BoardScope(domain_id=domain_id))) if domain_id else 0,
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
