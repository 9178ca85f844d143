"""A platform of its own processes, and what people do there before anybody looks at its pages."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.forked import ForkServer, forking

DEADLINE_S = 120.0
fork_servers: list[ForkServer] = []
"""The process that programs of these tests are forked from, if there is one."""


def forks() -> AbstractContextManager[None]:
    """Let the programs that a block starts be forked, also those of fixtures of the whole session."""
    return forking(fork_servers[0]) if fork_servers else nullcontext()


@dataclass(frozen=True)
class Platform:
    """A `mesocosm serve` with one worker, and its administrator."""

    url: str
    admin: str
    password: str


@contextmanager
def hosting(
    folder: Path, models: Mapping[str, str] | None = None, *, confined: bool = False, **settings: str
) -> Iterator[Platform]:
    """Serve a platform that takes repositories of this machine, until the block ends.

    `models` are names and what is asked for them; what it prints when it is ready says where it is. `confined`: code is
    sandboxed, without which no rollout is played.
    """
    words = ["--port", "0", "--login-port", "0", "--data-dir", str(folder)]
    words += [] if confined else ["--sandbox", "plain", "--unsafe-sandbox"]
    if models:
        entries = (f'[[models]]\nname = "{name}"\nserved_as = "{asked}"\n' for name, asked in models.items())
        (folder / "platform.toml").write_text("\n".join(entries))
        words += ["--config", str(folder / "platform.toml")]
    variables = {"MESOCOSM_LOCAL_GIT": "1", "MESOCOSM_COOLDOWN_S": "0", **settings}
    command = [sys.executable, "-m", "mesocosm", "serve", "--json", *words]
    with (folder / "serve.log").open("w") as log, forks():
        begun = subprocess.Popen(
            command, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=log, text=True
        )
    with begun as process:
        assert process.stdout is not None
        told = "".join(iter(process.stdout.readline, "}\n")) + "}"
        made: dict[str, Any] = json.loads(told)
        first = made["first_admin"]
        try:
            yield Platform(made["url"], first["username"], first["password"])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def commit(folder: Path) -> Path:
    """Make a git repository of a folder as it is."""
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-q", "-m", "first")):
        subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)
    return folder


class Member:
    """Somebody who is signed in, and asks the platform without a browser."""

    def __init__(self, platform: Platform, username: str, password: str) -> None:
        self.platform = platform
        self._client = httpx.Client(base_url=platform.url, headers={"x-mesocosm": "1"}, timeout=60)
        self.ask("POST", "/api/auth/login", {"username": username, "password": password})

    def send(self, method: str, path: str, content: bytes) -> None:
        """Send bytes."""
        answer = self._client.request(method, path, content=content)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return what is answered."""
        answer = self._client.request(method, path, json=body)
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def submit(self, name: str, source: Path, **given: Any) -> str:
        """Submit an environment and return its id."""
        body = {"name": name, "github_url": str(source), **given}
        return str(self.ask("POST", "/api/environments", body)["id"])

    def built(self, environment_id: str) -> dict[str, Any]:
        """Return an environment once it is ready or has failed."""
        return self.reached(f"/api/environments/{environment_id}", lambda found: found["status"] in {"ready", "failed"})

    def run(self, environment: Mapping[str, Any], model: str, episodes: int, **given: Any) -> str:
        """Start a run and return its id."""
        domain = self.ask("GET", f"/api/domains/{environment['domain_id']}")
        body = {
            "domain_id": domain["id"],
            "binding_vow_version": domain["binding_vow"]["version"],
            "agent_config": {"model": model},
            "num_episodes": episodes,
            "max_parallel": 4,
            **given,
        }
        return str(self.ask("POST", "/api/runs", body)["id"])

    def ended(self, run_id: str) -> dict[str, Any]:
        """Return a run once it is over."""
        return self.reached(f"/api/runs/{run_id}", lambda run: run["request"]["state"] in {"ended", "cancelled"})

    def put(self, path: str, data: bytes) -> None:
        """Send bytes."""
        answer = self._client.put(path, content=data, headers={"content-type": "application/octet-stream"})
        assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"

    def reached(self, path: str, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return what is answered once it is so."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            found: dict[str, Any] = self.ask("GET", path)
            if reached(found):
                return found
            time.sleep(0.2)
        raise AssertionError(f"{path} is not there after {DEADLINE_S:.0f} s: {found}")
