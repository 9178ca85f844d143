import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from mesocosm.compat.osmosis.osmosis_ai.rollout.controller import (
    CallbackListener,
    CallbackStore,
    TerminalCallbackResult,
    llm_bridge,
)
from mesocosm.compat.osmosis.osmosis_ai.rollout.controller.llm_bridge import BridgeError
from mesocosm.compat.osmosis.osmosis_ai.rollout.controller.store import (
    DuplicateRegistrationError,
    UnknownRolloutIdError,
)
from mesocosm.rollouts.sdk.delivery import CallbackReply, send
from mesocosm.rollouts.sdk.request import GraderCompleteRequest, RolloutCompleteRequest
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.status import GraderStatus, RolloutStatus

OK = RolloutCompleteRequest(status=RolloutStatus.SUCCESS)
FAILED = RolloutCompleteRequest(status=RolloutStatus.FAILURE, err_message="boom")
GRADED = GraderCompleteRequest(status=GraderStatus.SUCCESS, sample=RolloutSample(reward=1.0))
UNGRADED = GraderCompleteRequest(status=GraderStatus.FAILURE, err_message="no grade")


async def accept(result: TerminalCallbackResult) -> None:
    """Commit an end by doing nothing."""


async def expecting(commit: Any = accept) -> CallbackStore:
    store = CallbackStore(on_terminal_commit=commit)
    await store.register("r")
    return store


async def test_a_rollout_ends_with_its_grade_and_keeps_what_the_workflow_said() -> None:
    store = await expecting()
    assert await store.handle_completion("r", OK) == {"ok": True}
    assert await store.handle_grader("r", GRADED) == {"ok": True}
    assert await store.wait_terminal("r") == TerminalCallbackResult("r", "grader", OK, GRADED)


async def test_a_workflow_that_fails_ends_the_rollout_only_with_its_grading() -> None:
    store = await expecting()
    await store.handle_completion("r", FAILED)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(store.wait_terminal("r"), 0.01)
    await store.handle_grader("r", UNGRADED)
    assert (await store.wait_terminal("r")).completion == FAILED


async def test_the_first_end_counts(caplog: pytest.LogCaptureFixture) -> None:
    store = await expecting()
    await store.handle_grader("r", GRADED)
    await store.handle_grader("r", GRADED)
    assert "contradicts" not in caplog.text
    assert await store.handle_grader("r", UNGRADED) == {"ok": True}
    assert "a callback of rollout r contradicts an earlier one" in caplog.text
    assert (await store.finalize_timeout("r")).grader == GRADED


async def test_an_end_is_committed_once_and_every_sender_gets_its_acknowledgment() -> None:
    committed: list[TerminalCallbackResult] = []

    async def commit(result: TerminalCallbackResult) -> Mapping[str, Any]:
        committed.append(result)
        return {"trajectory": None}

    store = await expecting(commit)
    said = await asyncio.gather(*(store.handle_grader("r", GRADED) for _ in range(3)))
    await store.discard("r")
    said.append(await store.handle_completion("r", OK))
    assert (said, len(committed)) == ([{"trajectory": None}] * 4, 1)


async def test_a_commit_that_fails_leaves_the_end_to_the_next_callback() -> None:
    failures = [OSError("disk full")]

    async def commit(result: TerminalCallbackResult) -> None:
        if failures:
            raise failures.pop()

    store = await expecting(commit)
    with pytest.raises(OSError, match="disk full"):
        await store.handle_grader("r", GRADED)
    await store.handle_grader("r", GRADED)
    assert (await store.wait_terminal("r")).source == "grader"


async def test_a_commit_survives_a_sender_that_hangs_up() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def commit(result: TerminalCallbackResult) -> None:
        begun.set()
        await go.wait()

    store = await expecting(commit)
    sender = asyncio.create_task(store.handle_grader("r", GRADED))
    await begun.wait()
    sender.cancel()
    late = asyncio.create_task(store.finalize_timeout("r"))
    go.set()
    assert (await store.wait_terminal("r")).source == (await late).source == "grader"


async def test_a_timeout_ends_a_rollout_and_later_callbacks_get_its_acknowledgment() -> None:
    store = await expecting()
    await store.handle_completion("r", OK)
    end = await store.finalize_timeout("r", acknowledgment={"late": 1})
    assert (end.source, end.completion, end.grader) == ("timeout", OK, None)
    assert await store.handle_grader("r", GRADED) == {"late": 1}


async def test_a_cancelled_rollout_is_not_committed() -> None:
    async def commit(result: TerminalCallbackResult) -> None:
        raise AssertionError("nothing is to be committed")

    store = await expecting(commit)
    assert (await store.acknowledge_without_commit("r")).source == "cancelled"
    assert (await store.wait_terminal("r")).source == "cancelled"


async def test_a_rollout_is_registered_once() -> None:
    store = await expecting()
    with pytest.raises(DuplicateRegistrationError, match="registered already"):
        await store.register("r")


async def test_an_unknown_rollout_is_refused() -> None:
    store = CallbackStore(on_terminal_commit=accept)
    for asked in (store.wait_terminal("r"), store.handle_completion("r", OK), store.handle_grader("r", GRADED)):
        with pytest.raises(UnknownRolloutIdError):
            await asked


async def test_who_waits_for_a_discarded_rollout_is_cancelled() -> None:
    store = await expecting()
    # gather begins them in their order, so the first waits already when the second discards.
    waited, _ = await asyncio.gather(store.wait_terminal("r"), store.discard("r"), return_exceptions=True)
    assert isinstance(waited, asyncio.CancelledError)


class Echo:
    """Says what it was asked, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.thinks_s = 0.0

    async def complete(self, body: Mapping[str, Any], *, rollout_id: str) -> dict[str, Any]:
        # From the question on: a server that is slow to start does not shorten it.
        await asyncio.sleep(self.thinks_s)
        if self.error:
            raise self.error
        return {"rollout": rollout_id, **body}

    async def stream(self, body: Mapping[str, Any], *, rollout_id: str) -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        if self.error:
            raise self.error
        yield b"data: [DONE]\n\n"


def listening(store: CallbackStore, bridge: Echo | None = None, **options: Any) -> CallbackListener:
    return CallbackListener(store, auth_token="ours", bridge=bridge, bridge_token="theirs", **options)


async def tell(url: str, body: object, key: str = "ours") -> CallbackReply:
    return await send(url, json.dumps(body).encode(), {"authorization": f"Bearer {key}"})


async def test_callbacks_over_http_end_a_rollout() -> None:
    store = await expecting()
    async with listening(store) as listener:
        done = await tell(listener.completion_url("r"), {"status": "success", "rollout_id": "r"})
        graded = await tell(listener.grader_url("r"), {"status": "success", "sample": {"reward": 0.5}})
        assert (done.status, done.json(), graded.status) == (200, {"ok": True}, 200)
        ended = await store.wait_terminal("r")
    assert ended.grader is not None
    assert ended.grader.sample is not None
    assert ended.grader.sample.reward == 0.5


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("completion", {"status": "running"}, 422),
        ("completion", {"status": "nonsense"}, 422),
        ("grader", {"status": "pending"}, 422),
        ("grader", {"status": "success", "rollout_id": "other"}, 422),
    ],
)
async def test_a_callback_that_is_no_end_is_refused(kind: str, body: dict[str, str], status: int) -> None:
    async with listening(await expecting()) as listener:
        url = listener.completion_url("r") if kind == "completion" else listener.grader_url("r")
        assert (await tell(url, body)).status == status


async def test_a_callback_of_an_unknown_rollout_is_refused() -> None:
    async with listening(await expecting()) as listener:
        assert (await tell(listener.completion_url("other"), {"status": "success"})).status == 404


async def test_each_address_wants_its_own_key() -> None:
    async with listening(await expecting(), Echo()) as listener:
        chat = f"{listener.chat_completions_url('r')}/chat/completions"
        assert (await tell(listener.grader_url("r"), {"status": "success"}, "theirs")).status == 401
        assert (await tell(chat, {}, "ours")).status == 401


async def chat(bridge: Echo, body: object, **options: Any) -> CallbackReply:
    async with listening(await expecting(), bridge, **options) as listener:
        return await tell(f"{listener.chat_completions_url('r')}/chat/completions", body, "theirs")


async def test_a_rollout_asks_the_model_by_the_bridge() -> None:
    assert (await chat(Echo(), {"seed": 1})).json() == {"rollout": "r", "seed": 1}
    assert (await chat(Echo(), {"stream": True})).body == b"data: 1\n\ndata: [DONE]\n\n"


@pytest.mark.parametrize("error", [BridgeError("rate limit"), RuntimeError("rate limit")])
async def test_a_model_that_fails_is_told_with_its_words(error: Exception) -> None:
    whole = await chat(Echo(error), {})
    assert (whole.status, "rate limit" in whole.json()["detail"]) == (502, True)
    assert b'"message": "rate limit"' in (await chat(Echo(BridgeError("rate limit")), {"stream": True})).body


@pytest.mark.parametrize(("error", "said"), [(None, b'"rollout": "r"'), (BridgeError("no credit"), b"no credit")])
async def test_a_slow_model_keeps_its_connection_alive(
    monkeypatch: pytest.MonkeyPatch, error: Exception | None, said: bytes
) -> None:
    monkeypatch.setattr(llm_bridge, "GRACE_S", 0.0)
    monkeypatch.setattr(llm_bridge, "ALIVE_S", 0.01)
    bridge = Echo(error)
    bridge.thinks_s = 0.1
    reply = await chat(bridge, {}, bridge_keepalive=True)
    assert reply.status == 200
    assert reply.body.startswith(b" ")
    assert said in reply.body
    assert isinstance(reply.json(), dict)


@pytest.mark.parametrize("body", [[1], "text"])
async def test_a_question_that_is_no_object_is_refused(body: object) -> None:
    assert (await chat(Echo(), body)).status == 400


async def test_the_address_of_the_model_may_be_that_of_a_tunnel() -> None:
    async with listening(await expecting(), advertised_base_url="https://tunnel.test/") as listener:
        assert listener.chat_completions_url("a b") == "https://tunnel.test/v1/rollouts/a%20b"
        assert listener.grader_url("r").startswith("http://127.0.0.1:")
        assert await listener.start() == listener.base_url


@pytest.mark.parametrize(
    ("options", "words"), [({"auth_token": " "}, "empty"), ({"auth_token": "k", "bridge": Echo()}, "bridge_token")]
)
async def test_a_listener_needs_its_keys(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CallbackListener(await expecting(), **options)


async def test_a_listener_leaves_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with listening(await expecting()) as listener:
        await tell(listener.completion_url("r"), {"status": "success"})
        assert signal.getsignal(signal.SIGTERM) is before


async def test_a_listener_has_no_address_before_it_listens() -> None:
    with pytest.raises(RuntimeError, match="not listening"):
        listening(await expecting()).completion_url("r")
