"""The ways an episode ends: at a step, at a limit, by a failure, or because its grader could not answer."""

import time
from typing import Any

from mesocosm.core.episode import FINISHED, Episode, EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import RULES, Boundary, Cause, EpisodeError, RunAborted, ServiceError
from mesocosm.core.ports import Step
from mesocosm.engine.recorder import Recorder


class Withdrawn(Exception):
    """An episode did not end and stays pending, and so would every further one; the message says why."""


def end_of_step(step: Step, number: int, most: int | None, declared: int | None) -> tuple[EpisodeStatus, Any] | None:
    """Return status and terminal info if step `number` of at most `most` ends the episode, None if it continues."""
    if step.terminated or step.truncated:
        return EpisodeStatus.COMPLETED, step.info
    if most is None or number < most:
        return None
    info = {"reason": "step_limit", **step.info, "max_steps": most, "declared_max_steps": declared}
    return EpisodeStatus.TRUNCATED, info


def end_by_failure(episode: Episode, recorder: Recorder, error: EpisodeError) -> None:
    """Store a failure in an episode: pending if infrastructure failed, else failed.

    Raises RunAborted if every further episode would fail in the same way, Withdrawn if it would stay pending.
    """
    if error.rule.fatal:
        raise RunAborted(str(error)) from error
    if error.cause is Cause.CANCELLED:
        raise Withdrawn(str(error)) from error
    episode.status = EpisodeStatus.CANCELLED if error.rule.pending else EpisodeStatus.FAILED
    episode.failure = error.failure()
    episode.terminal_info = {**episode.terminal_info, **error.facts, "error": episode.failure.message}
    if error.cause is Cause.BUDGET:
        episode.terminal_info["reason"] = Cause.BUDGET.value
    # The failed step was not completed, so `episode.steps` does not count it.
    recorder.record(Kind.ERROR, episode.failure, recorder.step)


def leave_unscored_pending(episode: Episode, recorder: Recorder) -> None:
    """Leave an episode pending if a score is missing because infrastructure failed its grader, such as a judge."""
    if episode.status not in FINISHED:
        return
    for score in episode.scores:
        rule = None if score.missing is None else RULES[score.missing]
        if score.missing is not None and rule is not None and (rule.pending or rule.fatal):
            message = score.explanation or f"the score {score.name} could not be given"
            episode.status = EpisodeStatus.CANCELLED
            episode.failure = EpisodeError(score.missing, message).failure()
            recorder.record(Kind.ERROR, episode.failure, recorder.step)
            return


def write_end(episode: Episode, recorder: Recorder) -> None:
    """Record the last event of an episode and pass it to the journal."""
    total = episode.usage.total
    episode.terminal_info = {**episode.terminal_info, "total_tokens": total}
    episode.ended_at = time.time()
    end = {
        "total_reward": episode.total_reward,
        "steps": episode.steps,
        "status": episode.status,
        "terminal_info": episode.terminal_info,
        "total_tokens": total,
    }
    recorder.record(Kind.EPISODE_END, end, recorder.step)
    recorder.finish()


def of_the_world(error: EpisodeError) -> bool:
    """Return whether the host of the episodes failed, not the episode: an adapter, a process, the model proxy."""
    if isinstance(error, ServiceError):
        return False
    return error.rule.pending and error.rule.boundary in {Boundary.ENVIRONMENT, Boundary.SANDBOX, Boundary.PROXY}
