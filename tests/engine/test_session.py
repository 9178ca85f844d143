"""A run from spec to numbers, through the public entry point and a real store."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, MesocosmError, RunAborted, UnknownName, UsageError
from mesocosm.core.model import ModelReply, ModelRequest
from mesocosm.core.ports import Context, Observer, Progress
from mesocosm.core.run import Counts, Run, RunStatus
from mesocosm.core.usage import Usage
from mesocosm.engine import session_state
from mesocosm.environments.inprocess import ClassBenchmark
from mesocosm.store import open_store

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


async def test_everything_that_happens_is_recorded_in_order(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model("left", "end"), count=1))
    (episode,) = lab.episodes(run)
    events = lab.events(episode)
    assert [event.seq for event in events] == list(range(episode.events))
    assert [(event.kind.value, event.step) for event in events] == [
        ("episode_start", 0),
        ("observation", 0),
        ("message", 1),
        ("message", 1),
        ("model_call", 1),
        ("action", 1),
        ("step_result", 1),
        ("observation", 1),
        ("message", 2),
        ("message", 2),
        ("model_call", 2),
        ("action", 2),
        ("step_result", 2),
        ("observation", 2),
        ("episode_end", 2),
    ]
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert events[0].payload == {"seed": 0, "task": episode.task_id, "trial": 0}
    assert events[10].payload["messages"] == [[0, 3]]
    assert events[12].payload == {
        "reward": 1.0,
        "terminated": True,
        "truncated": False,
        "info": {"at": 2, "arrived": True},
    }
    assert events[14].payload["total_reward"] == 1.5


async def test_the_row_of_an_episode_sums_up_its_trace(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model("left", "end"), seeds=(7,)))
    (episode,) = lab.episodes(run)
    assert (episode.status, episode.seed, episode.steps, episode.total_reward) == (EpisodeStatus.COMPLETED, 7, 2, 1.5)
    assert episode.usage == Usage(14, 6, calls=2)
    assert episode.terminal_info == {"at": 2, "arrived": True, "total_tokens": 20}
    assert {score.name: score.value for score in episode.scores} == {"arrived": 1.0, "reward": 1.5}
    assert episode.ended_at is not None
    assert episode.ended_at >= episode.started_at


async def test_the_run_has_its_numbers_counts_and_provenance(lab: "Lab") -> None:
    model = lab.model(lambda request: "end" if request.view and request.view.seed else "crash")
    run = await lab.run(lab.spec(model, count=4, trials=2))
    assert run == lab.store.runs.get(run.id)
    assert run.status is RunStatus.PARTIAL
    assert run.counts == Counts(planned=8, completed=6, failed=2, passed=6, errors=2)
    assert run.usage == Usage(56, 24, calls=8)
    primary = run.primary
    assert primary is not None
    assert (primary.name, primary.value, primary.n_scored, primary.n_tasks) == ("arrived", 1.0, 6, 3)
    assert primary.missing == {"environment_error": 2}
    assert run.provenance.keys() >= {"mesocosm", "python", "system", "command"}
    assert run.started_at is not None
    assert run.ended_at is not None
    assert run.ended_at >= run.started_at >= run.created_at
    assert run.holder is None


async def test_the_same_experiment_again_is_another_attempt(lab: "Lab") -> None:
    spec = lab.spec(lab.model("end"))
    first, second = await lab.run(spec), await lab.run(spec)
    assert first.signature == second.signature
    assert (first.attempt, second.attempt) == (1, 2)


async def test_a_run_without_tasks_is_no_success(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(), count=0))
    assert (run.status, run.error) == (RunStatus.FAILED, "no episode could be scored")


async def test_a_run_where_nothing_could_be_scored_has_failed_but_owes_nothing(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model("crash")))
    assert (run.status, run.error, run.counts.pending) == (RunStatus.FAILED, "no episode could be scored", 0)
    assert run.primary is not None
    assert (run.primary.value, run.primary.missing) == (None, {"environment_error": 3})


async def test_episodes_run_at_once_up_to_the_wish_of_the_spec(lab: "Lab") -> None:
    together = asyncio.Barrier(4)

    async def meet(request: ModelRequest) -> str:
        await together.wait()
        return "end"

    run = await asyncio.wait_for(lab.run(lab.spec(lab.model(meet), count=8, parallel=4)), 120)
    assert run.counts.completed == 8


async def test_a_benchmark_bounds_how_many_episodes_run_at_once(lab: "Lab") -> None:
    running = most = 0

    async def busy(request: ModelRequest) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return "end"

    benchmark = ClassBenchmark(lab.world("Walk"))
    benchmark._info = msgspec.structs.replace(benchmark.info, parallel=2)
    run = await lab.run(lab.spec(lab.model(busy), world=lab.benchmark(benchmark), count=12, parallel=50))
    assert run.counts.completed == 12
    assert most == 2


async def test_an_unknown_price_stays_unknown_in_the_sums(lab: "Lab") -> None:
    def answer(request: ModelRequest) -> ModelReply:
        seed = request.view.seed if request.view else 0
        return ModelReply("end", usage=Usage(1, 1, cost_usd=None if seed == 1 else 0.25, calls=1))

    run = await lab.run(lab.spec(lab.model(answer)))
    assert [episode.usage.cost_usd for episode in lab.episodes(run)] == [0.25, None, 0.25]
    assert run.usage.cost_usd is None


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"world": "Nowhere"}, UsageError),
        ({"agent": "no-such-agent"}, UnknownName),
        ({"model": "no-such-provider/m"}, UnknownName),
        ({"model": "nonsense"}, UsageError),
    ],
)
async def test_a_spec_that_cannot_work_stores_nothing(
    lab: "Lab", changed: dict[str, Any], error: type[MesocosmError]
) -> None:
    with pytest.raises(error):
        await lab.run(lab.spec(**{"model": lab.model(), **changed}))
    assert lab.store.runs.list().items == ()


async def test_a_model_that_cannot_answer_stores_nothing_and_is_closed(lab: "Lab") -> None:
    model = lab.model(checked=EpisodeError(Cause.MODEL_MISSING, "run: ollama pull m"))
    with pytest.raises(RunAborted, match="ollama pull m"):
        await lab.run(lab.spec(model))
    assert lab.store.runs.list().items == ()
    assert lab.models[model].closed


async def test_numbers_that_no_identity_can_hold_are_refused_and_the_model_is_closed(lab: "Lab") -> None:
    model = lab.model()
    with pytest.raises(UsageError, match="nan"):
        await lab.run(lab.spec(model, extra={"penalty": float("nan")}))
    assert lab.models[model].closed


async def test_what_a_run_needs_is_opened_before_and_closed_after_the_episodes(lab: "Lab") -> None:
    story: list[str] = []

    class Told(ClassBenchmark):
        async def open(self, notice: object) -> None:
            story.append("open")

        async def close(self) -> None:
            story.append("close")

    async def play(context: Context) -> None:
        story.append("play")

    model = lab.model()
    await lab.run(lab.spec(model, agent=lab.agent(play), world=lab.benchmark(Told(lab.world("Walk"))), count=2))
    assert story == ["open", "play", "play", "close"]
    assert lab.models[model].closed


class Watcher(Observer):
    """Writes down what it is told, and what another connection to the store sees at that moment."""

    def __init__(self, lab: "Lab") -> None:
        self.lab = lab
        self.story: list[str] = []
        self.undurable: list[str] = []

    def run_started(self, progress: Progress) -> None:
        self.story.append(f"started {progress.planned}")

    def episode_finished(self, episode: Episode) -> None:
        self.story.append(f"episode {episode.seed}")
        other = open_store(self.lab.store.place)
        stored = other.episodes.get(episode.id)
        if stored != episode or not list(other.traces.events(episode.id)):
            self.undurable.append(episode.id)
        other.close()

    def notice(self, message: str) -> None:
        self.story.append(message)

    def run_finished(self, run: Run) -> None:
        self.story.append(f"finished {self.lab.store.runs.get(run.id).status}")


async def test_observers_hear_everything_in_order_and_only_when_it_is_durable(lab: "Lab") -> None:
    watcher = Watcher(lab)
    await lab.run(lab.spec(lab.model("left", "end"), count=5), watcher)
    assert watcher.story == ["started 5", *(f"episode {seed}" for seed in range(5)), "finished finished"]
    assert watcher.undurable == []


async def test_a_broken_observer_harms_neither_the_run_nor_other_observers(lab: "Lab") -> None:
    class Broken(Observer):
        def run_started(self, progress: Progress) -> None:
            raise BrokenPipeError("nobody reads this")

        episode_finished = notice = run_finished = run_started  # type: ignore[assignment]

    async def warn(context: Context) -> None:
        context.warn("odd")

    watcher = Watcher(lab)
    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(warn)), Broken(), watcher)
    assert run.counts.completed == 3
    assert sorted(watcher.story) == [
        "episode 0",
        "episode 1",
        "episode 2",
        "finished partial",
        "started 3",
        "warning: odd",
    ]


async def test_equal_warnings_are_kept_and_told_once_but_stay_in_every_trace(lab: "Lab") -> None:
    async def warn(context: Context) -> None:
        context.warn("odd observation")
        context.warn("odd observation")
        context.warn(f"odd seed {context.task.seed}")

    watcher = Watcher(lab)
    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(warn)), watcher)
    assert run.warnings == ("odd observation", "odd seed 0", "odd seed 1", "odd seed 2")
    assert watcher.story.count("warning: odd observation") == 1
    for episode in lab.episodes(run):
        assert len(lab.events(episode, Kind.WARNING)) == 3


async def test_a_flood_of_different_warnings_is_bounded(lab: "Lab") -> None:
    async def warn(context: Context) -> None:
        for number in range(session_state.MOST_WARNINGS):
            context.warn(f"{context.task.seed} {number}")

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(warn)))
    assert len(run.warnings) == session_state.MOST_WARNINGS


async def test_progress_tells_where_the_run_stands(lab: "Lab") -> None:
    seen: list[tuple[int, int, int]] = []

    class Reading(Observer):
        def run_started(self, progress: Progress) -> None:
            self.progress = progress

        def episode_finished(self, episode: Episode) -> None:
            score = self.progress.score()
            assert score is not None
            seen.append((self.progress.done, self.progress.planned, score.n_scored))

    await lab.run(lab.spec(lab.model("end"), count=3), Reading())
    assert seen[-1] == (3, 3, 3)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)


def names(episodes: Sequence[Episode]) -> list[int | None]:
    return [episode.seed for episode in episodes]


async def test_the_plan_is_kept_in_the_order_of_the_seeds(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(), seeds=(9, 3, 3, 7), parallel=4))
    assert names(lab.episodes(run)) == [9, 3, 3, 7]
