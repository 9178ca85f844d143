"""Accepting a run: everything is checked first, then run, order, quota and cooldown are written in one transaction."""

import math
import time

import msgspec

from mesocosm.client.documents.protocol import Protocol
from mesocosm.client.documents.run import RunConfig, RunInput
from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.run import Run
from mesocosm.server.auth.belonging import PRIVATE, PUBLIC
from mesocosm.server.auth.principal import Principal
from mesocosm.server.builds.view import check_document
from mesocosm.server.catalogue import ServedModel
from mesocosm.server.domains.protocols import by_protocol
from mesocosm.server.refusal import Refusal
from mesocosm.server.routes.actions import checked_tags
from mesocosm.server.run_requests import checks
from mesocosm.server.run_requests.budget import left_for, run_limit
from mesocosm.server.run_requests.spec import Place, planned_run, run_spec
from mesocosm.server.service import Service
from mesocosm.store.admission import Admission, Bound, Denial, Terms, midnight
from mesocosm.store.domains import DomainRow
from mesocosm.store.run_requests import DECLARED, RunRequest

DAY = 86_400.0


def submit_run(
    service: Service,
    caller: Principal,
    wanted: RunInput,
    *,
    purpose: str = "run",
    job_id: str | None = None,
    env_url: str | None = None,
    cooldown: bool = True,
) -> RunRequest:
    """Accept a run: return its order, queued. Raises Refusal, with nothing spent and nothing stored.

    `purpose` is run, test or full_bench. `env_url` plays at another address than the domain's; whoever calls has
    checked that the caller may do so. Without `cooldown` the run may follow another at once.
    """
    if caller.anonymous:
        raise Refusal(401, "Authentication required", headers={"WWW-Authenticate": "Bearer"})
    if not wanted.official:
        checks.check_size(service, wanted.num_episodes, wanted.trials)
    elif purpose != "run" or env_url:
        raise Refusal(422, "only an ordinary run can be official; leave `official` out")
    checks.check_guest(service, caller, wanted)
    team_id = checks.check_team(service, caller, wanted.team_id)
    if wanted.official:
        domain = checks.find_domain(service, caller, wanted.domain_id)
        wanted, place, protocol = by_protocol(service, caller, domain, wanted)
    else:
        asked = None if env_url else checks.find_environment(service, caller, wanted)
        domain, protocol = checks.find_domain(service, caller, wanted.domain_id), None
    checks.check_vow(domain, wanted)
    model = service.catalogue.resolve(wanted.agent_config.model, caller)
    if protocol is None:
        place = checks.find_place(service, caller, domain, wanted, asked=asked, env_url=env_url)
    run = _planned(service, caller, wanted, place, model, protocol)
    order = _order(service, caller, wanted, domain, place, model, run)
    order = _with(order, team_id=team_id, purpose=purpose, job_id=job_id, protocol=protocol)
    _admit(service, caller, order, run, cooldown=cooldown)
    return order


def terms_of(service: Service, caller: Principal, *, cooldown: bool = True) -> Terms:
    """Return what somebody has to keep to."""
    settings = service.settings
    return Terms(
        cooldown_s=settings.cooldown_s if cooldown else 0.0,
        per_day=settings.guest_runs_per_day if caller.guest else settings.member_runs_per_day,
        waiting=settings.queued_per_actor,
    )


def _planned(
    service: Service,
    caller: Principal,
    wanted: RunInput,
    place: Place,
    model: ServedModel,
    protocol: Protocol | None,
) -> Run:
    warnings = _check_warnings(service, place)
    limit = None
    if not model.priced:
        warnings.append(f"no price is known for {model.asked}: what this run costs is not counted against budgets")
    elif not model.free:
        left = left_for(service, caller.actor, wanted.team_id or None)
        if left.used_up:
            raise Refusal(429, f"{left.whose} of the last 24 hours is used up; wait, or run a model that costs nothing")
        limit = run_limit(service, left)
    try:
        tagged = wanted.model_copy(update={"tags": checked_tags(wanted.tags), "name": wanted.name.strip()})
        run = planned_run(run_spec(tagged, place, model, service.settings, run_usd=limit, protocol=protocol))
    except InvalidInput:
        raise
    except UsageError as error:
        raise Refusal(422, f"this run cannot work: {error}") from error
    run.model = model.asked
    run.warnings = tuple(warnings)
    return run


def _check_warnings(service: Service, place: Place) -> list[str]:
    """Return what the author's own check found wrong with the environment: scores of it mean less than they seem to."""
    if place.environment_id is None or place.version is None:
        return []
    version = service.environments.version(place.environment_id, place.version)
    report = check_document(version.verdict if version is not None else "")
    if report.state != "failed":
        return []
    return [f"the environment failed its author's `mesocosm check`: {'; '.join(report.problems)}"]


def _order(
    service: Service,
    caller: Principal,
    wanted: RunInput,
    domain: DomainRow,
    place: Place,
    model: ServedModel,
    run: Run,
) -> RunRequest:
    beside = {"team_id", "visibility", "name", "tags", "trials", "official"}
    asked = RunConfig.model_validate(wanted.model_dump(exclude=beside))
    config = asked.model_dump(mode="json")
    config["agent_config"]["model"] = model.asked
    config["env_id"] = place.environment_id
    # What guests run is for everybody: that is what they are let in for.
    visibility = config[DECLARED] = PUBLIC if caller.guest else wanted.visibility or PRIVATE
    days = service.settings.guest_days
    return RunRequest(
        run_id=run.id,
        actor=caller.actor,
        actor_name=caller.username or ("guest" if caller.guest else ""),
        domain_id=domain.id,
        environment_id=place.environment_id,
        environment_version=place.version,
        vow_version=wanted.binding_vow_version,
        model=model.asked,
        visibility=visibility,
        config=config,
        # As exact as the times in answers, which come back as `created_before`.
        created_at=round(run.created_at, 6),
        expires_at=run.created_at + days * DAY if caller.guest else None,
    )


def _with(
    order: RunRequest, *, team_id: str | None, purpose: str, job_id: str | None, protocol: Protocol | None
) -> RunRequest:
    return msgspec.structs.replace(
        order,
        team_id=team_id,
        purpose=purpose,
        job_id=job_id,
        visibility=PRIVATE if purpose == "test" else order.visibility,
        protocol=None if protocol is None else protocol.version,
    )


def _admit(service: Service, caller: Principal, order: RunRequest, run: Run, *, cooldown: bool) -> None:
    terms = terms_of(service, caller, cooldown=cooldown)
    denial = Admission(service.store.database).admit(order, run, terms)
    if denial is not None:
        raise _refused(denial, terms)


def _refused(denial: Denial, terms: Terms) -> Refusal:
    seconds = max(math.ceil(denial.seconds), 1)
    after = {"Retry-After": str(seconds)}
    if denial.bound is Bound.COOLDOWN:
        words = f"you started a run just now; start the next one in {seconds} s"
        return Refusal(429, words, headers=after)
    if denial.bound is Bound.QUOTA:
        runs = "1 run" if terms.per_day == 1 else f"{terms.per_day} runs"
        words = f"you started {runs} today, the most there may be; go on at {midnight(time.time())}"
        return Refusal(429, words, headers=after)
    words = f"{terms.waiting} of your runs wait or are played already; cancel one, or wait until one is done"
    return Refusal(429, words, headers={"Retry-After": "30"})
