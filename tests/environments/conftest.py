"""Directories of environments as authors write them, for tests that start real adapters."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MANIFEST: dict[str, Any] = {
    "adapter": "adapter.py",
    "name": "Counting",
    "description": "Count to three.",
    "binding_vow": {
        "version": "1.2.3",
        "tier": "tier1",
        "observation_space": {"type": "json"},
        "action_space": {"type": "text"},
        "reward": {"type": "scalar"},
        "episode": {"max_steps": 9},
    },
    "scoring": {
        "primary_metric": "won",
        "metrics": [
            {"name": "won", "type": "terminal_field", "field": "won", "aggregation": "pass_rate"},
            {"name": "reward", "type": "episode_reward", "aggregation": "mean"},
        ],
    },
}

WITH_SDK = """
import argparse
from mesocosm.environments.sdk import BaseEnv, StepResult
from mesocosm.environments.server import serve

class Counting(BaseEnv):
    def reset(self, seed=None, **params):
        self.count = 0
        return {"seed": seed}

    def step(self, action):
        self.count += 1
        return StepResult({"count": self.count}, 0.5, self.count == 3, False, info={"won": "yes"})

    def oracle(self):
        return "up"

parser = argparse.ArgumentParser()
parser.add_argument("--host", default="127.0.0.1")
parser.add_argument("--port", type=int, default=8765)
arguments = parser.parse_args()
print("🟩 ready")
serve(Counting, host=arguments.host, port=arguments.port)
"""

WITHOUT_SDK = '''
import argparse, json, os, subprocess, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Has no notion of any SDK: steps count by episode, some actions do harm."""

    counts = {}

    def do_GET(self):
        self.answer({"status": "ok"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(getattr(self, "on_" + self.path.strip("/"))(body))

    def on_reset(self, body):
        self.counts[body["episode_id"]] = 0
        return {"pid": os.getpid(), "seed": body.get("seed"), "argv": sys.argv[1:], "cwd": os.getcwd(),
                "environment": dict(os.environ)}

    def on_step(self, body):
        action = body["action"]
        if action == "crash":
            print("Traceback: the sky is falling", file=sys.stderr, flush=True)
            os._exit(3)
        if action == "flood":
            for _ in range(2000):
                print("x" * 1000)
                print("y" * 1000, file=sys.stderr)
        if action == "huge":
            return "z" * 100_000_000
        self.counts[body["episode_id"]] += 1
        return {"observation": {"pid": os.getpid()}, "reward": 1, "done": self.counts[body["episode_id"]] == 3,
                "info": {"won": 1}}

    def on_close(self, body):
        return {}

    def answer(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def main(server=ThreadingHTTPServer):
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8765)
    server(("127.0.0.1", parser.parse_args().port), Handler).serve_forever()
'''

RUNS = WITHOUT_SDK + "\nmain()\n"

Repository = Callable[..., Path]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return a function that writes an environment and returns its directory."""

    def write(source: str = RUNS, name: str = "env", **changes: Any) -> Path:
        directory = tmp_path / name
        directory.mkdir()
        (directory / "adapter.py").write_text(source, encoding="utf-8")
        (directory / "benchanything.json").write_text(json.dumps({**MANIFEST, **changes}))
        return directory

    return write


@pytest.fixture
def sdk_source() -> str:
    """An adapter that uses our SDK; its class is called Counting."""
    return WITH_SDK


@pytest.fixture
def plain_source() -> str:
    """An adapter that uses the standard library only, without the line that starts it: `main()`."""
    return WITHOUT_SDK
