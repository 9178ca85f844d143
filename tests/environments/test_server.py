"""The environment server, driven over real sockets."""

import asyncio
import json
import logging
import math
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

import httpx
import pytest
import uvicorn

from mesocosm.environments.app import create_app
from mesocosm.environments.sdk import BaseEnv, StepResult


def result(observation: Any, reward: Any = 0.0, **fields: Any) -> StepResult:
    return StepResult(observation, reward, **{"terminated": False, "truncated": False, **fields})


class Counter(BaseEnv):
    """Counts its steps; remembers in which order instances were closed."""

    closed: ClassVar[list[int | None]] = []

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        self.seed, self.count = seed, 0
        return {"seed": seed, "params": params}

    def parse_action(self, action: Any) -> Any:
        return action.strip() if isinstance(action, str) else action

    def step(self, action: Any) -> StepResult:
        self.count += 1
        return result({"action": action, "count": self.count}, 1, info={"seed": self.seed})

    def close(self) -> None:
        self.closed.append(self.seed)

    def render(self, mode: str = "text") -> Any:
        return f"{self.count} steps" if mode == "text" else {"steps": self.count}


class Returns(BaseEnv):
    """Returns what `returned` says, whether or not that is allowed; an exception is raised."""

    returned: ClassVar[Any] = None

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        return self._answer() if params.get("at_reset") else None

    def step(self, action: Any) -> StepResult:
        answer: StepResult = self._answer()
        return answer

    def _answer(self) -> Any:
        if isinstance(self.returned, BaseException):
            raise self.returned
        return self.returned


@contextmanager
def serving(env_class: type[BaseEnv], **options: Any) -> Iterator[httpx.Client]:
    """Run the real server on a free port; its socket listens before it starts, so no caller comes too early."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(env_class, **options), log_level="warning"))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=60) as client:
            client.get("/health").raise_for_status()
            yield client
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def counter_server() -> Iterator[httpx.Client]:
    with serving(Counter) as client:
        yield client


@pytest.fixture
def counter(counter_server: httpx.Client) -> httpx.Client:
    for episode in ("a", "b", "e"):
        post(counter_server, "/close", episode)
    Counter.closed.clear()
    return counter_server


@pytest.fixture(scope="module")
def returns() -> Iterator[httpx.Client]:
    with serving(Returns) as client:
        yield client


def post(client: httpx.Client, path: str, episode: str = "e", **body: Any) -> Any:
    response = client.post(path, json={"episode_id": episode, **body})
    assert response.status_code == 200, response.text
    return response.json()


def step_returning(client: httpx.Client, value: Any) -> httpx.Response:
    post(client, "/reset")
    Returns.returned = value
    return client.post("/step", json={"episode_id": "e", "action": None})


def reset_returning(client: httpx.Client, value: Any) -> httpx.Response:
    Returns.returned = value
    return client.post("/reset", json={"episode_id": "e", "scenario_params": {"at_reset": True}})


def test_an_episode_goes_from_reset_through_steps_to_close(counter: httpx.Client) -> None:
    assert post(counter, "/reset", seed=7, scenario_params={"size": 3}) == {
        "data": {"seed": 7, "params": {"size": 3}},
        "content_type": "application/json",
        "system_prompt": None,
    }
    assert post(counter, "/step", action=" up ") == {
        "observation": {"data": {"action": "up", "count": 1}, "content_type": "application/json"},
        "reward": 1.0,
        "terminated": False,
        "truncated": False,
        "info": {"seed": 7},
        "system_prompt": None,
    }
    assert post(counter, "/close") == {}
    assert Counter.closed == [7]


def test_health_names_the_environment_and_counts_live_episodes(counter: httpx.Client) -> None:
    post(counter, "/reset", "a")
    post(counter, "/reset", "b")
    post(counter, "/close", "a")
    assert counter.get("/health").json() == {"status": "ok", "env": "Counter", "episodes": 1, "oracle": False}


def test_every_episode_has_an_instance_of_its_own(counter: httpx.Client) -> None:
    for episode, steps in (("a", 1), ("b", 3)):
        post(counter, "/reset", episode)
        for _ in range(steps):
            last = post(counter, "/step", episode, action=None)
        assert last["observation"]["data"]["count"] == steps


def test_a_reset_of_a_live_episode_closes_the_old_instance_first(counter: httpx.Client) -> None:
    post(counter, "/reset", seed=1)
    post(counter, "/step", action="up")
    post(counter, "/reset", seed=2)
    assert Counter.closed == [1]
    assert post(counter, "/step", action="up")["observation"]["data"]["count"] == 1


@pytest.mark.parametrize(("path", "body"), [("/step", {"action": 1}), ("/render", {}), ("/oracle", {})])
def test_an_unknown_episode_is_not_found_with_a_hint(counter: httpx.Client, path: str, body: dict[str, Any]) -> None:
    response = counter.post(path, json={"episode_id": "ghost", **body})
    assert response.status_code == 404
    assert "'ghost'" in response.json()["detail"]
    assert "/reset" in response.json()["detail"]


def test_a_closed_episode_is_unknown_and_closing_it_again_is_no_fault(counter: httpx.Client) -> None:
    post(counter, "/reset")
    post(counter, "/close")
    assert post(counter, "/close") == {}
    assert counter.post("/step", json={"episode_id": "e", "action": 1}).status_code == 404
    assert len(Counter.closed) == 1


def test_a_view_is_plain_text_or_json(counter: httpx.Client) -> None:
    post(counter, "/reset")
    assert post(counter, "/render") == {"data": "0 steps", "content_type": "text/plain"}
    assert post(counter, "/render", mode="json") == {"data": {"steps": 0}, "content_type": "application/json"}


@pytest.mark.parametrize(("sent", "seed"), [(None, None), ("12", 12), (2**70, 2**70), (3.0, 3)])
def test_a_seed_may_be_missing_or_come_as_numeric_text(counter: httpx.Client, sent: Any, seed: int | None) -> None:
    assert post(counter, "/reset", seed=sent, unknown_key=1)["data"]["seed"] == seed


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/reset", {"seed": 1}, ["body", "episode_id"]),
        ("/reset", {"episode_id": "e", "seed": 1.5}, ["body", "seed"]),
        ("/reset", {"episode_id": "e", "seed": "many"}, ["body", "seed"]),
        ("/reset", {"episode_id": "e", "scenario_params": []}, ["body", "scenario_params"]),
        ("/step", {"episode_id": "e"}, ["body", "action"]),
        ("/close", {"episode_id": 5}, ["body", "episode_id"]),
        ("/step", [], ["body"]),
    ],
)
def test_a_malformed_body_is_refused_with_the_place(
    counter: httpx.Client, path: str, body: Any, place: list[str]
) -> None:
    response = counter.post(path, json=body)
    assert response.status_code == 422
    assert [problem["loc"] for problem in response.json()["detail"]] == [place]


def test_a_body_that_is_no_json_is_refused(counter: httpx.Client) -> None:
    response = counter.post("/reset", content=b'{"episode_id": ')
    assert response.status_code == 422
    assert response.json()["detail"][0]["type"] == "json_invalid"


@pytest.mark.parametrize("content", [b'{"episode_id": NaN}', b'{"episode_id": "\xff"}', b"\xff", b""])
def test_a_body_that_json_could_not_repeat_is_refused_all_the_same(counter: httpx.Client, content: bytes) -> None:
    assert counter.post("/close", content=content).status_code == 422


def test_a_null_action_reaches_the_environment(counter: httpx.Client) -> None:
    post(counter, "/reset")
    assert post(counter, "/step", action=None)["observation"]["data"]["action"] is None


@pytest.mark.parametrize(
    ("returned", "answer"),
    [
        ({"data": 1}, {"data": {"data": 1}, "content_type": "application/json", "system_prompt": None}),
        (
            {"data": "iVBOR", "content_type": "image/png"},
            {"data": "iVBOR", "content_type": "image/png", "system_prompt": None},
        ),
        (
            {"data": [1], "system_prompt": "Swim."},
            {"data": [1], "content_type": "application/json", "system_prompt": "Swim."},
        ),
        (
            {"content_type": "x", "deep": b"abc"},
            {
                "data": {"content_type": "x", "deep": "YWJj"},
                "content_type": "application/json",
                "system_prompt": None,
            },
        ),
        (None, {"data": None, "content_type": "application/json", "system_prompt": None}),
        (b"\x89PNG", {"data": "iVBORw==", "content_type": "application/json", "system_prompt": None}),
    ],
)
def test_what_reset_returns_is_unwrapped_only_when_it_is_a_wrapper(
    returns: httpx.Client, returned: Any, answer: dict[str, Any]
) -> None:
    assert reset_returning(returns, returned).json() == answer


def test_a_step_carries_content_type_prompt_and_truth_of_its_flags(returns: httpx.Client) -> None:
    step = result(b"\x89PNG", "0.5", terminated=1, truncated="", system_prompt="Dive.", content_type="image/png")
    assert step_returning(returns, step).json() == {
        "observation": {"data": "iVBORw==", "content_type": "image/png"},
        "reward": 0.5,
        "terminated": True,
        "truncated": False,
        "info": {},
        "system_prompt": "Dive.",
    }


def test_an_info_may_hold_anything(returns: httpx.Client) -> None:
    info = {1: (2, {3}), "step": result("x"), None: math.nan, "raw": b"abc"}
    assert step_returning(returns, result("sea", info=info)).json()["info"] == {
        "1": [2, [3]],
        "step": {
            "observation": "x",
            "reward": 0.0,
            "terminated": False,
            "truncated": False,
            "info": {},
            "system_prompt": None,
            "content_type": "application/json",
        },
        "None": None,
        "raw": "YWJj",
    }


def test_not_a_number_arrives_as_null(returns: httpx.Client) -> None:
    response = step_returning(returns, result({"depth": math.nan, "speeds": [1.0, -math.inf]}))
    observation = json.loads(response.text, parse_constant=pytest.fail)["observation"]["data"]
    assert observation == {"depth": None, "speeds": [1.0, None]}


def test_any_object_with_the_attributes_of_a_step_result_will_do(returns: httpx.Client) -> None:
    step = SimpleNamespace(observation="sea", reward=1, terminated=True, truncated=False)
    assert step_returning(returns, step).json()["observation"]["content_type"] == "application/json"


@pytest.mark.parametrize(
    ("returned", "complaint"),
    [
        (None, "Returns.step() returned a bad value: None; it must be a StepResult"),
        (("sea", 1.0, True, {}), "tuple ('sea', 1.0, True, {}); it must be a StepResult"),
        ({"observation": 1, "done": True}, "dict {'observation': 1, 'done': True}; it must be a StepResult"),
        (result("sea", math.nan), "reward must be a finite number, not nan"),
        (result("sea", None), "reward must be a number, not None"),
        (result("sea", info=[1]), "info must be a dict, not list [1]"),
        (result("sea", system_prompt=3), "system_prompt must be text or None, not int 3"),
        (result("sea", content_type=None), "content_type must be text such as 'image/png', not None"),
        (result({"sound": 3j}), "value.observation.data.sound is complex 3j, which has no JSON form"),
    ],
)
def test_a_bad_return_of_step_is_answered_by_what_it_was(returns: httpx.Client, returned: Any, complaint: str) -> None:
    response = step_returning(returns, returned)
    assert response.status_code == 500
    assert complaint in response.json()["detail"]


@pytest.mark.parametrize(
    "error", [ValueError("the net tore"), StopIteration("the net tore"), SystemExit("the net tore")], ids=repr
)
def test_an_exception_in_step_is_answered_with_its_text_and_place_and_the_episode_lives_on(
    returns: httpx.Client, error: BaseException
) -> None:
    response = step_returning(returns, error)
    assert response.status_code == 500
    detail = response.json()["detail"]
    assert detail.startswith(f"Returns.step() failed: {type(error).__name__}: the net tore (test_server.py, line ")
    assert detail.endswith("in _answer)")
    Returns.returned = result("sea", 1.0)
    assert post(returns, "/step", action=None)["reward"] == 1.0


def test_the_traceback_of_a_failure_is_logged(returns: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        step_returning(returns, ValueError("the net tore"))
    assert "Traceback" in caplog.text
    assert "in _answer" in caplog.text


def test_an_episode_whose_reset_fails_is_dropped(returns: httpx.Client) -> None:
    assert reset_returning(returns, ValueError("no water")).status_code == 500
    assert "ValueError: no water" in reset_returning(returns, ValueError("no water")).json()["detail"]
    assert returns.post("/step", json={"episode_id": "e", "action": 1}).status_code == 404
    assert returns.get("/health").json()["episodes"] == 0


class FailsToClose(Counter):
    def close(self) -> None:
        raise OSError("stuck")


def test_a_failing_close_ends_the_episode_all_the_same() -> None:
    with serving(FailsToClose) as client:
        post(client, "/reset")
        assert post(client, "/close")["error"].startswith("FailsToClose.close() failed: OSError: stuck")
        assert client.get("/health").json()["episodes"] == 0


class Async(BaseEnv):
    async def reset(self, seed: int | None = None, **params: Any) -> Any:
        self.loop = asyncio.get_running_loop()
        return "ready"

    async def step(self, action: Any) -> StepResult:  # type: ignore[override]
        if action == "fail":
            raise ValueError("capsized")
        await asyncio.sleep(0)
        return result({"same loop": asyncio.get_running_loop() is self.loop})


def test_coroutine_methods_are_awaited_on_one_loop() -> None:
    with serving(Async) as client:
        assert post(client, "/reset")["data"] == "ready"
        assert post(client, "/step", action=None)["observation"]["data"] == {"same loop": True}
        response = client.post("/step", json={"episode_id": "e", "action": "fail"})
        assert (response.status_code, "capsized" in response.text) == (500, True)


class Meeting(BaseEnv):
    """A step says whether another one was going on at the same time."""

    point: ClassVar[threading.Barrier]

    def reset(self, seed: int | None = None, **params: Any) -> Any:
        return None

    def step(self, action: Any) -> StepResult:
        try:
            self.point.wait(timeout=action)
        except threading.BrokenBarrierError:
            self.point.reset()
            return result("alone")
        return result("together")


def two_steps(client: httpx.Client, episodes: tuple[str, str], patience: float) -> list[str]:
    Meeting.point = threading.Barrier(2)
    seen: list[str] = []

    def step(episode: str) -> None:
        seen.append(post(client, "/step", episode, action=patience)["observation"]["data"])

    for episode in set(episodes):
        post(client, "/reset", episode)
    threads = [threading.Thread(target=step, args=(episode,)) for episode in episodes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def test_steps_of_two_episodes_run_at_the_same_time() -> None:
    with serving(Meeting) as client:
        assert two_steps(client, ("a", "b"), patience=15) == ["together", "together"]


def test_steps_of_one_episode_run_one_after_the_other() -> None:
    with serving(Meeting) as client:
        assert two_steps(client, ("a", "a"), patience=0.2) == ["alone", "alone"]


class Slow(Counter):
    entered: ClassVar[threading.Event] = threading.Event()
    released: ClassVar[threading.Event] = threading.Event()

    def step(self, action: Any) -> StepResult:
        if action == "wait":
            self.entered.set()
            assert self.released.wait(60)
        return super().step(action)


def test_a_step_that_takes_long_holds_up_only_its_own_episode() -> None:
    with serving(Slow) as client:
        post(client, "/reset", "slow")
        waiting = threading.Thread(target=post, args=(client, "/step", "slow"), kwargs={"action": "wait"})
        waiting.start()
        assert Slow.entered.wait(60)
        post(client, "/reset", "quick")
        assert post(client, "/step", "quick", action="go")["observation"]["data"]["count"] == 1
        assert client.get("/health").json()["episodes"] == 2
        Slow.released.set()
        waiting.join()


def test_forgotten_episodes_are_closed_when_another_one_starts() -> None:
    Counter.closed.clear()
    with serving(Counter, idle_seconds=0.0) as client:
        post(client, "/reset", "old", seed=1)
        post(client, "/reset", "new", seed=2)
        assert Counter.closed == [1]
        assert client.get("/health").json()["episodes"] == 1
        assert client.post("/step", json={"episode_id": "old", "action": 1}).status_code == 404


def test_live_episodes_are_closed_when_the_server_stops() -> None:
    Counter.closed.clear()
    with serving(Counter) as client:
        post(client, "/reset", "a", seed=1)
        post(client, "/reset", "b", seed=2)
    assert Counter.closed == [1, 2]


class Wise(Counter):
    def oracle(self) -> Any:
        if self.count:
            raise NotImplementedError("the tide has turned")
        return {"move": "up", "after": self.count}


def test_the_oracle_tells_its_action_without_acting() -> None:
    with serving(Wise) as client:
        assert client.get("/health").json()["oracle"] is True
        post(client, "/reset")
        answers = [post(client, "/oracle") for _ in range(2)]
        assert answers == [{"action": {"move": "up", "after": 0}}] * 2


def test_an_oracle_may_have_no_answer_in_some_state() -> None:
    with serving(Wise) as client:
        post(client, "/reset")
        post(client, "/step", action="up")
        response = client.post("/oracle", json={"episode_id": "e"})
        assert (response.status_code, response.json()) == (501, {"detail": "the tide has turned"})


def test_an_environment_without_oracle_says_so(counter: httpx.Client) -> None:
    post(counter, "/reset")
    response = counter.post("/oracle", json={"episode_id": "e"})
    assert response.status_code == 501
    assert "Counter offers no oracle" in response.json()["detail"]


def test_the_routes_are_documented(counter: httpx.Client) -> None:
    document = counter.get("/openapi.json").json()
    assert set(document["paths"]) == {"/health", "/reset", "/step", "/close", "/render", "/oracle"}
    body = document["paths"]["/step"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/StepRequest"}
    assert document["components"]["schemas"]["StepRequest"]["required"] == ["episode_id", "action"]
    assert counter.get("/docs").status_code == 200
