"""Submit a run of a built-in benchmark: check its parameters, find datasets and the model, plan the run."""

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

import msgspec
from sqlalchemy.exc import IntegrityError

from mesocosm.benchmarks.catalogue import KnownBenchmark, read_catalogue
from mesocosm.benchmarks.parameters import PER_BENCHMARK, BenchmarkParameters, settle
from mesocosm.benchmarks.requirements import missing
from mesocosm.benchmarks.spec import benchmark_spec, high_score
from mesocosm.core.failure import InvalidInput, Problem, UnknownName, UsageError
from mesocosm.core.run import HOSTED, BenchmarkRef, Limits, Run, RunStatus
from mesocosm.engine.rerun_decision import lacks_too_much
from mesocosm.rollouts.spec import run_name_fault
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.evaluations.hosted_suite import DatasetInUse, HostedSuite
from mesocosm.server.evaluations.submission import budget_of_run, find_dataset, named_run, same_request
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.submission import checked_tags, denied, planned_run
from mesocosm.server.schemas.run_request import BenchmarkInput
from mesocosm.server.service import Service
from mesocosm.store.queue import AdmissionTerms
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.workspaces import Workspace

PREFIX = "dataset:"
_DATASET = re.compile(r"dataset:(?P<name>.+?)(?:@(?P<version>[1-9]\d{0,8}))?")
_ADDRESSES = ("base_url", "_base_url")


def submit_benchmark(
    service: Service, viewer: Viewer, workspace: Workspace | None, wanted: BenchmarkInput
) -> RunRequest:
    """Queue a run of a benchmark and return its request; an equal one with the same name in the workspace is returned,
    and with `reuse` one of the same experiment.

    The caller has checked that the person may submit in the workspace; without one the run is their own. Raises
    Refusal, InvalidInput.
    """
    _check_caller(service, viewer, wanted)
    # A field that came later is left out where it is not given: requests from before are still the same.
    later = {"run_usd"} if wanted.run_usd is None else set()
    asked = wanted.model_dump(mode="json", exclude={"kind", "reuse", *later})
    if workspace is not None and wanted.name and (known := named_run(service, workspace, wanted.name)) is not None:
        return same_request(viewer, known, asked)
    benchmark, datasets, run = _plan(service, viewer, workspace, wanted)
    if wanted.reuse and (earlier := _same_experiment(service, viewer, workspace, run)) is not None:
        return earlier
    used = next(iter(datasets.values()), None)
    request = RunRequest(
        run_id=run.id,
        actor=viewer.caller.actor,
        actor_name=viewer.caller.username or "",
        model=run.model,
        kind="benchmark",
        workspace_id=None if workspace is None else workspace.id,
        name=wanted.name if workspace is not None else "",
        dataset_id=None if used is None else used.id,
        dataset_version=None if used is None else used.version,
        config={"asked": asked, "benchmark": benchmark.descriptor.id, "parameters": wanted.parameters},
        created_at=round(run.created_at, 6),
    )
    terms = AdmissionTerms(waiting=service.settings.quota(guest=False).waiting)
    try:
        denial = service.store.queue.admit(request, run, terms)
    except IntegrityError:
        taken = None if workspace is None else named_run(service, workspace, wanted.name)
        if taken is None:
            raise
        return same_request(viewer, taken, asked)
    if denial is not None:
        raise denied(denial, terms)
    where = f"workspace:{workspace.id}" if workspace is not None else f"run:{run.id}"
    service.store.audit.note(
        viewer.caller.actor, "run.submit", where, {"run": run.id, "benchmark": benchmark.descriptor.id}
    )
    return request


def plan_benchmark(service: Service, viewer: Viewer, workspace: Workspace | None, wanted: BenchmarkInput) -> Run:
    """Return the run that a request would queue; nothing is stored. Raises as `submit_benchmark`."""
    _check_caller(service, viewer, wanted)
    return _plan(service, viewer, workspace, wanted)[-1]


def _check_caller(service: Service, viewer: Viewer, wanted: BenchmarkInput) -> None:
    if service.local:
        raise Refusal(409, "benchmarks of this machine are run with `mesocosm bench run`")
    if not viewer.caller.member:
        raise Refusal(403, "benchmarks are for members; sign in")
    if wanted.name and (fault := run_name_fault(wanted.name)):
        raise Refusal(422, fault, field="name")


def _plan(
    service: Service, viewer: Viewer, workspace: Workspace | None, wanted: BenchmarkInput
) -> tuple[KnownBenchmark, dict[str, DatasetInUse], Run]:
    benchmark = _benchmark(wanted.benchmark)
    datasets = _datasets(service, workspace, benchmark, wanted.parameters)
    settings = _settings(benchmark, wanted, datasets)
    return benchmark, datasets, _planned(service, viewer, workspace, wanted, benchmark, settings, datasets)


def _same_experiment(service: Service, viewer: Viewer, workspace: Workspace | None, run: Run) -> RunRequest | None:
    """Return a run that makes a new one unnecessary: finished, else going on, else one of the caller's to continue."""
    actor, place = viewer.caller.actor, None if workspace is None else workspace.id
    listed = service.store.run_requests.of_experiment(run.signature, "benchmark", actor=actor, workspace_id=place)
    known = service.store.run_requests.runs([one.run_id for one in listed])
    limit = run.spec.limits.max_missing
    there = [(one, found) for one in listed if (found := known.get(one.run_id)) is not None and not found.regraded]
    finished = (one for one, found in there if found.status is RunStatus.FINISHED and not lacks_too_much(found, limit))
    going = (one for one, found in there if found.status in {RunStatus.PENDING, RunStatus.RUNNING})
    left = (
        one
        for one, found in there
        if one.actor == actor and (found.status in {RunStatus.STOPPED, RunStatus.PARTIAL} or found.counts.pending)
    )
    return next(chain(finished, going, left), None)


def _benchmark(name: str) -> KnownBenchmark:
    """Return a built-in benchmark. Raises Refusal 422 for unknown ones and those that start other programs."""
    try:
        known = read_catalogue().find(name)
    except UnknownName as error:
        raise Refusal(422, str(error)) from error
    if known.descriptor.command is not None or known.descriptor.manifest:
        raise Refusal(
            422,
            f"{known.descriptor.id} starts a program of its own, which this server does not; run it on a machine of "
            f"yours with `mesocosm bench run --benchmarks {known.descriptor.id}`, then `mesocosm push` the run",
        )
    return known


def _datasets(
    service: Service, workspace: Workspace | None, benchmark: KnownBenchmark, given: Mapping[str, Any]
) -> dict[str, DatasetInUse]:
    """Return the datasets that stand for paths. Raises InvalidInput for any other path, which would be the server's."""
    found, problems = {}, []
    for name, value in given.items():
        parameter = benchmark.descriptor.parameters.get(name)
        if parameter is None or parameter.type != "path":
            continue
        matched = _DATASET.fullmatch(value) if isinstance(value, str) else None
        if matched is None:
            fix = f"upload the file with `mesocosm dataset upload FILE` and write {PREFIX}NAME or {PREFIX}NAME@VERSION"
            problems.append(Problem(f"parameters.{name}", "is a path, and a server reads no paths", fix))
        elif workspace is None:
            problems.append(
                Problem(f"parameters.{name}", "names a dataset, and the run is in no workspace", "name its workspace")
            )
        else:
            number = matched["version"]
            data = find_dataset(service, workspace, matched["name"], int(number) if number else None)
            found[name] = DatasetInUse(data.dataset.id, data.version.version, data.dataset.name)
    if problems:
        raise InvalidInput(f"the parameters of {benchmark.descriptor.id}", problems)
    return found


def _settings(
    benchmark: KnownBenchmark, wanted: BenchmarkInput, datasets: Mapping[str, DatasetInUse]
) -> BenchmarkParameters:
    """Return checked settings. Raises InvalidInput, Refusal 409 if this server lacks what the benchmark needs."""
    descriptor = benchmark.descriptor
    addresses = [name for name in wanted.parameters if name.endswith(_ADDRESSES)]
    if addresses:
        fix = "remove it; `mesocosm models` lists the models of the server"
        problem = Problem(f"parameters.{addresses[0]}", "is an address, and a server calls its own models only", fix)
        raise InvalidInput(f"the parameters of {descriptor.id}", [problem])
    own = {**wanted.parameters, **{name: f"{PREFIX}{used.name}" for name, used in datasets.items()}}
    if wanted.trials is not None:
        own["trials"] = wanted.trials
    if wanted.max_examples is not None:
        if not descriptor.sampling:
            raise Refusal(422, f"{descriptor.id} always runs whole; leave max_examples out")
        own[descriptor.sampling] = wanted.max_examples
    try:
        (settings,) = settle([descriptor], {PER_BENCHMARK: {descriptor.id: own}}, [descriptor])
    except InvalidInput as error:
        lead = f"{PER_BENCHMARK}.{descriptor.id}."
        problems = [
            msgspec.structs.replace(one, path=f"parameters.{one.path.removeprefix(lead)}") for one in error.problems
        ]
        raise InvalidInput(f"the parameters of {descriptor.id}", problems) from error
    # The variables of a server's own environment are none of what a run may need.
    if lacking := missing(benchmark, settings.parameters, {}):
        raise Refusal(409, f"{descriptor.id} cannot run on this server: {'; '.join(lacking)}")
    return settings


def _planned(
    service: Service,
    viewer: Viewer,
    workspace: Workspace | None,
    wanted: BenchmarkInput,
    benchmark: KnownBenchmark,
    settings: BenchmarkParameters,
    datasets: Mapping[str, DatasetInUse],
) -> Run:
    server = service.settings
    if ":" in wanted.agent:
        raise Refusal(422, f"{wanted.agent!r} is code, and a server runs agents by their names only")
    model = service.catalogue.resolve(wanted.model, viewer.caller, workspace)
    budget, warnings = budget_of_run(service, viewer, workspace, [model])
    if wanted.run_usd is not None and not model.free:
        budget = wanted.run_usd if budget is None else min(budget, wanted.run_usd)
        if not model.priced:
            warnings.append(f"it does not stop at ${wanted.run_usd:g}, because the price of {model.asked} is unknown")
    limits = Limits(
        episode_steps=server.max_steps,
        episode_seconds=server.episode_s,
        episode_tokens=server.quota(guest=False).episode_tokens,
        run_seconds=server.run_s,
        run_usd=budget,
        outage_seconds=server.outage_s,
        max_missing=server.max_missing,
    )
    # A path stands in `datasets` alone: what a worker reads is the file of the version.
    parameters = {name: value for name, value in settings.parameters.items() if name not in datasets}
    suite = HostedSuite(benchmark.folder.name, parameters, dict(datasets))
    spec = benchmark_spec(
        benchmark,
        settings,
        model.name,
        agent=wanted.agent,
        limits=limits,
        # Its episodes take no slots of the worker and mostly wait for a model: two such runs fill the worker.
        parallel=model.most_parallel(min(wanted.parallel, max(server.episodes_at_once // 2, 1))),
        tags=checked_tags(wanted.tags),
        benchmark=BenchmarkRef(HOSTED, benchmark.descriptor.id, {"suite": msgspec.to_builtins(suite)}),
    )
    spec = msgspec.structs.replace(
        spec,
        name=wanted.name,
        model=msgspec.structs.replace(spec.model, timeout_s=min(spec.model.timeout_s, server.model_s)),
    )
    try:
        run = planned_run(spec)
    except InvalidInput:
        raise
    except UsageError as error:
        raise Refusal(422, f"this run cannot work: {error}") from error
    if run.counts.planned > server.max_samples_per_run:
        raise Refusal(
            422,
            f"the run would have {run.counts.planned:,} episodes, and a run on this server at most "
            f"{server.max_samples_per_run:,}; set max_examples, or fewer trials",
        )
    run.model = model.asked
    run.warnings = tuple(warnings)
    facts: dict[str, Any] = {"directory": benchmark.directory, "extra": settings.effective}
    facts["unit"] = benchmark.descriptor.score.unit
    if best := high_score(benchmark, settings):
        facts["high_score"] = best
    run.provenance = {**run.provenance, "bench": facts}
    return run
