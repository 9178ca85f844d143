"""Ways to stop a run: by its control, by the store, by budgets, by cancelling its task. What is owed stays owed."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.model import ModelReply, ModelRequest
from mesocosm.core.ports import Context, Observer, Progress
from mesocosm.core.run import Limits, Run, RunStatus
from mesocosm.core.usage import Usage
from mesocosm.engine import execution, session
from mesocosm.engine.executors import local
from mesocosm.engine.session import Control
from mesocosm.environments.inprocess import ClassBenchmark
from mesocosm.store import open_store

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


class Gate:
    """A model that answers the first `free` episodes at once and holds up all others until it is opened."""

    def __init__(self, free: int = 0) -> None:
        self.free = free
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self, request: ModelRequest) -> str:
        assert request.view is not None
        if request.view.seed is None or request.view.seed >= self.free:
            self.reached.set()
            await self.opened.wait()
        return "end"


async def test_a_stop_with_grace_lets_running_episodes_end(lab: "Lab") -> None:
    gate, control = Gate(free=2), Control()
    running = asyncio.create_task(lab.run(lab.spec(lab.model(gate), count=9), control=control))
    await asyncio.wait_for(gate.reached.wait(), 120)
    control.stop("enough", grace=60)
    gate.opened.set()
    run = await asyncio.wait_for(running, 120)
    assert (run.status, run.error) == (RunStatus.STOPPED, "enough")
    assert (run.counts.completed, run.counts.pending) == (3, 6)


async def test_a_stop_without_grace_leaves_running_episodes_owed(lab: "Lab") -> None:
    gate, control = Gate(free=2), Control()
    running = asyncio.create_task(lab.run(lab.spec(lab.model(gate), count=9, parallel=3), control=control))
    await asyncio.wait_for(gate.reached.wait(), 120)
    control.stop("enough", grace=0)
    run = await asyncio.wait_for(running, 120)
    assert (run.status, run.counts.completed, run.counts.pending) == (RunStatus.STOPPED, 2, 7)
    assert {episode.status for episode in lab.episodes(run)} <= {EpisodeStatus.COMPLETED, EpisodeStatus.CANCELLED}
    assert run.primary is not None
    assert run.primary.missing == {"not_run": 7}


async def test_a_second_stop_ends_the_grace_of_the_first(lab: "Lab") -> None:
    gate, control = Gate(), Control()
    running = asyncio.create_task(lab.run(lab.spec(lab.model(gate)), control=control))
    await asyncio.wait_for(gate.reached.wait(), 120)
    control.stop("enough", grace=3600)
    control.stop("now", grace=0)
    run = await asyncio.wait_for(running, 120)
    assert (run.status, run.error, run.counts.done) == (RunStatus.STOPPED, "enough", 0)


async def test_a_stop_before_the_first_episode_plays_none(lab: "Lab") -> None:
    control = Control()
    control.stop("changed my mind")
    model = lab.model()
    run = await lab.run(lab.spec(model), control=control)
    assert (run.status, run.error, run.counts.done) == (RunStatus.STOPPED, "changed my mind", 0)
    assert lab.models[model].calls == 0


async def test_a_stop_while_the_benchmark_opens_is_obeyed(lab: "Lab") -> None:
    control = Control()

    class Slow(ClassBenchmark):
        async def open(self, notice: Callable[[str], None]) -> None:
            control.stop("while opening")

    run = await lab.run(lab.spec(lab.model(), world=lab.benchmark(Slow(lab.world("Walk")))), control=control)
    assert (run.status, run.error, run.counts.done) == (RunStatus.STOPPED, "while opening", 0)


async def test_a_stop_after_the_last_episode_changes_nothing(lab: "Lab") -> None:
    control = Control()

    class Late(Observer):
        def episode_finished(self, episode: Episode) -> None:
            if episode.seed == 2:
                control.stop("too late", grace=0)

    run = await lab.run(lab.spec(lab.model()), Late(), control=control)
    assert (run.status, run.error, run.counts.pending) == (RunStatus.FINISHED, "", 0)


async def test_an_episode_stopped_in_the_middle_is_owed_and_its_trace_says_so(
    lab: "Lab", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "KEEP_S", 0.0)
    monkeypatch.setattr(local, "KEEP_S", 0.0)
    gate, control = Gate(), Control()
    running = asyncio.create_task(lab.run(lab.spec(lab.model("left", gate), count=1), control=control))
    await asyncio.wait_for(gate.reached.wait(), 120)
    await lab.until(lambda: lab.store.runs.list().items and lab.episodes(lab.only_run()))
    assert lab.episodes(lab.only_run())[0].status is EpisodeStatus.RUNNING
    control.stop("enough", grace=0)
    run = await asyncio.wait_for(running, 120)
    (episode,) = lab.episodes(run)
    assert (episode.status, episode.steps, episode.scores) == (EpisodeStatus.CANCELLED, 1, ())
    assert "pending" in lab.events(episode, Kind.LOG)[0].payload["message"]
    gate.opened.set()
    run = await lab.resume(run.id)
    (again,) = lab.episodes(run)
    assert (again.status, run.status) == (EpisodeStatus.COMPLETED, RunStatus.FINISHED)
    assert again.id != episode.id


@pytest.mark.parametrize("swallow", [True, False], ids=["returns", "raises another error"])
async def test_an_agent_that_hides_its_cancellation_is_owed_all_the_same(lab: "Lab", swallow: bool) -> None:
    reached = asyncio.Event()

    async def play(context: Context) -> None:
        await context.reset()
        try:
            reached.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            if not swallow:
                raise RuntimeError("interrupted?") from error

    control = Control()
    running = asyncio.create_task(lab.run(lab.spec(lab.model(), agent=lab.agent(play)), control=control))
    await asyncio.wait_for(reached.wait(), 120)
    control.stop("enough", grace=0)
    run = await asyncio.wait_for(running, 120)
    assert (run.status, run.counts.done, run.counts.pending) == (RunStatus.STOPPED, 0, 3)


async def test_another_connection_to_the_store_can_stop_the_run(lab: "Lab") -> None:
    gate, control = Gate(free=1), Control()
    running = asyncio.create_task(lab.run(lab.spec(lab.model(gate), count=4), control=control))
    await asyncio.wait_for(gate.reached.wait(), 120)
    other = open_store(lab.store.place)
    other.runs.request_stop(lab.only_run().id)
    other.close()
    await lab.until(lambda: control.reason)
    gate.opened.set()
    run = await asyncio.wait_for(running, 120)
    assert (run.status, run.error) == (RunStatus.STOPPED, "a stop was requested")
    assert (run.counts.completed, run.counts.pending) == (2, 2)
    assert (await lab.resume(run.id)).status is RunStatus.FINISHED


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(run_tokens=25), "the run's budget of 25 tokens is used up (30 spent)"),
        (Limits(run_usd=0.6), "the run's budget of 0.6 USD is used up (0.7500 spent)"),
    ],
)
async def test_a_used_up_budget_stops_the_run_and_says_so(lab: "Lab", limits: Limits, said: str) -> None:
    reply = ModelReply("end", usage=Usage(7, 3, cost_usd=0.25, calls=1))
    run = await lab.run(lab.spec(lab.model(reply), count=9, limits=limits))
    assert (run.status, run.error) == (RunStatus.STOPPED, said)
    assert (run.counts.completed, run.counts.pending) == (3, 6)


async def test_a_resumed_run_counts_what_it_spent_before(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(), count=9, limits=Limits(run_tokens=25)))
    again = await lab.resume(run.id)
    assert (again.status, again.counts) == (RunStatus.STOPPED, run.counts)
    assert "30 spent" in again.error


async def test_a_raised_budget_lets_the_run_go_on_and_leaves_its_spec_alone(lab: "Lab") -> None:
    limits = Limits(run_tokens=25, episode_steps=3)
    run = await lab.run(lab.spec(lab.model(), count=9, limits=limits))
    again = await lab.resume(run.id, limits=Limits(run_tokens=55, episode_steps=1))
    assert (again.status, again.counts.completed) == (RunStatus.STOPPED, 6)
    assert "60 spent" in again.error
    final = await lab.resume(run.id, limits=Limits(run_tokens=1000))
    assert (final.status, final.spec.limits, final.signature) == (RunStatus.FINISHED, limits, run.signature)


async def test_used_up_seconds_stop_a_run_whose_only_episodes_never_end(
    lab: "Lab", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "KEEP_S", 0.01)
    monkeypatch.setattr(local, "KEEP_S", 0.01)
    monkeypatch.setattr(execution, "GRACE_S", 0.0)
    run = await asyncio.wait_for(
        lab.run(lab.spec(lab.model(Gate()), count=2, parallel=2, limits=Limits(run_seconds=0.05))), 30
    )
    assert (run.status, run.error) == (RunStatus.STOPPED, "the run's time budget of 0.05 s is used up")
    assert run.counts.pending == 2


async def test_used_up_tokens_stop_a_run_whose_only_episode_never_ends(
    lab: "Lab", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "KEEP_S", 0.01)
    monkeypatch.setattr(local, "KEEP_S", 0.01)
    monkeypatch.setattr(execution, "GRACE_S", 0.0)

    async def play(context: Context) -> None:
        await context.reset()
        while True:
            await context.ask(ModelRequest([]))
            await asyncio.sleep(0)

    spec = lab.spec(lab.model("left"), agent=lab.agent(play), count=1, limits=Limits(run_tokens=50))
    run = await asyncio.wait_for(lab.run(spec), 120)
    assert run.status is RunStatus.STOPPED
    assert "budget of 50 tokens is used up" in run.error
    assert run.counts.pending == 1


async def test_money_that_cannot_be_counted_ends_the_run_at_once(lab: "Lab") -> None:
    reply = ModelReply("end", usage=Usage(7, 3, cost_usd=None, calls=1), model="m-1")
    run = await lab.run(lab.spec(lab.model(reply), count=9, limits=Limits(run_usd=1.0)))
    assert run.status is RunStatus.FAILED
    assert "no price is known for m-1" in run.error
    assert run.counts.pending == 9


class Interrupting:
    """A store that reports its calls; the task of the run is cancelled while one of them is under way."""

    def __init__(self, inner: Any, method: str, cancel: Callable[[], Any] = lambda: None) -> None:
        self.inner = inner
        self.part, _, self.method = method.rpartition(".")
        self.cancel = cancel

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if self.part and name == self.part:
            return Interrupting(found, self.method, lambda: self.cancel())  # noqa: PLW0108 - set later
        if self.part or name != self.method:
            return found

        def called(*arguments: Any, **named: Any) -> Any:
            self.cancel()
            return found(*arguments, **named)

        return called


async def free_and_resumable(lab: "Lab", task: "asyncio.Task[Run]") -> None:
    """Wait for the cancelled task of the only run; nobody holds the run then, and it can be finished."""
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 120)
    run = lab.only_run()
    assert run.holder is None
    assert run.status in {RunStatus.PENDING, RunStatus.STOPPED, RunStatus.FINISHED}
    again = await lab.resume(run.id)
    assert (again.status, again.counts.completed) == (RunStatus.FINISHED, 3)


@pytest.mark.parametrize(
    "method",
    [
        "leases.take",
        "runs.get",
        "runs.save",
        "episodes.finished_keys",
        "journal",
        "leases.release",
        "episodes.drop_failed",
    ],
)
async def test_a_run_cancelled_at_any_call_of_the_store_is_free_and_resumable(lab: "Lab", method: str) -> None:
    store = Interrupting(lab.store, method)
    loop = asyncio.get_running_loop()
    gate = Gate()
    gate.opened.set()
    settings = session.SessionOptions(retry_failed=True)
    task = asyncio.create_task(session.run(lab.spec(lab.model(gate)), store, settings=settings))
    store.cancel = lambda: loop.call_soon_threadsafe(task.cancel)
    await free_and_resumable(lab, task)


@pytest.mark.parametrize("method", ["leases.take", "runs.save", "episodes.finished_keys", "leases.release"])
async def test_a_run_cancelled_twice_during_a_call_of_the_store_is_free_and_resumable(lab: "Lab", method: str) -> None:
    store = Interrupting(lab.store, method)
    loop = asyncio.get_running_loop()
    gate = Gate()
    gate.opened.set()
    task = asyncio.create_task(session.run(lab.spec(lab.model(gate)), store))

    async def twice() -> None:
        for _ in range(2):
            task.cancel()
            for _ in range(5):  # the task sees it before the next one
                await asyncio.sleep(0)

    # Called from the thread of the store, which does not go on before the task has seen both.
    store.cancel = lambda: asyncio.run_coroutine_threadsafe(twice(), loop).result()
    await free_and_resumable(lab, task)


async def test_a_cancelled_task_leaves_a_stopped_run_with_everything_that_was_finished(lab: "Lab") -> None:
    told: list[RunStatus] = []

    class Told(Observer):
        def run_finished(self, run: Run) -> None:
            told.append(run.status)

    gate = Gate(free=2)
    model = lab.model(gate)
    task = asyncio.create_task(lab.run(lab.spec(model, count=5, parallel=2), Told()))
    await asyncio.wait_for(gate.reached.wait(), 120)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 120)
    run = lab.only_run()
    assert (run.status, run.error, run.counts.completed) == (RunStatus.STOPPED, "interrupted", 2)
    assert told == [RunStatus.STOPPED]
    assert lab.models[model].closed
    gate.opened.set()
    assert (await lab.resume(run.id)).counts.completed == 5


async def test_a_run_cancelled_while_the_benchmark_opens_can_be_resumed(lab: "Lab") -> None:
    opening, first = asyncio.Event(), [True]

    class Slow(ClassBenchmark):
        async def open(self, notice: Callable[[str], None]) -> None:
            if first.pop():
                opening.set()
                first.append(False)
                await asyncio.Event().wait()
            first.append(False)

    task = asyncio.create_task(lab.run(lab.spec(lab.model(), world=lab.benchmark(Slow(lab.world("Walk"))))))
    await asyncio.wait_for(opening.wait(), 120)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 120)
    run = lab.only_run()
    assert (run.status, run.holder) == (RunStatus.STOPPED, None)
    assert (await lab.resume(run.id)).status is RunStatus.FINISHED


class Started(Observer):
    """Keeps the progress that it is handed."""

    def run_started(self, progress: Progress) -> None:
        self.progress = progress


async def test_a_stopped_run_shows_no_episode_as_running(lab: "Lab") -> None:
    gate, control, started = Gate(), Control(), Started()
    running = asyncio.create_task(lab.run(lab.spec(lab.model(gate), parallel=3), started, control=control))
    await asyncio.wait_for(gate.reached.wait(), 120)
    assert started.progress.running >= 1
    control.stop("enough", grace=0)
    await asyncio.wait_for(running, 120)
    assert started.progress.running == 0


async def test_agents_begin_no_call_after_the_budget_is_used_up_and_what_they_spent_counts(lab: "Lab") -> None:
    async def talk(context: Context) -> None:
        while True:
            await context.ask(ModelRequest(()))

    async def say(request: ModelRequest) -> str:
        await asyncio.sleep(0)
        return "end"

    model = lab.model(say)
    spec = lab.spec(model, agent=lab.agent(talk), count=8, parallel=8, limits=Limits(run_tokens=100))
    run = await lab.run(spec)
    spent = lab.models[model].calls
    assert run.status is RunStatus.STOPPED
    assert spent <= 10 + 8
    assert (run.usage.calls, run.usage.total, run.counts.pending) == (spent, 10 * spent, 8)
    resumed = await lab.resume(run.id)
    assert (lab.models[model].calls, resumed.usage) == (spent, run.usage)
