"""`/api/limits`: what somebody may do, and how much of that is left."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from mesocosm.server.auth.access import Access, Caller, Served, access
from mesocosm.server.problems import refused
from mesocosm.server.routes.signing_in import kept_by_nobody
from mesocosm.server.run_requests.found import find_run
from mesocosm.server.run_requests.submission import budget_of, check_team, spent_of, terms_of
from mesocosm.server.schemas.limits import BudgetDocument, LimitsDocument, QueuePlace
from mesocosm.server.service import Service
from mesocosm.store.admission import Allowance

router = APIRouter(tags=["limits"], dependencies=[Depends(kept_by_nobody)])


@router.get("/api/limits", response_model=LimitsDocument, responses=refused(403), **access(Access.PUBLIC))
def get_limits(
    caller: Caller,
    service: Served,
    team_id: Annotated[str | None, Query(max_length=200, description="also the budget of this team of yours")] = None,
) -> LimitsDocument:
    """Return what the caller may do, and how much of that is left; for nobody known what a guest could do.

    403 for a team that the caller is not in.
    """
    settings = service.settings
    team = check_team(service, caller, team_id) if caller.member else None
    terms = terms_of(service, caller)
    left = Allowance() if caller.anonymous else service.store.admission.left(caller.actor, terms)
    guest = not caller.member
    per_day = settings.guest_runs_per_day if guest else settings.member_runs_per_day
    return LimitsDocument(
        episodes_per_run=settings.max_episodes_per_run,
        steps_per_episode=settings.max_steps,
        tokens_per_episode=settings.episode_tokens,
        episode_seconds=settings.episode_s,
        run_seconds=settings.run_s,
        run_usd=settings.run_budget_usd,
        may_run=not caller.anonymous,
        domains=list(settings.demo_domains) if guest else None,
        cooldown_seconds=settings.cooldown_s,
        cooldown_left_seconds=left.cooldown_s,
        runs_per_day=per_day,
        runs_left_today=max(per_day - left.today, 0),
        waiting_at_most=settings.queued_per_actor,
        waiting=left.waiting,
        queue_length=service.store.workers.queue().runs_queued,
        budget=_budget(service, "guest:" if caller.anonymous else caller.actor, None),
        team_budget=None if team is None else _budget(service, caller.actor, team),
        environments_per_owner=settings.environments_per_owner,
        team_size=settings.team_size,
        sign_up=settings.sign_up,
        guests=settings.guests,
    )


@router.get("/v1/runs/{run_id}/queue", response_model=QueuePlace, **access(Access.READER))
def get_place(
    run_id: Annotated[str, Path(max_length=200, description="id of the run")], caller: Caller, service: Served
) -> QueuePlace:
    """Return where a run stands in the queue. It is fair between people, so others may come to stand before it."""
    found = find_run(service, caller, run_id)
    place = service.store.waiting.place(found.run.id)
    if place is None:
        return QueuePlace(waiting=False, position=None, length=service.store.workers.queue().runs_queued)
    return QueuePlace(waiting=True, position=place.position, length=place.length)


def _budget(service: Service, actor: str, team_id: str | None) -> BudgetDocument:
    limit, spent = budget_of(service, actor, team_id), spent_of(service, actor, team_id)
    return BudgetDocument(limit_usd=limit, spent_usd=spent, left_usd=None if limit is None else max(limit - spent, 0.0))
