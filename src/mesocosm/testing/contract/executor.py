"""The contract of an executor: core.ports.Executor."""

import asyncio
import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Cause, MesocosmError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer
from mesocosm.core.run import BenchmarkRef, Run, RunSpec, RunStatus, Selection
from mesocosm.engine import session
from mesocosm.environments.sdk import BaseEnv, StepResult
from mesocosm.store import Store, open_store

PATIENCE_S = 120.0
HIDDEN = "what-only-the-session-knows"

Found = TypeVar("Found")


class Stroll(BaseEnv):
    """Two steps; the reward depends on the seed and the actions."""

    action_space: ClassVar[dict[str, Any]] = {"type": "discrete", "enum_values": ["left", "right"]}

    def reset(self, seed: int | None = None, **params: Any) -> dict[str, Any]:
        self.seed, self.steps = seed or 0, 0
        self.random = random.Random(seed)
        return {"seed": seed, "told": HIDDEN}

    def step(self, action: Any) -> StepResult:
        self.steps += 1
        reward = self.random.random() * (1 + (action == "left")) / 3
        return StepResult({"steps": self.steps}, reward, self.steps == 2, truncated=False)


class Stumble(Stroll):
    """Breaks in the episodes of odd seeds."""

    def step(self, action: Any) -> StepResult:
        if self.seed % 2:
            raise ValueError("the bridge broke")
        return super().step(action)


class Standstill(Stroll):
    """Never ends the episode of seed 3."""

    async def step(self, action: Any) -> StepResult:  # type: ignore[override]
        if self.seed == 3:
            await asyncio.Event().wait()
        return super().step(action)


class _Finished(Observer):
    def __init__(self) -> None:
        self.count = 0
        self.then: Callable[[int], None] = lambda count: None

    def episode_finished(self, episode: Episode) -> None:
        self.count += 1
        self.then(self.count)


class ExecutorContract(ABC):
    """Tests of an executor, with runs of small environments and without a model.

    They are imported from this module wherever episodes are played.
    """

    impossible: ClassVar[tuple[str, ...]] = ()
    """Names with an address that cannot work, as `mine:none`."""

    @abstractmethod
    def executor(self) -> str:
        """Return what `--executor` gets. The name is an entry point, or was registered with core.registry.EXECUTORS."""

    def store(self, place: Path) -> Store:
        """Return the store of the runs, a file in an empty folder. Override it for an executor that needs another."""
        return open_store(place / "results.sqlite")

    @pytest.fixture(autouse=True)
    def _opened(self, tmp_path: Path) -> Iterator[None]:
        yield from self.opened(tmp_path)

    def opened(self, place: Path) -> Iterator[None]:
        """Keep the store open until the end of a test."""
        self.runs = self.store(place)
        self.control, self.finished = session.Control(), _Finished()
        yield
        self.runs.close()

    def test_numbers_are_those_of_one_process(self) -> None:
        here, there = (self.played(Stroll, 20, executor=name) for name in ("local", self.executor()))
        assert (there.status, there.counts, there.metrics) == (RunStatus.FINISHED, here.counts, here.metrics)
        assert [one.scores for one in self.episodes(there)] == [one.scores for one in self.episodes(here)]

    def test_every_episode_has_its_whole_trace(self) -> None:
        here, there = (self.played(Stroll, 8, executor=name) for name in ("local", self.executor()))
        for one, other in zip(self.episodes(there), self.episodes(here), strict=True):
            assert self.trace(one) == self.trace(other)
            assert one.events == len(self.trace(one))

    def test_an_episode_that_fails_leaves_the_others(self) -> None:
        run = self.played(Stumble, 20)
        assert (run.counts.completed, run.counts.failed) == (10, 10)
        failed = [one.failure for one in self.episodes(run) if one.status is EpisodeStatus.FAILED]
        assert {None if one is None else one.cause for one in failed} == {Cause.ENVIRONMENT_ERROR}

    def test_a_stopped_run_is_continued_by_resuming_and_plays_nothing_twice(self) -> None:
        ending = 59  # of 60, so the run cannot end before it is stopped
        self.finished.then = lambda count: self.control.stop("enough", 0.0)
        run = self.played(Standstill, ending + 1)
        assert (run.status, run.error) == (RunStatus.STOPPED, "enough")
        before = {one.id: one.started_at for one in self.episodes(run) if one.scores}
        self.control = session.Control()
        missing = ending - len(before)
        if not missing:
            self.control.stop("all", 0.0)
        self.finished.count = 0
        self.finished.then = lambda count: self.control.stop("all", 0.0) if count == missing else None
        settings = self.options()
        again = session.resume(run.id, self.runs, [self.finished], control=self.control, settings=settings)
        resumed = self.waited(again)
        after = {one.id: one.started_at for one in self.episodes(resumed) if one.scores}
        assert (resumed.error, resumed.counts.done, len(after)) == ("all", ending, ending)
        assert before.items() <= after.items()

    def test_a_second_stop_that_leaves_no_time_ends_what_is_running(self) -> None:
        def stop(count: int) -> None:
            if count == 5:
                self.control.stop("first", 3600.0)
                self.control.stop("second", 0.0)

        self.finished.then = stop
        run = self.played(Standstill, 6)
        assert (run.status, run.error, run.counts.done) == (RunStatus.STOPPED, "first", 5)

    def test_a_cancelled_session_keeps_what_is_finished(self) -> None:
        async def cancelled() -> None:
            task = asyncio.create_task(self.play(Standstill, 6))

            def cancel(count: int) -> None:
                task.cancel()

            self.finished.then = cancel
            with pytest.raises(asyncio.CancelledError):
                await task

        self.waited(cancelled())
        (run,) = self.runs.runs.list().items
        assert run.status is RunStatus.STOPPED
        assert 0 < run.counts.done < 6

    def test_what_the_session_hides_is_in_no_record(self) -> None:
        assert HIDDEN in self.told(self.played(Stroll, 2))
        assert HIDDEN not in self.told(self.played(Stroll, 3, secrets=[HIDDEN]))

    def test_an_address_that_cannot_work_is_refused_before_anything_is_stored(self) -> None:
        for name in self.impossible:
            with pytest.raises(MesocosmError):
                self.played(Stroll, 1, executor=name)
        assert not self.runs.runs.list().items

    def played(self, world: type[Stroll], count: int, **options: Any) -> Run:
        """Return the run of an environment, with a model that draws its actions."""
        return self.waited(self.play(world, count, **options))

    async def play(self, world: type[Stroll], count: int, **options: Any) -> Run:
        """Run an environment in this event loop."""
        ref = BenchmarkRef("python", f"{__name__}:{world.__name__}")
        spec = RunSpec(ref, ModelSettings("builtin/random"), selection=Selection(count=count), parallel=4)
        settings = self.options(**options)
        return await session.run(spec, self.runs, [self.finished], control=self.control, settings=settings)

    def options(self, **changes: Any) -> session.SessionOptions:
        """Return options of a session on the executor."""
        return session.SessionOptions(**{"executor": self.executor(), **changes})

    def waited(self, work: Awaitable[Found]) -> Found:
        """Return what a coroutine returns, but do not wait for ever."""

        async def within() -> Found:
            return await asyncio.wait_for(work, PATIENCE_S)

        return asyncio.run(within())

    def episodes(self, run: Run) -> list[Episode]:
        """Return the stored episodes of a run in the order of the plan."""
        return list(self.runs.episodes.list(run.id, limit=1000).items)

    def trace(self, episode: Episode) -> list[tuple[str, int]]:
        """Return kind and step of all events of an episode."""
        return [(str(event.kind), event.step) for event in self.runs.traces.events(episode.id)]

    def told(self, run: Run) -> str:
        """Return all that is stored of the episodes of a run."""
        found = self.episodes(run)
        return repr([found, [list(self.runs.traces.events(one.id)) for one in found]])
