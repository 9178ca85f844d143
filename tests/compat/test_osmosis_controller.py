import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from mesocosm.compat.osmosis.osmosis_ai.rollout.controller import (
    BridgeError,
    CallbackListener,
    CallbackStore,
    TerminalCallbackResult,
)
from mesocosm.rollouts.sdk.delivery import CallbackReply, send
from mesocosm.rollouts.sdk.request import GraderCompleteRequest, RolloutCompleteRequest
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.status import GraderStatus, RolloutStatus

OK = RolloutCompleteRequest(status=RolloutStatus.SUCCESS)
FAILED = RolloutCompleteRequest(status=RolloutStatus.FAILURE, err_message="boom")
GRADED = GraderCompleteRequest(status=GraderStatus.SUCCESS, sample=RolloutSample(reward=1.0))
UNGRADED = GraderCompleteRequest(status=GraderStatus.FAILURE, err_message="no grade")


async def test_a_rollout_ends_with_its_grade() -> None:
    store = CallbackStore()
    store.register("r")
    assert await store.handle_completion("r", OK) is None
    ended = await store.handle_grader("r", GRADED)
    assert ended == await store.wait_terminal("r")
    assert (ended.status, ended.graded) == (RolloutStatus.SUCCESS, True)
    assert ended.sample is not None
    assert ended.sample.reward == 1.0


async def test_without_grading_a_rollout_ends_with_its_workflow() -> None:
    store = CallbackStore()
    store.register("r", grading=False)
    ended = await store.handle_completion("r", OK)
    assert ended == TerminalCallbackResult("r", RolloutStatus.SUCCESS)


async def test_a_workflow_that_fails_ends_the_rollout() -> None:
    store = CallbackStore()
    store.register("r")
    await store.handle_completion("r", FAILED)
    ended = await store.wait_terminal("r")
    assert (ended.status, ended.err_message) == (RolloutStatus.FAILURE, "boom")


async def test_the_first_end_counts() -> None:
    store = CallbackStore()
    store.register("r")
    first = await store.handle_grader("r", GRADED)
    assert await store.handle_grader("r", UNGRADED) == first
    assert await store.handle_completion("r", FAILED) == first


async def test_an_end_is_committed_once() -> None:
    committed: list[TerminalCallbackResult] = []

    async def commit(result: TerminalCallbackResult) -> None:
        committed.append(result)

    store = CallbackStore(on_terminal_commit=commit)
    store.register("r")
    await asyncio.gather(*(store.handle_grader("r", GRADED) for _ in range(3)))
    assert len(committed) == 1


async def test_a_commit_that_fails_leaves_the_end_to_the_next_callback() -> None:
    failures = [OSError("disk full")]

    async def commit(result: TerminalCallbackResult) -> None:
        if failures:
            raise failures.pop()

    store = CallbackStore(on_terminal_commit=commit)
    store.register("r")
    with pytest.raises(OSError, match="disk full"):
        await store.handle_grader("r", GRADED)
    assert (await store.handle_grader("r", GRADED)).status is RolloutStatus.SUCCESS


async def test_a_commit_survives_a_sender_that_hangs_up() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def commit(result: TerminalCallbackResult) -> None:
        begun.set()
        await go.wait()

    store = CallbackStore(on_terminal_commit=commit)
    store.register("r")
    sender = asyncio.create_task(store.handle_grader("r", GRADED))
    await begun.wait()
    sender.cancel()
    go.set()
    assert (await store.wait_terminal("r", 10)).status is RolloutStatus.SUCCESS


async def test_a_rollout_is_registered_once() -> None:
    store = CallbackStore()
    store.register("r")
    with pytest.raises(ValueError, match="registered already"):
        store.register("r")


async def test_waiting_has_an_end() -> None:
    store = CallbackStore()
    store.register("r")
    with pytest.raises(TimeoutError):
        await store.wait_terminal("r", 0.01)
    await store.handle_grader("r", GRADED)
    assert (await store.wait_terminal("r")).graded


async def test_who_waits_for_a_discarded_rollout_is_cancelled() -> None:
    store = CallbackStore()
    store.register("r")

    async def discard() -> None:
        store.discard("r")

    # gather begins them in their order, so the first waits already when the second discards.
    waited, _ = await asyncio.gather(store.wait_terminal("r"), discard(), return_exceptions=True)
    assert isinstance(waited, asyncio.CancelledError)


class Echo:
    """Says what it was asked, or fails."""

    def __init__(self, error: str | None = None) -> None:
        self.error = error

    async def complete(self, rollout_id: str, body: Mapping[str, Any]) -> bytes:
        if self.error:
            raise BridgeError(self.error)
        return json.dumps({"rollout": rollout_id, **body}).encode()

    async def stream(self, rollout_id: str, body: Mapping[str, Any]) -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        if self.error:
            raise BridgeError(self.error)
        yield b"data: [DONE]\n\n"


async def tell(listener: CallbackListener, path: str, body: object, key: str | None = None) -> CallbackReply:
    shown = key if key is not None else listener.controller_key
    url = f"{listener.base_url('r')}{path}"
    return await send(url, json.dumps(body).encode(), {"authorization": f"Bearer {shown}"})


async def test_callbacks_over_http_end_a_rollout() -> None:
    store = CallbackStore()
    store.register("r")
    async with CallbackListener(store) as listener:
        done = await tell(listener, "/completion", {"status": "success", "rollout_id": "r"})
        graded = await tell(listener, "/grader", {"status": "success", "rollout_id": "r", "sample": {"reward": 0.5}})
        assert (done.status, done.json(), graded.status) == (200, {}, 200)
        ended = await store.wait_terminal("r", 10)
    assert ended.sample is not None
    assert ended.sample.reward == 0.5


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/completion", {"status": "running"}, 422),
        ("/completion", {"status": "nonsense"}, 422),
        ("/grader", {"status": "pending"}, 422),
        ("/grader", {"status": "success", "rollout_id": "other"}, 422),
    ],
)
async def test_a_callback_that_is_no_end_is_refused(path: str, body: dict[str, str], status: int) -> None:
    store = CallbackStore()
    store.register("r")
    async with CallbackListener(store) as listener:
        assert (await tell(listener, path, body)).status == status


async def test_a_callback_of_an_unknown_rollout_is_refused() -> None:
    async with CallbackListener(CallbackStore()) as listener:
        assert (await tell(listener, "/completion", {"status": "success"})).status == 404


async def test_each_address_wants_its_own_key() -> None:
    store = CallbackStore()
    store.register("r")
    async with CallbackListener(store, Echo()) as listener:
        assert (await tell(listener, "/grader", {"status": "success"}, listener.bridge_key)).status == 401
        assert (await tell(listener, "/chat/completions", {}, listener.controller_key)).status == 401


async def test_a_rollout_asks_the_model_by_the_bridge() -> None:
    async with CallbackListener(CallbackStore(), Echo()) as listener:
        whole = await tell(listener, "/chat/completions", {"seed": 1}, listener.bridge_key)
        streamed = await tell(listener, "/chat/completions", {"stream": True}, listener.bridge_key)
    assert whole.json() == {"rollout": "r", "seed": 1}
    assert streamed.body == b"data: 1\n\ndata: [DONE]\n\n"


async def test_a_model_that_fails_is_told_with_its_words() -> None:
    async with CallbackListener(CallbackStore(), Echo("rate limit")) as listener:
        whole = await tell(listener, "/chat/completions", {}, listener.bridge_key)
        streamed = await tell(listener, "/chat/completions", {"stream": True}, listener.bridge_key)
    assert (whole.status, whole.json()["detail"]) == (502, "rate limit")
    assert b'"message": "rate limit"' in streamed.body


@pytest.mark.parametrize("body", [[1], "text"])
async def test_a_question_that_is_no_object_is_refused(body: object) -> None:
    async with CallbackListener(CallbackStore(), Echo()) as listener:
        assert (await tell(listener, "/chat/completions", body, listener.bridge_key)).status == 422


async def test_a_controller_without_a_model_says_so() -> None:
    async with CallbackListener(CallbackStore()) as listener:
        assert (await tell(listener, "/chat/completions", {}, listener.bridge_key)).status == 404


async def test_a_listener_leaves_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with CallbackListener(CallbackStore()) as listener:
        await tell(listener, "/completion", {"status": "success"})
        assert signal.getsignal(signal.SIGTERM) is before


def test_a_listener_has_no_address_before_it_listens() -> None:
    with pytest.raises(RuntimeError, match="not listening"):
        CallbackListener(CallbackStore()).base_url("r")
