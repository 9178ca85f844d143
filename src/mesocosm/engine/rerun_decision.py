"""Decide whether to run, resume or skip an experiment that may have been run before."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mesocosm.core.failure import Cause
from mesocosm.core.ports import EngineStore, Parts
from mesocosm.core.proxy import Served
from mesocosm.core.run import Limits, Run, RunStatus
from mesocosm.engine.metrics import NOT_RUN, outcome

NEVER = "never run before"
"""Reason for skipping an experiment that was never run, if only failed ones are to be repeated."""
FORCED = "forced"
"""Provenance key: the run was started by force, even if an earlier one of the same experiment had finished."""


SERVER_WORDS = {
    "address": "address",
    "models": "list of models",
    "judge_address": "address of the judge",
    "judge_models": "list of models of the judge",
}
"""Facts about servers that are compared, with their words in messages."""


_UNSTARTED = frozenset({Cause.SANDBOX_FAILED.value})


class RerunAction(StrEnum):
    """The action to take."""

    RUN = "run"
    RESUME = "resume"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class RerunPolicy:
    """`force` always starts a new run; `rerun_failed` only repeats experiments whose latest attempt failed.

    `max_missing` is the maximum share of planned episodes without a value in a run that is skipped, whatever the run's
    own limit was.
    """

    force: bool = False
    rerun_failed: bool = False
    max_missing: float = Limits().max_missing


@dataclass(frozen=True, slots=True)
class RerunDecision:
    """The action and its reason; `run` is the one to resume, or the one that makes a new run unnecessary."""

    action: RerunAction
    reason: str = ""
    run: Run | None = None


def decide(store: EngineStore, signature: str, policy: RerunPolicy) -> RerunDecision:
    """Return what to do with the experiment with this signature.

    Finished work is never repeated without `force`: an interrupted run is resumed, one with too many missing values is
    repaired, and a successful one is skipped. Skipping creates no run, so it consumes no attempt and hides no failure.
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
    # A run scored by other rules does not count as a result, and must not be mixed with scores by these rules.
    again = f"was rescored by other rules; `mesocosm run rescore {latest.id}` scores it by these again"
    failed = f"failed: {latest.error or 'nothing scored'}"
    return RerunDecision(RerunAction.RUN, f"run {latest.id} {again if latest.regraded else failed}")


def lacks_too_much(run: Run, max_missing: float) -> bool:
    """Return whether more values than `max_missing` are missing in an executed run, whatever its own limit was."""
    if run.status is RunStatus.PARTIAL:
        return True
    return run.status is RunStatus.FINISHED and outcome(run.metrics, max_missing)[0] is RunStatus.PARTIAL


def could_not_start(run: Run) -> bool:
    """Return whether all episodes are pending because their process cannot be started.

    That is a failure of the request, not a temporary outage, although the run can be resumed.
    """
    if run.status is not RunStatus.STOPPED or run.counts.done or run.primary is None:
        return False
    causes = run.primary.missing.keys() - {NOT_RUN}
    return bool(causes) and all(cause in _UNSTARTED for cause in causes)


def servers(parts: Parts) -> dict[str, str]:
    """Return the known facts about the servers of model and judge, by the keys of `SERVER_WORDS`."""
    found: dict[str, str] = {}
    asked: tuple[tuple[str, object], ...] = (("", parts.model), ("judge_", parts.judge))
    for role, part in asked:
        if isinstance(part, Served):
            found |= {f"{role}{name}": str(value) for name, value in part.server.items()}
    return found


def other_server(run: Run, now: Mapping[str, str], anew: str) -> str:
    """Return how the servers of a run differ from `now`, as a message; empty if no difference is known.

    `anew` is appended to the message and says how to start another run. Runs of earlier versions have no server
    recorded, and a server that is not reached lists no models.
    """
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
    """Return whether a run can be resumed: episodes are pending, too many values are missing, or it was interrupted.

    A run interrupted after its last episode has no pending ones, but no metrics yet.
    """
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
