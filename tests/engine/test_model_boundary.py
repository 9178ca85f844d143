"""Failures of models: repeated, attributed, and fatal only where every further call would fail alike."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.model import ModelReply, ModelRequest
from mesocosm.core.run import Limits, RunStatus
from mesocosm.core.usage import Usage
from mesocosm.engine import execution
from mesocosm.engine.executors import local

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


async def test_a_model_that_recovers_costs_retries_but_no_episode(lab: "Lab") -> None:
    troubles = [EpisodeError(Cause.MODEL_UNAVAILABLE, "status 500"), EpisodeError(Cause.RATE_LIMITED, "status 429")]

    def answer(request: ModelRequest) -> str:
        if troubles:
            raise troubles.pop(0)
        return "end"

    run = await lab.run(lab.spec(lab.model(answer), count=2))
    first, second = lab.episodes(run)
    assert (first.status, first.retries, second.retries) == (EpisodeStatus.COMPLETED, 2, 0)
    assert [event.payload["cause"] for event in lab.events(first, Kind.RETRY)] == ["model_unavailable", "rate_limited"]
    assert [event.payload["try"] for event in lab.events(first, Kind.RETRY)] == [1, 2]
    assert lab.events(first, Kind.MODEL_CALL)[0].payload["retries"] == 2


async def test_a_model_that_stays_down_leaves_its_episodes_owed_with_the_cause(lab: "Lab") -> None:
    run = await lab.run(lab.spec(lab.model(EpisodeError(Cause.MODEL_TIMEOUT, "no answer")), limits=Limits(retries=2)))
    for episode in lab.episodes(run):
        assert lab.failure(episode).cause is Cause.MODEL_TIMEOUT
        assert not episode.valid
    assert (run.status, run.counts.done, run.counts.pending) == (RunStatus.STOPPED, 0, 3)
    assert "no answer" in run.error


@pytest.mark.parametrize("cause", [Cause.MODEL_FORBIDDEN, Cause.MODEL_MISSING])
async def test_a_refused_key_ends_the_run_and_leaves_the_rest_owed(lab: "Lab", cause: Cause) -> None:
    def answer(request: ModelRequest) -> str:
        if request.view is not None and request.view.seed == 2:
            raise EpisodeError(cause, "status 401: invalid key; set OPENAI_API_KEY")
        return "end"

    model = lab.model(answer)
    run = await lab.run(lab.spec(model, count=6))
    assert (run.status, run.error) == (RunStatus.FAILED, "status 401: invalid key; set OPENAI_API_KEY")
    assert (run.counts.completed, run.counts.failed, run.counts.pending) == (2, 0, 4)
    assert lab.models[model].calls == 3


async def test_episodes_beside_the_one_that_ends_the_run_are_owed(lab: "Lab") -> None:
    others = asyncio.Event()

    async def answer(request: ModelRequest) -> str:
        assert request.view is not None
        if request.view.seed == 0:
            await others.wait()
            raise EpisodeError(Cause.MODEL_FORBIDDEN, "status 403")
        others.set()
        await asyncio.Event().wait()
        return "never"

    run = await asyncio.wait_for(lab.run(lab.spec(lab.model(answer), count=3, parallel=3)), 120)
    assert (run.status, run.counts.done) == (RunStatus.FAILED, 0)
    assert all(episode.status is EpisodeStatus.CANCELLED for episode in lab.episodes(run))


async def test_the_episode_that_ends_the_run_is_not_left_as_running(
    lab: "Lab", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "KEEP_S", 0.0)
    monkeypatch.setattr(local, "KEEP_S", 0.0)

    async def refused(request: ModelRequest) -> str:
        await lab.until(lambda: lab.episodes(lab.only_run()))
        raise EpisodeError(Cause.MODEL_FORBIDDEN, "status 403")

    run = await asyncio.wait_for(lab.run(lab.spec(lab.model("left", refused))), 120)
    assert [episode.status for episode in lab.episodes(run)] == [EpisodeStatus.CANCELLED]
    assert (run.status, run.counts.pending) == (RunStatus.FAILED, 3)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("in the client"), TimeoutError(), SystemExit(1), asyncio.CancelledError()], ids=repr
)
async def test_a_bug_of_a_model_client_is_an_invalid_answer(lab: "Lab", error: BaseException) -> None:
    def answer(request: ModelRequest) -> str:
        raise error

    run = await asyncio.wait_for(lab.run(lab.spec(lab.model(answer))), 120)
    for episode in lab.episodes(run):
        assert lab.failure(episode).cause is Cause.MODEL_INVALID
        assert type(error).__name__ in lab.failure(episode).message
        assert "object at 0x" not in lab.failure(episode).message


@pytest.mark.parametrize(
    "reply",
    [
        ModelReply("end", usage=Usage(10**30, 1)),
        ModelReply("end", usage=Usage(-5, 1)),
        ModelReply("end", usage=Usage(1, 1, cost_usd=float("nan"))),
        ModelReply("end \ud800"),
        ModelReply(None),  # type: ignore[arg-type]
    ],
    ids=["huge", "negative", "no cost", "surrogate", "nothing"],
)
async def test_a_reply_that_cannot_be_true_is_a_failure_of_the_model(lab: "Lab", reply: ModelReply) -> None:
    run = await lab.run(lab.spec(lab.model(reply)))
    assert {lab.failure(episode).cause for episode in lab.episodes(run)} == {Cause.MODEL_INVALID}
    assert run.usage.total == 0


async def test_a_model_that_leaves_stops_the_run_and_says_why(lab: "Lab") -> None:
    def answer(request: ModelRequest) -> str:
        if request.view is not None and request.view.seed == 1:
            raise EpisodeError(Cause.CANCELLED, "the terminal was closed; resume the run")
        return "end"

    run = await asyncio.wait_for(lab.run(lab.spec(lab.model(answer), count=4)), 120)
    assert (run.status, run.error) == (RunStatus.STOPPED, "the terminal was closed; resume the run")
    assert (run.counts.completed, run.counts.pending) == (1, 3)
