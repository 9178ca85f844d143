"""What runs would come to before they are submitted, from earlier runs of the same benchmark and model."""

import json
import math
import shlex
import time
from collections.abc import Callable, Iterable, Iterator

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.run import Run
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.evaluations.benchmark_submission import plan_benchmark
from mesocosm.server.evaluations.estimate import basis_of, estimated_usd
from mesocosm.server.evaluations.submission import plan_evaluation
from mesocosm.server.model_catalogue import ServedModel
from mesocosm.server.refusal import Refusal
from mesocosm.server.run_requests.submission import plan_run
from mesocosm.server.schemas.document import instant
from mesocosm.server.schemas.run_estimate import Forecast, ForecastBasis, Likely, RunForecast
from mesocosm.server.schemas.run_request import BenchmarkInput, RolloutInput, RunInput
from mesocosm.server.service import Service
from mesocosm.store.episodes import UsageSpread
from mesocosm.store.workspaces import Workspace

Earlier = Callable[[str, str], Run | None]
"""Returns the newest finished run of a benchmark and a model that the caller sees all of."""

Wanted = RunInput | RolloutInput | BenchmarkInput
MODEL = "experiment.model_path"

_DEFAULT_PARALLEL = 4
"""Default of `bench run --parallel`."""
_LIKELY = 1.96
"""Standard deviations to each side of 95 of 100 values."""


def forecast_runs(
    service: Service,
    viewer: Viewer,
    wanted: list[Wanted],
    workspace_of: Callable[[str], Workspace | None],
    earlier: Earlier,
) -> Forecast:
    """Return what runs would come to. A run that would be refused says so, the others are estimated all the same."""
    runs = [_forecast(service, viewer, one, workspace_of, earlier) for one in wanted]
    accepted = [one for one in runs if not one.refused]
    known = [one.usd for one in accepted if one.usd is not None]
    now, lease_s = time.time(), service.settings.lease_s
    alive = [worker for worker in service.store.workers.list() if not worker.dead(lease_s, now)]
    return Forecast(
        runs=runs,
        usd=_together(known) if known else None,
        unknown=len(accepted) - len(known),
        workers=len(alive),
        places=sum(max(worker.capacity - worker.running, 0) for worker in alive),
        waiting=service.store.workers.queue().runs_queued,
    )


def _forecast(
    service: Service,
    viewer: Viewer,
    wanted: Wanted,
    workspace_of: Callable[[str], Workspace | None],
    earlier: Earlier,
) -> RunForecast:
    nothing = RunForecast(
        model=_asked_model(wanted),
        refused="",
        field="",
        tasks=0,
        trials=1,
        episodes=0,
        parallel=1,
        free=False,
        priced=False,
        basis=None,
        tokens=None,
        usd=None,
        seconds=None,
        note="",
        budget_usd=None,
        warnings=[],
        command="",
    )
    try:
        run, model, command, basis = _plan(service, viewer, wanted, workspace_of, earlier)
    except Refusal as refusal:
        return nothing.model_copy(update={"refused": refusal.detail, "field": refusal.field})
    except InvalidInput as error:
        path = error.problems[0].path if len(error.problems) == 1 else ""
        return nothing.model_copy(update={"refused": str(error), "field": path})
    except UsageError as error:
        return nothing.model_copy(update={"refused": str(error)})
    trials = run.spec.selection.trials
    found = nothing.model_copy(
        update={
            "model": run.model,
            "tasks": run.counts.planned // trials,
            "trials": trials,
            "episodes": run.counts.planned,
            "parallel": run.spec.parallel,
            "free": model.free,
            "priced": model.priced,
            "budget_usd": run.spec.limits.run_usd,
            "warnings": list(run.warnings),
            "command": command,
            "usd": Likely(value=0.0, low=0.0, high=0.0) if model.free else None,
        }
    )
    spread = None if basis is None else service.store.episodes.spread(basis.id)
    if basis is None or spread is None or not spread.episodes or not basis.counts.done:
        return found.model_copy(update={"note": f"no estimate: no run of {run.model} on {run.benchmark} yet"})
    planned = run.counts.planned
    tokens = _likely(spread.tokens, spread.episodes, planned)
    seconds = _likely(spread.seconds, spread.episodes, planned)
    usd = found.usd if model.free else _scaled(estimated_usd(model.price, basis, run), tokens)
    note = "" if usd is not None else f"no estimate of the cost: no price of {run.model} is known"
    beside = max(min(run.spec.parallel, planned), 1)
    longest = min(spread.seconds.mean, seconds.value)
    return found.model_copy(
        update={
            "basis": ForecastBasis(
                run_id=basis.id, name=basis.name, episodes=basis.counts.done, created_at=instant(basis.created_at)
            ),
            "tokens": tokens,
            "usd": usd,
            # However many run at once, a run takes as long as an episode.
            "seconds": Likely(
                value=max(seconds.value / beside, longest),
                low=max(seconds.low / beside, longest),
                high=max(seconds.high / beside, longest),
            ),
            "note": note,
        }
    )


def _asked_model(wanted: Wanted) -> str:
    if isinstance(wanted, RunInput):
        return wanted.agent_config.model
    return str(wanted.assignments.get(MODEL, "")) if isinstance(wanted, RolloutInput) else wanted.model


def _plan(
    service: Service,
    viewer: Viewer,
    wanted: Wanted,
    workspace_of: Callable[[str], Workspace | None],
    earlier: Earlier,
) -> tuple[Run, ServedModel, str, Run | None]:
    """Return the run, its model, the command that submits the same, and the run that tells what it takes.

    Raises as submitting it.
    """
    if isinstance(wanted, RunInput):
        planned = plan_run(service, viewer, wanted)
        basis = earlier(planned.run.benchmark, planned.run.model)
        return planned.run, planned.model, shlex.join(_environment_command(wanted)), basis
    workspace = workspace_of(wanted.workspace)
    if isinstance(wanted, BenchmarkInput):
        run = plan_benchmark(service, viewer, workspace, wanted)
        command = shlex.join(_benchmark_command(wanted, workspace))
        model = service.catalogue.resolve(wanted.model, viewer.caller, workspace)
        return run, model, command, earlier(run.benchmark, run.model)
    if workspace is None:
        raise Refusal(422, "name the workspace of the rollout", field="workspace")
    evaluation = plan_evaluation(service, viewer, workspace, wanted)
    if evaluation.missing:
        raise Refusal(422, f"secrets without a value: {', '.join(evaluation.missing)}; set them in the workspace")
    model = service.catalogue.resolve(evaluation.request.model, viewer.caller, workspace)
    # What was uploaded has no name that a command could give.
    command = "" if wanted.snapshot else shlex.join(_rollout_command(wanted, workspace))
    # Runs of a rollout are alike where their configuration is, whatever the dataset is called.
    before = basis_of(service, evaluation)
    alike = before if before is not None and before.model == evaluation.run.model else None
    return evaluation.run, model, command, alike


def _likely(spread: UsageSpread, episodes: int, planned: int) -> Likely:
    """Return the sum over `planned` episodes, with the range of such sums: from how episodes vary, and from how well
    `episodes` of them say what is usual.
    """
    value = spread.mean * planned
    half = _LIKELY * spread.deviation * math.sqrt(planned + planned * planned / episodes)
    return Likely(value=value, low=max(value - half, 0.0), high=value + half)


def _scaled(usd: float | None, tokens: Likely) -> Likely | None:
    """Return a cost with the range of its tokens."""
    if usd is None or not tokens.value:
        return None
    return Likely(value=usd, low=usd * tokens.low / tokens.value, high=usd * tokens.high / tokens.value)


def _together(parts: list[Likely]) -> Likely:
    """Return the sum of independent numbers."""
    value = sum(one.value for one in parts)
    below, above = (
        math.sqrt(sum(half * half for half in halves))
        for halves in ([one.value - one.low for one in parts], [one.high - one.value for one in parts])
    )
    return Likely(value=value, low=max(value - below, 0.0), high=value + above)


def _benchmark_command(wanted: BenchmarkInput, workspace: Workspace | None) -> Iterator[str]:
    yield from ("mesocosm", "bench", "run", wanted.benchmark, "--remote")
    yield from ("--solo",) if workspace is None else ("--workspace", workspace.name)
    yield from ("--model", wanted.model)
    given = (
        ("--extra", json.dumps(wanted.parameters, ensure_ascii=False) if wanted.parameters else None, None),
        ("--agent", wanted.agent, ""),
        ("--max-examples", wanted.max_examples, None),
        ("--trials", wanted.trials, None),
        ("--parallel", wanted.parallel, _DEFAULT_PARALLEL),
        ("--run-usd", None if wanted.run_usd is None else f"{wanted.run_usd:g}", None),
        ("--name", wanted.name, ""),
        *(("--tag", tag, "") for tag in wanted.tags),
    )
    yield from _options(given)
    if not wanted.reuse:
        yield "--fresh"


def _rollout_command(wanted: RolloutInput, workspace: Workspace) -> Iterator[str]:
    yield from ("mesocosm", "eval", "submit")
    yield from (wanted.configuration,) if wanted.configuration and not wanted.from_run else ()
    yield from ("--workspace", workspace.name)
    dataset = f"{wanted.dataset}@{wanted.dataset_version}" if wanted.dataset_version else wanted.dataset
    yield from _options(
        (
            ("--from", wanted.from_run, ""),
            ("--branch", "" if wanted.commit else wanted.branch, ""),
            ("--commit", wanted.commit, ""),
            ("--dataset", dataset, ""),
            ("--rows", wanted.rows, ""),
            ("--limit", wanted.limit, None),
            ("--name", wanted.name, ""),
            *(("--set", f"{key}={_toml(value)}", "") for key, value in wanted.assignments.items()),
            *(("--tag", tag, "") for tag in wanted.tags),
        )
    )


def _environment_command(wanted: RunInput) -> Iterator[str]:
    agent = wanted.agent_config
    yield from ("mesocosm", "run", "create", "--domain", wanted.domain_id)
    yield from ("--vow-version", wanted.binding_vow_version, "--model", agent.model)
    if wanted.official:
        yield "--official"
    elif wanted.seed_set is None:
        yield from ("--episodes", str(wanted.num_episodes))
    else:
        yield from ("--seeds", *map(str, wanted.seed_set))
    yield from _options((("--parallel", wanted.max_parallel, 1), ("--system-prompt", agent.system_prompt, None)))
    if not wanted.official:
        heat = f"{agent.temperature:g}"
        yield from _options(
            (
                ("--temperature", heat, "0"),
                ("--max-tokens", agent.max_tokens, None),
                ("--env-id", wanted.env_id, None),
                ("--visibility", wanted.visibility, None),
            )
        )
    yield from _options((("--name", wanted.name, ""), *(("--tag", tag, "") for tag in wanted.tags)))
    yield from ("--team", wanted.team_id) if wanted.team_id else ("--solo",)


def _toml(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _options(given: Iterable[tuple[str, object, object]]) -> Iterator[str]:
    """Yield the options whose value is not the usual one."""
    for option, value, usual in given:
        if value not in (None, usual):
            yield from (option, str(value))
