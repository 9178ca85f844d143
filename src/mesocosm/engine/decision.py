"""What to do about an experiment that may have been run before: run it, continue it, or leave it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mesocosm.core.run import Run, RunStatus

FORCED = "forced"
"""In the provenance of a run: it was begun although an earlier one of the same experiment had finished."""


class Action(StrEnum):
    """What is done."""

    RUN = "run"
    RESUME = "resume"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Policy:
    """`force` always makes a new run; `rerun_failed` touches only experiments whose latest attempt failed."""

    force: bool = False
    rerun_failed: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done and why; `run` is the one to continue, or the one that makes it needless."""

    action: Action
    reason: str = ""
    run: Run | None = None


class History(Protocol):
    """What a decision needs of the store."""

    def latest(self, signature: str) -> Run | None:
        """Return the newest run of an experiment, whatever became of it."""
        ...

    def succeeded(self, signature: str) -> Run | None:
        """Return the newest run of an experiment that finished with a score."""
        ...

    def failed_to_begin(self, signature: str) -> bool:
        """Return whether an experiment was asked for before, and no run could be made."""
        ...

    def going(self, run: Run) -> bool:
        """Return whether a living process works on a run."""
        ...


def decide(history: History, signature: str, policy: Policy) -> Decision:
    """Return what to do about the experiment with this signature.

    Finished work is never repeated unless `force` says so: a run that was cut off is continued, one in which too much
    is missing is repaired, one that succeeded is left. Skipping leaves no run behind, so it consumes no attempt and
    hides no failure.
    """
    latest = history.latest(signature)
    if policy.force:
        begun = latest is not None and latest.provenance.get(FORCED) is True
        goes_on = latest is not None and begun and _unfinished(latest) and not history.going(latest)
        return _continued(latest) if latest is not None and goes_on else Decision(Action.RUN, "forced")
    if latest is None:
        if policy.rerun_failed and not history.failed_to_begin(signature):
            return Decision(Action.SKIP, "never run before")
        return Decision(Action.RUN, "never run")
    if history.going(latest):
        who = f" by {latest.holder}" if latest.holder else ""
        return Decision(Action.SKIP, f"run {latest.id} of the same experiment is going on{who}", latest)
    if latest.status is RunStatus.FINISHED:
        return Decision(Action.SKIP, "latest_status_succeeded" if policy.rerun_failed else "already_succeeded", latest)
    tries = latest.status is RunStatus.PARTIAL or policy.rerun_failed
    earlier = None if tries else history.succeeded(signature)
    if earlier is not None:
        return Decision(Action.SKIP, "already_succeeded", earlier)
    if _unfinished(latest):
        return _continued(latest)
    return Decision(Action.RUN, f"run {latest.id} failed: {latest.error or 'nothing scored'}")


def other_server(run: Run, now: Mapping[str, str]) -> str:
    """Return in which words the server of a finished run differs from `now`; empty where nothing is known to.

    A run that an earlier version wrote names no server, and a server that is not reached lists no models.
    """
    before = run.provenance.get("server", {})
    names = {"address": "address", "models": "list of models"}
    changes = [
        f"the {word} was {before[name]}, is {now[name]}"
        for name, word in names.items()
        if before.get(name) and now.get(name) and before[name] != now[name]
    ]
    if not changes:
        return ""
    return f"run {run.id} was answered by another server: {'; '.join(changes)}. --force runs it anew"


def _unfinished(run: Run) -> bool:
    """Return whether a run can go on: it owes episodes, lacks too many values, or had not taken in all it found."""
    if run.status is RunStatus.FINISHED:
        return False
    grows = bool(run.info.get("growing")) and run.status is not RunStatus.FAILED
    return bool(run.counts.owed) or run.status is RunStatus.PARTIAL or grows


def _continued(run: Run) -> Decision:
    if run.status is RunStatus.PARTIAL:
        why = run.error
    elif run.counts.owed:
        why = f"{run.counts.done:,} of {run.counts.planned:,} episodes are finished"
    else:
        why = "it was cut off before all it found was taken in"
    return Decision(Action.RESUME, f"continues run {run.id}: {why}", run)
