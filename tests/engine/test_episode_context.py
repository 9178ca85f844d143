"""What an agent meets: limits of an episode, the view of its model, its own events."""

import asyncio
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.message import Message
from mesocosm.core.model import EpisodeView, ModelReply, ModelRequest
from mesocosm.core.ports import Context, Observation, Step
from mesocosm.core.run import Limits, RunStatus
from mesocosm.core.task import Task
from mesocosm.core.usage import Usage
from mesocosm.environments.inprocess import ClassBenchmark

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


async def alone(lab: "Lab", *said: Any, **given: Any) -> Episode:
    """Play one episode and return it."""
    model = given.pop("model", "") or lab.model(*said)
    run = await asyncio.wait_for(lab.run(lab.spec(model, count=1, **given)), 120)
    (episode,) = lab.episodes(run)
    return episode


@pytest.mark.parametrize(
    ("world", "limit", "cap", "declared"),
    [("Short", None, 4, 4), ("Short", 2, 2, 4), ("Short", 9, 4, 4), ("Walk", 3, 3, None)],
)
async def test_the_least_of_the_step_limits_truncates_the_episode(
    lab: "Lab", world: str, limit: int | None, cap: int, declared: int | None
) -> None:
    episode = await alone(lab, "left", world=world, limits=Limits(episode_steps=limit))
    assert (episode.status, episode.steps, episode.total_reward) == (EpisodeStatus.TRUNCATED, cap, cap * 0.5)
    assert episode.terminal_info == {
        "reason": "step_limit",
        "at": cap,
        "arrived": False,
        "max_steps": cap,
        "declared_max_steps": declared,
        "total_tokens": cap * 10,
    }
    assert {score.name: score.value for score in episode.scores} == {"arrived": 0.0, "reward": cap * 0.5}


async def test_an_end_at_the_last_allowed_step_is_no_truncation(lab: "Lab") -> None:
    episode = await alone(lab, "left", "left", "left", "end", world="Short")
    assert (episode.status, episode.steps) == (EpisodeStatus.COMPLETED, 4)
    assert "reason" not in episode.terminal_info


class Plain(ClassBenchmark):
    """A walk whose every step gives the same result."""

    def __init__(self, walk: type, step: Step) -> None:
        super().__init__(walk)
        self.step = step

    async def environment(self, task: Task, episode_id: str) -> Any:
        inner = await super().environment(task, episode_id)
        given = self.step

        class Same:
            reset, oracle, close = inner.reset, inner.oracle, inner.close

            async def step(self, action: Any) -> Step:
                return given

        return Same()


async def test_a_cut_by_the_environment_is_an_end_of_its_own(lab: "Lab") -> None:
    world = lab.benchmark(Plain(lab.world("Walk"), Step(Observation("dark"), 0.25, truncated=True)))
    episode = await alone(lab, "left", world=world)
    assert (episode.status, episode.steps, episode.total_reward) == (EpisodeStatus.COMPLETED, 1, 0.25)


async def test_a_reason_of_the_environment_is_kept_at_the_step_limit(lab: "Lab") -> None:
    world = lab.benchmark(Plain(lab.world("Walk"), Step(Observation("dark"), info={"reason": "night fell"})))
    episode = await alone(lab, "left", world=world, limits=Limits(episode_steps=2))
    assert (episode.status, episode.terminal_info["reason"]) == (EpisodeStatus.TRUNCATED, "night fell")


async def forever(request: ModelRequest) -> str:
    if request.view is not None and request.view.step >= 1:
        await asyncio.Event().wait()
    return "left"


async def test_used_up_seconds_end_the_episode_with_what_was_reached(lab: "Lab") -> None:
    episode = await alone(lab, forever, limits=Limits(episode_seconds=0.05))
    assert (episode.status, episode.steps, episode.total_reward) == (EpisodeStatus.TIMEOUT, 1, 0.5)
    assert episode.terminal_info == {"reason": "wall_time_limit", "at": 1, "arrived": False, "total_tokens": 10}
    assert {score.name: score.value for score in episode.scores} == {"arrived": 0.0, "reward": 0.5}
    assert lab.events(episode)[-1].payload["status"] == "timeout"


async def test_the_declared_seconds_of_a_benchmark_count_too(lab: "Lab") -> None:
    benchmark = ClassBenchmark(lab.world("Walk"))
    benchmark._info = msgspec.structs.replace(benchmark.info, max_seconds=0.05)
    assert (await alone(lab, forever, world=lab.benchmark(benchmark))).status is EpisodeStatus.TIMEOUT


async def test_an_agent_that_swallows_its_cancellation_is_out_of_time_all_the_same(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        await context.reset()
        try:
            await context.ask(ModelRequest([Message("user", "?")]))
            await context.ask(ModelRequest([Message("user", "?")]))
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    episode = await alone(lab, "left", agent=lab.agent(play), limits=Limits(episode_seconds=0.05))
    assert (episode.status, episode.terminal_info["reason"]) == (EpisodeStatus.TIMEOUT, "wall_time_limit")


async def test_seconds_that_run_out_after_the_end_change_nothing(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        await context.reset()
        await context.step("end")
        await asyncio.Event().wait()

    episode = await alone(lab, agent=lab.agent(play), limits=Limits(episode_seconds=0.05))
    assert (episode.status, episode.total_reward) == (EpisodeStatus.COMPLETED, 1.0)
    assert "reason" not in episode.terminal_info


async def test_a_timeout_of_the_agents_own_is_not_the_episodes(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        await context.reset()
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            await context.step("end")

    episode = await alone(lab, agent=lab.agent(play), limits=Limits(episode_seconds=60))
    assert episode.status is EpisodeStatus.COMPLETED


async def test_used_up_tokens_are_a_failure_of_the_agent_and_count_as_worst(lab: "Lab") -> None:
    episode = await alone(lab, "left", limits=Limits(episode_tokens=25))
    failure = lab.failure(episode)
    assert (failure.cause, episode.valid) == (Cause.BUDGET, True)
    assert "used 30 tokens; its budget is 25" in failure.message
    # The third answer broke the budget, so its action was not sent any more.
    assert (episode.steps, episode.total_reward, episode.usage.total) == (2, 1.0, 30)
    assert episode.terminal_info["reason"] == "token_budget_exceeded"
    assert all(score.worst for score in episode.scores)


async def test_a_token_budget_that_is_just_met_is_kept(lab: "Lab") -> None:
    episode = await alone(lab, "left", "end", limits=Limits(episode_tokens=20))
    assert (episode.status, episode.usage.total) == (EpisodeStatus.COMPLETED, 20)


async def test_the_agent_can_see_how_many_steps_are_left(lab: "Lab") -> None:
    seen: list[tuple[int, int | None, bool]] = []

    async def play(context: Context) -> None:
        await context.reset()
        while not context.over:
            seen.append((context.steps, context.steps_left, context.over))
            await context.step("left")
        seen.append((context.steps, context.steps_left, context.over))

    await alone(lab, agent=lab.agent(play), limits=Limits(episode_steps=2))
    assert seen == [(0, 2, False), (1, 1, False), (2, 0, True)]
    seen.clear()
    await alone(lab, agent=lab.agent(play), world="Short", limits=Limits(episode_steps=None))
    assert [left for _, left, _ in seen] == [4, 3, 2, 1, 0]


async def test_the_model_is_told_where_it_stands(lab: "Lab") -> None:
    views: list[EpisodeView] = []

    def answer(request: ModelRequest) -> str:
        assert request.view is not None
        views.append(request.view)
        return "left" if request.view.step == 0 else "end"

    run = await lab.run(lab.spec(lab.model(answer), seeds=(5,), trials=2))
    assert [(view.seed, view.trial, view.step) for view in views] == [(5, 0, 0), (5, 0, 1), (5, 1, 0), (5, 1, 1)]
    assert [view.observation for view in views[:2]] == [{"seed": 5, "at": 0}, {"at": 1}]
    assert {view.task for view in views} == {episode.task_id for episode in lab.episodes(run)}


async def test_an_oracle_that_fails_is_a_failure_of_the_environment(lab: "Lab") -> None:
    async def answer(request: ModelRequest) -> str:
        assert request.view is not None
        assert request.view.oracle is not None
        return str(await request.view.oracle())

    class Blind(ClassBenchmark):
        async def environment(self, task: Task, episode_id: str) -> Any:
            inner = await super().environment(task, episode_id)

            class Broken:
                reset, step, close = inner.reset, inner.step, inner.close

                async def oracle(self) -> Any:
                    raise ZeroDivisionError("no best action")

            return Broken()

    episode = await alone(lab, answer, world=lab.benchmark(Blind(lab.world("Walk"))))
    assert lab.failure(episode).cause is Cause.ENVIRONMENT_ERROR


async def test_acting_without_a_world_ends_the_run(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        await context.step("left")

    class Empty(ClassBenchmark):
        async def environment(self, task: Task, episode_id: str) -> Any:
            return None

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(play), world=lab.benchmark(Empty(lab.world("Walk")))))
    assert (run.status, run.counts.done) == (RunStatus.FAILED, 0)
    assert "no environment to act in" in run.error


async def test_a_call_is_recorded_with_all_that_came_back(lab: "Lab") -> None:
    reply = ModelReply(
        "end", "because", finish_reason="length", usage=Usage(5, 4, 3, 2, 0.125, 1), model="m-1", cached=True
    )
    model = lab.model(reply)
    episode = await alone(lab, model=model)
    (call,) = lab.events(episode, Kind.MODEL_CALL)
    assert call.payload == {
        "model": model,
        "messages": [[0, 1]],
        "text": "end",
        "usage": {"prompt": 5, "completion": 4, "cached": 3, "reasoning": 2, "cost_usd": 0.125, "calls": 1},
        "latency_s": 0.0,
        "finish_reason": "length",
        "reasoning": "because",
        "cached": True,
    }
    assert episode.usage == reply.usage


async def test_reasoning_and_role_stand_beside_the_action(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        await context.reset()
        context.record(Kind.TECHNIQUE, {"name": "plan"})
        await context.step("end", reasoning="it is near", role="guide")
        context.record(Kind.LOG, {"message": "done"})

    episode = await alone(lab, agent=lab.agent(play))
    (action,) = lab.events(episode, Kind.ACTION)
    assert action.payload == {"action": "end", "reasoning": "it is near", "role": "guide"}
    assert lab.events(episode, Kind.STEP_RESULT)[0].payload["role"] == "guide"
    own = lab.events(episode, Kind.TECHNIQUE, Kind.LOG)
    assert [(event.step, event.payload) for event in own] == [(1, {"name": "plan"}), (1, {"message": "done"})]


async def test_notes_of_an_environment_are_warnings_at_their_step(lab: "Lab") -> None:
    step = Step(Observation("dark", notes=("too dark",)), terminated=True, notes=("odd action",))
    run = await lab.run(lab.spec(lab.model(), count=1, world=lab.benchmark(Plain(lab.world("Walk"), step))))
    warnings = lab.events(lab.episodes(run)[0], Kind.WARNING)
    assert [(event.step, event.payload["message"]) for event in warnings] == [(1, "too dark"), (1, "odd action")]
    assert set(run.warnings) == {"too dark", "odd action"}


async def test_a_large_observation_is_stored_once_beside_the_trace(lab: "Lab") -> None:
    picture = "iVBOR" * 10_000
    world = lab.benchmark(Plain(lab.world("Walk"), Step(Observation(picture, "image/png"))))
    episode = await alone(lab, "left", world=world, limits=Limits(episode_steps=3))
    shown = [event.payload for event in lab.events(episode, Kind.OBSERVATION)][1:]
    assert len({payload["data"]["$blob"] for payload in shown}) == 1
    assert {payload["content_type"] for payload in shown} == {"image/png"}
    assert lab.store.blobs.get(shown[0]["data"]["$blob"]).data == picture.encode()


async def test_a_failure_keeps_the_words_of_whoever_raised_it(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        raise EpisodeError(Cause.ENVIRONMENT_UNREACHABLE, "POST /step: gone", detail="body", stderr="last words")

    episode = await alone(lab, agent=lab.agent(play))
    failure = lab.failure(episode)
    assert (failure.message, failure.detail, failure.stderr) == ("POST /step: gone", "body", "last words")
    assert lab.events(episode, Kind.ERROR)[0].payload["stderr"] == "last words"


async def test_equal_calls_of_one_episode_get_answers_of_their_own_from_the_cache(lab: "Lab", tmp_path: Path) -> None:
    heard: list[str] = []
    numbers = itertools.count(1)

    async def vote(context: Context) -> None:
        await context.reset()
        heard.extend([(await context.ask(ModelRequest([Message("user", "?")]))).text for _ in range(3)])
        await context.step("end")

    model = lab.model(lambda request: str(next(numbers)))
    spec = lab.spec(model, agent=lab.agent(vote), count=1, cache=str(tmp_path / "answers.sqlite"))
    await lab.run(spec)
    await lab.run(spec)
    assert heard == ["1", "2", "3"] * 2
