"""Failures of environments and benchmarks: attributed to them, and no end of the run by accident."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.episode import Episode
from mesocosm.core.event import Kind
from mesocosm.core.failure import Boundary, Cause, RunAborted, UsageError
from mesocosm.core.ports import Environment, Observation, Step
from mesocosm.core.run import Run, RunStatus, Selection
from mesocosm.core.task import Task
from mesocosm.environments.inprocess import ClassBenchmark, ClassEnvironment

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


class Odd(ClassBenchmark):
    """A walk whose second episode (seed 1) has the given environment, all others ordinary ones."""

    def __init__(self, walk: type, odd: Callable[[ClassEnvironment], Environment | Exception]) -> None:
        super().__init__(walk)
        self.odd = odd

    async def environment(self, task: Task, episode_id: str) -> Any:
        ordinary = await super().environment(task, episode_id)
        if task.seed != 1:
            return ordinary
        made = self.odd(ordinary)
        if isinstance(made, Exception):
            raise made
        return made


class Wrapped:
    """An environment whose methods can be replaced one by one."""

    def __init__(self, inner: ClassEnvironment, **replaced: Any) -> None:
        self.inner = inner
        for name in ("reset", "step", "oracle", "close"):
            setattr(self, name, replaced.get(name, getattr(inner, name)))


async def play_odd(lab: "Lab", **replaced: Callable[..., Any]) -> tuple[Run, list[Episode]]:
    """Run three episodes; the environment of the second one has other methods."""
    benchmark = Odd(lab.world("Walk"), lambda inner: Wrapped(inner, **replaced))  # type: ignore[arg-type,return-value]
    run = await asyncio.wait_for(lab.run(lab.spec(lab.model("left", "end"), world=lab.benchmark(benchmark))), 120)
    return run, lab.episodes(run)


async def test_a_crash_of_the_environment_is_its_failure_and_keeps_what_was_reached(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model("left", "left", "crash"), count=1))
    (episode,) = lab.episodes(run)
    failed = lab.failure(episode)
    assert (failed.cause, failed.boundary) == (Cause.ENVIRONMENT_ERROR, Boundary.ENVIRONMENT)
    assert "the bridge broke" in failed.message
    assert "Traceback" in failed.detail
    assert "games.py" in failed.detail
    assert (episode.steps, episode.total_reward, episode.valid) == (2, 1.0, False)
    assert episode.terminal_info["at"] == 2
    assert "the bridge broke" in episode.terminal_info["error"]
    assert {(score.value, score.missing, score.worst) for score in episode.scores} == {
        (None, Cause.ENVIRONMENT_ERROR, False)
    }
    assert lab.events(episode, Kind.ERROR)[0].payload["cause"] == "environment_error"
    assert lab.events(episode)[-1].kind is Kind.EPISODE_END


async def test_a_reset_that_fails_hits_its_own_episode_alone(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(), world="Nervous", count=4))
    assert [episode.status.value for episode in lab.episodes(run)] == ["completed", "failed"] * 2
    assert run.status is RunStatus.PARTIAL
    assert run.primary is not None
    assert (run.primary.value, run.primary.pessimistic) == (1.0, 0.5)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("odd"),
        TimeoutError("the socket timed out"),
        StopIteration("spent"),
        asyncio.CancelledError("an inner task was cancelled"),
        SystemExit(3),
        UsageError("of its own kind"),
        OSError("file \udcff"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["reset", "step"])
async def test_whatever_an_environment_raises_is_its_failure(lab: "Lab", method: str, error: BaseException) -> None:
    async def fail(*arguments: Any) -> Any:
        raise error

    run, episodes = await play_odd(lab, **{method: fail})
    assert [episode.status.value for episode in episodes] == ["completed", "failed", "completed"]
    assert lab.failure(episodes[1]).cause is Cause.ENVIRONMENT_ERROR
    assert type(error).__name__ in lab.failure(episodes[1]).message
    assert run.status is RunStatus.PARTIAL


async def test_an_environment_that_cannot_be_made_is_its_failure(lab: "Lab") -> None:
    benchmark = Odd(lab.world("Walk"), lambda inner: RuntimeError("no room"))
    run = await lab.run(lab.spec(lab.model(), world=lab.benchmark(benchmark)))
    assert lab.failure(lab.episodes(run)[1]).cause is Cause.ENVIRONMENT_ERROR
    assert run.counts.completed == 2


@pytest.mark.parametrize("error", [RuntimeError("stuck"), SystemExit(1), asyncio.CancelledError()], ids=repr)
async def test_a_close_that_fails_is_a_warning_and_the_episode_counts(lab: "Lab", error: BaseException) -> None:
    async def close() -> None:
        raise error

    run, episodes = await play_odd(lab, close=close)
    assert run.counts.completed == 3
    assert any("close of the environment raised" in warning for warning in run.warnings)
    assert lab.events(episodes[1], Kind.WARNING)


@pytest.mark.parametrize(
    "step",
    [
        Step(Observation({"a": object()})),
        Step(Observation("lone \ud800")),
        Step(Observation("long and lone \ud800" * 5000)),
        Step(Observation(1), info={"a": object()}),
        Step(Observation(1), info={"a": "\ud800"}, terminated=True),
        Step(Observation(1), reward="much", terminated=True),  # type: ignore[arg-type]
    ],
    ids=["object", "surrogate", "large surrogate", "object in info", "surrogate in info", "reward"],
)
async def test_a_result_that_cannot_be_written_down_is_a_failure_of_the_environment(lab: "Lab", step: Step) -> None:
    async def act(action: Any) -> Step:
        return step

    run, episodes = await play_odd(lab, step=act)
    assert lab.failure(episodes[1]).boundary is Boundary.ENVIRONMENT
    assert run.counts.completed == 2


async def test_an_environment_that_returns_nothing_has_failed_itself(lab: "Lab") -> None:
    async def nothing(*arguments: Any) -> Any:
        return None

    for method in ("reset", "step"):
        _, episodes = await play_odd(lab, **{method: nothing})
        assert lab.failure(episodes[1]).boundary is Boundary.ENVIRONMENT


async def test_an_adapter_that_is_gone_for_good_ends_the_run(lab: "Lab") -> None:
    async def gone(action: Any) -> Step:
        raise RunAborted("adapter.py ended 4 times within 60 s")

    run, _ = await play_odd(lab, step=gone)
    assert (run.status, run.error) == (RunStatus.FAILED, "adapter.py ended 4 times within 60 s")
    assert (run.counts.completed, run.counts.pending) == (1, 2)


async def test_tasks_that_break_off_leave_what_was_played_and_say_why(lab: "Lab") -> None:
    class Torn(ClassBenchmark):
        def tasks(self, selection: Selection) -> Iterator[Task]:
            yield from list(super().tasks(selection))[:2]
            raise OSError("the dataset is gone")

    with pytest.raises(OSError, match="the dataset is gone"):
        await lab.run(lab.spec(lab.model(), world=lab.benchmark(Torn(lab.world("Walk"))), count=5))
    run = lab.only_run()
    assert (run.status, run.error) == (RunStatus.FAILED, "OSError: the dataset is gone")
    assert (run.counts.pending, run.holder) == (5 - run.counts.completed, None)


@pytest.mark.parametrize("error", [UsageError("that server is another environment"), RunAborted("it exits with 1")])
async def test_a_benchmark_that_does_not_open_is_told_on_the_run(lab: "Lab", error: Exception) -> None:
    class Closed(ClassBenchmark):
        async def open(self, notice: Callable[[str], None]) -> None:
            raise error

    spec = lab.spec(lab.model(), world=lab.benchmark(Closed(lab.world("Walk"))))
    if isinstance(error, UsageError):
        with pytest.raises(UsageError, match="another environment"):
            await lab.run(spec)
    else:
        await lab.run(spec)
    run = lab.only_run()
    assert (run.status, run.error, run.counts.done, run.holder) == (RunStatus.FAILED, str(error), 0, None)


async def test_what_the_opening_of_a_benchmark_takes_is_no_part_of_the_runs_time(
    lab: "Lab", monkeypatch: pytest.MonkeyPatch
) -> None:
    now, passed = time.monotonic, 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now() + passed)

    class Slow(ClassBenchmark):
        async def open(self, notice: Callable[[str], None]) -> None:
            nonlocal passed
            passed = 10_000.0

    run = await lab.run(lab.spec(lab.model(), world=lab.benchmark(Slow(lab.world("Walk")))))
    assert run.status == RunStatus.FINISHED
    assert run.provenance["worked_s"] < 10_000
