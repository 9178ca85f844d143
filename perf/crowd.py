"""A platform under load: 200 people who watch a live run, 50 runs of 20 episodes, and a kill -9 of everything.

Server, worker, model and the generator of the load share this machine; every connection is on loopback.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.ids import new_id
from mesocosm.platform.service import Service
from mesocosm.platform.serving import opened
from mesocosm.platform.settings import read_settings
from mesocosm.testing.model_server import ModelServer
from perf.machine import ROOT, line

VIEWERS = 200
RUNS = 50
EPISODES = 20
BUDGET_MS = 150.0
THINK_S = 8.0
"""Seconds after which the page of a live run asks again for what its stream does not carry."""
MODEL_S = 0.3
WATCHED_S = 30.0
"""Seconds of load that are measured, before everything is killed."""
PATIENCE_S = 600.0

WORDS = '{"guess": "crane"}'


@dataclass
class Seen:
    """What the viewers saw: milliseconds by kind of request, failures, events of live streams."""

    ms: dict[str, list[float]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    events: int = 0
    counting: bool = True

    def note(self, kind: str, seconds: float) -> None:
        """Count a request that was answered."""
        if self.counting:
            self.ms.setdefault(kind, []).append(seconds * 1000)


def crowd() -> None:
    """Serve a platform, put it under load, kill it, and look at what is left in the end."""
    with tempfile.TemporaryDirectory(prefix="mesocosm-perf-") as folder, ModelServer(WORDS, delay=MODEL_S) as model:
        place = Path(folder)
        config, port = _settings(place, model.openai_url)
        with opened(read_settings(config)) as service:
            asyncio.run(_Load(place, config, port, service).whole())


def _settings(place: Path, model_url: str) -> tuple[Path, int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    config = place / "platform.toml"
    config.write_text(
        f'port = {port}\ndata_dir = "{place / "data"}"\nlocal_git = true\ncooldown_s = 0\nlog_format = "json"\n'
        "runs_at_once = 8\nruns_at_once_per_actor = 8\nlease_s = 5\n"
        f'[[models]]\nname = "openai/loop"\nserved_as = "openai/loop@{model_url}"\n'
    )
    return config, port


class _Load:
    """One exercise, from an empty platform to its last finished run."""

    def __init__(self, place: Path, config: Path, port: int, service: Service) -> None:
        self.place, self.config, self.port, self.service = place, config, port, service
        self.seen = Seen()
        self.server: subprocess.Popen[bytes] | None = None

    async def whole(self) -> None:
        """Do everything, and print it."""
        with self._serving():
            accounts = self.service.accounts
            people = [accounts.add_user(f"person{number}", new_id()) for number in range(RUNS)]
            tokens = [accounts.access_token(user) for user in people]
            domain, version = await self._environment(tokens[0])
            begun = time.monotonic()
            runs = await self._runs(tokens, domain, version)
            viewers = [asyncio.create_task(self._viewer(tokens[0], runs[0], number)) for number in range(VIEWERS)]
            await asyncio.sleep(WATCHED_S)
            self.seen.counting = False
            for viewer in viewers:
                viewer.cancel()
            await asyncio.gather(*viewers, return_exceptions=True)
            finished = self._finished(runs)
            self._kill()
        with self._serving():
            await self._until_finished(runs)
            self._report(runs, finished, time.monotonic() - begun)

    @contextlib.contextmanager
    def _serving(self) -> Iterator[None]:
        log = (self.place / "server.log").open("ab")
        words = [sys.executable, "-m", "mesocosm", "serve", "--config", str(self.config)]
        variables = {name: value for name, value in os.environ.items() if not name.startswith("MESOCOSM_")}
        variables |= {"MESOCOSM_LOGIN_PORT": str(self.port), "OPENAI_API_KEY": "none"}
        self.server = subprocess.Popen(words, stdout=log, stderr=log, env=variables, cwd=ROOT, start_new_session=True)
        try:
            self._await_health()
            yield
        finally:
            if self.server.poll() is None:
                self.server.send_signal(signal.SIGTERM)
                self.server.wait(60)
            log.close()

    def _await_health(self) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)
        raise SystemExit((self.place / "server.log").read_text()[-4000:])

    def _kill(self) -> None:
        """Kill the server and its worker at the same moment."""
        assert self.server is not None
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait(10)

    async def _environment(self, token: str) -> tuple[str, str]:
        """Submit the word game, wait for its build, and return its domain and the version of its vow."""
        source = await asyncio.to_thread(_repository, self.place)
        body = {"name": "Word game", "github_url": str(source)}
        row = await self._ask("POST", "/v1/developer/environments", token, body)
        end = time.monotonic() + 180
        while time.monotonic() < end:
            row = await self._ask("GET", f"/v1/developer/environments/{row['id']}", token)
            if row["status"] in {"ready", "failed"}:
                break
            await asyncio.sleep(0.5)
        if row["status"] != "ready":
            raise SystemExit(f"the environment was not built: {row}")
        domain = await self._ask("GET", f"/v1/domains/{row['domain_id']}", token)
        return row["domain_id"], domain["binding_vow"]["version"]

    async def _runs(self, tokens: list[str], domain: str, version: str) -> list[str]:
        body = {
            "domain_id": domain,
            "binding_vow_version": version,
            "agent_config": {"model": "openai/loop", "max_tokens": 64},
            "num_episodes": EPISODES,
            "max_parallel": 4,
        }

        async def one(token: str) -> str:
            began = time.monotonic()
            run = await self._ask("POST", "/v1/runs", token, body)
            self.seen.note("start a run", time.monotonic() - began)
            return str(run["id"])

        return list(await asyncio.gather(*map(one, tokens)))

    async def _viewer(self, token: str, run_id: str, number: int) -> None:
        """Watch a run as a page does: a live stream, and now and then what else the page shows."""
        stream = asyncio.create_task(self._stream(token, run_id))
        try:
            await asyncio.sleep(THINK_S * number / VIEWERS)
            while True:
                began = time.monotonic()
                for kind, path in (
                    ("the run", f"/v1/record/runs/{run_id}"),
                    ("its charts", f"/v1/record/runs/{run_id}/series"),
                    ("its results", f"/v1/record/runs/{run_id}/results"),
                    ("its episodes", f"/v1/record/runs/{run_id}/episodes?at=0&limit=200"),
                    ("the run, as programs poll it", f"/v1/runs/{run_id}"),
                ):
                    start = time.monotonic()
                    await self._ask("GET", path, token)
                    self.seen.note(kind, time.monotonic() - start)
                await asyncio.sleep(max(THINK_S - (time.monotonic() - began), 0))
        finally:
            stream.cancel()

    async def _stream(self, token: str, run_id: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(_request("GET", f"/v1/record/runs/{run_id}/live", token))
            await writer.drain()
            status = await reader.readline()
            if b" 200 " not in status:
                self.seen.failed[f"live: {status!r}"] += 1
            async for text in reader:
                self.seen.events += text.startswith(b"data:")
        finally:
            writer.close()

    async def _ask(self, method: str, path: str, token: str, body: Any = None) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(_request(method, path, token, b"" if body is None else msgspec.json.encode(body)))
            answer = await reader.read()
        except OSError as error:
            self.seen.failed[f"{method} {path.partition('?')[0]}: {error}"] += 1
            return {}
        finally:
            writer.close()
        head, _, content = answer.partition(b"\r\n\r\n")
        status = int(head[9:12] or b"0")
        if status not in {200, 201, 202}:
            self.seen.failed[f"{status} {method} {path}: {content[:200]!r}"] += 1
            return {}
        return msgspec.json.decode(content)

    def _finished(self, runs: list[str]) -> int:
        return sum(self.service.store.get_run(run_id).counts.done for run_id in runs)

    async def _until_finished(self, runs: list[str]) -> None:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if all(self.service.store.get_run(run_id).status in {"finished", "failed"} for run_id in runs):
                return
            await asyncio.sleep(0.5)

    def _report(self, runs: list[str], before: int, seconds: float) -> None:
        everything = [one for times in self.seen.ms.values() for one in times]
        print(f"platform: {VIEWERS} viewers, {RUNS} runs of {EPISODES} episodes, {len(everything):,} requests")
        for kind, times in self.seen.ms.items():
            line(f"{kind}, p95 (median {statistics.median(times):.0f} ms)", _p95(times), "ms", BUDGET_MS, above=False)
        line("all of these, p95", _p95(everything), "ms", BUDGET_MS, above=False)
        print(f"  events of live streams: {self.seen.events:,}; failed requests: {dict(self.seen.failed) or 'none'}")
        lost, twice = 0, 0
        for run_id in runs:
            seeds = Counter(episode.seed for episode in self.service.store.episodes(run_id, limit=200).items)
            lost += EPISODES - len(seeds)
            twice += sum(seeds.values()) - len(seeds)
        done = sum(self.service.store.get_run(run_id).status == "finished" for run_id in runs)
        print(f"  killed after {before:,} episodes; finished in the end: {done} of {RUNS} runs in {seconds:.0f} s")
        print(f"  episodes lost: {lost}, stored twice: {twice}")


def _repository(place: Path) -> Path:
    """Return a git repository of the word game."""
    unwanted = shutil.ignore_patterns("__pycache__")
    source = shutil.copytree(ROOT / "examples" / "word-game", place / "word-game", ignore=unwanted)
    author = ["-c", "user.name=perf", "-c", "user.email=perf@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "Word game"]):
        subprocess.run(["git", *words], cwd=source, check=True)
    return source


def _request(method: str, path: str, token: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)] if times else float("nan")
