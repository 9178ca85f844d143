"""`serve`, called as an adapter calls it, in a process of its own or with uvicorn replaced."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import httpx
import pytest

from bench_common.env_sdk import server as compatible
from mesocosm.environments.sdk import BaseEnv, StepResult
from mesocosm.environments.server import serve


class Counter(BaseEnv):
    def reset(self, seed: int | None = None, **params: Any) -> Any:
        return {"seed": seed}

    def step(self, action: Any) -> StepResult:
        return StepResult(observation=action, reward=1.0, terminated=False, truncated=False)


def post(client: httpx.Client, path: str, **body: Any) -> Any:
    return client.post(path, json={"episode_id": "e", **body}).raise_for_status().json()


@pytest.mark.filterwarnings("ignore:Using `httpx` with `starlette.testclient`")
def test_the_application_given_to_uvicorn_can_be_captured_and_driven_by_a_test_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fastapi.testclient import TestClient

    taken: dict[str, Any] = {}

    def run(app: Any, host: str, port: int, log_level: str) -> None:
        taken.update(app=app, host=host, port=port, log_level=log_level)

    monkeypatch.setattr(compatible.uvicorn, "run", run)
    compatible.serve(Counter, host="127.0.0.1", port=9000)
    assert (taken["host"], taken["port"], taken["log_level"]) == ("127.0.0.1", 9000, "info")
    client = TestClient(taken["app"])
    assert client.post("/reset", json={"episode_id": "e", "seed": 4}).json()["data"]["seed"] == 4
    assert client.post("/step", json={"episode_id": "e", "action": "up"}).json()["reward"] == 1.0
    assert client.post("/close", json={"episode_id": "e"}).json() == {}


ADAPTER = """
import sys, threading
from bench_common.env_sdk import BaseEnv, StepResult, serve

class Pond(BaseEnv):
    def reset(self, seed=None, **params):
        return "pond"

    def step(self, action):
        if action == "wait for ever":
            print("waiting", file=sys.stderr, flush=True)
            threading.Event().wait()
        return StepResult("pond", 0.0, False, False)

serve(Pond, host="127.0.0.1", port=0)
"""


@contextmanager
def adapter() -> Iterator[tuple[subprocess.Popen[str], IO[str], httpx.Client]]:
    """Run an adapter as a process; give it, its stderr, and a client of the address that it wrote there."""
    with subprocess.Popen([sys.executable, "-c", ADAPTER], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            address = next(found for line in process.stderr if (found := re.search(r"http://[\d.:]+", line)))
            with httpx.Client(base_url=address.group(), timeout=60) as client:
                yield process, process.stderr, client
        finally:
            process.kill()


def test_a_served_environment_says_where_it_listens_and_writes_no_line_for_a_request() -> None:
    with adapter() as (process, stderr, client):
        post(client, "/reset")
        post(client, "/step", action=None)
        process.terminate()
        assert "/step" not in stderr.read()


def test_an_interrupt_ends_the_server_even_while_a_step_never_returns() -> None:
    def step(client: httpx.Client) -> None:
        with suppress(httpx.HTTPError):
            client.post("/step", json={"episode_id": "e", "action": "wait for ever"})

    with adapter() as (process, stderr, client):
        post(client, "/reset")
        waiting = threading.Thread(target=step, args=(client,))
        waiting.start()
        assert any("waiting" in line for line in stderr)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 0
        waiting.join()


def test_request_models_of_old_import_places_still_parse() -> None:
    assert compatible._ResetRequest(episode_id="e", seed="3").seed == 3  # type: ignore[arg-type]
    assert compatible._StepRequest(episode_id="e", action=None).action is None
    assert compatible._CloseRequest(episode_id="e").episode_id == "e"
    assert compatible._RenderRequest(episode_id="e").mode == "text"


def test_an_instance_or_an_unfinished_class_is_not_served() -> None:
    with pytest.raises(TypeError, match="the environment class itself, not an instance of Counter"):
        serve(Counter())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Unfinished must define reset and step"):
        serve(type("Unfinished", (BaseEnv,), {}))
