import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from mesocosm.compat.osmosis.osmosis_ai.rollout.client import (
    RolloutAdmissionTimeoutError,
    RolloutClient,
    RolloutProtocolError,
)
from mesocosm.compat.osmosis.osmosis_ai.rollout.controller.listener import LocalhostUvicornServer
from mesocosm.rollouts.sdk.backend import LocalBackend
from mesocosm.rollouts.sdk.context import AgentWorkflowContext, GraderContext
from mesocosm.rollouts.sdk.sample import MessageDict
from mesocosm.rollouts.sdk.server import create_rollout_server
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.rollouts.sdk.workflow import AgentWorkflow, Grader
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

PROMPT = [{"role": "user", "content": "x"}]


class Says(AgentWorkflow[Any]):
    gate = asyncio.Event()

    async def run(self, ctx: AgentWorkflowContext[Any]) -> list[MessageDict]:
        if ctx.metadata is not None:
            await self.gate.wait()
        return [*ctx.prompt, {"role": "assistant", "content": None}]


class Likes(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        ctx.set_reward(0.5)


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[LocalhostUvicornServer]:
    app = create_rollout_server(backend=LocalBackend(workflow=Says, grader=Likes), configure_logging=False, **options)
    async with app.router.lifespan_context(app), LocalhostUvicornServer(app) as server:
        yield server


async def test_a_rollout_is_run_to_its_reward() -> None:
    async with serving(api_key="k") as server:
        client = RolloutClient(url=server.base_url, api_key="k")
        result = await client.run_rollout(PROMPT, "http://m/v1", "r1", label="4")
        await client.aclose()
        assert (await client.wait_idle())["lifecycle"]["active_rollouts"] == 0
    assert result.sample is not None
    assert (result.status, result.sample.reward) == (RolloutStatus.SUCCESS, 0.5)
    # What a message does not say and what it says is null are not the same to every model.
    assert result.sample.messages[-1] == {"role": "assistant", "content": None}


async def test_a_client_of_the_callers_is_used() -> None:
    app = create_rollout_server(backend=LocalBackend(workflow=Says, grader=Likes), configure_logging=False)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
        client = RolloutClient(url="http://rollout.test/", http_client=http)
        assert (await client.run_rollout(PROMPT, "http://m/v1", "r1", grade=False)).status is RolloutStatus.SUCCESS
        await client.aclose()
        assert not http.is_closed


async def test_a_rollout_is_followed_and_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Says, "gate", asyncio.Event())
    async with serving(result_wait_timeout_sec=0.2) as server:
        client = RolloutClient(url=server.base_url)
        first = await client.run_rollout_async(PROMPT, "http://m/v1", "r1", metadata={})
        assert await first.wait_for_running() is RolloutStatus.RUNNING
        with pytest.raises(TimeoutError):
            await client.wait_idle(timeout_sec=0.05, poll_interval_sec=0.01)
        with pytest.raises(RolloutProtocolError, match="409"):
            await client.run_rollout_async(PROMPT, "http://m/v1", "r1")
        assert (await client.cancel_rollout("r1")).dispositions == {"r1": "cancelled_running"}
        assert (await first.wait_for_completion()).status is RolloutStatus.CANCELLED
        assert (await first.wait_for_grading(), first.done(), first.polling_finished) == ("cancelled", True, True)
        second = await client.run_rollout_async(PROMPT, "http://m/v1", "r2", metadata={})
        Says.gate.set()
        assert (await second).sample is not None
        with pytest.raises(RolloutProtocolError, match="restarted"):
            await client.wait_idle(process_id="another")


class Server(LoopbackServer):
    """Gives one reply after the other."""

    def __init__(self, *replies: bytes) -> None:
        super().__init__()
        self.replies = list(replies)
        self.asked: list[ReceivedRequest] = []

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        self.asked.append(request)
        connection.send(self.replies.pop(0))


TAKEN = (
    b'{"rollout_id":"r","status":"queued","polling_lease_token":"t","result_wait_timeout_sec":1,'
    b'"polling_lease_timeout_sec":9}'
)
DONE = b'{"rollout_id":"r","status":"success"}'


async def run(*replies: bytes, **options: Any) -> Server:
    async with Server(*replies) as server:
        await RolloutClient(url=server.url, **options).run_rollout(PROMPT, "http://m/v1", "r")
    return server


async def test_a_full_server_and_a_gateway_that_fails_are_asked_again() -> None:
    full = response(429, b"", "retry-after: 0\r\n")
    server = await run(full, response(202, TAKEN), response(502, b""), response(504, b""), response(200, DONE))
    assert [asked.path for asked in server.asked] == ["/rollout"] * 2 + ["/rollout/r/result"] * 3
    assert server.asked[-1].header("x-osmosis-rollout-lease") == "t"


@pytest.mark.parametrize(
    ("replies", "words"),
    [
        ([response(500, b"why")], "POST /rollout answered 500: why"),
        ([response(202, b"{}")], "answered about rollout None"),
        ([response(202, b'{"rollout_id":"r"}')], "only calls back"),
        ([response(202, b"html")], "no JSON"),
        ([response(202, TAKEN), response(404, b"gone")], "answered 404: gone"),
        ([response(202, TAKEN), response(200, b'{"rollout_id":"other","status":"success"}')], "rollout 'other'"),
        ([response(202, TAKEN), response(200, b'{"rollout_id":"r","status":"odd"}')], "something else"),
    ],
)
async def test_an_answer_that_the_protocol_does_not_have_is_told(replies: list[bytes], words: str) -> None:
    with pytest.raises(RolloutProtocolError, match=words):
        await run(*replies)


async def test_a_server_that_stays_full_is_given_up() -> None:
    with pytest.raises(RolloutAdmissionTimeoutError, match=r"within 0\.05 s"):
        await run(response(429, b"", "retry-after: 60\r\n"), admission_timeout_sec=0.05)


async def test_no_server_is_a_protocol_error() -> None:
    async with Server() as gone:
        pass
    with pytest.raises(RolloutProtocolError) as caught:
        await RolloutClient(url=gone.url).run_rollout(PROMPT, "http://m/v1", "r")
    assert caught.value.status_code is None


@pytest.mark.parametrize("options", [{"api_key": " "}, {"admission_timeout_sec": float("inf")}])
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"empty|finite"):
        RolloutClient(url="http://rollout.test", **options)
