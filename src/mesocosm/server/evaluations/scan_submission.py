"""Submit a scan of a run: check the question, choose the episodes, find the model, plan the run that asks."""

import msgspec

from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import HOSTED, AgentSettings, BenchmarkRef, Limits, Run, RunSpec
from mesocosm.core.scan_question import SCAN, slug
from mesocosm.engine.earlier_answers import ANSWERS
from mesocosm.engine.scan_benchmark import answers_of
from mesocosm.engine.scanning import SCAN_OF, check_name
from mesocosm.interop.scan_episodes import estimate, tasks_to_scan
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.evaluations.hosted_scan import OPTION, HostedScan
from mesocosm.server.evaluations.submission import budget_of_run
from mesocosm.server.model_catalogue import ServedModel
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.submission import denied, planned_run
from mesocosm.server.schemas.scan import ScanForecast, ScanInput
from mesocosm.server.service import Service
from mesocosm.store.queue import AdmissionTerms
from mesocosm.store.run_requests import RunRequest


def submit_scan(service: Service, viewer: Viewer, run: Run, request: RunRequest, wanted: ScanInput) -> RunRequest:
    """Queue a scan of a run and return its request; an equal one that waits or goes on is returned.

    The caller has checked that the person may work with the run. Raises Refusal, UsageError.
    """
    model = _checked(service, viewer, run, request, wanted)
    planned = _planned(service, viewer, run, request, wanted, model)
    scan = planned.spec.benchmark.options[OPTION]
    known = service.store.run_requests.of_experiment(
        planned.signature, "scan", actor=viewer.caller.actor, workspace_id=request.workspace_id
    )
    if (going := next((one for one in known if one.open), None)) is not None:
        return going
    asked = RunRequest(
        run_id=planned.id,
        actor=viewer.caller.actor,
        actor_name=viewer.caller.username or "",
        team_id=_team(viewer, request),
        model=planned.model,
        kind="scan",
        workspace_id=request.workspace_id,
        config={"parameters": {name: value for name, value in scan.items() if name != "answers"}},
        created_at=round(planned.created_at, 6),
    )
    terms = AdmissionTerms(waiting=service.settings.quota(guest=False).waiting)
    denial = service.store.queue.admit(asked, planned, terms)
    if denial is not None:
        raise denied(denial, terms)
    detail = {"scan": planned.id, "name": scan["name"], "model": planned.model}
    service.store.audit.note(viewer.caller.actor, "run.scan", f"run:{run.id}", detail, viewer.address)
    return asked


def forecast_scan(service: Service, viewer: Viewer, run: Run, request: RunRequest, wanted: ScanInput) -> ScanForecast:
    """Return what a scan would read and cost; nothing is stored. Raises as `submit_scan`."""
    model = _checked(service, viewer, run, request, wanted)
    planned = _planned(service, viewer, run, request, wanted, model)
    return forecast_of(service, run, wanted, model, planned.spec.limits.run_usd, list(planned.warnings))


def forecast_of(
    service: Service, run: Run, wanted: ScanInput, model: ServedModel, budget: float | None, warnings: list[str]
) -> ScanForecast:
    """Return what asking a model about the chosen episodes may cost. Raises UsageError if none matches."""
    scan = scan_of(run, wanted)
    tasks = tasks_to_scan(service.store, run, scan.where, scan.limit, scan.seed)
    found = estimate(service.store, tasks, model.price, scan.characters)
    return ScanForecast(
        name=scan.name,
        model=model.asked,
        episodes=found.episodes,
        prompt_tokens=found.prompt,
        completion_tokens=found.completion,
        usd=found.cost_usd,
        budget_usd=budget,
        warnings=warnings,
    )


def scan_of(run: Run, wanted: ScanInput) -> HostedScan:
    """Return the scan that a request asks for. Raises UsageError for a question that cannot be asked."""
    scan = HostedScan(
        run=run.id,
        name=wanted.name.strip() or slug(wanted.question),
        question=wanted.question,
        labels=tuple(one.strip() for one in wanted.answers),
        number=wanted.number,
        where=tuple(wanted.where),
        limit=wanted.limit,
        seed=wanted.seed,
    )
    scan.asked.check()
    return scan


def _checked(service: Service, viewer: Viewer, run: Run, request: RunRequest, wanted: ScanInput) -> ServedModel:
    if request.official:
        raise Refusal(409, "an official run keeps the scores that it has; scan an ordinary run")
    if run.kind == SCAN:
        raise Refusal(409, f"run {run.id} is a scan itself; scan the run that it read")
    if request.open:
        raise Refusal(409, f"run {run.id} waits or runs; scan it when it has ended")
    workspace = None if request.workspace_id is None else service.store.workspaces.get(request.workspace_id)
    return service.catalogue.resolve(wanted.model, viewer.caller, workspace)


def _team(viewer: Viewer, request: RunRequest) -> str | None:
    return request.team_id if viewer.is_member(request.team_id) else None


def _planned(
    service: Service, viewer: Viewer, run: Run, request: RunRequest, wanted: ScanInput, model: ServedModel
) -> Run:
    server = service.settings
    workspace = None if request.workspace_id is None else service.store.workspaces.get(request.workspace_id)
    budget, warnings = budget_of_run(service, viewer, workspace, [model], _team(viewer, request))
    if wanted.budget_usd is not None and not model.free:
        budget = wanted.budget_usd if budget is None else min(budget, wanted.budget_usd)
        if not model.priced:
            warnings.append(
                f"it does not stop at ${wanted.budget_usd:g}, because the price of {model.asked} is unknown"
            )
    scan = scan_of(run, wanted)
    try:
        check_name(run, scan.asked, model.asked)
    except UsageError as error:
        raise Refusal(409, str(error), field="name") from error
    settings = ModelSettings(model.name, timeout_s=min(ModelSettings(model.name).timeout_s, server.model_s))
    answers = answers_of(scan.asked, run.id, settings.identity(), scan.characters)
    options = {OPTION: msgspec.to_builtins(msgspec.structs.replace(scan, answers=answers))}
    spec = RunSpec(
        benchmark=BenchmarkRef(HOSTED, scan.asked.score, options),
        model=settings,
        agent=AgentSettings(SCAN, options),
        limits=Limits(
            episode_seconds=server.episode_s,
            episode_tokens=server.quota(guest=False).episode_tokens,
            run_seconds=server.run_s,
            run_usd=budget,
            outage_seconds=server.outage_s,
            max_missing=server.max_missing,
        ),
        parallel=model.most_parallel(min(wanted.parallel, max(server.episodes_at_once // 2, 1))),
    )
    planned = planned_run(spec)
    if planned.counts.planned > server.max_samples_per_run:
        raise Refusal(
            422,
            f"the scan would read {planned.counts.planned:,} episodes, and a run on this server has at most "
            f"{server.max_samples_per_run:,}; set a limit, or choose fewer",
            field="limit",
        )
    planned.model = model.asked
    planned.warnings = tuple(warnings)
    planned.provenance = {**planned.provenance, SCAN_OF: run.id, ANSWERS: answers}
    return planned
