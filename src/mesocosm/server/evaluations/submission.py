"""Submit the evaluation of a rollout: read its configuration, find code, dataset, model and secrets, plan the run.

Everything that can be known before a worker starts is checked here. A refused request stores nothing.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from pydantic import SecretStr
from sqlalchemy.exc import IntegrityError

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.reading import nearest
from mesocosm.core.run import HOSTED, BenchmarkRef, Limits, Run, RunSpec
from mesocosm.rollouts.configuration import Config, config_of
from mesocosm.rollouts.project import WorkspaceDirectory
from mesocosm.rollouts.spec import SpecOverrides, run_name_fault, run_spec, stamped_name
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.builds.synced_commit import synced_commit
from mesocosm.server.evaluations.content import snapshot_folder
from mesocosm.server.evaluations.hosted_rollout import HostedRollout
from mesocosm.server.model_catalogue import ServedModel
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.submission import budget_left, checked_tags, denied, planned_run
from mesocosm.server.schemas.run_request import RolloutInput
from mesocosm.server.service import Service
from mesocosm.server.workspace_secrets import NO_SECRETS, provide_secrets, secret_scopes
from mesocosm.store.datasets import Dataset, DatasetState, DatasetVersion
from mesocosm.store.queue import AdmissionTerms
from mesocosm.store.run_requests import RunRequest, RunRequestFilter
from mesocosm.store.workspaces import Workspace

_LARGEST = 1 << 20
_LONGEST_SUBJECT = 200
_NEWEST = 200
_NOWHERE = Path("results")
_PLACES = ("artifacts", "log", "installs", "words", "dataset")
"""Options of a rollout that are places of one machine."""


@dataclass(frozen=True, slots=True)
class _Code:
    """The code of an evaluation: the digest of its snapshot, its folder here, and where it came from."""

    snapshot: str
    root: Path
    branch: str = ""
    commit: str = ""
    dirty: bool = False
    message: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class DatasetOfRun:
    """A dataset of the workspace and one of its uploaded versions."""

    dataset: Dataset
    version: DatasetVersion


@dataclass(frozen=True, slots=True)
class PlannedEvaluation:
    """An evaluation that can be submitted once `missing`, the required secrets without a value, are set."""

    run: Run
    request: RunRequest
    rollout: HostedRollout
    data: DatasetOfRun
    missing: tuple[str, ...] = ()


def submit_evaluation(
    service: Service,
    viewer: Viewer,
    workspace: Workspace,
    wanted: RolloutInput,
    *,
    run_id: str = "",
    provided: Mapping[str, SecretStr] = NO_SECRETS,
) -> RunRequest:
    """Queue an evaluation and return its request; an equal one with the same name by the same person is returned.

    `run_id` is the id that the run gets; one that has it already is returned, so that a caller who may die can ask
    again. `provided` are values of secrets for this run alone, which are kept until it ends. The caller has checked
    that the person may submit in the workspace. Raises Refusal, InvalidInput.
    """
    if run_id and (submitted := service.store.run_requests.get(run_id)) is not None:
        return submitted
    if (known := earlier_submission(service, viewer, workspace, wanted)) is not None:
        return known
    planned = plan_evaluation(service, viewer, workspace, wanted, run_id=run_id, provided=provided)
    check_secrets(planned)
    request, run = planned.request, planned.run
    name, asked = request.name, request.config["asked"]
    terms = AdmissionTerms(waiting=service.settings.quota(guest=False).waiting)
    # A worker may begin the run as soon as it is queued.
    provide_secrets(service, workspace.id, run.id, provided, viewer.account_id)
    try:
        denial = service.store.queue.admit(request, run, terms)
    except IntegrityError:
        service.store.workspace_secrets.drop_of_run(run.id, math.inf)
        # Somebody took the name in this moment, perhaps this very request, which was repeated.
        taken = named_run(service, workspace, name)
        if taken is None:
            raise
        return same_request(viewer, taken, asked)
    if denial is not None:
        service.store.workspace_secrets.drop_of_run(run.id, math.inf)
        raise denied(denial, terms)
    service.store.audit.note(
        viewer.caller.actor, "run.submit", f"workspace:{workspace.id}", {"run": run.id, "name": name}
    )
    return request


def check_secrets(planned: PlannedEvaluation) -> None:
    """Raise InvalidInput if required secrets have no value."""
    if planned.missing:
        problems = [Problem(name, "has no value", f"mesocosm secret set {name} stores one") for name in planned.missing]
        raise InvalidInput("[secrets] required", problems)


def earlier_submission(
    service: Service, viewer: Viewer, workspace: Workspace, wanted: RolloutInput
) -> RunRequest | None:
    """Return the request that this one repeats, None if it is new.

    Raises Refusal: 409 if its name is taken or the server is a laptop, 422 for a name that no run can have.
    """
    if service.local:
        raise Refusal(409, "evaluations of this machine are started with `mesocosm eval run-local`")
    if wanted.name and (fault := run_name_fault(wanted.name)):
        raise Refusal(422, fault, field="name")
    known = named_run(service, workspace, wanted.name) if wanted.name else None
    return None if known is None else same_request(viewer, known, _asked(wanted))


def plan_evaluation(
    service: Service,
    viewer: Viewer,
    workspace: Workspace,
    wanted: RolloutInput,
    *,
    run_id: str = "",
    provided: Mapping[str, SecretStr] = NO_SECRETS,
) -> PlannedEvaluation:
    """Return the evaluation that a request comes to; nothing is stored. Raises Refusal, InvalidInput."""
    asked = _asked(wanted)
    wanted, earlier = _with_earlier(service, workspace, wanted)
    code = _code(service, viewer, workspace, wanted, earlier)
    document = _document(wanted, code)
    code = _configured_code(service, viewer, workspace, wanted, document, code)
    config = _config(wanted, document, code)
    data = find_dataset(service, workspace, wanted.dataset or config.experiment.dataset, wanted.dataset_version)
    scopes = _scopes(service, viewer, workspace, config, provided)
    name = wanted.name or stamped_name(wanted.configuration or config.experiment.rollout)
    rollout = _rollout(workspace, viewer, config, wanted, code, data)
    run = _planned(service, viewer, workspace, config, wanted, rollout, name, run_id)
    request = RunRequest(
        run_id=run.id,
        actor=viewer.caller.actor,
        actor_name=viewer.caller.username or "",
        model=run.model,
        kind="rollout",
        workspace_id=workspace.id,
        name=name,
        commit_id=code.commit,
        branch=code.branch,
        configuration=wanted.configuration,
        dataset_id=data.dataset.id,
        dataset_version=data.version.version,
        snapshot=code.snapshot,
        config={
            "asked": asked,
            "config": document,
            "assignments": wanted.assignments,
            "rollout": config.experiment.rollout,
            "entrypoint": config.experiment.entrypoint,
            "dirty": code.dirty,
            "message": code.message,
            "author": code.author,
            "dataset": data.dataset.name,
            "dataset_digest": data.version.digest,
            "rows": wanted.rows,
            "limit": wanted.limit,
            "notes": list(config.notes),
            "scopes": dict(scopes),
        },
        created_at=round(run.created_at, 6),
    )
    missing = tuple(name for name in config.secrets if name not in scopes)
    return PlannedEvaluation(run, request, rollout, data, missing)


def _asked(wanted: RolloutInput) -> dict[str, Any]:
    return wanted.model_dump(mode="json", exclude={"kind"})


def find_evaluation(service: Service, workspace: Workspace, reference: str) -> RunRequest | None:
    """Return the request of a run of a workspace by its id or name, None if there is none."""
    found = service.store.run_requests.get(reference)
    if found is not None and found.workspace_id == workspace.id:
        return found
    return named_run(service, workspace, reference)


def unknown_run(service: Service, workspace: Workspace, reference: str) -> str:
    """Return that a workspace has no run with an id or name, with the name among its newest that is meant perhaps."""
    newest = service.store.run_requests.list(RunRequestFilter(workspace_id=workspace.id), limit=_NEWEST)
    near = nearest(reference, [one.name for one in newest if one.name])
    hint = f"did you mean {near!r}?" if near else "`mesocosm eval list` shows its evaluation runs"
    return f"the workspace {workspace.name!r} has no run {reference[:200]!r}; {hint}"


def named_run(service: Service, workspace: Workspace, name: str) -> RunRequest | None:
    """Return the request of the run of a workspace with a name, None if there is none."""
    wanted = RunRequestFilter(workspace_id=workspace.id, name=name)
    return next(iter(service.store.run_requests.list(wanted, limit=1)), None)


def same_request(viewer: Viewer, known: RunRequest, asked: Mapping[str, Any]) -> RunRequest:
    """Return a request that has a name already if it asked for the same. Raises Refusal 409 if not."""
    before = known.config.get("asked")
    mine = known.actor == viewer.caller.actor
    if mine and isinstance(before, dict) and {**before, "name": ""} == {**asked, "name": ""}:
        return known
    raise Refusal(
        409,
        f"the workspace has a run {known.name!r} already; choose another name, or leave it out",
        field="name",
        more={"run_id": known.run_id},
    )


def _with_earlier(
    service: Service, workspace: Workspace, wanted: RolloutInput
) -> tuple[RolloutInput, RunRequest | None]:
    """Return a request with what it takes from an earlier run, and that run.

    Raises Refusal: 404 for an unknown run, 422 if its dataset was deleted.
    """
    if not wanted.from_run:
        return wanted, None
    earlier = find_evaluation(service, workspace, wanted.from_run)
    if earlier is None or earlier.kind != "rollout":
        raise Refusal(404, unknown_run(service, workspace, wanted.from_run))
    before, given = earlier.config, wanted.model_fields_set
    update: dict[str, Any] = {"configuration": wanted.configuration or earlier.configuration}
    if not given & {"config", "configuration"}:
        update["config"] = before["config"]
        update["assignments"] = {**before["assignments"], **wanted.assignments}
    if not given & {"rows", "limit"}:
        update |= {"rows": before["rows"], "limit": before["limit"]}
    if not given & {"dataset", "dataset_version"} and "experiment.dataset" not in wanted.assignments:
        if service.store.datasets.get(workspace.id, earlier.dataset_id or "") is None:
            words = f"the dataset {before.get('dataset', '')!r} of the run {wanted.from_run!r} was deleted"
            raise Refusal(422, f"{words}; upload its file again and name it, or name another dataset", field="dataset")
        update |= {"dataset": earlier.dataset_id, "dataset_version": earlier.dataset_version}
    if "tags" not in given:
        run = service.store.run_requests.runs([earlier.run_id]).get(earlier.run_id)
        update["tags"] = [] if run is None else list(run.tags)
    return wanted.model_copy(update=update), earlier


# ---- code ------------------------------------------------------------------------------------------------------------


def _code(
    service: Service, viewer: Viewer, workspace: Workspace, wanted: RolloutInput, earlier: RunRequest | None
) -> _Code:
    given = [name for name in ("snapshot", "commit", "branch") if getattr(wanted, name)]
    if "snapshot" in given and len(given) > 1:
        raise Refusal(422, f"a snapshot and a {given[1]} are given, and only one of them can be meant; leave one out")
    if wanted.snapshot:
        upload = service.store.snapshot_uploads.get(workspace.id, wanted.snapshot)
        if upload is None or upload.snapshot is None:
            raise Refusal(
                404,
                f"the workspace {workspace.name!r} has no complete snapshot {wanted.snapshot!r}; upload it with "
                "`mesocosm eval submit --upload`",
                field="snapshot",
            )
        root = snapshot_folder(service, upload.snapshot)
        return _Code(upload.snapshot, root, upload.branch, upload.commit_id, upload.dirty)
    if earlier is not None and not given and earlier.snapshot is not None:
        root = snapshot_folder(service, earlier.snapshot)
        told = {name: earlier.config[name] for name in ("dirty", "message", "author") if name in earlier.config}
        return _Code(earlier.snapshot, root, earlier.branch, earlier.commit_id, **told)
    return _synced(service, viewer, workspace, wanted.branch, wanted.commit)


def _synced(service: Service, viewer: Viewer, workspace: Workspace, branch: str, commit: str) -> _Code:
    found = synced_commit(service, workspace, branch, commit, viewer.account_id)
    assert found.snapshot is not None
    return _Code(
        found.snapshot,
        snapshot_folder(service, found.snapshot),
        found.branch,
        found.commit_id,
        message=found.message.partition("\n")[0][:_LONGEST_SUBJECT],
        author=found.author[:_LONGEST_SUBJECT],
    )


def _configured_code(
    service: Service,
    viewer: Viewer,
    workspace: Workspace,
    wanted: RolloutInput,
    document: dict[str, Any],
    code: _Code,
) -> _Code:
    """Return the code of the branch or commit that the configuration names; both are removed from `document`.

    What the request names itself takes precedence.
    """
    experiment = document.get("experiment")
    if not isinstance(experiment, dict):
        return code
    named = {key: wanted.assignments.get(f"experiment.{key}", experiment.get(key)) for key in ("branch", "commit_sha")}
    branch, commit = (value if isinstance(value, str) else "" for value in named.values())
    if wanted.snapshot or wanted.commit or wanted.branch or wanted.from_run or not (branch or commit):
        return code
    return _synced(service, viewer, workspace, branch, commit)


# ---- configuration ---------------------------------------------------------------------------------------------------


def _document(wanted: RolloutInput, code: _Code) -> dict[str, Any]:
    """Return the tables of the configuration. Raises Refusal 422, InvalidInput if the file is not TOML."""
    if wanted.config is not None:
        return dict(wanted.config)
    path = PurePosixPath(wanted.configuration)
    if not wanted.configuration:
        words = "name a configuration such as configs/eval/NAME.toml, or give its tables as `config`"
        raise Refusal(422, words, field="configuration")
    if path.is_absolute() or ".." in path.parts or path.suffix != ".toml":
        words = f"{wanted.configuration!r} is no path of a configuration, such as configs/eval/NAME.toml"
        raise Refusal(422, words, field="configuration")
    file = code.root / path
    if not file.is_file() or not file.resolve().is_relative_to(code.root.resolve()):
        there = sorted(found.relative_to(code.root).as_posix() for found in _configurations(code.root))
        hint = f"it has {', '.join(there[:10])}" if there else "it has no configurations"
        at = f"commit {code.commit[:12]}" if code.commit and not code.dirty else "the code"
        raise Refusal(422, f"{at} has no file {wanted.configuration}; {hint}", field="configuration")
    data = file.read_bytes()
    if len(data) > _LARGEST:
        raise Refusal(422, f"{wanted.configuration} is larger than 1 MiB, which no configuration is")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            wanted.configuration, [Problem("", f"is not TOML: {error}", "mend it, push, and submit again")]
        ) from error


def _configurations(root: Path) -> Iterator[Path]:
    return (file for file in WorkspaceDirectory(root).configs.rglob("*.toml") if file.is_file())


def _config(wanted: RolloutInput, document: dict[str, Any], code: _Code) -> Config:
    """Check the configuration. Raises InvalidInput with all problems, with paths as in the repository."""
    revision = ("branch", "commit_sha")
    experiment = document.get("experiment")
    tables = dict(document)
    if isinstance(experiment, dict):
        tables["experiment"] = {key: value for key, value in experiment.items() if key not in revision}
    assignments = {
        key: value for key, value in wanted.assignments.items() if key not in {f"experiment.{one}" for one in revision}
    }
    path = Path(wanted.configuration or "the configuration")
    try:
        config = config_of(tables, path, WorkspaceDirectory(code.root), assignments)
    except InvalidInput as error:
        problems = [
            msgspec.structs.replace(one, message=_portable(one.message, code.root), fix=_portable(one.fix, code.root))
            for one in error.problems
        ]
        raise InvalidInput(str(path), problems) from error
    return config


def _portable(text: str, root: Path) -> str:
    return text.replace(f"{root}/", "").replace(str(root), "the workspace directory")


# ---- data, secrets, models -------------------------------------------------------------------------------------------


def find_dataset(service: Service, workspace: Workspace, name: str, number: int | None) -> DatasetOfRun:
    """Return a dataset of a workspace in a version, None for the newest. Raises Refusal 422."""
    dataset = service.store.datasets.get(workspace.id, name)
    if dataset is None:
        near = nearest(name, [one.name for one in service.store.datasets.list(workspace.id)])
        hint = f"did you mean {near!r}? Or upload it" if near else "upload it"
        raise Refusal(
            422,
            f"the workspace {workspace.name!r} has no dataset {name!r}; {hint} with `mesocosm dataset upload FILE`, "
            "whose name becomes that of the dataset",
            field="dataset",
        )
    wanted = number or dataset.version
    version = None if wanted is None else service.store.datasets.version(dataset.id, wanted)
    if version is None or version.state is not DatasetState.UPLOADED or not version.rows:
        which = f"version {wanted} of the dataset" if wanted else "the dataset"
        if version is None and number and dataset.version:
            words = f"the dataset {dataset.name!r} has no version {number}; its newest one is {dataset.version}"
            raise Refusal(422, words, field="dataset_version")
        raise Refusal(
            422,
            f"{which} {dataset.name!r} cannot be used: it is not uploaded and checked; see "
            f"`mesocosm dataset info {dataset.name}`",
            field="dataset_version" if number else "dataset",
        )
    return DatasetOfRun(dataset, version)


def _scopes(
    service: Service, viewer: Viewer, workspace: Workspace, config: Config, provided: Mapping[str, SecretStr]
) -> Mapping[str, str]:
    """Return whose value each required secret has, if any. Raises InvalidInput for values that are not required."""
    problems = [
        Problem(name, "has a value, and is not required", f"add it to [secrets] required, or leave {name} out")
        for name in provided
        if name not in config.secrets
    ]
    if problems:
        raise InvalidInput("[secrets] required", problems)
    stored = secret_scopes(service, workspace.id, viewer.account_id, config.secrets)
    return {**stored, **dict.fromkeys(provided, "run")}


def _rollout(
    workspace: Workspace, viewer: Viewer, config: Config, wanted: RolloutInput, code: _Code, data: DatasetOfRun
) -> HostedRollout:
    overrides = SpecOverrides(_NOWHERE, rows=wanted.rows, limit=wanted.limit, located=("", data.dataset.name))
    options = run_spec(config, overrides).benchmark.options
    kept = {key: value for key, value in options.items() if key not in _PLACES}
    return HostedRollout(
        name=config.experiment.rollout,
        snapshot=code.snapshot,
        dataset_id=data.dataset.id,
        dataset_version=data.version.version,
        workspace_id=workspace.id,
        user_id=viewer.account_id,
        options={**kept, "dataset": "", "isolation": "process"},
    )


def _planned(
    service: Service,
    viewer: Viewer,
    workspace: Workspace,
    config: Config,
    wanted: RolloutInput,
    rollout: HostedRollout,
    name: str,
    run_id: str,
) -> Run:
    settings = service.settings
    model = _model(service, viewer, workspace, "experiment.model_path", config.experiment.model_path)
    judge = _model(service, viewer, workspace, "model.judge", config.model.judge) if config.model.judge else None
    budget, warnings = budget_of_run(service, viewer, workspace, [model, *([judge] if judge else [])])
    if config.model.base_url:
        warnings.append(
            f"[model] base_url {config.model.base_url} is not used: the server calls its own model {model.asked}"
        )
    tags = tuple(checked_tags(wanted.tags))
    spec = run_spec(config, SpecOverrides(_NOWHERE, name=name, tags=tags, located=("", "")))
    spec = msgspec.structs.replace(
        spec,
        benchmark=_ref(rollout),
        model=_served(spec, model, settings.model_s),
        judge=None if judge is None or spec.judge is None else msgspec.structs.replace(spec.judge, name=judge.name),
        limits=_limits(service, config, spec.limits, budget),
        parallel=model.most_parallel(min(spec.parallel, settings.episodes_at_once)),
    )
    try:
        run = planned_run(spec)
    except InvalidInput:
        raise
    except UsageError as error:
        raise Refusal(422, f"this evaluation cannot work: {error}", field="rows" if wanted.rows else "") from error
    if run.counts.planned > settings.max_samples_per_run:
        raise Refusal(
            422,
            f"the run would have {run.counts.planned:,} samples, and a run on this server at most "
            f"{settings.max_samples_per_run:,}; choose fewer rows, or a smaller n",
        )
    run.id = run_id or run.id
    run.model = model.asked
    run.warnings = tuple(warnings)
    run.spec = msgspec.structs.replace(spec, benchmark=_ref(msgspec.structs.replace(rollout, run_id=run.id)))
    return run


def _model(service: Service, viewer: Viewer, workspace: Workspace, key: str, name: str) -> ServedModel:
    try:
        return service.catalogue.resolve(name, viewer.caller, workspace)
    except Refusal as refusal:
        raise Refusal(refusal.status, refusal.detail, code=refusal.code, field=key) from refusal


def _ref(rollout: HostedRollout) -> BenchmarkRef:
    return BenchmarkRef(HOSTED, rollout.name, {"rollout": msgspec.to_builtins(rollout)})


def _served(spec: RunSpec, model: ServedModel, most_s: float) -> Any:
    return msgspec.structs.replace(spec.model, name=model.name, timeout_s=min(spec.model.timeout_s, most_s))


def _limits(service: Service, config: Config, given: Limits, usd: float | None) -> Limits:
    """Return the limits of a run. Raises InvalidInput for limits above those of the server."""
    settings, asked = service.settings, config.evaluation
    problems = [
        Problem(f"evaluation.{key}", f"is {value:g}, more than the {most:g} that this server allows")
        for key, value, most in (
            ("outage_seconds", asked.outage_seconds, settings.outage_s),
            ("max_missing", asked.max_missing, settings.max_missing),
        )
        if value is not None and value > most
    ]
    if problems:
        raise InvalidInput(str(config.path), problems)
    return msgspec.structs.replace(
        given,
        run_seconds=settings.run_s,
        run_usd=usd,
        outage_seconds=settings.outage_s if asked.outage_seconds is None else asked.outage_seconds,
        max_missing=settings.max_missing if asked.max_missing is None else asked.max_missing,
    )


def budget_of_run(
    service: Service, viewer: Viewer, workspace: Workspace | None, models: list[ServedModel], team_id: str | None = None
) -> tuple[float | None, list[str]]:
    """Return what a run may cost (None: unlimited), and warnings. Raises Refusal 429 if nothing is left."""
    warnings = [
        f"no price is known for {model.asked}: what this run costs is not counted against budgets"
        for model in models
        if not model.priced
    ]
    if all(model.free or not model.priced for model in models):
        return None, warnings
    left = budget_left(service, viewer.caller.actor, team_id, None if workspace is None else workspace.id)
    if left.used_up:
        raise Refusal(429, f"{left.name} of the last 24 hours is used up; wait, or run a model that costs nothing")
    limits = (left.usd, service.settings.run_budget_usd)
    return min((usd for usd in limits if usd is not None), default=None), warnings
