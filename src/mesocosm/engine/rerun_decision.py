"""What to do about an experiment that may have been run before: run it, continue it, or leave it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mesocosm.core.failure import Cause
from mesocosm.core.ports import EngineStore, Parts
from mesocosm.core.proxy import Served
from mesocosm.core.run import Limits, Run, RunStatus
from mesocosm.engine.grading import outcome
from mesocosm.engine.metrics import NOT_RUN

NEVER = "never run before"
"""Why an experiment is left that is only to be run again."""
FORCED = "forced"
"""In the provenance of a run: it was begun although an earlier one of the same experiment had finished."""


SERVER_WORDS = {
    "address": "address",
    "models": "list of models",
    "judge_address": "address of the judge",
    "judge_models": "list of models of the judge",
}
"""What is compared of the servers of a run, in words."""


_UNSTARTED = frozenset({Cause.SANDBOX_FAILED.value})


class RerunAction(StrEnum):
    """What is done."""

    RUN = "run"
    RESUME = "resume"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class RerunPolicy:
    """`force` always makes a new run; `rerun_failed` touches only experiments whose latest attempt failed.

    `max_missing` is the share of planned episodes that may lack a value in a run that is left as it is, whatever the
    run itself allowed.
    """

    force: bool = False
    rerun_failed: bool = False
    max_missing: float = Limits().max_missing


@dataclass(frozen=True, slots=True)
class RerunDecision:
    """What is done and why; `run` is the one to continue, or the one that makes it needless."""

    action: RerunAction
    reason: str = ""
    run: Run | None = None


def decide(store: EngineStore, signature: str, policy: RerunPolicy) -> RerunDecision:
    """Return what to do about the experiment with this signature.

    Finished work is never repeated unless `force` says so: a run that was cut off is continued, one in which too much
    is missing is repaired, one that succeeded is left. Skipping leaves no run behind, so it consumes no attempt and
    hides no failure.
    """
    latest = store.runs.latest(signature)
    if policy.force:
        begun = latest is not None and latest.provenance.get(FORCED) is True
        goes_on = latest is not None and begun and _unfinished(latest) and not store.leases.active(latest)
        goes_on = goes_on and not (latest and latest.regraded)
        return _continued(latest) if latest is not None and goes_on else RerunDecision(RerunAction.RUN, "forced")
    if latest is None:
        if policy.rerun_failed and not store.groups.failed_to_begin(signature):
            return RerunDecision(RerunAction.SKIP, NEVER)
        return RerunDecision(RerunAction.RUN, "never run")
    if store.leases.active(latest):
        who = f" by {latest.holder}" if latest.holder else ""
        return RerunDecision(RerunAction.SKIP, f"run {latest.id} of the same experiment is going on{who}", latest)
    partial = lacks_too_much(latest, policy.max_missing)
    if latest.status is RunStatus.FINISHED and not partial and not latest.regraded:
        return RerunDecision(
            RerunAction.SKIP, "latest_status_succeeded" if policy.rerun_failed else "already_succeeded", latest
        )
    tries = partial or policy.rerun_failed
    for earlier in () if tries else store.runs.finished(signature):
        if not earlier.regraded and not lacks_too_much(earlier, policy.max_missing):
            return RerunDecision(RerunAction.SKIP, "already_succeeded", earlier)
    if (partial or _unfinished(latest)) and not latest.regraded:
        return _continued(latest)
    # What was scored by other rules is neither an answer nor to be mixed with what these would score.
    again = f"was rescored by other rules; `mesocosm run rescore {latest.id}` scores it by these again"
    failed = f"failed: {latest.error or 'nothing scored'}"
    return RerunDecision(RerunAction.RUN, f"run {latest.id} {again if latest.regraded else failed}")


def lacks_too_much(run: Run, max_missing: float) -> bool:
    """Return whether a run that was played lacks more values than `max_missing`, whatever it allowed itself."""
    if run.status is RunStatus.PARTIAL:
        return True
    return run.status is RunStatus.FINISHED and outcome(run.metrics, max_missing)[0] is RunStatus.PARTIAL


def could_not_start(run: Run) -> bool:
    """Return whether all is pending because the process that plays cannot be started: a failure, not an outage."""
    if run.status is not RunStatus.STOPPED or run.counts.done or run.primary is None:
        return False
    causes = run.primary.missing.keys() - {NOT_RUN}
    return bool(causes) and all(cause in _UNSTARTED for cause in causes)


def servers(parts: Parts) -> dict[str, str]:
    """Return what is known of the servers of model and judge: `address`, `models`, `judge_address`, `judge_models`."""
    found: dict[str, str] = {}
    asked: tuple[tuple[str, object], ...] = (("", parts.model), ("judge_", parts.judge))
    for role, part in asked:
        if isinstance(part, Served):
            found |= {f"{role}{name}": str(value) for name, value in part.server.items()}
    return found


def other_server(run: Run, now: Mapping[str, str], anew: str) -> str:
    """Return how the servers of a run differ from `now`, with the flag `anew` that begins another run, or ""."""
    before = run.provenance.get("server", {})
    changes = [
        f"the {word} was {before[name]}, is {now[name]}"
        for name, word in SERVER_WORDS.items()
        if before.get(name) and now.get(name) and now[name] not in before[name].split(", ")
    ]
    if not changes:
        return ""
    return (
        f"run {run.id} was answered by another server: {'; '.join(changes)}. "
        f"Where it is the same model at a new address, repeat the command with --same-server{anew}"
    )


def _unfinished(run: Run) -> bool:
    """Return whether a run can go on: episodes are pending, too many values are missing, or it was cut off."""
    if run.status is RunStatus.FAILED:
        return bool(run.counts.pending)
    return run.status is not RunStatus.FINISHED


def _continued(run: Run) -> RerunDecision:
    if run.status in {RunStatus.PARTIAL, RunStatus.FINISHED}:
        why = run.error or "it lacks more values than this command allows"
    elif run.counts.pending:
        why = f"{run.counts.done:,} of {run.counts.planned:,} episodes are finished"
    else:
        why = "it was cut off before its numbers were computed"
    return RerunDecision(RerunAction.RESUME, f"continues run {run.id}: {why}", run)
