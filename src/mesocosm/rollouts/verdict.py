"""Run a ready-made grader in place of a rollout's own, outside the reach of the rollout's code."""

import asyncio
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mesocosm.core.failure import Cause, EpisodeError, Failure
from mesocosm.rollouts.executor import PlayedSample, RowJob

FRAMES = 6


@dataclass(frozen=True, slots=True)
class SampleScore:
    """A grader's result for a sample; if grading failed, `value` is None and `failure` is the reason."""

    value: float | None
    scores: Mapping[str, float] = field(default_factory=dict)
    explanation: str = ""
    failure: Failure | None = None
    seconds: float = 0.0


class Judging:
    """Grades samples, each with a new grader from `make`."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    async def judge(self, work: RowJob, sample: PlayedSample) -> SampleScore:
        """Return the verdict on a sample; a grader's failure is returned, not raised."""
        # Importing the SDK is slow, so it is imported only when grading happens here.
        from mesocosm.rollouts.sdk.context import GraderContext
        from mesocosm.rollouts.sdk.judge import Judge
        from mesocosm.rollouts.sdk.sample import RolloutSample

        started = time.monotonic()
        own = RolloutSample(messages=list(sample.messages), label=work.label)
        access = work.judge
        context = GraderContext(
            label=work.label,
            sample=own,
            metadata=None if work.metadata is None else dict(work.metadata),
            artifacts_dir=work.artifacts,
            row_index=work.row,
            trial=work.trial,
            seed=work.seed,
            judge=None if access is None else Judge(access.base_url, access.api_key, access.model),
        )
        try:
            async with asyncio.timeout(work.grader_seconds):
                await self._make().grade(context)
            graded = context.sample
        except TimeoutError:
            return _failed(Cause.GRADER_TIMEOUT, f"grader exceeded its {work.grader_seconds:g}s deadline", "", started)
        except Exception as error:  # noqa: BLE001 - users' code may raise anything; only this sample loses its verdict
            frames = "".join(traceback.format_exception(error, limit=-FRAMES))
            return _failed(Cause.GRADER_ERROR, f"{type(error).__name__}: {error}", frames, started)
        if graded is None or graded.reward is None:
            return _failed(Cause.GRADER_ERROR, "the grader set no reward", "", started)
        scores = {name: float(value) for name, value in graded.metrics.items() if isinstance(value, int | float)}
        explanation = str(graded.extra_fields.get("explanation", ""))
        return SampleScore(graded.reward, scores, explanation, seconds=time.monotonic() - started)


def _failed(cause: Cause, message: str, detail: str, started: float) -> SampleScore:
    failure = EpisodeError(cause, message, detail=detail).failure()
    return SampleScore(None, failure=failure, seconds=time.monotonic() - started)
