"""One episode from start to score, with a failure boundary around every call of foreign code."""

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mesocosm.core.abilities import AsksJudge, ByTrial, Opposed
from mesocosm.core.behaviour import behaviour_of
from mesocosm.core.episode import SCOREABLE, Episode, EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, RunAborted, writable
from mesocosm.core.ids import new_id
from mesocosm.core.ports import Benchmark, Environment, ExecutorSession, JudgeModel, Planned
from mesocosm.core.proxy import JUDGE_CALLS
from mesocosm.core.score import MALFORMED, Score
from mesocosm.core.task import Task
from mesocosm.engine.assessment import assess
from mesocosm.engine.episode_context import EpisodeContext, EpisodeJudge, EpisodeOver, boundary, foreign, is_foreign
from mesocosm.engine.episode_end import Withdrawn, end_by_failure, leave_unscored_pending, of_the_world, write_end
from mesocosm.engine.proxies import ProxyEndpoints
from mesocosm.engine.recorder import Recorder
from mesocosm.engine.retry import Callers
from mesocosm.stats import usable

LONGEST_FACT = 80
"""Maximum length of a text in the metadata of a task that becomes a label."""
_DIGEST = re.compile(r"[0-9a-f]{16,}")


class Player:
    """Runs episodes of one run, many concurrently."""

    def __init__(self, session: ExecutorSession, callers: Callers, endpoints: ProxyEndpoints) -> None:
        run, parts = session.run, session.parts
        self._run_id = run.id
        self._settings = run.spec.model
        self._judged_by = run.spec.judge or run.spec.model
        self._parts = parts
        self._repeats = parts.benchmark if isinstance(parts.benchmark, ByTrial) else None
        self._callers = callers
        self._endpoints = endpoints
        self._limits = run.spec.limits
        self._journal = session.journal
        self._redactor = session.redactor
        self._warned = session.warn
        # Where all episodes are played in one process, their traces need not say where.
        self._place = {"worker": session.worker} if session.worker else {}
        self._timed = parts.benchmark.info.max_seconds is not None or self._limits.episode_seconds is not None
        self.active: dict[str, Recorder] = {}

    async def play(self, planned: Planned) -> Episode:
        """Run one pending episode, pass it to the journal and return it.

        Whatever foreign code does, the result is an episode with a status and its scores. If infrastructure failed, its
        status is `cancelled` and it stays pending. Raises RunAborted if every further episode would fail in the same
        way, Withdrawn if it would stay pending.
        """
        task, episode = planned.task, begun(self._run_id, planned)
        recorder = self.active[episode.id] = Recorder(episode, self._journal, self._redactor)
        start = {"seed": task.seed, "task": task.id, "trial": planned.trial, **self._place}
        recorder.record(Kind.EPISODE_START, start, 0)
        try:
            context = await self._attempt(task, episode, recorder)
            _respect_cancellation()
            judge = EpisodeJudge(context, self._judged_by)
            episode.scores = tuple(await grade(self._parts.benchmark, task, episode, judge))
            if context.judge_calls:
                episode.terminal_info = _with_counts(episode.terminal_info, {JUDGE_CALLS: context.judge_calls})
            behaviour = behaviour_of(context.replies, context.malformed, in_turn=not context.program)
            metrics = self._parts.benchmark.info.metrics
            assess(episode, task, metrics, behaviour, said=context.said, stored=recorder.outline)
            leave_unscored_pending(episode, recorder)
            write_end(episode, recorder)
        except (asyncio.CancelledError, RunAborted, Withdrawn):
            if recorder.written or episode.usage.calls:
                # Its usage stays counted, although the episode will be run again.
                episode.status, episode.ended_at = EpisodeStatus.CANCELLED, time.time()
                recorder.record(Kind.LOG, {"message": "cancelled before its end; it stays pending"}, episode.steps)
                recorder.finish()
            raise
        finally:
            del self.active[episode.id]
        return episode

    async def _attempt(self, task: Task, episode: Episode, recorder: Recorder) -> EpisodeContext:
        benchmark = self._parts.benchmark
        context = EpisodeContext(
            task,
            episode,
            benchmark,
            self._callers,
            self._endpoints,
            recorder,
            settings=self._settings,
            limits=self._limits,
            warned=self._warned,
        )
        environment: Environment | None = None
        try:
            environment = await self._environment(task, episode.id, episode.trial)
            context.enter(environment)
            if isinstance(environment, Opposed):
                environment.oppose(EpisodeJudge(context, self._judged_by))
            await self._play(context)
            context.unanswered()
            if not context.over:
                context.end(EpisodeStatus.COMPLETED)
        except EpisodeError as error:
            if of_the_world(error):
                self._callers.world.failed(error)
            else:
                self._callers.world.left()
            end_by_failure(episode, recorder, error)
        except BaseException:
            self._callers.world.left()
            raise
        finally:
            counts = {MALFORMED: context.malformed, JUDGE_CALLS: context.judge_calls}
            episode.terminal_info = _with_counts(episode.terminal_info, counts)
            if environment is not None:
                await self._close(environment, context)
        return context

    async def _environment(self, task: Task, episode_id: str, trial: int) -> Environment:
        """Create the environment of an episode; retry through outages of its host, since nothing has started yet."""
        benchmark, world = self._parts.benchmark, self._callers.world
        while True:
            await world.enter()
            try:
                with boundary(Cause.ENVIRONMENT_ERROR, f"benchmark {benchmark.info.id!r}"):
                    if self._repeats is not None:
                        return await self._repeats.environment_of(task, episode_id, trial)
                    return await benchmark.environment(task, episode_id)
            except EpisodeError as error:
                if not of_the_world(error):
                    raise
                world.failed(error)

    async def _play(self, context: EpisodeContext) -> None:
        """Let the agent play to the end. The failure boundary of the agent: raises EpisodeError."""
        try:
            await self._timely(context)
        except EpisodeOver:
            return
        except EpisodeError as error:
            context.blame(error)
            raise
        except BaseException as error:
            if not is_foreign(error):
                raise
            # Any other exception is a failure of the agent.
            failed = foreign(Cause.AGENT_ERROR, "the agent", error)
            context.blame(failed)
            raise failed from error

    async def _timely(self, context: EpisodeContext) -> None:
        if not self._timed:
            await self._parts.agent.play(context)
            return
        context.deadline = deadline = asyncio.timeout(None)
        try:
            async with deadline:
                await self._parts.agent.play(context)
        except TimeoutError:
            if not deadline.expired():
                raise
        # Checked independently of the exception: an agent may swallow its cancellation and return.
        if deadline.expired():
            context.end_for_time()

    async def _close(self, environment: Environment, context: EpisodeContext) -> None:
        try:
            await environment.close()
        except BaseException as error:
            if not is_foreign(error):
                raise
            context.warn(writable(f"close of the environment raised {type(error).__name__}: {error}"))


def begun(run_id: str, planned: Planned) -> Episode:
    """Return the row of an episode that starts now."""
    task = planned.task
    return Episode(
        id=new_id(),
        run_id=run_id,
        task_digest=planned.digest,
        task_id=task.id,
        trial=planned.trial,
        seed=task.seed,
        index=planned.index,
        cluster=task.cluster or "",
        labels=_facts(task) | task.labels,
        status=EpisodeStatus.RUNNING,
        started_at=time.time(),
    )


def _facts(task: Task) -> dict[str, str]:
    """Return what the metadata of a task says in a few words, as labels: its category, area, mode; never a digest."""
    return {name: value for name, value in task.metadata.items() if isinstance(value, str) and _is_fact(value)}


def _is_fact(text: str) -> bool:
    return 0 < len(text) <= LONGEST_FACT and text.isprintable() and not _DIGEST.fullmatch(text)


async def record_lost(session: ExecutorSession, planned: Planned, error: EpisodeError) -> Episode:
    """Record an episode that ended with the process that played it, and return it. Its scores are missing."""
    episode = begun(session.run.id, planned)
    recorder = Recorder(episode, session.journal, session.redactor)
    recorder.record(Kind.EPISODE_START, {"seed": episode.seed, "task": episode.task_id, "trial": episode.trial}, 0)
    end_by_failure(episode, recorder, error)
    benchmark = session.parts.benchmark
    episode.scores = tuple(await grade(benchmark, planned.task, episode))
    assess(episode, planned.task, benchmark.info.metrics, None, stored=recorder.outline)
    write_end(episode, recorder)
    return episode


def _respect_cancellation() -> None:
    """Raise CancelledError in a cancelled task, even if foreign code swallowed the first one."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _with_counts(info: dict[str, Any], counts: dict[str, int]) -> dict[str, Any]:
    """Return an episode's terminal info with the engine's own counts; zero counts are omitted."""
    rest = {key: value for key, value in info.items() if key not in counts}
    return rest | {name: count for name, count in counts.items() if count}


async def grade(benchmark: Benchmark, task: Task, episode: Episode, judge: JudgeModel | None = None) -> Sequence[Score]:
    """Return the scores of an episode that has ended.

    The benchmark's grader is called only for episodes that did not fail. A failure of the agent counts as worst; any
    other failure, or an exception of the grader, leaves every score missing with its cause. A score that a metric needs
    and the grader did not return is missing too. `judge` is the model that graders may ask.
    """
    names = dict.fromkeys(metric.score for metric in benchmark.info.metrics if metric.covers(task))
    if episode.status in SCOREABLE:
        try:
            with boundary(Cause.GRADER_ERROR, "the grader"):
                if judge is not None and isinstance(benchmark, AsksJudge):
                    scores = await benchmark.grade_with(task, episode, judge)
                else:
                    scores = await benchmark.grade(task, episode)
                given = {score.name: _usable(score) for score in scores}
        except EpisodeError as error:
            return [Score(name, missing=error.cause, explanation=error.failure().message) for name in names]
        lacking = [Score(name, missing=Cause.VALUE_MISSING) for name in names if name not in given]
        return [*given.values(), *lacking, *_malformed(episode)]
    failure = episode.failure
    if episode.valid and failure is not None:
        return [Score(name, worst=True, explanation=failure.message) for name in names]
    cause = failure.cause if failure else Cause.INTERNAL
    return [Score(name, missing=cause) for name in names]


def _malformed(episode: Episode) -> Iterator[Score]:
    """Yield the score that marks an episode in which replies without a valid action were passed to the environment."""
    count = episode.terminal_info.get(MALFORMED)
    if isinstance(count, int) and count > 0:
        yield Score(MALFORMED, float(count), explanation="passed to the environment as they stood")


def _usable(score: Score) -> Score:
    """Return a score that can be stored; its value is missing with a cause if it is not a finite number.

    Raises TypeError if it is not a Score.
    """
    if not isinstance(score, Score) or not isinstance(score.name, str) or not isinstance(score.explanation, str):
        raise TypeError(f"{score!r:.200} is no score")
    value = score.value
    if value is None:
        valued = score.worst or score.missing is not None
        return score if valued else msgspec.structs.replace(score, missing=Cause.VALUE_MISSING)
    if isinstance(value, int | float) and usable(value):
        return score
    explanation = score.explanation or f"{value!r:.80} is no finite number"
    return msgspec.structs.replace(score, value=None, missing=Cause.VALUE_UNUSABLE, explanation=explanation)
