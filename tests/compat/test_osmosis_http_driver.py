import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from mesocosm.compat.osmosis.osmosis_ai.rollout.controller import (
    CallbackListener,
    CallbackStore,
    TerminalCallbackResult,
)
from mesocosm.compat.osmosis.osmosis_ai.rollout.driver import RolloutRunRequest
from mesocosm.compat.osmosis.osmosis_ai.rollout.http_driver import (
    HttpRolloutDriver,
    RolloutAdmissionTimeoutError,
    RolloutProtocolError,
)
from mesocosm.rollouts.sdk.delivery import send
from mesocosm.rollouts.sdk.status import RolloutStatus
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

ROW = RolloutRunRequest([{"role": "user", "content": "x"}], label="4", rollout_id="r1", extra_fields={"row": 1})


class Server(LoopbackServer):
    """A rollout server: refuses with the given replies first, then takes a rollout and calls back unless it is mute."""

    def __init__(self, *refusals: bytes, mute: bool = False) -> None:
        super().__init__()
        self.refusals = list(refusals)
        self.mute = mute
        self.asked: list[ReceivedRequest] = []
        self.met = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        self.asked.append(request)
        self.met.set()
        if request.path == "/rollout/cancel":
            connection.send(response(200, b"{}"))
        elif self.refusals:
            connection.send(self.refusals.pop(0))
        else:
            connection.send(response(202, b"{}"))
            if not self.mute:
                task = asyncio.create_task(self.call_back(request.body))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)

    async def call_back(self, given: dict[str, Any]) -> None:
        key = {"authorization": f"Bearer {given['controller_api_key']}"}
        await send(given["completion_callback_url"], b'{"status":"success"}', key)
        graded = b'{"status":"success","sample":{"reward":0.5,"messages":[{"role":"user","content":"x"}]}}'
        await send(given["grader_callback_url"], graded, key)


async def accept(result: TerminalCallbackResult) -> None:
    """Commit an end by doing nothing."""


@asynccontextmanager
async def driving(server: Server, **options: Any) -> AsyncIterator[HttpRolloutDriver]:
    store = CallbackStore(on_terminal_commit=accept)
    async with CallbackListener(store, auth_token="ours") as listener:
        driver = HttpRolloutDriver(
            rollout_base_url=server.url,
            callback_store=store,
            completion_url_for=listener.completion_url,
            grader_url_for=listener.grader_url,
            chat_completions_url_for=lambda rollout_id: f"http://m/{rollout_id}",
            chat_api_key="mk",
            controller_api_key="ours",
            **options,
        )
        yield driver
        await driver.aclose()


async def test_a_rollout_is_driven_to_its_reward() -> None:
    async with Server() as server, driving(server) as driver:
        outcome = await driver.run(ROW)
    assert (outcome.status, outcome.rollout_id, outcome.error) == (RolloutStatus.SUCCESS, "r1", None)
    assert outcome.sample is not None
    assert outcome.sample.reward == 0.5
    asked = server.asked[0].body
    assert (asked["initial_messages"], asked["label"], asked["extra_fields"]) == (ROW.messages, "4", {"row": 1})
    assert (asked["chat_completions_url"], asked["llm_api_key"]) == ("http://m/r1", "mk")


async def test_a_client_of_the_callers_is_used() -> None:
    async with Server() as server, httpx.AsyncClient(headers={"x-ours": "1"}) as client:
        async with driving(server, http_client=client) as driver:
            assert (await driver.run(ROW)).status is RolloutStatus.SUCCESS
        assert not client.is_closed
    assert server.asked[0].header("x-ours") == "1"


async def test_a_full_server_is_asked_again() -> None:
    full = response(429, b"", "retry-after: 0\r\n")
    async with Server(full, full) as server, driving(server) as driver:
        assert (await driver.run(ROW)).status is RolloutStatus.SUCCESS
    assert len(server.asked) == 3


async def test_a_server_that_stays_full_is_given_up() -> None:
    full = response(429, b"", "retry-after: 9\r\n")
    async with Server(full) as server, driving(server, admission_timeout_sec=1) as driver:
        with pytest.raises(RolloutAdmissionTimeoutError, match="too full"):
            await driver.run(ROW)


async def test_a_server_that_refuses_is_a_protocol_error() -> None:
    async with Server(response(500, b"why")) as server, driving(server) as driver:
        with pytest.raises(RolloutProtocolError, match="why") as caught:
            await driver.run(ROW)
    assert caught.value.status_code == 500


async def test_no_server_is_a_protocol_error() -> None:
    async with Server() as gone:
        pass
    async with driving(gone) as driver:
        with pytest.raises(RolloutProtocolError) as caught:
            await driver.run(ROW)
    assert caught.value.status_code is None


async def test_a_rollout_that_never_calls_back_is_given_up_and_cancelled() -> None:
    async with Server(mute=True) as server, driving(server, callback_timeout_sec=0.05) as driver:
        outcome = await driver.run(ROW)
    assert (outcome.status, outcome.error) == (RolloutStatus.FAILURE, "callback_timeout")
    assert (server.asked[-1].path, server.asked[-1].body) == ("/rollout/cancel", {"ids": ["r1"]})


@pytest.mark.parametrize("options", [{}, {"fresh_cancel_client": True}, {"cancel_transport": ...}])
async def test_cancelling_the_driver_cancels_the_rollout(options: dict[str, Any]) -> None:
    if options.get("cancel_transport"):
        options = {"cancel_transport": httpx.AsyncHTTPTransport()}
    async with Server(mute=True) as server, driving(server, **options) as driver:
        running = asyncio.create_task(driver.run(ROW))
        async with asyncio.timeout(120):
            await server.met.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert server.asked[-1].path == "/rollout/cancel"


async def test_a_rollout_needs_an_id_and_its_callbacks_a_key() -> None:
    async with Server() as server, driving(server) as driver:
        with pytest.raises(ValueError, match="rollout_id"):
            await driver.run(RolloutRunRequest([]))
    with pytest.raises(ValueError, match="controller_api_key"):
        HttpRolloutDriver(
            rollout_base_url=server.url,
            callback_store=CallbackStore(on_terminal_commit=accept),
            completion_url_for=str,
            grader_url_for=str,
            chat_completions_url_for=str,
            chat_api_key=None,
            controller_api_key=" ",
        )
