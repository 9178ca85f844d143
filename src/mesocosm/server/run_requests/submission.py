"""Submit a run: check the request, plan the run, and store both with quota and cooldown in one transaction.

A refused request costs nothing and stores nothing.
"""

import math
import time
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.ports import Parts
from mesocosm.core.registry import AGENTS, MODELS, SOURCES, TECHNIQUES, fold
from mesocosm.core.run import HOSTED, AgentSettings, BenchmarkRef, Limits, Run, RunSpec, Selection
from mesocosm.engine.opening import NoModel, new_run
from mesocosm.models.catalogue import IN_PROCESS
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.domains.location import (
    EnvironmentLocation,
    check_size,
    check_url,
    domain_location,
    remote_location,
    submitted_location,
)
from mesocosm.server.domains.protocols import by_protocol
from mesocosm.server.model_catalogue import ServedModel
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.environment import EnvironmentCheck
from mesocosm.server.schemas.protocol import OfficialProtocol
from mesocosm.server.schemas.run_request import RunConfig, RunInput, TestEpisodeInput
from mesocosm.server.service import Service
from mesocosm.server.settings import Settings
from mesocosm.store.domains import DomainRow
from mesocosm.store.environments import EnvironmentRow
from mesocosm.store.queue import AdmissionTerms, Bound, Denial, midnight
from mesocosm.store.run_requests import DECLARED, PRIVATE, PUBLIC, RunRequest
from mesocosm.store.workspaces import Workspace

DAY = 86_400.0
_UNPRINTED = frozenset({"Cc", "Cs", "Zl", "Zp"})
LONGEST_TAG = 100
MOST_TAGS = 50


# ---- budgets --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BudgetLeft:
    """The rest of the tightest budget in USD (None: unlimited), and the name of that budget."""

    usd: float | None = None
    name: str = ""

    @property
    def used_up(self) -> bool:
        """Whether the budget is used up."""
        return self.usd is not None and self.usd <= 0


def budget_left(service: Service, actor: str, team_id: str | None, workspace_id: str | None = None) -> BudgetLeft:
    """Return what an actor (as in `Principal.actor`) may spend now, for a team or in a workspace if one is given."""
    budgets = []
    own = budget_of(service, actor)
    if own is not None:
        budgets.append(BudgetLeft(own - spent_of(service, actor), "your budget"))
    team = service.store.teams.get(team_id) if team_id is not None else None
    shared = None if team is None else budget_of(service, actor, team.id)
    if team is not None and shared is not None:
        budgets.append(BudgetLeft(shared - spent_of(service, actor, team.id), f"the budget of team {team.name}"))
    workspace = service.store.workspaces.get(workspace_id) if workspace_id is not None else None
    common = None if workspace is None else workspace_budget(service, workspace)
    if workspace is not None and common is not None:
        spent = spent_in(service, workspace)
        budgets.append(BudgetLeft(common - spent, f"the budget of workspace {workspace.name}"))
    return min(budgets, key=lambda left: left.usd or 0.0) if budgets else BudgetLeft()


def budget_of(service: Service, actor: str, team_id: str | None = None) -> float | None:
    """Return the budget in USD for 24 hours of an actor, or of a team; None: unlimited."""
    if team_id is not None:
        team = service.store.teams.get(team_id)
        own = None if team is None else team.budget_usd
        return own if own is not None else service.settings.team_budget_usd
    kind, _, name = actor.partition(":")
    if kind == "guest":
        return service.settings.guest_budget_usd
    if kind != "user":
        return None
    user = service.store.users.get(int(name)) if name.isdecimal() else None
    own = None if user is None else user.budget_usd
    return own if own is not None else service.settings.user_budget_usd


def workspace_budget(service: Service, workspace: Workspace) -> float | None:
    """Return the budget in USD for 24 hours of a workspace; None: unlimited."""
    return workspace.budget_usd if workspace.budget_usd is not None else service.settings.workspace_budget_usd


def spent_in(service: Service, workspace: Workspace) -> float:
    """Return what the runs of a workspace spent in the last 24 hours, in USD."""
    return service.store.run_requests.spent(workspace_id=workspace.id, since=time.time() - DAY).usd


def spent_of(service: Service, actor: str, team_id: str | None = None) -> float:
    """Return what an actor, or a team, spent in the last 24 hours, in USD."""
    owner = {"team_id": team_id} if team_id is not None else {"actor": actor}
    return service.store.run_requests.spent(**owner, since=time.time() - DAY).usd


def over_budget(service: Service, request: RunRequest) -> str:
    """Return a message if a run in progress has used up a budget; empty while money is left.

    Concurrent runs that share a budget each started with all that was left, so workers check again.
    """
    if not service.catalogue.costs(request.model):
        return ""
    left = budget_left(service, request.actor, request.team_id, request.workspace_id)
    return f"{left.name} of the last 24 hours is used up" if left.used_up else ""


# ---- submission -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run that can be queued: what is asked, after a protocol has fixed its part, and what it comes to."""

    wanted: RunInput
    run: Run
    model: ServedModel
    domain: DomainRow
    location: EnvironmentLocation
    protocol: OfficialProtocol | None
    team_id: str | None


def plan_run(
    service: Service, viewer: Viewer, wanted: RunInput, *, purpose: str = "run", env_url: str | None = None
) -> PlannedRun:
    """Return the run that a request would queue; nothing is stored. Raises as `submit_run`, but for the queue."""
    if service.local:
        raise Refusal(409, "runs of this machine are started with `mesocosm run local` or `mesocosm bench run`")
    if viewer.caller.anonymous:
        raise Refusal(401, "Authentication required", headers={"WWW-Authenticate": "Bearer"})
    if not wanted.official:
        check_size(service, wanted.num_episodes, wanted.trials, guest=viewer.caller.guest)
    elif purpose != "run" or env_url:
        raise Refusal(422, "only an ordinary run can be official; leave `official` out")
    _check_guest(service, viewer, wanted)
    team_id = check_team(service, viewer, wanted.team_id)
    protocol = None
    if wanted.official:
        domain = _find_domain(service, viewer, wanted.domain_id)
        if viewer.caller.guest:
            raise Refusal(403, "guests take part in no official board; sign in")
        wanted, location, protocol = by_protocol(service, domain, wanted)
    else:
        environment = None if env_url else _find_environment(service, viewer, wanted)
        domain = _find_domain(service, viewer, wanted.domain_id)
    _check_vow(domain, wanted)
    model = service.catalogue.resolve(wanted.agent_config.model, viewer.caller)
    if protocol is None:
        location = _location(service, viewer, domain, wanted, environment=environment, env_url=env_url)
    run = _planned(service, viewer, wanted, location, model, protocol)
    return PlannedRun(wanted, run, model, domain, location, protocol, team_id)


def submit_run(
    service: Service,
    viewer: Viewer,
    wanted: RunInput,
    *,
    purpose: str = "run",
    job_id: str | None = None,
    env_url: str | None = None,
    cooldown: bool = True,
) -> RunRequest:
    """Queue a run and return its request. Raises Refusal.

    `purpose` is run, test or full_bench. `env_url` replaces the URL of the domain's environment; the caller of this
    function has checked permission for that. Without `cooldown` the run may follow another at once.
    """
    planned = plan_run(service, viewer, wanted, purpose=purpose, env_url=env_url)
    wanted, run, domain, location, protocol = (
        planned.wanted,
        planned.run,
        planned.domain,
        planned.location,
        planned.protocol,
    )
    # Runs of guests are public: that is the purpose of guest access.
    declared = PUBLIC if viewer.caller.guest else wanted.visibility or PRIVATE
    request = RunRequest(
        run_id=run.id,
        actor=viewer.caller.actor,
        actor_name=viewer.caller.username or ("guest" if viewer.caller.guest else ""),
        team_id=planned.team_id,
        domain_id=domain.id,
        environment_id=location.environment_id,
        environment_version=location.version,
        vow_version=wanted.binding_vow_version,
        model=run.model,
        visibility=PRIVATE if purpose == "test" else declared,
        purpose=purpose,
        job_id=job_id,
        config=_config(wanted, location, run) | {DECLARED: declared},
        # Same precision as the times in responses, which clients send back as `created_before`.
        created_at=round(run.created_at, 6),
        expires_at=run.created_at + service.settings.guest_days * DAY if viewer.caller.guest else None,
        protocol=None if protocol is None else protocol.version,
    )
    terms = terms_of(service, viewer, cooldown=cooldown)
    denial = service.store.queue.admit(request, run, terms)
    if denial is not None:
        raise denied(denial, terms)
    return request


def submit_test_episode(service: Service, viewer: Viewer, wanted: TestEpisodeInput) -> RunRequest:
    """Queue a private test episode of a domain of the caller, without a cooldown. Raises Refusal."""
    domain = service.store.domains.get(wanted.domain_id)
    if domain is None or not viewer.may_read_domain(domain):
        raise Refusal(404, f"there is no domain {wanted.domain_id!r}; `mesocosm domain list` shows those there are")
    if not viewer.may_change(domain):
        raise Refusal(403, f"test episodes of domain {wanted.domain_id!r} are for its owner; start a run instead")
    if wanted.env_url:
        check_url(service, wanted.env_url)
    vow = domain.document.get("binding_vow") or {}
    run = RunInput(
        domain_id=wanted.domain_id,
        binding_vow_version=wanted.binding_vow_version or str(vow.get("version", "")),
        agent_config=wanted.agent_config,
        seed_set=None if wanted.seed is None else [wanted.seed],
        env_id=wanted.env_id,
        team_id=wanted.team_id,
    )
    return submit_run(service, viewer, run, purpose="test", env_url=wanted.env_url, cooldown=False)


def terms_of(service: Service, viewer: Viewer, *, cooldown: bool = True) -> AdmissionTerms:
    """Return the cooldown, daily quota and queue limit of a caller."""
    quota = service.settings.quota(guest=viewer.caller.guest)
    return AdmissionTerms(
        cooldown_s=quota.cooldown_s if cooldown else 0.0, per_day=quota.per_day, waiting=quota.waiting
    )


def check_team(service: Service, viewer: Viewer, team_id: str | None) -> str | None:
    """Return the team of a run, None without one. Raises Refusal unless the caller is a member or an administrator."""
    if not team_id:
        return None
    try:
        UUID(team_id)
    except ValueError:
        raise Refusal(422, f"{team_id!r} is not a team ID; `mesocosm team list` shows yours") from None
    if not viewer.is_member(team_id) and not (viewer.caller.admin and service.store.teams.get(team_id) is not None):
        raise Refusal(403, f"you are not a member of team {team_id!r}; `mesocosm team list` shows your teams")
    return team_id


def _check_guest(service: Service, viewer: Viewer, wanted: RunInput) -> None:
    if not viewer.caller.guest:
        return
    if wanted.team_id:
        raise Refusal(403, "guests are in no team; sign in to run for one")
    if wanted.domain_id not in service.settings.demo_domains:
        known = ", ".join(service.settings.demo_domains) or "none on this server"
        raise Refusal(403, f"guests may run demo domains only ({known}); sign in to run domain {wanted.domain_id!r}")


def _find_domain(service: Service, viewer: Viewer, domain_id: str) -> DomainRow:
    domain = service.store.domains.get(domain_id)
    if domain is None or not viewer.may_read_domain(domain):
        raise Refusal(422, f"there is no domain {domain_id!r}; `mesocosm domain list` shows those that can be run")
    if domain.status == "archived":
        raise Refusal(422, f"domain {domain_id!r} is archived; its owner can publish it again")
    return domain


def _check_vow(domain: DomainRow, wanted: RunInput) -> None:
    """Refuse a vow version that is not the current one, and techniques that the vow or this server does not list."""
    vow = domain.document.get("binding_vow")
    vow = vow if isinstance(vow, Mapping) else {}
    version = str(vow.get("version", ""))
    if wanted.binding_vow_version != version:
        raise Refusal(
            422,
            f"domain {domain.id!r} has vow version {version}, not {wanted.binding_vow_version!r}; "
            f"look at its changes and run version {version}",
        )
    techniques = vow.get("techniques")
    listed = [item for item in techniques if isinstance(item, Mapping)] if isinstance(techniques, list) else []
    declared = [str(item.get("technique_id")) for item in listed]
    known = set(map(fold, declared))
    strange = [item.technique_id for item in wanted.agent_config.techniques if fold(item.technique_id) not in known]
    if strange:
        names = ", ".join(declared) or "none"
        raise Refusal(422, f"technique {strange[0]!r} is not declared by the vow of domain {domain.id!r} ({names})")
    # Compare with registered names only: the registry would import a module by its name, and a vow is untrusted text.
    offered = {fold(entry.name): entry.name for entry in TECHNIQUES.entries()}
    unknown = [item.technique_id for item in wanted.agent_config.techniques if fold(item.technique_id) not in offered]
    if unknown:
        raise Refusal(
            422,
            f"there is no technique {unknown[0]!r} on this server; choose from {', '.join(offered.values())}",
        )


def _find_environment(service: Service, viewer: Viewer, wanted: RunInput) -> EnvironmentRow | None:
    """Return the environment that the request names; None if it names none."""
    if not (env_id := wanted.env_id):
        return None
    row = service.store.environments.get(env_id)
    if row is None or not viewer.may_change(row):
        words = "`mesocosm env list` shows yours; leave env_id out to run the domain as it is published"
        raise Refusal(404, f"you have no environment {env_id!r}; {words}")
    if row.ready_version is None:
        raise Refusal(400, f"environment {env_id!r} is not ready ({row.status}); see `mesocosm env logs {env_id}`")
    if row.domain_id != wanted.domain_id:
        raise Refusal(422, f"environment {env_id!r} belongs to domain {row.domain_id!r}, not to {wanted.domain_id!r}")
    return row


def _location(
    service: Service,
    viewer: Viewer,
    domain: DomainRow,
    wanted: RunInput,
    *,
    environment: EnvironmentRow | None,
    env_url: str | None,
) -> EnvironmentLocation:
    """Return the environment of a run: at `env_url`, the named one, the only one of the caller or their team, or the
    published one of the domain.
    """
    if env_url:
        return remote_location(service, domain, env_url)
    if environment is not None:
        return submitted_location(environment)
    own = () if viewer.caller.guest else _own_environments(service, viewer, domain, wanted.team_id)
    if len(own) > 1:
        listed = ", ".join(f"{row.id} ({row.name})" for row in own[:5])
        raise Refusal(422, f"domain {domain.id!r} has {len(own)} environments of yours; name one as env_id: {listed}")
    return submitted_location(own[0]) if own else domain_location(service, domain)


def _own_environments(
    service: Service, viewer: Viewer, domain: DomainRow, team_id: str | None
) -> Sequence[EnvironmentRow]:
    user_id = None if team_id else viewer.caller.user_id
    if team_id is None and user_id is None:
        return ()
    return service.store.environments.ready_for_domain(domain.id, user_id=user_id, team_id=team_id or None)


# ---- the planned run ------------------------------------------------------------------------------------------------


def _planned(
    service: Service,
    viewer: Viewer,
    wanted: RunInput,
    location: EnvironmentLocation,
    model: ServedModel,
    protocol: OfficialProtocol | None,
) -> Run:
    warnings = _check_warnings(service, location)
    limit = None
    if not model.priced:
        warnings.append(f"no price is known for {model.asked}: what this run costs is not counted against budgets")
    elif not model.free:
        left = budget_left(service, viewer.caller.actor, wanted.team_id or None)
        if left.used_up:
            raise Refusal(429, f"{left.name} of the last 24 hours is used up; wait, or run a model that costs nothing")
        limit = min((usd for usd in (left.usd, service.settings.run_budget_usd) if usd is not None), default=None)
    try:
        tagged = wanted.model_copy(update={"tags": checked_tags(wanted.tags), "name": wanted.name.strip()})
        guest = viewer.caller.guest
        spec = run_spec(tagged, location, model, service.settings, run_usd=limit, protocol=protocol, guest=guest)
        run = planned_run(msgspec.structs.replace(spec, parallel=model.most_parallel(spec.parallel)))
    except InvalidInput:
        raise
    except UsageError as error:
        raise Refusal(422, f"this run cannot work: {error}") from error
    run.model = model.asked
    run.warnings = tuple(warnings)
    return run


def run_spec(
    wanted: RunInput,
    location: EnvironmentLocation,
    model: ServedModel,
    settings: Settings,
    *,
    run_usd: float | None = None,
    protocol: OfficialProtocol | None = None,
    guest: bool = False,
) -> RunSpec:
    """Return the spec of a run, an official one if `protocol` is given; `run_usd` limits its cost."""
    agent = wanted.agent_config
    options: dict[str, Any] = {}
    if agent.system_prompt:
        options["system_prompt"] = agent.system_prompt
    if agent.techniques:
        options["techniques"] = {item.technique_id: item.params for item in agent.techniques}
    max_steps = settings.max_steps
    if protocol is not None:
        options["on_malformed"] = protocol.on_malformed
        max_steps = min(max_steps, protocol.max_steps or max_steps)
    seeds = None if wanted.seed_set is None else tuple(wanted.seed_set)
    return RunSpec(
        benchmark=BenchmarkRef(HOSTED, wanted.domain_id, location.options()),
        model=ModelSettings(
            model.name, temperature=agent.temperature, max_tokens=agent.max_tokens, timeout_s=settings.model_s
        ),
        agent=AgentSettings(options=options),
        selection=Selection(
            seeds=seeds, count=None if seeds is not None else wanted.num_episodes, trials=wanted.trials
        ),
        limits=msgspec.structs.replace(_limits(wanted, settings, run_usd, guest=guest), episode_steps=max_steps),
        parallel=min(wanted.max_parallel, settings.episodes_at_once),
        name=wanted.name,
        tags=tuple(wanted.tags),
    )


def _limits(wanted: RunInput, settings: Settings, run_usd: float | None, *, guest: bool) -> Limits:
    """Return the limits of a run. Raises Refusal 422 for limits above those of the server."""
    asked = (
        ("outage_seconds", wanted.outage_seconds, settings.outage_s),
        ("max_missing", wanted.max_missing, settings.max_missing),
    )
    for name, value, most in asked:
        if value is not None and value > most:
            raise Refusal(422, f"{name} {value:g} is more than the {most:g} that this server allows")
    return Limits(
        episode_steps=settings.max_steps,
        episode_seconds=settings.episode_s,
        episode_tokens=settings.quota(guest=guest).episode_tokens,
        run_seconds=settings.run_s,
        run_usd=run_usd,
        outage_seconds=settings.outage_s if wanted.outage_seconds is None else wanted.outage_seconds,
        max_missing=settings.max_missing if wanted.max_missing is None else wanted.max_missing,
    )


def planned_run(spec: RunSpec) -> Run:
    """Return the record of a new run. Raises UsageError and InvalidInput if it cannot work."""
    benchmark = SOURCES.get(spec.benchmark.kind)(spec.benchmark)
    agent = AGENTS.get(spec.agent.name)(spec.agent.options)
    name = ModelName.parse(spec.model.name)
    # Only workers have the API keys of models. Models inside the process need none and may have content of their own.
    model = MODELS.get("*")(spec.model) if name.provider in IN_PROCESS else NoModel(name)
    run = new_run(spec, Parts(benchmark, model, agent))
    run.provenance = {key: value for key, value in run.provenance.items() if key not in {"command", "system"}}
    return run


def _check_warnings(service: Service, location: EnvironmentLocation) -> list[str]:
    """Return the problems that the author's own check found, as warnings for readers of the scores."""
    if location.environment_id is None or location.version is None:
        return []
    version = service.store.environments.version(location.environment_id, location.version)
    report = EnvironmentCheck.read(version.verdict if version is not None else "")
    if report.state != "failed":
        return []
    return [f"the environment failed its author's `mesocosm check`: {'; '.join(report.problems)}"]


def _config(wanted: RunInput, location: EnvironmentLocation, run: Run) -> dict[str, Any]:
    """Return the RunConfig of a request as JSON, with the model that is asked and the environment that is played."""
    beside = {"team_id", "visibility", "name", "tags", "trials", "official"}
    config = RunConfig.model_validate(wanted.model_dump(exclude=beside)).model_dump(mode="json")
    config["agent_config"]["model"] = run.model
    config["env_id"] = location.environment_id
    return config


def denied(denial: Denial, terms: AdmissionTerms) -> Refusal:
    """Return the refusal of a run that was not admitted."""
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


# ---- tags ------------------------------------------------------------------------------------------------------------


def checked_tags(tags: list[str]) -> list[str]:
    """Return tags without surrounding whitespace and duplicates. Raises InvalidInput with every invalid one."""
    found: dict[str, None] = {}
    problems = []
    for place, given in enumerate(tags):
        tag = given.strip()
        if problem := _tag_problem(tag):
            problems.append(Problem(f"tags[{place}]", *problem))
        found[tag] = None
    if len(tags) > MOST_TAGS:
        problems.append(Problem("tags", f"{len(tags)} tags are too many", f"a run takes {MOST_TAGS}"))
    if problems:
        raise InvalidInput("the tags", problems)
    return list(found)


def checked_name(given: str) -> str:
    """Return the name of a run without surrounding whitespace. Raises InvalidInput for one with control characters."""
    name = given.strip()
    if any(unicodedata.category(letter) in _UNPRINTED for letter in name):
        raise InvalidInput("the name", [Problem("name", "control characters", "use letters, digits and punctuation")])
    return name


def _tag_problem(tag: str) -> tuple[str, str] | None:
    if not tag:
        return "an empty tag", "leave it out"
    if len(tag) > LONGEST_TAG:
        return f"a tag of {len(tag)} characters", f"use at most {LONGEST_TAG}"
    if any(unicodedata.category(letter) in _UNPRINTED for letter in tag):
        return "a tag with control characters", "use letters, digits and punctuation"
    return None
