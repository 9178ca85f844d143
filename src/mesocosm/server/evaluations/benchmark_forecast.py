"""What runs of benchmarks would come to before they are submitted, from earlier runs of the same model."""

import json
import math
import shlex
import time
from collections.abc import Callable, Iterator

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.run import Run
from mesocosm.server.auth.access_rules import Viewer
from mesocosm.server.evaluations.benchmark_submission import plan_benchmark
from mesocosm.server.evaluations.estimate import estimated_usd
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.document import instant
from mesocosm.server.schemas.run_estimate import Forecast, ForecastBasis, Likely, RunForecast
from mesocosm.server.schemas.run_request import BenchmarkInput
from mesocosm.server.service import Service
from mesocosm.store.episodes import UsageSpread
from mesocosm.store.workspaces import Workspace

Earlier = Callable[[str, str], Run | None]
"""Returns the newest finished run of a benchmark and a model that the caller sees all of."""

_DEFAULT_PARALLEL = 4
"""Default of `bench run --parallel`."""
_LIKELY = 1.96
"""Standard deviations to each side of 95 of 100 values."""


def forecast_runs(
    service: Service,
    viewer: Viewer,
    wanted: list[BenchmarkInput],
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
    wanted: BenchmarkInput,
    workspace_of: Callable[[str], Workspace | None],
    earlier: Earlier,
) -> RunForecast:
    nothing = RunForecast(
        model=wanted.model,
        refused="",
        field="",
        tasks=0,
        trials=wanted.trials or 1,
        episodes=0,
        parallel=wanted.parallel,
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
        workspace = workspace_of(wanted.workspace)
        run = plan_benchmark(service, viewer, workspace, wanted)
        model = service.catalogue.resolve(wanted.model, viewer.caller, workspace)
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
            "command": shlex.join(_command(wanted, workspace)),
            "usd": Likely(value=0.0, low=0.0, high=0.0) if model.free else None,
        }
    )
    basis = earlier(run.benchmark, run.model)
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


def _command(wanted: BenchmarkInput, workspace: Workspace | None) -> Iterator[str]:
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
    for option, value, usual in given:
        if value not in (None, usual):
            yield from (option, str(value))
    if not wanted.reuse:
        yield "--fresh"
