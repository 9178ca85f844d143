"""A model server that is down for a while, or for good: the run pauses, goes on, or stops with the rest owed."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest

from mesocosm.core.backoff import Backoff
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, EpisodeError, Failure, RunAborted
from mesocosm.core.group import OutcomeStatus, RunGroup
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Observer
from mesocosm.core.run import Limits, Run, RunStatus
from mesocosm.core.task import Task
from mesocosm.engine import outage, session
from mesocosm.engine.execution import SameFailures
from mesocosm.engine.group import GroupMember, GroupRunner
from mesocosm.engine.outage import Endpoint
from mesocosm.engine.rerun_decision import RerunPolicy
from mesocosm.environments.inprocess import ClassBenchmark, ClassEnvironment

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

BUSY = "the server answered 503"


class Down:
    """A model that answers `before` calls, then fails `failing` ones, then answers again."""

    def __init__(self, before: int, failing: float, cause: Cause = Cause.MODEL_UNAVAILABLE) -> None:
        self.before, self.failing, self.cause = before, failing, cause
        self.calls = 0
        self.at_once = self.most_at_once = 0

    async def __call__(self, request: ModelRequest) -> str:
        self.calls += 1
        number = self.calls
        self.at_once += 1
        try:
            await asyncio.sleep(0)
            if self.before < number <= self.before + self.failing:
                if number > self.before + 20:
                    self.most_at_once = max(self.most_at_once, self.at_once)
                raise EpisodeError(self.cause, BUSY, overload=True)
            return "end"
        finally:
            self.at_once -= 1


class Listening(Observer):
    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, message: str) -> None:
        self.notices.append(message)


@pytest.mark.parametrize("parallel", [1, 6])
async def test_an_outage_leaves_the_numbers_of_an_undisturbed_run(lab: "Lab", parallel: int) -> None:
    down = Down(10, 40)
    run = await lab.run(lab.spec(lab.model(down), count=30, parallel=parallel))
    calm = await lab.run(lab.spec(lab.model("end"), count=30, parallel=parallel))
    assert (run.status, run.counts, run.metrics) == (RunStatus.FINISHED, calm.counts, calm.metrics)


async def test_one_call_at_a_time_is_made_while_the_server_is_down(lab: "Lab") -> None:
    down = Down(10, 60)
    listening = Listening()
    await lab.run(lab.spec(lab.model(down), count=30, parallel=8), listening)
    assert down.most_at_once == 1
    assert any("has not answered since" in said and "finished" in said for said in listening.notices)
    assert "answers again" in listening.notices[-1]


async def test_a_server_that_dies_for_good_stops_the_run_and_the_next_session_repairs_it(lab: "Lab") -> None:
    down = Down(10, float("inf"))
    spec = lab.spec(lab.model(down), count=30, parallel=4, limits=Limits(outage_seconds=0.01))
    run = await asyncio.wait_for(lab.run(spec), 120)
    assert (run.status, run.counts.completed, run.counts.pending) == (RunStatus.STOPPED, 10, 20)
    assert "has not answered since" in run.error
    assert BUSY in run.error
    down.failing = 0
    run = await lab.resume(run.id)
    assert (run.status, run.counts.completed, run.counts.pending) == (RunStatus.FINISHED, 30, 0)


@pytest.mark.parametrize(("overload", "told"), [(False, True), (True, False)])
async def test_two_calls_that_find_no_server_for_seconds_are_an_outage(
    monkeypatch: pytest.MonkeyPatch, *, overload: bool, told: bool
) -> None:
    now = [100.0]
    monkeypatch.setattr("mesocosm.engine.outage.time.monotonic", lambda: now[0])
    notices: list[str] = []
    endpoint = Endpoint("the model", 60.0, Backoff(), notice=notices.append)
    error = EpisodeError(Cause.MODEL_UNAVAILABLE, "connection refused", overload=overload)
    endpoint.failed(error)
    now[0] += outage.SOON_S
    endpoint.failed(error)
    assert endpoint.down is told
    assert ["connection refused" in notice for notice in notices] == ([True] if told else [])
    endpoint.answered()


async def test_the_time_of_an_outage_is_no_time_of_the_episode(lab: "Lab", monkeypatch: pytest.MonkeyPatch) -> None:
    waited = asyncio.Event()
    entered = Endpoint.enter

    async def enter(self: Endpoint) -> None:
        if not waited.is_set():
            waited.set()
            await asyncio.sleep(0.4)
        await entered(self)

    monkeypatch.setattr(Endpoint, "enter", enter)
    spec = lab.spec(lab.model(Down(0, 8)), count=1, limits=Limits(episode_seconds=0.3))
    run = await lab.run(spec)
    assert waited.is_set()
    assert [episode.status for episode in lab.episodes(run)] == [EpisodeStatus.COMPLETED]


async def test_a_request_that_no_server_answers_holds_up_no_other(lab: "Lab") -> None:
    def answer(request: ModelRequest) -> str:
        if request.view is not None and request.view.seed == 1:
            raise EpisodeError(Cause.MODEL_TIMEOUT, "no answer within 1 s")
        return "end"

    run = await asyncio.wait_for(lab.run(lab.spec(lab.model(answer), count=100)), 120)
    assert (run.status, run.counts.completed, run.counts.failed) == (RunStatus.FINISHED, 99, 1)
    assert run.primary is not None
    assert run.primary.missing == {"model_timeout": 1}


@pytest.mark.parametrize("parallel", [1, 4])
async def test_a_run_whose_episodes_all_fail_alike_stops_after_the_first_few(lab: "Lab", parallel: int) -> None:
    refused = True

    def answer(request: ModelRequest) -> str:
        if refused:
            assert request.view is not None
            raise EpisodeError(Cause.MODEL_REJECTED, f"request {request.view.seed}: temperature is not supported")
        return "end"

    run = await lab.run(lab.spec(lab.model(answer), count=200, parallel=parallel))
    assert (run.status, run.counts.done, run.counts.pending) == (RunStatus.STOPPED, 0, 200)
    assert "all failed alike: model_rejected: request" in run.error
    assert len(lab.episodes(run)) < 12
    refused = False
    run = await lab.resume(run.id)
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 200)


async def test_a_short_run_whose_server_refuses_every_request_is_stopped_too(lab: "Lab") -> None:
    refusing = Down(0, float("inf"), Cause.MODEL_REJECTED)
    run = await lab.run(lab.spec(lab.model(refusing), count=3))
    assert (run.status, run.counts.pending) == (RunStatus.STOPPED, 3)
    assert run.error.startswith("no episode could be scored: 3 model_rejected")
    refusing.failing = 0
    assert (await lab.resume(run.id)).status is RunStatus.FINISHED


async def test_environment_errors_alike_are_owed_too(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model("crash"), count=50))
    assert (run.status, run.counts.done, run.counts.pending) == (RunStatus.STOPPED, 0, 50)


async def test_failures_of_the_agent_never_stop_a_run(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(EpisodeError(Cause.REFUSED, "I would rather not")), count=20))
    assert (run.counts.failed, run.counts.pending) == (20, 0)


async def test_a_cancelled_probe_lets_the_next_one_through() -> None:
    endpoint = Endpoint("the model", 60.0, Backoff(base=0.0), 1)
    endpoint.failed(EpisodeError(Cause.MODEL_UNAVAILABLE, BUSY))
    first, second = asyncio.create_task(endpoint.enter()), asyncio.create_task(endpoint.enter())
    await asyncio.wait({first}, timeout=30)
    assert first.done()
    assert not second.done()
    endpoint.left()
    await asyncio.wait_for(second, 30)


class Lost(ClassBenchmark):
    """A benchmark whose environments are out of reach from call `before` on, `failing` times."""

    def __init__(self, world: type[Any], before: int, failing: float) -> None:
        super().__init__(world)
        self.before, self.failing = before, failing
        self.asked = 0
        self.pauses: list[bool] = []

    async def environment(self, task: Task, episode_id: str) -> ClassEnvironment:
        self.asked += 1
        if self.before < self.asked <= self.before + self.failing:
            raise EpisodeError(Cause.ENVIRONMENT_UNREACHABLE, "connection refused")
        return await super().environment(task, episode_id)

    def pause(self, paused: bool) -> None:
        self.pauses.append(paused)


@pytest.mark.parametrize("parallel", [1, 6])
async def test_an_outage_of_the_environment_leaves_the_numbers_of_an_undisturbed_run(lab: "Lab", parallel: int) -> None:
    lost = Lost(lab.world("Walk"), 10, 40)
    run = await lab.run(lab.spec(lab.model("end"), world=lab.benchmark(lost), count=30, parallel=parallel))
    calm = await lab.run(lab.spec(lab.model("end"), count=30, parallel=parallel))
    assert (run.status, run.counts, run.metrics) == (RunStatus.FINISHED, calm.counts, calm.metrics)


async def test_a_benchmark_hears_of_a_pause_and_of_its_end(lab: "Lab") -> None:
    lost = Lost(lab.world("Walk"), 10, 40)
    await lab.run(lab.spec(lab.model("end"), world=lab.benchmark(lost), count=30, parallel=4))
    assert lost.pauses == [True, False]


async def test_an_environment_that_is_gone_for_good_stops_the_run_and_the_next_session_repairs_it(lab: "Lab") -> None:
    lost = Lost(lab.world("Walk"), 10, float("inf"))
    limits = Limits(outage_seconds=0.01)
    spec = lab.spec(lab.model("end"), world=lab.benchmark(lost), count=30, parallel=4, limits=limits)
    run = await asyncio.wait_for(lab.run(spec), 120)
    assert (run.status, run.counts.completed, run.counts.pending) == (RunStatus.STOPPED, 10, 20)
    assert "has not answered since" in run.error
    lost.failing = 0
    run = await lab.resume(run.id)
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 30)


async def test_only_the_first_notice_of_an_outage_says_what_the_server_said(lab: "Lab") -> None:
    listening = Listening()
    await lab.run(lab.spec(lab.model(Down(10, 40)), count=30), listening)
    assert [BUSY in said for said in listening.notices if "answer" in said].count(True) == 1


async def test_a_long_error_is_cut_in_a_notice() -> None:
    said: list[str] = []
    endpoint = Endpoint("the model", 60.0, Backoff(base=0.0), 1, notice=said.append)
    for _ in range(2):
        endpoint.failed(EpisodeError(Cause.MODEL_UNAVAILABLE, "x" * 5_000))
        await endpoint.enter()
    assert [len(line) < 300 for line in said] == [True]


class Away:
    """A model server that is out of reach when it is looked at, `looks` times."""

    def __init__(self, lab: "Lab", looks: float) -> None:
        self.calls = Down(0, 0)
        self.name = lab.model(self.calls)
        self.model = cast(Any, lab.models[self.name])
        self.model.check = self.check
        self.error = EpisodeError(Cause.MODEL_UNAVAILABLE, "nothing answers at http://there")
        self.looks = looks
        self.came_back: Callable[[], None] = lambda: None

    async def check(self) -> None:
        self.looks -= 1
        if self.looks >= 0:
            raise self.error
        self.came_back()


async def stopped_run(lab: "Lab", away: Away) -> Run:
    """Return a run of which two of six episodes are finished; then its server goes away."""
    looks, away.looks = away.looks, 0
    away.calls.before, away.calls.failing = 2, float("inf")
    run = await lab.run(lab.spec(away.name, count=6, limits=Limits(outage_seconds=0.01)))
    assert (run.status, run.counts.completed) == (RunStatus.STOPPED, 2)
    away.looks, away.calls.failing = looks, 0
    return run


async def test_a_new_run_is_not_begun_where_nothing_answers(lab: "Lab") -> None:
    with pytest.raises(RunAborted, match="nothing answers at http://there"):
        await lab.run(lab.spec(Away(lab, 1).name))
    assert lab.store.runs.list().items == ()


async def test_a_run_that_goes_on_waits_for_a_server_that_is_away_and_says_so(lab: "Lab") -> None:
    away, listening = Away(lab, 4), Listening()
    run = await stopped_run(lab, away)
    run = await lab.resume(run.id, listening, limits=Limits())
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 6)
    assert "has not answered since" in listening.notices[0]
    assert "nothing answers at http://there" in listening.notices[0]
    assert "answers again" in listening.notices[-1]


async def test_a_stopped_run_whose_server_stays_away_stays_stopped(lab: "Lab") -> None:
    away = Away(lab, float("inf"))
    before = await stopped_run(lab, away)
    run = await lab.resume(before.id)
    assert (run.status, run.counts) == (RunStatus.STOPPED, before.counts)
    assert "nothing answers at http://there" in run.error


async def test_a_wait_for_a_server_ends_when_the_run_is_to_stop(lab: "Lab") -> None:
    away, control = Away(lab, float("inf")), session.Control()
    before = await stopped_run(lab, away)
    away.error = EpisodeError(Cause.MODEL_UNAVAILABLE, "nothing answers", retry_after=3600)

    class Leaving(Observer):
        def notice(self, message: str) -> None:
            control.stop("a stop was requested")

    settings = session.SessionOptions(limits=Limits(outage_seconds=7200))
    run = await asyncio.wait_for(
        session.resume(before.id, lab.store, [Leaving()], control=control, settings=settings), 60
    )
    assert (run.status, run.error, run.counts) == (RunStatus.STOPPED, "a stop was requested", before.counts)


async def test_a_run_whose_server_comes_back_as_another_is_not_mixed(lab: "Lab") -> None:
    away = Away(lab, 3)
    away.model.server = {"address": "http://there", "models": "one"}
    before = await stopped_run(lab, away)
    away.came_back = lambda: setattr(away.model, "server", {"address": "http://there", "models": "another"})
    run = await lab.resume(before.id, limits=Limits())
    assert (run.status, run.counts) == (RunStatus.STOPPED, before.counts)
    assert "it would mix two servers" in run.error


async def test_what_owes_nothing_is_ended_without_its_server(lab: "Lab") -> None:
    away = Away(lab, 0)
    run = await lab.run(lab.spec(away.name))
    run.status = RunStatus.RUNNING
    lab.store.runs.save(run)
    away.looks = float("inf")
    assert (await lab.resume(run.id)).status is RunStatus.FINISHED


async def test_a_stopped_run_stays_stopped_when_its_environment_does_not_open(lab: "Lab") -> None:
    benchmark = ClassBenchmark(lab.world("Walk"))
    ref = lab.benchmark(benchmark)
    spec = lab.spec(lab.model(Down(1, float("inf"))), world=ref, limits=Limits(outage_seconds=0.01))
    before = await lab.run(spec)
    assert before.status is RunStatus.STOPPED

    async def closed(notice: Callable[[str], None]) -> None:
        raise RunAborted("the adapter cannot be started")

    benchmark.open = closed  # type: ignore[method-assign]
    run = await lab.resume(before.id)
    assert (run.status, run.error) == (RunStatus.STOPPED, "the adapter cannot be started")


async def test_an_environment_that_is_out_of_reach_leaves_a_new_run_stopped(lab: "Lab") -> None:
    class Gone(ClassBenchmark):
        async def open(self, notice: Callable[[str], None]) -> None:
            raise EpisodeError(Cause.ENVIRONMENT_UNREACHABLE, "it cannot be reached")

    run = await lab.run(lab.spec(lab.model(), world=lab.benchmark(Gone(lab.world("Walk")))))
    assert (run.status, run.error, run.counts.pending) == (RunStatus.STOPPED, "it cannot be reached", 3)


@pytest.mark.parametrize("begun", [True, False])
async def test_a_benchmark_of_a_group_waits_for_its_server_when_its_run_goes_on(lab: "Lab", begun: bool) -> None:
    away = Away(lab, 4)
    if begun:
        await stopped_run(lab, away)
    member = GroupMember("walk", ".", spec=lab.spec(away.name, count=6))
    (found,) = await GroupRunner(RunGroup("rg_1", 1.0), lab.store, RerunPolicy()).run([member])
    assert found.outcome.status is (OutcomeStatus.SUCCEEDED if begun else OutcomeStatus.FAILED)
    assert len(lab.store.runs.list().items) == begun


@pytest.mark.parametrize(
    ("looks", "found"), [(3, ["succeeded"] * 3), (float("inf"), ["succeeded", "stopped", "failed"])]
)
async def test_a_server_that_goes_away_between_two_benchmarks_is_waited_for_once(
    lab: "Lab", looks: float, found: list[str]
) -> None:
    away = Away(lab, 0)

    def leave() -> None:
        away.came_back, away.looks = lambda: None, looks

    away.came_back = leave
    limits = Limits(outage_seconds=300 if looks < 9 else 0.01)
    members = [
        GroupMember(str(count), ".", spec=lab.spec(away.name, count=count, limits=limits)) for count in (1, 2, 3)
    ]
    results = await GroupRunner(RunGroup("rg_1", 1.0), lab.store, RerunPolicy()).run(members)
    assert [result.outcome.status.value for result in results] == found


def test_a_crash_that_takes_several_episodes_along_counts_once_among_the_first() -> None:
    """Episodes of one environment process, four at a time; the crash of one ends the others."""
    failure = Failure(Cause.ENVIRONMENT_UNREACHABLE, Boundary.ENVIRONMENT, "adapter.py ended with exit code 3")
    failures = SameFailures(nothing_yet=True)
    reasons = [
        failures.seen(
            Episode(str(seed), "run", f"{seed}", f"{seed}", started_at=wave, ended_at=wave + 0.5, failure=failure)
        )
        for wave in range(1, 7)
        for seed in range(4 * wave, 4 * wave + 4)
    ]
    assert not any(reasons[:20])
    assert reasons[20].startswith("the first 6 episodes all failed alike: environment_unreachable: ")
