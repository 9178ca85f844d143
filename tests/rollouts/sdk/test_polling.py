"""The server of a rollout for controllers that poll for results."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mesocosm.rollouts.sdk.backend import ExecutionBackend
from mesocosm.rollouts.sdk.context import ARTIFACT_ROOT_ENV, get_rollout_context
from mesocosm.rollouts.sdk.request import POLLING_LEASE_HEADER, ExecutionOutcome, ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.server import create_rollout_server
from mesocosm.rollouts.sdk.status import RolloutErrorCategory, RolloutStatus

OK = ExecutionResult(status=RolloutStatus.SUCCESS, sample=RolloutSample(messages=[{"role": "user", "content": "x"}]))
GRADED = ExecutionResult(status=RolloutStatus.SUCCESS, sample=RolloutSample(reward=0.5, metrics={"n": float("nan")}))
FAILED = ExecutionResult(
    status=RolloutStatus.FAILURE, err_message="boom", err_category=RolloutErrorCategory.AGENT_ERROR
)

Act = Callable[[ExecutionRequest], Awaitable[ExecutionOutcome | None]]


class Returning(ExecutionBackend):
    """Returns its outcome, as backends since 0.3.3 do."""

    def __init__(self, act: Act) -> None:
        self.act = act
        self.asked: list[ExecutionRequest] = []
        self.capacity = True
        self.shut = False

    def has_capacity(self) -> bool:
        return self.capacity

    async def shutdown(self) -> None:
        self.shut = True

    async def execute(self, request: ExecutionRequest) -> ExecutionOutcome | None:
        self.asked.append(request)
        return await self.act(request)


def giving(workflow: ExecutionResult, grader: ExecutionResult | None = None) -> Returning:
    async def act(_: ExecutionRequest) -> ExecutionOutcome:
        return ExecutionOutcome(workflow=workflow, grader=grader)

    return Returning(act)


class Poller:
    """A controller that polls."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.headers: dict[str, str] = {}

    async def start(self, **over: Any) -> httpx.Response:
        body = {"initial_messages": [], "chat_completions_url": "http://model.test", "rollout_id": "r", **over}
        taken = await self.client.post("/rollout", json=body)
        if taken.status_code == 202:
            self.headers = {POLLING_LEASE_HEADER: taken.json()["polling_lease_token"]}
        return taken

    async def poll(self) -> dict[str, Any]:
        said: dict[str, Any] = (await self.client.get("/rollout/r/result", headers=self.headers)).json()
        return said

    async def end(self) -> dict[str, Any]:
        async with asyncio.timeout(120):
            while True:
                said = await self.poll()
                if said["status"] not in {"queued", "running", "grading"}:
                    return said


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ARTIFACT_ROOT_ENV, str(tmp_path))


@asynccontextmanager
async def polling(backend: ExecutionBackend, **options: Any) -> AsyncIterator[Poller]:
    app = create_rollout_server(backend=backend, configure_logging=False, **options)
    asked = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://rollout.test")
    async with app.router.lifespan_context(app), asked as client:
        yield Poller(client)


async def test_a_polled_rollout_brings_its_sample() -> None:
    backend = giving(OK, GRADED)
    async with polling(backend) as poller:
        taken = (await poller.start(label="4")).json()
        assert taken.pop("polling_lease_token")
        assert taken == {
            "rollout_id": "r",
            "status": "queued",
            "result_wait_timeout_sec": 30.0,
            "polling_lease_timeout_sec": 120.0,
        }
        said = await poller.end()
        sample = said.pop("sample")
        assert said == {"rollout_id": "r", "status": "success", "err_message": None, "err_category": None}
        assert (sample["reward"], sample["metrics"], "trajectory_messages" in sample) == (0.5, {}, False)
        assert (backend.asked[0].grade, await poller.poll()) == (True, {**said, "sample": sample})
    assert backend.shut


async def test_without_grading_the_workflow_is_the_result() -> None:
    backend = giving(OK)
    async with polling(backend) as poller:
        await poller.start(grade=False)
        said = await poller.end()
    assert (said["status"], said["sample"]["reward"], backend.asked[0].grade) == ("success", None, False)


async def test_a_failed_workflow_keeps_its_own_words() -> None:
    async with polling(giving(FAILED, ExecutionResult(status=RolloutStatus.FAILURE))) as poller:
        await poller.start()
        said = await poller.end()
    assert (said["status"], said["err_message"], said["err_category"]) == ("failure", "boom", "agent_error")


@pytest.mark.parametrize("early", [False, True])
async def test_a_poll_answers_with_the_next_status(early: bool) -> None:
    steps: list[asyncio.Event] = [asyncio.Event(), asyncio.Event()]

    async def act(_: ExecutionRequest) -> ExecutionOutcome:
        context = get_rollout_context()
        assert context is not None
        await steps[0].wait()
        await context.set_status(RolloutStatus.GRADING)
        # A status that is an end is not the result: that comes with the outcome.
        await context.set_status(RolloutStatus.SUCCESS)
        await steps[1].wait()
        return ExecutionOutcome(workflow=OK, grader=GRADED)

    async with polling(Returning(act), result_wait_timeout_sec=0.05, polling_lease_timeout_sec=60) as poller:
        await poller.start()
        assert (await poller.poll())["status"] == "queued"
        steps[0].set()
        if early:
            await asyncio.sleep(0)
        assert (await poller.poll())["status"] == "grading"
        assert (await poller.poll())["status"] == "grading"
        steps[1].set()
        assert (await poller.end())["status"] == "success"


@pytest.mark.parametrize("wrong", ["raises", "returns nothing", "gives no grade"])
async def test_a_backend_that_breaks_is_an_internal_error(wrong: str) -> None:
    async def act(_: ExecutionRequest) -> ExecutionOutcome | None:
        if wrong == "raises":
            raise RuntimeError("broken")
        return None

    async with polling(Returning(act)) as poller:
        await poller.start()
        said = await poller.end()
    assert (said["status"], said["err_category"]) == ("failure", "internal_error")


async def forever(_: ExecutionRequest) -> ExecutionOutcome:
    await asyncio.Event().wait()
    raise AssertionError("nothing sets that event")


async def test_a_rollout_that_nobody_polls_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def act(request: ExecutionRequest) -> ExecutionOutcome:
        try:
            return await forever(request)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with polling(Returning(act), result_wait_timeout_sec=0.05, polling_lease_timeout_sec=0.2) as poller:
        await poller.start()
        async with asyncio.timeout(120):
            await cancelled.wait()
        said = await poller.end()
    assert (said["status"], said["err_category"]) == ("failure", "lease_expired")


async def test_polling_keeps_a_rollout_alive() -> None:
    async with polling(Returning(forever), result_wait_timeout_sec=0.05, polling_lease_timeout_sec=0.2) as poller:
        await poller.start()
        for _ in range(10):
            assert (await poller.poll())["status"] == "queued"
        cancelled = await poller.client.post("/rollout/cancel", json={"ids": ["r"]})
        assert cancelled.json() == {"dispositions": {"r": "cancelled_running"}}
        assert (await poller.end())["status"] == "cancelled"


async def test_a_result_is_forgotten_after_a_while() -> None:
    async with polling(giving(OK, GRADED), result_retention_sec=0.05) as poller:
        await poller.start()
        async with asyncio.timeout(120):
            while "status" in await poller.poll():  # noqa: ASYNC110 - nothing says when it is forgotten
                await asyncio.sleep(0)
        assert "there is no rollout 'r'" in (await poller.poll())["detail"]
        assert (await poller.start()).status_code == 202


async def test_polls_without_the_lease_are_refused() -> None:
    async with polling(giving(OK, GRADED)) as poller:
        await poller.start()
        for headers, status in ({}, 422), ({POLLING_LEASE_HEADER: "wrong"}, 403):
            assert (await poller.client.get("/rollout/r/result", headers=headers)).status_code == status
        other = await poller.client.get("/rollout/other/result", headers=poller.headers)
        assert other.status_code == 404


async def test_a_rollout_to_poll_needs_an_id() -> None:
    async with polling(giving(OK)) as poller:
        assert (await poller.start(rollout_id=None)).status_code == 422


async def test_an_id_that_is_in_use_and_a_full_server_are_told() -> None:
    backend = Returning(forever)
    async with polling(backend) as poller:
        await poller.start()
        assert (await poller.start()).status_code == 409
        assert (await poller.start(completion_callback_url="http://c.test")).status_code == 409
        health = (await poller.client.get("/health")).json()
        assert health["lifecycle"] == {"accepting_rollouts": True, "active_rollouts": 1}
        backend.capacity = False
        full = await poller.start(rollout_id="other")
        assert (full.status_code, full.headers["retry-after"]) == (429, "5")
        await poller.client.post("/rollout/cancel", json={"all": True})


async def test_a_server_with_a_key_wants_it_everywhere() -> None:
    async with polling(giving(OK, GRADED), api_key="k") as poller:
        assert (await poller.client.get("/health")).status_code == 401
        poller.client.headers["authorization"] = "Bearer k"
        assert (await poller.start()).status_code == 202


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": " "},
        {"result_wait_timeout_sec": 0},
        {"polling_lease_timeout_sec": 30},
        {"result_retention_sec": float("inf")},
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"empty|positive and finite|longer"):
        create_rollout_server(backend=giving(OK), configure_logging=False, **options)
