"""Environment repositories in the ways in which they were written for the original package run without a change."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mesocosm.interop import replay
from mesocosm.sandboxes.port import free_port
from mesocosm.store import open_store

pytestmark = pytest.mark.usefixtures("forked")

MANIFEST: dict[str, Any] = {
    "adapter": "adapter.py",
    "name": "Old Repository",
    "version": "0.3",
    "showcase": "showcase/index.html",
    "binding_vow": {
        "version": "1.0.0",
        "tier": "tier1",
        "text": "ignored everywhere",
        "observation_space": {"type": "json", "fields": {"board": "the board as a list"}},
        "action_space": {"type": "text"},
        "reward": {"type": "scalar", "range": {"low": 0, "high": 3, "step": 1}},
        "episode": {"max_steps": "10"},
        "techniques": [{"technique_id": "confidence-calibration"}],
    },
    "scoring": {
        "primary_metric": "won",
        "metrics": [
            {
                "name": "won",
                "type": "terminal_field",
                "field": "won",
                "aggregation": "pass_rate",
                "description": "share of games won",
            },
            {"name": "total", "type": "episode_reward", "aggregation": "mean"},
        ],
    },
}
ADAPTER = """
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_common.env_sdk import serve
from env import Game

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=8765)
    args = parser.parse_args()
    print(f"🎲 Game → http://{args.host}:{args.port}")
    serve(Game, host=args.host, port=args.port)
"""
POSITIONAL = """
import json

from bench_common.env_sdk import BaseEnv, StepResult

WORDS = json.load(open("words.json"))


class Game(BaseEnv):
    def __init__(self):
        self.left = 3

    def reset(self, seed=None, **params):
        return {"word": WORDS[(seed or 0) % len(WORDS)], "left": self.left}

    def step(self, action):
        assert isinstance(action, str), action
        self.left -= 1
        over = self.left == 0
        return StepResult({"left": self.left}, "1", over, False, {"won": "1.0" if over else "0.0"})
"""
SCENARIOS = """
import dataclasses

from bench_common.env_sdk.base import BaseEnv, StepResult


@dataclasses.dataclass
class Card:
    rank: int
    suit: str = "hearts"


class Game(BaseEnv):
    def reset(self, seed=None, scenario=None, **params):
        self.scenario = scenario or "plain"
        self.drawn = []
        return {"data": {"scenario": self.scenario}, "system_prompt": "Draw three cards."}

    def _parse_action(self, action):
        return str(action).strip().lower()

    def parse_action(self, action):
        return self._parse_action(action)

    def step(self, action):
        action = self.parse_action(action)
        self.drawn.append(Card(len(self.drawn) + 1))
        done = len(self.drawn) == 3
        return StepResult(
            observation={"hand": self.drawn, "last": (action,)},
            reward=True,
            terminated=done,
            truncated=False,
            info={"won": self.scenario == "plain", "hand": tuple(self.drawn), 1: None},
        )

    def close(self):
        raise RuntimeError("closing is not my strength")
"""
PICTURES = """
import base64
import random

from bench_common.env_sdk import BaseEnv, StepResult

assert list(StepResult.__dataclass_fields__)[:4] == ["observation", "reward", "terminated", "truncated"]
PNG = base64.b64encode(bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)).decode()


class Game(BaseEnv):
    def reset(self, seed=None, **params):
        self.rng = random.Random(seed)
        self.steps = 0
        return {"data": PNG, "content_type": "image/png", "system_prompt": "Look."}

    def step(self, action):
        assert set(action) == {"move", "note"} and action["move"] in ("up", "down"), action
        self.steps += 1
        result = StepResult(PNG, 1.0, self.steps >= 3, False, info={"won": self.steps >= 3})
        result.content_type = "image/png"
        if self.steps == 2:
            result.system_prompt = "Look twice."
        return result

    def render(self, mode="text"):
        return "a picture"
"""
OWN_APPLICATION = """
import argparse

import uvicorn
from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse

from bench_common.env_sdk.server import _CloseRequest, _RenderRequest, _ResetRequest, _StepRequest
from bench_common.env_sdk.server import _info_payload, _jsonable_payload, _reward_payload

app = FastAPI()
games = {}


@app.get("/", response_class=HTMLResponse)
def page():
    return "<h1>Game</h1>"


@app.get("/health")
def health():
    return {"status": "ok", "games": len(games)}


@app.post("/reset")
def reset(req: _ResetRequest):
    games[req.episode_id] = 0
    first = _jsonable_payload({"seed": req.seed, "params": req.scenario_params})
    return {"data": first, "content_type": "application/json"}


@app.post("/step")
def step(req: _StepRequest):
    if req.episode_id not in games:
        raise HTTPException(404, "call /reset first")
    games[req.episode_id] += 1
    over = games[req.episode_id] == 2
    info = _info_payload({"won": over, "set": {1, 2}})
    return {"observation": {"data": b"raw".decode()}, "reward": _reward_payload("0.5"), "terminated": over,
            "truncated": False, "info": info, "system_prompt": None}


@app.post("/render")
def render(req: _RenderRequest):
    return {"data": req.mode, "content_type": "text/plain"}


@app.post("/close")
def close(req: _CloseRequest):
    games.pop(req.episode_id, None)
    return {}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8765)
    uvicorn.run(app, host="0.0.0.0", port=parser.parse_args().port, log_level="warning")
"""
NO_SDK = """
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

steps = {}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send(200 if self.path == "/health" else 404, {"status": "ok"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = body["episode_id"]
        if self.path == "/reset":
            steps[name] = 0
            self.send(200, {"observation": {"board": ["X", None]}})
        elif self.path == "/step":
            steps[name] += 1
            self.send(200, {"observation": {"board": []}, "reward": "1.5", "done": steps[name] == 2,
                            "info": {"won": "yes"}, "debug": "extra"})
        else:
            self.send(500, {"error": "close is not implemented"})

    def send(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


HTTPServer(("0.0.0.0", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""
OWN_TEST = """
import pytest
from fastapi.testclient import TestClient

from bench_common.env_sdk import server
from bench_common.env_sdk.server import _info_payload, _jsonable_payload, _reward_payload
from env import Game


@pytest.fixture
def client(monkeypatch):
    captured = {}

    def fake_run(app, host, port, log_level):
        captured.update(app=app, host=host, port=port)

    monkeypatch.setattr(server.uvicorn, "run", fake_run)
    server.serve(Game, host="127.0.0.1", port=1234)
    assert (captured["host"], captured["port"]) == ("127.0.0.1", 1234)
    with TestClient(captured["app"]) as client:
        yield client


def test_an_episode(client):
    assert client.get("/health").json()["status"] == "ok"
    first = client.post("/reset", json={"episode_id": "e", "seed": 1, "scenario_params": {}}).json()
    assert set(first) == {"data", "content_type", "system_prompt"}
    step = client.post("/step", json={"episode_id": "e", "action": "x"}).json()
    assert step["observation"]["data"] == {"left": 2}
    assert (step["reward"], step["terminated"]) == (1.0, False)
    assert client.post("/close", json={"episode_id": "e"}).json() == {}
    assert client.post("/step", json={"episode_id": "e", "action": "x"}).status_code == 404


def test_helpers():
    assert _reward_payload("2") == 2.0
    assert _info_payload({1: {2, 1}}) == {"1": [1, 2]}
    assert _jsonable_payload((1, None)) == [1, None]
"""


def write(root: Path, files: dict[str, str], **changes: Any) -> Path:
    """Write a repository; the manifest lies beside the adapter."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    adapter = next(root / name for name in files if name.endswith("adapter.py"))
    adapter.with_name("benchanything.json").write_text(json.dumps({**MANIFEST, **changes}))
    return root


def played(repository: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Play three seeds at random by the program inside the repository; return the run and its episodes with traces."""
    url = f"http://127.0.0.1:{free_port()}"  # nobody's, so that the adapter of the repository is started
    command = [sys.executable, "-m", "mesocosm", "run", "local", "--model", "builtin/random", "--episodes", "3"]
    command += ["--parallel", "2", "--quiet", "--env-url", url, "--json"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["run"]
    store = open_store(repository / "benchmark_results", create=False)
    rows = replay.all_episodes(store, run["id"])
    traces = [(row, replay.trace(row, store.traces.events(row.id), store.blobs)) for row in rows]
    store.close()
    return run, [{**replay.episode_document(row), "trace": trace} for row, trace in traces]


def test_an_environment_with_positional_results_and_data_beside_it(tmp_path: Path) -> None:
    files = {"adapter.py": ADAPTER, "env.py": POSITIONAL, "words.json": '["oak", "elm"]'}
    run, episodes = played(write(tmp_path / "repo", {f"auxiliary/{name}": text for name, text in files.items()}))
    assert (run["config"]["domain_id"], run["scores"], run["counts"]["completed"]) == (
        "repo",
        {"won": 1.0, "total": 3.0},
        3,
    )
    first = next(event for event in episodes[1]["trace"] if event["event_type"] == "observation")
    assert first["payload"]["data"] == {"word": "elm", "left": 3}


def test_an_environment_with_scenarios_and_values_that_json_does_not_know(tmp_path: Path) -> None:
    repository = write(tmp_path / "repo", {"adapter.py": ADAPTER, "env.py": SCENARIOS})
    run, episodes = played(repository)
    assert run["scores"] == {"won": 1.0, "total": 3.0}
    info = episodes[0]["terminal_info"]
    assert info["hand"][2] == {"rank": 3, "suit": "hearts"}
    assert "1" in info
    first = next(event for event in episodes[0]["trace"] if event["event_type"] == "observation")
    assert first["payload"]["system_prompt"] == "Draw three cards."
    assert first["payload"]["data"] == {"scenario": "plain"}


def test_pictures_stay_pictures(tmp_path: Path) -> None:
    fields = {"move": {"type": "discrete", "enum_values": ["up", "down"]}, "note": {"type": "text"}}
    space = {"observation_space": {"type": "image", "dtype": "uint8"}, "action_space": {"fields": fields}}
    vow = {**MANIFEST["binding_vow"], **space}
    run, episodes = played(write(tmp_path / "repo", {"adapter.py": ADAPTER, "env.py": PICTURES}, binding_vow=vow))
    assert run["scores"] == {"won": 1.0, "total": 3.0}
    shown = [event["payload"] for event in episodes[0]["trace"] if event["event_type"] == "observation"]
    assert {payload["content_type"] for payload in shown} == {"image/png"}
    assert {payload["data"][:11] for payload in shown} == {"iVBORw0KGgo"}
    prompts = [
        event["payload"].get("system_prompt") for event in episodes[0]["trace"] if event["event_type"] == "step_result"
    ]
    assert prompts == [None, "Look twice.", None]


def test_an_application_of_its_own_from_the_request_models(tmp_path: Path) -> None:
    schema = json.dumps({"type": "object", "properties": {"guess": {"type": "string"}}, "required": ["guess"]})
    vow = {**MANIFEST["binding_vow"], "action_space": {"type": "json", "schema_ref": schema, "schema": {}}}
    run, episodes = played(write(tmp_path / "repo", {"adapter.py": OWN_APPLICATION}, binding_vow=vow))
    assert run["scores"] == {"won": 1.0, "total": 1.0}
    assert episodes[0]["terminal_info"]["set"] == [1, 2]
    actions = [event["payload"]["action"] for event in episodes[0]["trace"] if event["event_type"] == "action"]
    assert all(isinstance(action["guess"], str) for action in actions)


def test_an_adapter_without_any_sdk(tmp_path: Path) -> None:
    repository = write(tmp_path / "repo", {"files/adapter.py": NO_SDK})
    run, episodes = played(repository)
    assert run["scores"] == {"won": 1.0, "total": 3.0}
    assert [episode["steps"] for episode in episodes] == [2, 2, 2]
    first = next(event for event in episodes[0]["trace"] if event["event_type"] == "observation")
    assert first["payload"]["data"] == {"board": ["X", None]}


def test_the_repositorys_own_test_captures_the_application(tmp_path: Path) -> None:
    files = {"adapter.py": ADAPTER, "env.py": POSITIONAL, "words.json": '["oak"]', "test_env.py": OWN_TEST}
    repository = write(tmp_path / "repo", files)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_env.py"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_repository_that_reads_its_manifest_plays_itself(tmp_path: Path) -> None:
    program = """
import asyncio
import subprocess
import sys
import time
import urllib.request

from bench_common.core.errors import BenchError
from bench_common.env_sdk.manifest import domain_config_from_manifest
from bench_common.inference.bench import BenchResult, bench

port = sys.argv[1]
url = f"http://127.0.0.1:{port}"
adapter = subprocess.Popen([sys.executable, "adapter.py", "--port", port], stdout=subprocess.DEVNULL)
try:
    for _ in range(300):
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url + "/health", timeout=2)
            break
        except OSError:
            time.sleep(0.1)
    config = domain_config_from_manifest("benchanything.json", env_url=url)
    result = asyncio.run(bench(
        model="builtin/random", domain_id=config.id, env_url=url, seed_set=[5], quiet=True,
        domain=config, allow_any_model=True,
    ))
    assert isinstance(result, BenchResult)
    print(result.completed, result.avg_reward, result.scores["won"], result.episodes[0].seed)
finally:
    adapter.terminate()
    adapter.wait()
"""
    repository = write(
        tmp_path / "repo", {"adapter.py": ADAPTER, "env.py": POSITIONAL, "words.json": '["oak"]', "play.py": program}
    )
    done = subprocess.run(
        [sys.executable, "play.py", str(free_port())],
        cwd=repository,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "1 3.0 1.0 5\n", done.stderr
