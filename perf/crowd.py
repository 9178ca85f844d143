"""A platform under load: 200 people who watch a live run, 50 runs of 20 episodes, and a kill -9 of everything.

Server, worker, model and the generator of the load share this machine; every connection is on loopback. All 50 runs are
played at once, and go on for the whole time that is measured; server and worker are killed while they do.
"""

import asyncio
import contextlib
import itertools
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
from mesocosm.server.service import Service, opened
from mesocosm.server.settings import read_settings
from mesocosm.testing.model_server import ModelServer
from perf.browser import Connection
from perf.machine import ROOT, line

VIEWERS = 200
RUNS = 50
EPISODES = 20
BUDGET_MS = 150.0
THINK_S = 8.0
"""Seconds after which the page of a live run asks again for what its stream does not carry."""
MODEL_S = 3.0
"""Seconds that a model takes to answer."""
STARTS_S = 10.0
"""Seconds within which people start the runs."""
SETTLE_S = 8.0
"""Seconds until all viewers are there."""
WATCHED_S = 40.0
"""Seconds of load that are measured; then everything is killed."""
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
        f"runs_at_once = {2 * RUNS}\nruns_at_once_per_actor = {RUNS}\nqueued_per_actor = 1000\nlease_s = 5\n"
        f'[[models]]\nname = "openai/loop"\nserved_as = "openai/loop@{model_url}"\n'
    )
    return config, port


class _Load:
    """One exercise, from an empty platform to its last finished run."""

    def __init__(self, place: Path, config: Path, port: int, service: Service) -> None:
        self.place, self.config, self.port, self.service = place, config, port, service
        self.seen = Seen(counting=False)
        self.server: subprocess.Popen[bytes] | None = None

    async def whole(self) -> None:
        """Do everything, and print it."""
        with self._serving():
            tokens, team_id = self._people()
            domain, version = await self._environment(tokens[0])
            begun = time.monotonic()
            self.seen.counting = True
            runs = await self._runs(tokens, domain, version, team_id)
            self.seen.counting = False
            crowd = [asyncio.create_task(self._viewer(tokens[n % RUNS], runs[0], n)) for n in range(VIEWERS)]
            crowd.append(asyncio.create_task(self._late(tokens, domain, version, runs)))
            await asyncio.sleep(SETTLE_S)
            self.seen.counting, before, seconds = True, self._goes_on(runs), self._cpu()
            await asyncio.sleep(WATCHED_S)
            self.seen.counting, seconds = False, self._cpu() - seconds
            goes_on, finished = (before, self._goes_on(runs)), self._finished(runs)
            self._kill()
            for task in crowd:
                task.cancel()
            await asyncio.gather(*crowd, return_exceptions=True)
        with self._serving():
            await self._until_finished(runs)
            self._report(runs, goes_on, finished, seconds, time.monotonic() - begun)

    def _people(self) -> tuple[list[str], str]:
        """Return the tokens of people who are all in one team, and that team."""
        accounts, teams = self.service.accounts, self.service.store.teams
        people = [accounts.add_user(f"person{number}", new_id()) for number in range(RUNS)]
        team = teams.add("Crowd", people[0].id)
        assert team is not None
        for user in people[1:]:
            teams.join(team.join_code, user.id, RUNS)
        return [accounts.access_token(user) for user in people], team.id

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
        """Kill the server and its workers at the same moment."""
        assert self.server is not None
        for pid in [self.server.pid, *self._workers()]:
            os.kill(pid, signal.SIGKILL)
        self.server.wait(10)

    def _workers(self) -> list[int]:
        return [worker.holder.pid for worker in self.service.store.workers.list()]

    def _cpu(self) -> float:
        """Return the seconds of processor time that the server has used."""
        assert self.server is not None
        fields = Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def _environment(self, token: str) -> tuple[str, str]:
        """Submit the word game, wait for its build, and return its domain and the version of its vow."""
        source = await asyncio.to_thread(_repository, self.place)
        body = {"name": "Word game", "github_url": str(source)}
        row = await self._ask("POST", "/api/environments", token, body)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            row = await self._ask("GET", f"/api/environments/{row['id']}", token)
            if row["status"] in {"ready", "failed"}:
                break
            await asyncio.sleep(0.5)
        if row["status"] != "ready":
            raise SystemExit(
                f"the environment was not built: {row}\n" + (self.place / "server.log").read_text()[-4000:]
            )
        domain = await self._ask("GET", f"/api/domains/{row['domain_id']}", token)
        return row["domain_id"], domain["binding_vow"]["version"]

    async def _runs(self, tokens: list[str], domain: str, version: str, team_id: str) -> list[str]:
        """Ask for the runs, within some seconds; the first one is the team's."""

        async def one(number: int) -> str:
            await asyncio.sleep(STARTS_S * number / RUNS)
            team = {"team_id": team_id} if number == 0 else {}
            return await self._start("start a run", tokens[number], domain, version, num_episodes=EPISODES, **team)

        return list(await asyncio.gather(*map(one, range(RUNS))))

    async def _late(self, tokens: list[str], domain: str, version: str, runs: list[str]) -> None:
        """Ask for a small run every second, beside everything else."""
        for token in itertools.cycle(tokens):
            await asyncio.sleep(1.0)
            runs.append(await self._start("start a run beside all that", token, domain, version, num_episodes=1))

    async def _start(self, what: str, token: str, domain: str, version: str, **given: Any) -> str:
        agent = {"model": "openai/loop", "max_tokens": 64}
        body = {"domain_id": domain, "binding_vow_version": version, "agent_config": agent, "max_parallel": 4, **given}
        began = time.monotonic()
        run = await self._ask("POST", "/api/runs", token, body)
        self.seen.note(what, time.monotonic() - began)
        return str(run["id"])

    async def _viewer(self, token: str, run_id: str, number: int) -> None:
        """Watch a run as a page does: a live stream, and now and then what else the page shows."""
        stream = asyncio.create_task(self._stream(token, run_id))
        kept = Connection(self.port, token)
        try:
            await asyncio.sleep(THINK_S * number / VIEWERS)
            while True:
                began = time.monotonic()
                for kind, path in (
                    ("the run", f"/api/runs/{run_id}"),
                    ("its charts", f"/api/runs/{run_id}/series"),
                    ("its results", f"/api/runs/{run_id}/results"),
                    ("its episodes", f"/api/runs/{run_id}/episodes?at=0&limit=200"),
                ):
                    start = time.monotonic()
                    await self._ask("GET", path, token, kept=kept)
                    self.seen.note(kind, time.monotonic() - start)
                await asyncio.sleep(max(THINK_S - (time.monotonic() - began), 0))
        finally:
            stream.cancel()
            kept.close()

    async def _stream(self, token: str, run_id: str) -> None:
        kept = Connection(self.port, token)
        try:
            status, reader = await kept.stream(f"/api/runs/{run_id}/live")
            if status != 200:
                self.seen.failed[f"live: {status}"] += 1
            async for text in reader:
                self.seen.events += self.seen.counting and text.startswith(b"data:")
        finally:
            kept.close()

    async def _ask(self, method: str, path: str, token: str, body: Any = None, kept: Connection | None = None) -> Any:
        used = kept or Connection(self.port, token)
        try:
            status, content = await used.ask(method, path, b"" if body is None else msgspec.json.encode(body))
        except (OSError, EOFError) as error:
            if not self.seen.counting:
                return {"id": ""}  # killed
            raise SystemExit(f"{method} {path}: {error!r}") from error
        finally:
            if kept is None:
                used.close()
        if status not in {200, 201, 202}:
            self.seen.failed[f"{status} {method} {path}: {content[:200]!r}"] += 1
            return {"id": ""}
        return msgspec.json.decode(content)

    def _goes_on(self, runs: list[str]) -> int:
        """Return how many of the large runs are being played."""
        found = [self.service.store.runs.get(run_id) for run_id in runs[:RUNS]]
        return sum(run.status == "running" for run in found)

    def _finished(self, runs: list[str]) -> int:
        return sum(self.service.store.runs.get(run_id).counts.done for run_id in runs[:RUNS])

    async def _until_finished(self, runs: list[str]) -> None:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if all(self.service.store.runs.get(run_id).status in {"finished", "failed"} for run_id in runs):
                return
            await asyncio.sleep(0.5)

    def _report(self, runs: list[str], goes_on: tuple[int, int], before: int, cpu: float, seconds: float) -> None:
        everything = [one for kind, times in self.seen.ms.items() if kind != "start a run" for one in times]
        print(f"platform: {VIEWERS} viewers, {RUNS} runs of {EPISODES} episodes, {len(everything):,} requests")
        for kind, times in self.seen.ms.items():
            line(f"{kind}, p95 (median {statistics.median(times):.0f} ms)", _p95(times), "ms", BUDGET_MS, above=False)
        line("all of these, p95", _p95(everything), "ms", BUDGET_MS, above=False)
        print(f"  events of live streams: {self.seen.events:,}; failed requests: {dict(self.seen.failed) or 'none'}")
        print(f"  processor time of the server: {cpu / max(len(everything), 1) * 1000:.1f} ms a request")
        print(f"  runs being played when the measurement began and ended: {goes_on[0]} and {goes_on[1]}")
        lost, twice = 0, 0
        for number, run_id in enumerate(runs):
            seeds = Counter(episode.seed for episode in self.service.store.episodes.list(run_id, limit=200).items)
            lost += (EPISODES if number < RUNS else 1) - len(seeds)
            twice += sum(seeds.values()) - len(seeds)
        done = sum(self.service.store.runs.get(run_id).status == "finished" for run_id in runs)
        total = RUNS * EPISODES
        print(
            f"  killed after {before:,} of {total:,} episodes; finished: {done} of {len(runs)} runs in {seconds:.0f} s"
        )
        print(f"  episodes lost: {lost}, stored twice: {twice}")


def _repository(place: Path) -> Path:
    """Return a git repository of the word game."""
    unwanted = shutil.ignore_patterns("__pycache__")
    source = shutil.copytree(ROOT / "examples" / "word-game", place / "word-game", ignore=unwanted)
    author = ["-c", "user.name=perf", "-c", "user.email=perf@localhost"]
    for words in (["init", "-q"], ["add", "-A"], [*author, "commit", "-qm", "Word game"]):
        subprocess.run(["git", *words], cwd=source, check=True)
    return source


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)] if times else float("nan")
