from collections.abc import AsyncIterator
from typing import Any

import pytest

from mesocosm.rollouts.sdk import delivery
from mesocosm.rollouts.sdk.request import ExecutionResult, RolloutInitRequest
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.server import Callbacks, ControllerAuth
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

OK = RolloutStatus.SUCCESS
BAD = RolloutStatus.FAILURE
ENDED = ExecutionResult(status=OK)


class Controller(LoopbackServer):
    """Takes callbacks; `replies` are given one after the other, then an empty object."""

    def __init__(self) -> None:
        super().__init__()
        self.replies: list[bytes] = []
        self.told: list[tuple[str, dict[str, Any]]] = []

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        self.told.append((request.path, request.body))
        connection.send(self.replies.pop(0) if self.replies else response(200, b"{}"))

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.told]


def sample(**fields: Any) -> RolloutSample:
    return RolloutSample(**{"messages": [{"role": "user", "content": "x"}], "label": "l", "reward": 0.5, **fields})


@pytest.fixture
async def controller() -> AsyncIterator[Controller]:
    async with Controller() as server:
        yield server


@pytest.fixture
def callbacks(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> Callbacks:
    monkeypatch.setattr(delivery.deliver, "__kwdefaults__", {"waits": (0.0,) * 4, "seconds": 10.0})
    request = RolloutInitRequest(
        initial_messages=[],
        chat_completions_url="http://model.test/v1",
        completion_callback_url=f"{controller.url}/done",
        grader_callback_url=f"{controller.url}/grade",
    )
    return Callbacks(request, "r1")


@pytest.mark.parametrize(("status", "removed"), [(BAD, False), (OK, True)])
async def test_a_reward_that_does_not_count_is_not_told(
    controller: Controller,
    callbacks: Callbacks,
    status: RolloutStatus,
    removed: bool,
) -> None:
    graded = ExecutionResult(status=status, sample=sample(remove_sample=removed))
    await callbacks.grade(graded)
    assert controller.told[0][1]["sample"]["reward"] is None
    assert callbacks.result == graded


async def test_a_sample_with_half_a_surrogate_pair_is_delivered_with_an_escape(
    controller: Controller, callbacks: Callbacks
) -> None:
    broken = sample(messages=[{"role": "user", "content": "half a pair: \ud800"}], metrics={"turns": 2})
    await callbacks.grade(ExecutionResult(status=OK, sample=broken))
    told = controller.told[0][1]["sample"]
    assert (told["reward"], told["metrics"]) == (0.5, {"turns": 2})
    assert told["messages"] == [{"role": "user", "content": "half a pair: \\ud800"}]


async def test_a_sample_too_large_for_the_controller_still_delivers_its_reward(
    controller: Controller, callbacks: Callbacks
) -> None:
    controller.replies = [response(413, b"")]
    await callbacks.grade(ExecutionResult(status=OK, sample=sample()))
    assert [len(told["sample"]["messages"]) for _, told in controller.told] == [1, 0]
    assert controller.told[1][1]["sample"]["reward"] == 0.5


async def test_numbers_that_json_cannot_hold_are_left_out(controller: Controller, callbacks: Callbacks) -> None:
    metrics = {"nan": float("nan"), "one": 1}
    await callbacks.grade(ExecutionResult(status=OK, sample=sample(metrics=metrics)))
    assert controller.told[0][1]["sample"]["metrics"] == {"one": 1}


async def test_a_callback_refused_for_now_is_told_again(controller: Controller, callbacks: Callbacks) -> None:
    controller.replies = [response(503, b""), response(429, b"")]
    await callbacks.complete(ENDED)
    assert controller.paths == ["/done", "/done", "/done"]


async def test_an_end_that_nobody_takes_does_not_hinder_the_grade(controller: Controller, callbacks: Callbacks) -> None:
    controller.replies = [response(404, b"")]
    await callbacks.complete(ENDED)
    await callbacks.grade(ExecutionResult(status=OK, sample=sample()))
    assert controller.paths == ["/done", "/grade"]


async def test_a_failure_is_told_where_nothing_has_been_told_yet(controller: Controller, callbacks: Callbacks) -> None:
    await callbacks.complete(ENDED)
    await callbacks.fail("too late for this")
    await callbacks.fail("and for this")
    assert [(path, told["status"]) for path, told in controller.told] == [("/done", "success"), ("/grade", "failure")]


async def test_a_grade_without_a_sample_keeps_that_of_the_workflow(callbacks: Callbacks) -> None:
    await callbacks.complete(ExecutionResult(status=OK, sample=sample(reward=None)))
    await callbacks.grade(ExecutionResult(status=BAD, err_message="broken"))
    assert callbacks.result is not None
    assert callbacks.result.sample == sample(reward=None)
    assert callbacks.result.err_message == "broken"


async def test_a_grade_has_the_published_fields_and_no_others(controller: Controller, callbacks: Callbacks) -> None:
    await callbacks.grade(ExecutionResult(status=OK, sample=sample(id="main")))
    assert set(controller.told[0][1]) == {"status", "rollout_id", "sample", "err_message", "err_category"}
    assert set(controller.told[0][1]["sample"]) == {
        "messages",
        "label",
        "reward",
        "remove_sample",
        "metrics",
        "extra_fields",
    }


def test_without_a_key_there_is_no_header() -> None:
    assert ControllerAuth().as_bearer_headers() is None
    assert ControllerAuth("k").as_bearer_headers() == {"Authorization": "Bearer k"}


async def test_a_failure_whose_words_utf8_cannot_hold_is_told(controller: Controller, callbacks: Callbacks) -> None:
    failed = ExecutionResult(status=RolloutStatus.FAILURE, err_message="half \ud800", extra_fields={"detail": "\udfff"})
    await callbacks.complete(failed)
    told = controller.told[0][1]
    assert (told["err_message"], told["extra_fields"]) == ("half \\ud800", {"mesocosm": {"detail": "\\udfff"}})
