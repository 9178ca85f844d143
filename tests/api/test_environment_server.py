"""An environment behind an address: `evaluate("http://…")`, and the same on the command line."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import mesocosm as mc
from mesocosm.testing.model_server import ModelServer

MANIFEST = Path(__file__).parents[2] / "src/mesocosm/environments/templates/benchanything.json"


class Server(ThreadingHTTPServer):
    """A strict environment server: two steps an episode, 1 for the reply `go`; its faults are set by a test."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seeds: list[int] = []
        self.steps: dict[str, int] = {}
        self.fault: tuple[int, bytes] | None = None
        self.complaints: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """Answers exactly the four routes."""

    server: Server

    def do_GET(self) -> None:
        found = self.path == "/health"
        self.answer(200 if found else 404, b'{"status": "ok"}' if found else b"{}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answered = getattr(self, self.path[1:], None)
        if answered is None or self.headers["Content-Type"] != "application/json":
            self.server.complaints.append(self.path)
            self.answer(404, b"{}")
            return
        answered(body)

    def reset(self, body: dict[str, Any]) -> None:
        if self.server.fault is not None:
            self.answer(*self.server.fault)
            return
        self.server.seeds.append(body["seed"])
        self.server.steps[body["episode_id"]] = 0
        self.told({"observation": {"say": "go"}, "info": {}})

    def step(self, body: dict[str, Any]) -> None:
        self.server.steps[body["episode_id"]] += 1
        ended = self.server.steps[body["episode_id"]] == 2
        reward = 0.5 if body["action"] == "go" else 0.0
        self.told({"observation": {"say": "go"}, "reward": reward, "terminated": ended, "truncated": False, "info": {}})

    def close(self, body: dict[str, Any]) -> None:
        if self.server.steps.pop(body["episode_id"], None) is None:
            self.server.complaints.append("closed twice or never begun")
        self.told({})

    def told(self, body: dict[str, Any]) -> None:
        self.answer(200, json.dumps(body).encode())

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def served() -> Iterator[Server]:
    """Serve an environment from a thread."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def world() -> Iterator[Server]:
    with served() as server:
        yield server


@pytest.fixture
async def goes() -> AsyncIterator[str]:
    """A model that always says `go`."""
    async with ModelServer("go", models=["goer"]) as running:
        yield f"openai/goer@{running.openai_url}"


async def test_a_server_is_played_by_the_loop_once_for_each_seed(world: Server, goes: str) -> None:
    run = await mc.aevaluate(world.url, model=goes, limit=3)
    assert run.score is not None
    assert (float(run.score), run.status, run.benchmark) == (1.0, "finished", world.url)
    assert (world.seeds, world.complaints) == ([0, 1, 2], [])


async def test_the_same_call_finds_its_run_and_a_change_is_another(world: Server, goes: str) -> None:
    first = await mc.aevaluate(world.url, model=goes, only=[7], trials=2)
    again = await mc.aevaluate(f"{world.url}/", model=goes, only=[7], trials=2)
    other = await mc.aevaluate(world.url, model=goes, only=[8])
    assert (again.id, other.id == first.id, world.seeds) == (first.id, False, [7, 7, 8])


async def test_two_servers_with_one_contract_are_two_environments(world: Server, goes: str) -> None:
    declared = {"manifest": MANIFEST}
    with served() as second:
        runs = [await mc.aevaluate(url, model=goes, limit=1, params=declared) for url in (world.url, second.url)]
        assert [world.seeds, second.seeds] == [[0], [0]]
    assert [run.benchmark for run in runs] == ["my-env", "my-env"]
    assert list(runs[0].metrics) == ["accuracy"]
    assert mc.compare(*runs).pairs[0].winner == "tie"


async def test_a_stored_run_of_a_server_is_continued_without_the_call(world: Server, goes: str) -> None:
    world.fault = (503, b"{}")
    run = await mc.aevaluate(world.url, model=goes, limit=1, limits=mc.Limits(retries=0))
    world.fault = None
    ended = await asyncio.to_thread(mc.get_run(run.id).resume, retry_failed=True)
    assert (ended.id, str(ended.score)[:3], world.seeds) == (run.id, "1.0", [0])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ((500, b'{"detail": "boom"}'), "status 500: boom"),
        ((200, b"<html>"), "status 200, but the body is not JSON"),
        (
            (404, b'{"detail": "Not Found"}'),
            "has POST /reset, /step and /close, so correct the URL",
        ),
    ],
)
async def test_an_answer_that_cannot_be_used_is_no_result(
    world: Server, goes: str, fault: tuple[int, bytes], said: str
) -> None:
    world.fault = fault
    run = await mc.aevaluate(world.url, model=goes, limit=1)
    (episode,) = run.episodes()
    assert (run.status, run.score) == ("failed", None)
    assert f"POST {world.url}/reset" in str(episode.error)
    assert said in str(episode.error)


async def test_what_is_no_environment_server_is_named(server: ModelServer) -> None:
    async def refused(url: str) -> str:
        run = await mc.aevaluate(url, model="builtin/random", limit=1)
        assert (run.status, run.score) == ("failed", None)
        return str(run)

    assert "http://127.0.0.1:9/health with status 200; start it there" in await refused("http://127.0.0.1:9")
    assert "is a model server" in await refused(server.openai_url)
    assert "is a model server" in await refused(server.openai_url.removesuffix("/v1"))


async def test_a_call_that_cannot_work_stores_nothing() -> None:
    async def refused(url: str, **more: Any) -> str:
        with pytest.raises(mc.UsageError) as error:
            await mc.aevaluate(url, model="builtin/random", limit=1, **more)
        return str(error.value)

    said = await refused("http://ann:secretword@127.0.0.1:9")
    assert "holds a user or a query" in said
    assert "secretword" not in said
    assert "it has manifest" in await refused("http://127.0.0.1:9", params={"manifst": 1})
    assert "prompt= is for rows" in await refused("http://127.0.0.1:9", prompt="{x}")
    assert list(mc.runs()) == []


def test_a_plan_says_what_a_call_would_play(world: Server) -> None:
    planned = mc.plan(world.url, model="builtin/random", limit=4)
    assert (planned.tasks, world.seeds) == (4, [])
