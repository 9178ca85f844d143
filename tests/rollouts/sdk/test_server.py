import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mesocosm.rollouts.sdk import delivery
from mesocosm.rollouts.sdk.backend import ExecutionBackend, ResultCallback
from mesocosm.rollouts.sdk.context import ARTIFACT_ROOT_ENV, RolloutContext, get_rollout_context
from mesocosm.rollouts.sdk.request import ExecutionOutcome, ExecutionRequest, ExecutionResult
from mesocosm.rollouts.sdk.sample import RolloutSample
from mesocosm.rollouts.sdk.server import Flight, create_rollout_server
from mesocosm.rollouts.sdk.status import RolloutErrorCategory, RolloutStatus
from mesocosm.testing.loopback import LoopbackConnection, LoopbackServer, ReceivedRequest, response

Execute = Callable[[ExecutionRequest, ResultCallback, ResultCallback | None], Awaitable[None]]
OK = RolloutStatus.SUCCESS
BAD = RolloutStatus.FAILURE


class Scripted(ExecutionBackend):
    """Does what it is told, and remembers what it was asked."""

    def __init__(self, act: Execute | None = None) -> None:
        self.act = act or graded
        self.asked: list[ExecutionRequest] = []
        self.contexts: list[RolloutContext | None] = []
        self.capacity = True
        self.known: dict[str, dict[str, Any]] = {}
        self.captures = False

    @property
    def capture_final_result(self) -> bool:
        return self.captures

    def has_capacity(self) -> bool:
        return self.capacity

    def rollout_status(self, rollout_id: str) -> dict[str, Any] | None:
        return self.known.get(rollout_id)

    async def execute(
        self,
        request: ExecutionRequest,
        on_workflow_complete: ResultCallback,
        on_grader_complete: ResultCallback | None = None,
    ) -> None:
        self.asked.append(request)
        self.contexts.append(get_rollout_context())
        await self.act(request, on_workflow_complete, on_grader_complete)


class Controller(LoopbackServer):
    """Takes callbacks; `replies` are given one after the other, then an empty object."""

    def __init__(self, *replies: bytes) -> None:
        super().__init__()
        self.replies = list(replies)
        self.told: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        self.keys: list[str | None] = []

    def receive(self, connection: LoopbackConnection, request: ReceivedRequest) -> None:
        reply = self.replies.pop(0) if self.replies else response(200, b"{}")
        self.keys.append(request.header("authorization"))
        self.told.put_nowait((request.path, request.body))
        connection.send(reply)

    async def next(self) -> tuple[str, dict[str, Any]]:
        async with asyncio.timeout(120):
            return await self.told.get()


def sample(**fields: Any) -> RolloutSample:
    return RolloutSample(**{"messages": [{"role": "user", "content": "x"}], "label": "l", "reward": 0.5, **fields})


async def graded(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
    await end(ExecutionResult(status=OK, sample=sample(reward=None)))
    if grade is not None:
        await grade(ExecutionResult(status=OK, sample=sample()))


def body(controller: Controller, **over: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "initial_messages": [{"role": "user", "content": "x"}],
        "rollout_id": "r1",
        "chat_completions_url": "http://model.test/v1",
        "controller_api_key": "k",
        "completion_callback_url": f"{controller.url}/done",
        "grader_callback_url": f"{controller.url}/grade",
        **over,
    }
    return {name: value for name, value in given.items() if value is not ...}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(ARTIFACT_ROOT_ENV, str(tmp_path))
    monkeypatch.setattr(delivery.deliver, "__kwdefaults__", {"waits": (0.0,) * 4, "seconds": 10.0})
    return tmp_path


@pytest.fixture
async def controller() -> AsyncIterator[Controller]:
    async with Controller() as server:
        yield server


@asynccontextmanager
async def serving(backend: ExecutionBackend, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """Serve within this loop; leaving it shuts the server down as uvicorn would."""
    app = create_rollout_server(backend=backend, configure_logging=False, **options)
    asked = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://rollout.test")
    async with app.router.lifespan_context(app), asked as client:
        yield client


async def test_a_rollout_is_taken_at_once_and_told_twice(controller: Controller) -> None:
    async with serving(Scripted()) as client:
        taken = await client.post("/rollout", json=body(controller, unknown="ignored"))
        assert (taken.status_code, taken.json()) == (202, {})
        assert await controller.next() == (
            "/done",
            {"status": "success", "rollout_id": "r1", "extra_fields": None, "err_message": None, "err_category": None},
        )
        assert await controller.next() == (
            "/grade",
            {
                "status": "success",
                "rollout_id": "r1",
                "sample": {
                    "messages": [{"role": "user", "content": "x"}],
                    "label": "l",
                    "reward": 0.5,
                    "remove_sample": False,
                    "metrics": {},
                    "extra_fields": {},
                },
                "err_message": None,
                "err_category": None,
            },
        )
    assert controller.keys == ["Bearer k", "Bearer k"]


async def test_the_backend_is_given_the_row_and_what_we_tell_beyond_the_protocol(controller: Controller) -> None:
    backend = Scripted()
    ours = {"mesocosm": {"row": 3}}
    given = body(controller, label="4", metadata={"m": 1}, agent_timeout_sec=2, grader_timeout_sec=1, extra_fields=ours)
    async with serving(backend) as client:
        await client.post("/rollout", json=given)
        await controller.next()
    assert backend.asked == [
        ExecutionRequest(
            id="r1",
            prompt=[{"role": "user", "content": "x"}],
            label="4",
            metadata={"m": 1},
            agent_timeout_sec=2,
            grader_timeout_sec=1,
            extra_fields=ours,
        )
    ]


@pytest.mark.parametrize(("given", "key"), [({}, "k"), ({"llm_api_key": "model key"}, "model key")])
async def test_the_rollout_context_names_the_model(controller: Controller, given: dict[str, str], key: str) -> None:
    backend = Scripted()
    async with serving(backend) as client:
        await client.post("/rollout", json=body(controller, **given))
        await controller.next()
    (context,) = backend.contexts
    assert context == RolloutContext("http://model.test/v1", key, "r1")


async def test_without_an_address_for_grades_nothing_is_graded(controller: Controller) -> None:
    seen: list[bool] = []

    async def act(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
        seen.append(grade is not None)
        await graded(request, end, grade)

    async with serving(Scripted(act)) as client:
        await client.post("/rollout", json=body(controller, grader_callback_url=...))
        await controller.next()
    assert seen == [False]
    assert controller.told.empty()


async def test_a_backend_that_captures_results_grades_though_nobody_is_told(controller: Controller) -> None:
    backend = Scripted()
    backend.captures = True
    async with serving(backend) as client:
        await client.post("/rollout", json=body(controller, grader_callback_url=...))
        await controller.next()
    assert controller.told.empty()


async def test_a_rollout_without_an_id_gets_one(controller: Controller) -> None:
    async with serving(Scripted()) as client:
        await client.post("/rollout", json=body(controller, rollout_id=...))
        _, told = await controller.next()
    assert len(told["rollout_id"]) == 32


@pytest.mark.parametrize(
    "over",
    [
        {"initial_messages": ...},
        {"rollout_id": ""},
        {"rollout_id": "a/b"},
        {"llm_api_key": ""},
        {"agent_timeout_sec": "soon"},
    ],
)
async def test_a_request_that_is_none_is_refused(controller: Controller, over: dict[str, Any]) -> None:
    backend = Scripted()
    async with serving(backend) as client:
        refused = await client.post("/rollout", json=body(controller, **over))
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"][1] == next(iter(over))
    assert backend.asked == []


async def test_a_full_backend_sends_the_controller_away_for_five_seconds(controller: Controller) -> None:
    backend = Scripted()
    backend.capacity = False
    async with serving(backend) as client:
        refused = await client.post("/rollout", json=body(controller))
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")


async def test_the_same_id_posted_twice_runs_once(controller: Controller) -> None:
    backend = Scripted()
    go = asyncio.Event()

    async def act(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
        await go.wait()
        await graded(request, end, grade)

    backend.act = act
    async with serving(backend) as client:
        await client.post("/rollout", json=body(controller))
        backend.capacity = False
        again = await client.post("/rollout", json=body(controller))
        go.set()
        await controller.next()
        await controller.next()
    assert again.status_code == 202
    assert len(backend.asked) == 1
    assert controller.told.empty()


async def test_a_backend_that_breaks_is_told_as_a_failure(controller: Controller) -> None:
    async def act(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
        raise RuntimeError("private words")

    async with serving(Scripted(act)) as client:
        await client.post("/rollout", json=body(controller))
        _, ended = await controller.next()
        _, judged = await controller.next()
    assert (ended["status"], ended["err_message"]) == ("failure", "Internal server error")
    assert (judged["status"], judged["sample"]) == ("failure", None)


async def test_a_backend_that_breaks_after_the_end_only_fails_the_grade(controller: Controller) -> None:
    async def act(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
        await end(ExecutionResult(status=OK, sample=sample()))
        raise RuntimeError

    async with serving(Scripted(act)) as client:
        await client.post("/rollout", json=body(controller))
        told = [await controller.next(), await controller.next()]
    assert [(path, said["status"]) for path, said in told] == [("/done", "success"), ("/grade", "failure")]
    assert controller.told.empty()


async def test_a_rollout_never_ends_twice(controller: Controller) -> None:
    async def act(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
        await end(ExecutionResult(status=OK))
        await end(ExecutionResult(status=BAD, err_message="second"))
        assert grade is not None
        await grade(ExecutionResult(status=OK, sample=sample()))
        await grade(ExecutionResult(status=BAD))

    async with serving(Scripted(act)) as client:
        await client.post("/rollout", json=body(controller))
        told = [await controller.next(), await controller.next()]
    assert [said["status"] for _, said in told] == ["success", "success"]
    assert controller.told.empty()


async def test_a_backend_without_any_result_is_a_failure(controller: Controller) -> None:
    async def act(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
        return

    async with serving(Scripted(act)) as client:
        await client.post("/rollout", json=body(controller))
        _, ended = await controller.next()
    assert (ended["status"], ended["err_message"]) == ("failure", "The backend ended without a result")


async def test_words_and_category_of_a_failure_reach_the_controller_with_what_the_workflow_had(
    controller: Controller,
) -> None:
    failed = ExecutionResult(
        status=BAD,
        sample=sample(reward=None),
        err_message="too slow",
        err_category=RolloutErrorCategory.TIMEOUT,
        extra_fields={"cause": "workflow_timeout", "workflow_s": 1.5},
    )

    async def act(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
        await end(failed)
        assert grade is not None
        await grade(failed)

    async with serving(Scripted(act)) as client:
        await client.post("/rollout", json=body(controller))
        _, ended = await controller.next()
        _, judged = await controller.next()
    assert (ended["err_message"], ended["err_category"]) == ("too slow", "timeout")
    assert ended["extra_fields"] == judged["extra_fields"] == {"mesocosm": failed.extra_fields}
    assert judged["sample"]["messages"] == [{"role": "user", "content": "x"}]


async def test_the_trajectory_keeps_what_the_controller_said_about_calls(controller: Controller, root: Path) -> None:
    calls = {"llm_call_metrics": [{"prompt_tokens": 5, "completion_tokens": 2}]}
    reply = json.dumps({"trajectory": {"model_name": "m", "samples": {"r1": calls}}}).encode()
    controller.replies = [response(200, b"{}"), response(200, reply)]
    said = sample(messages=[{"role": "assistant", "content": "x"}])

    async def act(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
        await end(ExecutionResult(status=OK, sample=said))
        assert grade is not None
        await grade(ExecutionResult(status=OK, sample=said))

    async with serving(Scripted(act)) as client:
        await client.post("/rollout", json=body(controller, metadata={"m": 1}))
        await controller.next()
        await controller.next()
    kept = json.loads((root / "r1" / "trajectory.json").read_text())
    assert kept["steps"][0]["metrics"] == {"prompt_tokens": 5, "completion_tokens": 2}
    assert kept["extra"]["osmosis"]["request_metadata"] == {"m": 1}


async def test_health_is_the_backends_with_the_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(Scripted()) as client:
        said = (await client.get("/health")).json()
        assert said.pop("process_id") == (await client.get("/health")).json()["process_id"]
        assert said == {"status": "ok", "lifecycle": {"accepting_rollouts": True, "active_rollouts": 0}}
        monkeypatch.setenv("_OSMOSIS_ROLLOUT_INSTANCE_ID", "i-1")
        assert (await client.get("/health")).json()["instance_id"] == "i-1"


async def test_the_status_is_what_the_backend_says() -> None:
    backend = Scripted()
    backend.known["r1"] = {"status": "failure", "err_message": "because"}
    async with serving(backend) as client:
        said = (await client.get("/rollout/r1/status")).json()
    assert said == {"rollout_id": "r1", "status": "failure", "reward": None, "err_message": "because"}


async def test_the_status_of_a_rollout_that_nobody_knows_is_unknown() -> None:
    async with serving(Scripted()) as client:
        assert (await client.get("/rollout/r9/status")).json()["status"] == "unknown"


async def never(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("given", "cancelled"),
    [
        ({"ids": ["a1", "b1"]}, {"a1": "cancelled_running", "b1": "cancelled_running"}),
        ({"ids": ["zz"]}, {"zz": "not_found"}),
        ({"prefix": "a"}, {"a1": "cancelled_running", "a2": "cancelled_running"}),
        ({"all": True}, dict.fromkeys(("a1", "a2", "b1"), "cancelled_running")),
    ],
)
async def test_rollouts_are_cancelled_by_id_by_prefix_or_all(
    controller: Controller, given: dict[str, Any], cancelled: dict[str, str]
) -> None:
    async with serving(Scripted(never)) as client:
        for name in ("a1", "a2", "b1"):
            await client.post("/rollout", json=body(controller, rollout_id=name))
            assert (await client.get(f"/rollout/{name}/status")).json()["status"] == "running"
        said = await client.post("/rollout/cancel", json=given)
        assert said.json() == {"dispositions": cancelled}
        ended: set[str] = set()
        while len(ended) < len(cancelled) - ("zz" in cancelled):
            path, told = await controller.next()
            if path == "/done":
                ended.add(told["rollout_id"])
                assert told["err_message"] == "The rollout was cancelled"
        await client.post("/rollout/cancel", json={"all": True})


@pytest.mark.parametrize("given", [{}, {"all": False}, {"ids": ["a"], "all": True}, {"ids": ["a"], "prefix": "a"}])
async def test_cancelling_needs_exactly_one_selector(given: dict[str, Any]) -> None:
    async with serving(Scripted()) as client:
        assert (await client.post("/rollout/cancel", json=given)).status_code == 422


async def test_with_a_key_everything_but_health_asks_for_it(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESOCOSM_ROLLOUT_KEY", "secret")
    backend = Scripted()
    async with serving(backend) as client:
        assert (await client.get("/health")).status_code == 200
        assert (await client.post("/rollout", json=body(controller))).status_code == 401
        wrong = await client.get("/rollout/r1/status", headers={"authorization": "Bearer other"})
        assert wrong.status_code == 401
        right = {"authorization": "Bearer secret"}
        assert (await client.post("/rollout", json=body(controller), headers=right)).status_code == 202
        await controller.next()
    assert len(backend.asked) == 1


async def test_stopping_waits_for_what_is_in_flight(controller: Controller) -> None:
    async def act(request: ExecutionRequest, end: ResultCallback, grade: ResultCallback | None) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        await graded(request, end, grade)

    async with serving(Scripted(act)) as client:
        await client.post("/rollout", json=body(controller))
    told = [controller.told.get_nowait(), controller.told.get_nowait()]
    assert [said["status"] for _, said in told] == ["success", "success"]


async def test_stopping_cancels_what_does_not_end_and_says_so(controller: Controller) -> None:
    from mesocosm.rollouts.sdk.request import RolloutInitRequest

    flight = Flight(Scripted(never))
    flight.start(RolloutInitRequest.model_validate(body(controller)))
    await flight.close(seconds=0.01)
    _, ended = controller.told.get_nowait()
    assert (ended["status"], ended["err_message"]) == ("cancelled", "The rollout was cancelled")


async def test_a_lifespan_of_the_callers_surrounds_the_rollouts() -> None:
    order: list[str] = []

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        order.append("in")
        yield
        order.append("out")

    async with serving(Scripted(), lifespan=lifespan):
        order.append("serving")
    assert order == ["in", "serving", "out"]


def test_a_server_without_fastapi_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(ModuleNotFoundError, match="pip install"):
        create_rollout_server(backend=Scripted())


class Returning(Scripted):
    """Returns the outcome instead of calling back."""

    async def execute(self, request: ExecutionRequest) -> Any:  # type: ignore[override]
        self.asked.append(request)
        grade = ExecutionResult(status=OK, sample=sample()) if request.grade else None
        return ExecutionOutcome(workflow=ExecutionResult(status=OK, sample=sample(reward=None)), grader=grade)


async def test_a_backend_that_returns_its_outcome_is_told_by_callbacks_too(controller: Controller) -> None:
    backend = Returning()
    async with serving(backend) as client:
        await client.post("/rollout", json=body(controller))
        assert (await controller.next())[1]["status"] == "success"
        assert (await controller.next())[1]["sample"]["reward"] == 0.5
        await client.post("/rollout", json=body(controller, rollout_id="r2", grader_callback_url=...))
        assert (await controller.next())[1]["rollout_id"] == "r2"
    assert [asked.grade for asked in backend.asked] == [True, False]
