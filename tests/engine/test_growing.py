"""Benchmarks whose tasks are found while they are played."""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.engine.one_step import OneStep

from mesocosm.core.episode import Episode, EpisodeKey
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.ports import Planned
from mesocosm.core.run import Counts, Run, Selection
from mesocosm.core.score import Metric, Score
from mesocosm.core.task import Task
from mesocosm.engine.plan import pending_episodes, planned, size
from mesocosm.engine.progress import Tracker

INFO = BenchmarkInfo(
    "grows",
    "Grows",
    "1",
    "d",
    "test",
    (Metric("score", "score", primary=True, where={"part": "leaf"}),),
    parallel=1,
    growing=True,
    unscored=1,
)


class Grows(OneStep):
    """Its root task, once it was played, leads to as many leaves as its trial has. Implements Benchmark, Growing."""

    info = INFO

    def __init__(self) -> None:
        self.played: list[int] = []

    def count(self, selection: Selection) -> int:
        return 1

    def tasks(self, selection: Selection) -> Iterator[Task]:
        return self.tasks_of(selection, 0)

    def tasks_of(self, selection: Selection, trial: int) -> Iterator[Task]:
        yield Task("root", input="root", metadata={"trial": trial})
        if trial in self.played:
            yield from (Task(f"leaf {n}", input=n, metadata={"part": "leaf"}) for n in range(trial + 2))

    async def environment(self, task: Task, episode_id: str) -> "Grows":
        if "trial" in task.metadata:
            self.played.append(task.metadata["trial"])
        return await super().environment(task, episode_id)

    async def grade(self, task: Task, episode: Episode) -> Sequence[Score]:
        return [Score("score", 1.0)] if "part" in task.metadata else []


async def walk(context: Any) -> None:
    await context.reset()
    await context.step("go")


async def test_what_is_found_is_played_in_the_same_session_and_counted(lab: Any) -> None:
    benchmark = Grows()
    spec = lab.spec(
        lab.model(), world=lab.benchmark(benchmark), agent=lab.agent(walk), count=None, trials=2, parallel=8
    )
    run = await lab.run(spec)
    assert [(e.task_id, e.trial) for e in lab.episodes(run)] == [
        *[("root", 0), ("leaf 0", 0), ("leaf 1", 0)],
        *[("root", 1), ("leaf 0", 1), ("leaf 1", 1), ("leaf 2", 1)],
    ]
    assert (run.counts.planned, run.counts.pending, run.status) == (7, 0, "finished")
    assert (run.primary.n_planned, run.primary.n_scored, run.primary.missing) == (5, 5, {})
    assert lab.episodes(run)[0].scores == ()


def test_the_size_of_a_plan_is_what_is_known_by_now() -> None:
    benchmark = Grows()
    assert size(benchmark, Selection(trials=2)) == 2
    benchmark.played += [0, 1]
    assert size(benchmark, Selection(trials=2)) == 7


def test_what_was_found_before_is_owed_without_its_root() -> None:
    benchmark = Grows()
    benchmark.played.append(0)
    root = next(planned(benchmark, Selection()))
    left = pending_episodes(benchmark, Selection(), {EpisodeKey(root.digest, 0)})
    assert [item.task.id for item in left] == ["leaf 0", "leaf 1"]


def test_progress_follows_a_plan_that_grows() -> None:
    run = Run("r", "s", "grows", "Grows", "1", "d", "test", "m", "a", None, counts=Counts(planned=1))  # type: ignore[arg-type]
    tracker = Tracker(run, INFO)
    items = (Planned(Task(str(n)), str(n), 0, n) for n in range(4))
    assert [tracker.planned for _ in tracker.follow(items)] == [1, 2, 3, 4]
