"""The contract of an executor: core.ports.Executor."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Observer
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, RunStatus, Selection
from mesocosm.engine import session
from mesocosm.store import Store, open_store

PATIENCE_S = 120.0
_WORLD = """
from mesocosm.environments.sdk import BaseEnv, StepResult


class World(BaseEnv):
    action_space = {"type": "discrete", "enum_values": ["left", "right"]}

    def reset(self, seed=None, **params):
        self.seed = seed
        if seed % 4 == FAILS:
            raise RuntimeError("this seed fails")
        return {"seed": seed}

    def step(self, action):
        return StepResult({}, self.seed / 8, True, False, {})
"""


class ExecutorContract(ABC):
    """Tests of an executor, with episodes that take no time: what it plays is what one process plays."""

    @abstractmethod
    def executor(self) -> str:
        """Return the name with which a run asks for it, such as `processes:2`."""

    def test_its_numbers_are_those_of_one_process(self, tmp_path: Path) -> None:
        there, here = (_Lab(tmp_path, name).run(_spec(tmp_path, 9)) for name in (self.executor(), "local"))
        assert (there.status, there.counts.done) == (RunStatus.FINISHED, 9)
        assert there.metrics == here.metrics

    def test_an_episode_that_fails_leaves_the_others(self, tmp_path: Path) -> None:
        lab = _Lab(tmp_path, self.executor())
        run = lab.run(_spec(tmp_path, 8, fails=1))
        failed = {one.seed for one in lab.episodes(run) if one.status is EpisodeStatus.FAILED}
        assert (failed, run.counts.completed) == ({1, 5}, 6)

    def test_what_a_stop_leaves_is_played_by_resuming_and_nothing_twice(self, tmp_path: Path) -> None:
        lab = _Lab(tmp_path, self.executor())
        stopped = lab.run(_spec(tmp_path, 300), stop_after=1)
        assert stopped.status is RunStatus.STOPPED
        assert 0 < stopped.counts.done < 300
        kept = {one.id for one in lab.episodes(stopped) if one.status is EpisodeStatus.COMPLETED}
        resumed = lab.resume(stopped.id)
        episodes = lab.episodes(resumed)
        assert (resumed.status, sorted(one.seed or 0 for one in episodes)) == (RunStatus.FINISHED, list(range(300)))
        assert kept <= {one.id for one in episodes}


class _Stopping(Observer):
    def __init__(self, after: int, stop: Callable[[], None]) -> None:
        self._left, self._stop = after, stop

    def episode_finished(self, episode: Episode) -> None:
        self._left -= 1
        if self._left == 0:
            self._stop()


class _Lab:
    """Results in a folder, and an executor that plays runs for them."""

    def __init__(self, folder: Path, executor: str) -> None:
        self._folder = folder / executor.replace(":", "-").replace("/", "-")
        self._settings = session.SessionOptions(executor=executor)

    def run(self, spec: RunSpec, stop_after: int = 0) -> Run:
        control = session.Control()
        watching = [_Stopping(stop_after, lambda: control.stop("enough", 60.0))]

        async def play(store: Store) -> Run:
            playing = session.run(spec, store, watching, control=control, settings=self._settings)
            return await asyncio.wait_for(playing, PATIENCE_S)

        store = open_store(self._folder)
        try:
            return asyncio.run(play(store))
        finally:
            store.close()

    def resume(self, run_id: str) -> Run:
        store = open_store(self._folder)
        try:
            return asyncio.run(session.resume(run_id, store, [], settings=self._settings))
        finally:
            store.close()

    def episodes(self, run: Run) -> list[Episode]:
        store = open_store(self._folder)
        try:
            return list(store.episodes.list(run.id, limit=1000).items)
        finally:
            store.close()


def _spec(folder: Path, count: int, fails: int = -1) -> RunSpec:
    world = folder / "world.py"
    world.write_text(_WORLD.replace("FAILS", str(fails)))
    return RunSpec(
        BenchmarkRef("python", f"{world}:World"),
        ModelSettings("builtin/random"),
        AgentSettings("loop", {}),
        selection=Selection(None, count, 1),
        parallel=4,
    )
