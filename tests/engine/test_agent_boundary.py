"""Failures of agents: attributed to them, and no end of the run by accident."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import Boundary, Cause, EpisodeError, UsageError
from mesocosm.core.message import Message
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Context
from mesocosm.core.run import Limits, RunStatus

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


@pytest.mark.parametrize(
    "error",
    [
        KeyError("plan"),
        TimeoutError("the agent's own patience"),
        asyncio.CancelledError("an inner task was cancelled"),
        SystemExit(2),
        UsageError("of its own kind"),
        RuntimeError("file \udcff"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("limits", [Limits(), Limits(episode_seconds=60)], ids=["untimed", "timed"])
async def test_whatever_an_agent_raises_is_its_failure_and_counts_as_worst(
    lab: "Lab", error: BaseException, limits: Limits
) -> None:
    async def play(context: Context) -> None:
        await context.reset()
        await context.step("left")
        if context.task.seed == 1:
            raise error
        await context.step("end")

    run = await asyncio.wait_for(lab.run(lab.spec(lab.model(), agent=lab.agent(play), limits=limits)), 120)
    episodes = lab.episodes(run)
    assert [episode.status.value for episode in episodes] == ["completed", "failed", "completed"]
    failed = lab.failure(episodes[1])
    assert (failed.cause, failed.boundary) == (Cause.AGENT_ERROR, Boundary.AGENT)
    assert type(error).__name__ in failed.message
    assert "test_agent_boundary.py" in failed.detail
    assert (episodes[1].steps, episodes[1].total_reward, episodes[1].valid) == (1, 0.5, True)


@pytest.mark.parametrize(
    "action", [object(), "lone \ud800", {1, 2}.__iter__()], ids=["object", "surrogate", "iterator"]
)
async def test_an_action_that_no_json_can_hold_is_a_failure_of_the_agent(lab: "Lab", action: Any) -> None:
    async def play(context: Context) -> None:
        await context.reset()
        await context.step(action)

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(play), count=1))
    assert lab.failure(lab.episodes(run)[0]).cause is Cause.AGENT_ERROR


async def test_an_agent_that_goes_on_after_the_end_is_unwound(lab: "Lab") -> None:
    went_on: list[str] = []

    async def play(context: Context) -> None:
        await context.reset()
        await context.step("end")
        went_on.append("step")
        await context.step("left")
        went_on.append("never")

    async def ask(context: Context) -> None:
        await context.reset()
        await context.step("end")
        await context.ask(ModelRequest([Message("user", "and now?")]))
        went_on.append("never")

    for agent in (play, ask):
        model = lab.model()
        run = await lab.run(lab.spec(model, agent=lab.agent(agent), count=1))
        (episode,) = lab.episodes(run)
        assert (episode.status, episode.steps, episode.total_reward) == (EpisodeStatus.COMPLETED, 1, 1.0)
        assert lab.models[model].calls == 0
    assert went_on == ["step"]


async def test_an_agent_that_gives_up_ends_its_episode_in_the_ordinary_way(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        await context.reset()
        await context.step("left")

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(play), count=1))
    (episode,) = lab.episodes(run)
    assert (episode.status, episode.total_reward) == (EpisodeStatus.COMPLETED, 0.5)
    assert {score.name: score.value for score in episode.scores} == {"arrived": 0.0, "reward": 0.5}


async def test_a_malformed_action_counts_as_worst(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        raise EpisodeError(Cause.MALFORMED_ACTION, "no action in 'hm'")

    run = await lab.run(lab.spec(lab.model(), agent=lab.agent(play)))
    assert run.primary is not None
    assert (run.primary.value, run.primary.n_worst, run.primary.missing) == (0.0, 3, {})
    assert all(score.worst for episode in lab.episodes(run) for score in episode.scores)


def lapsing(lab: "Lab", failing: int = 1000) -> str:
    """Return a model that fails `failing` times when it is asked about the plan, and answers all else."""
    left = [EpisodeError(Cause.MODEL_TIMEOUT, "no answer in 600 s")] * failing

    def answer(request: ModelRequest) -> str:
        if request.messages[0].content == "plan" and left:
            raise left.pop()
        return "end"

    return lab.model(answer)


async def say(context: Context, words: str) -> str:
    """Return what the model says, or nothing where it does not answer, as an agent does that catches everything."""
    try:
        return (await context.ask(ModelRequest([Message("user", words)]))).text
    except Exception:  # noqa: BLE001 - that is what such agents do
        return ""


@pytest.mark.parametrize("words", [("plan", "act"), ("act", "plan")])
@pytest.mark.parametrize("end", ["ends", "raises"])
async def test_an_agent_that_goes_on_without_an_answer_leaves_its_episode_owed(
    lab: "Lab", words: tuple[str, str], end: str
) -> None:
    async def play(context: Context) -> None:
        await context.reset()
        said = {word: await say(context, word) for word in words}
        await context.step("end")
        if end == "raises" and not said["plan"]:
            raise KeyError("plan")

    spec = lab.spec(lapsing(lab), agent=lab.agent(play), count=1, limits=Limits(retries=0))
    run = await lab.run(spec)
    assert run.status is not RunStatus.FINISHED
    assert {lab.failure(episode).cause for episode in lab.episodes(run)} == {Cause.MODEL_TIMEOUT}
    assert "KeyError" in lab.failure(lab.episodes(run)[0]).message or end == "ends"


async def test_an_agent_that_asks_again_and_is_answered_has_its_result(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        await context.reset()
        while not await say(context, "plan"):
            pass
        await say(context, "act")
        await context.step("end")

    run = await lab.run(lab.spec(lapsing(lab, 3), agent=lab.agent(play), count=1, limits=Limits(retries=0)))
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 1)


async def test_equal_questions_that_an_agent_asks_at_once_need_an_answer_each(lab: "Lab") -> None:
    async def play(context: Context) -> None:
        await context.reset()
        await asyncio.gather(*(say(context, "plan") for _ in range(3)))
        await say(context, "act")
        await context.step("end")

    together = asyncio.Barrier(3)

    async def answer(request: ModelRequest) -> str:
        if request.messages[0].content == "plan" and not await together.wait():
            raise EpisodeError(Cause.MODEL_TIMEOUT, "no answer in 600 s")
        return "end"

    spec = lab.spec(lab.model(answer), agent=lab.agent(play), count=1, parallel=3, limits=Limits(retries=0))
    run = await asyncio.wait_for(lab.run(spec), 120)
    assert lab.failure(lab.episodes(run)[0]).cause is Cause.MODEL_TIMEOUT
