"""What to do about an experiment that may have been run before: run it, continue it, or leave it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from mesocosm.core.run import Run, RunStatus


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

    def going(self, run: Run) -> bool:
        """Return whether a living process works on a run."""
        ...


def decide(history: History, signature: str, policy: Policy) -> Decision:
    """Return what to do about the experiment with this signature.

    Finished work is never repeated unless `force` says so: a run that was cut off is continued, one that succeeded is
    left. Skipping leaves no run behind, so it consumes no attempt and hides no failure.
    """
    if policy.force:
        return Decision(Action.RUN, "forced")
    latest = history.latest(signature)
    if latest is None:
        return Decision(Action.SKIP, "never run before") if policy.rerun_failed else Decision(Action.RUN, "never run")
    if history.going(latest):
        who = f" by {latest.holder}" if latest.holder else ""
        return Decision(Action.SKIP, f"run {latest.id} of the same experiment is going on{who}", latest)
    if latest.status is RunStatus.FINISHED:
        return Decision(Action.SKIP, "latest_status_succeeded" if policy.rerun_failed else "already_succeeded", latest)
    earlier = None if policy.rerun_failed else history.succeeded(signature)
    if earlier is not None:
        return Decision(Action.SKIP, "already_succeeded", earlier)
    if latest.counts.owed:
        done = f"{latest.counts.done:,} of {latest.counts.planned:,} episodes are finished"
        return Decision(Action.RESUME, f"continues run {latest.id}: {done}", latest)
    if latest.info.get("growing") and latest.status is not RunStatus.FAILED:
        return Decision(
            Action.RESUME, f"continues run {latest.id}: it was cut off before all it found was taken in", latest
        )
    return Decision(Action.RUN, f"run {latest.id} failed: {latest.error or 'nothing scored'}")
