"""A team's server under load: 20 members submit 100 evaluations of 1,000 rows, while everything is killed in turn.

Server, two workers, PostgreSQL and the members share this machine; every connection is on loopback. A worker, the
server with its workers, and PostgreSQL are killed while runs go on. The model is `builtin/empty`, behind the proxy of
its run, so that what is measured is this project. MESOCOSM_PERF_TEAM=members,runs,rows makes it smaller.
"""

import contextlib
import hashlib
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy.exc import SQLAlchemyError

from mesocosm.core.episode import FINISHED
from mesocosm.core.failure import InfrastructureError
from mesocosm.core.ids import digest_bytes, new_id
from mesocosm.core.snapshot import SnapshotFile
from mesocosm.server.service import Service, opened
from mesocosm.server.settings import read_settings
from mesocosm.store.datasets import DatasetFile
from mesocosm.store.pagination import MAX_LIMIT
from mesocosm.store.parts import PART_BYTES
from mesocosm.store.snapshot_uploads import SnapshotUpload
from perf.machine import ROOT, line

MEMBERS, RUNS, ROWS = map(int, os.environ.get("MESOCOSM_PERF_TEAM", "20,100,1000").split(","))
BUDGET_MS = 300.0
SPREAD_S = 60.0
"""Seconds within which the members submit."""
PATIENCE_S = max(2_400.0, RUNS * ROWS / 20)

MAIN = """
import json, urllib.request
from osmosis_ai.rollout import AgentWorkflow, AgentWorkflowConfig, AgentWorkflowContext, Grader, get_rollout_context

def ask(context, prompt):
    body = json.dumps({"model": "any", "messages": prompt}).encode()
    headers = {"authorization": f"Bearer {context.api_key}", "content-type": "application/json"}
    address = f"{context.chat_completions_url}/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as answer:
        return json.load(answer)["choices"][0]["message"]

class Player(AgentWorkflow[AgentWorkflowConfig]):
    async def run(self, ctx: AgentWorkflowContext[AgentWorkflowConfig]):
        return [*ctx.prompt, ask(get_rollout_context(), ctx.prompt)]

class Judge(Grader):
    async def grade(self, ctx):
        ctx.set_reward(float(int(ctx.label) % 2))
"""
CONFIG = """
[experiment]
rollout = "sums"
entrypoint = "main.py"
model_path = "builtin/empty"
dataset = "rows"
[evaluation]
limit = "all"
"""


def team() -> None:
    """Serve, submit, kill, and look at what is left in the end."""
    with tempfile.TemporaryDirectory(prefix="mesocosm-perf-") as folder, _postgres(Path(folder)) as database:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = int(free.getsockname()[1])
        config = Path(folder) / "server.toml"
        config.write_text(
            f'port = {port}\nlogin_port = {port}\ndata_dir = "{folder}/data"\ndatabase_url = "{database}"\n'
            f"cooldown_s = 0\nworkers = 2\n"
            f'runs_at_once = 2\nqueued_per_actor = 1000\nlease_s = 5\nlog_format = "json"\n'
        )
        with opened(read_settings(config)) as service:
            _Exercise(Path(folder), config, port, service).whole()


@contextlib.contextmanager
def _postgres(place: Path) -> Iterator[str]:
    place.chmod(0o755)
    script = [str(ROOT / "tests" / "postgres.sh")]
    done = subprocess.run([*script, "start", str(place / "postgres")], capture_output=True, text=True, check=True)
    try:
        yield done.stdout.strip()
    finally:
        subprocess.run([*script, "stop", str(place / "postgres")], check=False)


class _Exercise:
    def __init__(self, place: Path, config: Path, port: int, service: Service) -> None:
        self.place, self.config, self.port, self.service = place, config, port, service
        self.url = f"http://127.0.0.1:{port}"
        self.server: subprocess.Popen[bytes] | None = None
        self.answers: list[tuple[float, float]] = []
        self.outages: list[tuple[float, float]] = []
        self.again = 0
        self.runs: dict[str, str] = {}
        self.finished: dict[str, list[float]] = defaultdict(list)

    def whole(self) -> None:
        """Do everything, and print it."""
        self._start()
        try:
            members, workspace, snapshot = self._members()
            begun = time.monotonic()
            killing = threading.Thread(target=self._kill_in_turn, args=(begun,))
            watching = threading.Thread(target=self._watch)
            killing.start()
            watching.start()
            with ThreadPoolExecutor(MEMBERS) as pool:
                list(pool.map(lambda who: self._submit(who, members[who], workspace, snapshot, begun), members))
            killing.join()
            watching.join()
            self._report(time.monotonic() - begun)
        finally:
            self._stop(signal.SIGTERM)

    def _start(self) -> None:
        words = [sys.executable, "-m", "mesocosm", "serve", "--config", str(self.config)]
        variables = {name: value for name, value in os.environ.items() if not name.startswith("MESOCOSM_")}
        with (self.place / "server.log").open("ab") as log:
            self.server = subprocess.Popen(words, stdout=log, stderr=log, env=variables, cwd=ROOT)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(httpx.HTTPError):
                httpx.get(f"{self.url}/api/health", trust_env=False)
                return
            time.sleep(0.1)
        raise SystemExit((self.place / "server.log").read_text()[-4000:])

    def _stop(self, number: int) -> None:
        assert self.server is not None
        if self.server.poll() is None:
            self.server.send_signal(number)
            self.server.wait(60)

    def _members(self) -> tuple[dict[str, str], str, str]:
        """Return the tokens of the members, their workspace, and a snapshot of its code; it has a dataset too."""
        accounts, store = self.service.accounts, self.service.store
        people = [accounts.add_user(f"person{number}", new_id()) for number in range(MEMBERS)]
        workspace = store.workspaces.add("Team", people[0].id)
        assert workspace is not None
        for user in people[1:]:
            store.workspaces.add_member(workspace.id, user.id, "member")
        files = {"rollouts/sums/main.py": MAIN.encode(), "configs/eval/sums.toml": CONFIG.encode()}
        listed = [SnapshotFile(name, digest_bytes(data), len(data)) for name, data in files.items()]
        stored = store.snapshots.add(listed, lambda file: files[file.path])
        upload = store.snapshot_uploads.begin(
            SnapshotUpload(id="", workspace_id=workspace.id, digest=stored.digest, created_by=people[0].id)
        )
        store.snapshot_uploads.complete(upload, stored)
        self._dataset(workspace.id, people[0].id)
        return {user.username: accounts.access_token(user) for user in people}, workspace.id, upload.id

    def _dataset(self, workspace: str, by: int) -> None:
        data = b"".join(b'{"user_prompt": "what is %d?", "ground_truth": "%d"}\n' % (n, n) for n in range(ROWS))
        digest, store = hashlib.sha256(data).hexdigest(), self.service.store.datasets
        file = DatasetFile(name="rows", file_name="rows.jsonl", format="jsonl", size=len(data), digest=digest)
        version = store.begin(workspace, file, by=by, most_bytes=1 << 30).version
        assert version is not None
        for number in range(1, version.part_count + 1):
            store.add_part(version, number, data[(number - 1) * PART_BYTES : number * PART_BYTES])
        store.submit(version)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            found = store.version(version.dataset_id, version.version)
            if found is not None and found.state == "uploaded":
                return
            time.sleep(0.1)
        raise SystemExit("the dataset was not checked\n" + (self.place / "server.log").read_text()[-4000:])

    def _submit(self, name: str, token: str, workspace: str, snapshot: str, begun: float) -> None:
        """Submit the runs of a member, as a client does that repeats a request without an answer."""
        each = RUNS // MEMBERS
        # A client is made before it is needed, because its certificates take longer to load than a submit takes.
        client = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
        place = int(name.removeprefix("person"))
        for number in range(each):
            due = begun + SPREAD_S * (number + place / MEMBERS) / each
            time.sleep(max(due - time.monotonic(), 0))
            body = {"kind": "rollout", "workspace": workspace, "configuration": "configs/eval/sums.toml"}
            body |= {"snapshot": snapshot, "name": f"{name}-{number}"}
            self.runs[self._post(client, body)] = name

    def _post(self, client: httpx.Client, body: dict[str, Any]) -> str:
        while True:
            start = time.monotonic()
            try:
                answer = client.post("/api/runs", json=body, timeout=60)
            except httpx.HTTPError:
                self.again += 1
                time.sleep(0.5)
                continue
            if answer.status_code == 202:
                self.answers.append((start, time.monotonic()))
                return str(answer.json()["id"])
            if answer.status_code < 500:
                raise SystemExit(answer.text)
            self.again += 1
            time.sleep(0.5)

    def _kill_in_turn(self, begun: float) -> None:
        """Kill a worker, PostgreSQL, and the server with its workers."""
        for share, act in ((0.3, self._kill_worker), (0.6, self._kill_postgres), (0.9, self._kill_server)):
            time.sleep(max(begun + share * SPREAD_S - time.monotonic(), 0))
            start = time.monotonic()
            act()
            if act != self._kill_worker:
                self.outages.append((start, time.monotonic()))

    def _kill_worker(self) -> None:
        workers = self.service.store.workers.list()
        with contextlib.suppress(ProcessLookupError, IndexError):
            os.kill(workers[0].holder.pid, signal.SIGKILL)

    def _kill_postgres(self) -> None:
        subprocess.run([str(ROOT / "tests" / "postgres.sh"), "restart", str(self.place / "postgres")], check=True)

    def _kill_server(self) -> None:
        for worker in self.service.store.workers.list():
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker.holder.pid, signal.SIGKILL)
        self._stop(signal.SIGKILL)
        self._start()

    def _watch(self) -> None:
        """Note when the runs of each member end, until all have."""
        end, over = time.monotonic() + PATIENCE_S, set[str]()
        while len(over) < MEMBERS * (RUNS // MEMBERS) and time.monotonic() < end:
            waiting = {run_id: name for run_id, name in list(self.runs.items()) if run_id not in over}
            with contextlib.suppress(InfrastructureError, SQLAlchemyError):
                for run_id, run in self.service.store.run_requests.runs(list(waiting)).items():
                    if run.status in {"finished", "failed", "partial", "stopped"}:
                        over.add(run_id)
                        self.finished[waiting[run_id]].append(time.monotonic())
            time.sleep(0.5)

    def _report(self, seconds: float) -> None:
        found = self.service.store.run_requests.runs(list(self.runs))
        print(f"team: {MEMBERS} members, {len(self.runs)} evaluations of {ROWS:,} rows, {seconds:.0f} s")
        whole = [(end - start) * 1000 for start, end in self.answers]
        apart = [
            (end - start) * 1000
            for start, end in self.answers
            if not any(start < over and end > begin for begin, over in self.outages)
        ]
        line(f"submit, p95 (median {statistics.median(apart):.0f} ms)", _p95(apart), "ms", BUDGET_MS, above=False)
        seconds_out = ", ".join(f"{over - begin:.1f} s" for begin, over in self.outages)
        print(
            f"  without PostgreSQL and without server for {seconds_out}; {len(whole) - len(apart)} submits waited for"
        )
        print(f"  them, the longest for {max(whole) / 1000:.1f} s; p95 with these {_p95(whole):,.0f} ms")
        print(f"  requests repeated because of kills: {self.again}")
        print(f"  states: {dict(Counter(run.status.value for run in found.values()))}")
        lost = twice = 0
        for run_id in self.runs:
            rows = Counter(self._rows(run_id))
            lost += ROWS - len(rows)
            twice += sum(rows.values()) - len(rows)
        wrong = sum(
            run.primary is None or abs((run.primary.value or 0.0) - (ROWS // 2) / ROWS) > 1e-9 for run in found.values()
        )
        print(f"  rows lost: {lost}, stored twice: {twice}, runs with another score than the right one: {wrong}")
        firsts = [times[0] for times in self.finished.values() if times]
        lasts = [times[-1] for times in self.finished.values() if times]
        if firsts:
            begin = min(firsts)
            print(
                f"  fairness: the first run of each member ended within {max(firsts) - begin:.0f} s of the first of "
                f"all, the last ones within {max(lasts) - min(lasts):.0f} s of each other"
            )
        print(f"  {len(self.runs) * ROWS / seconds:,.0f} rows/s, kills included")

    def _rows(self, run_id: str) -> Iterator[str]:
        """Yield the row of each stored episode of a run."""
        cursor: str | None = None
        while True:
            page = self.service.store.episodes.list(run_id, cursor=cursor, limit=MAX_LIMIT)
            yield from (episode.task_id for episode in page.items if episode.status in FINISHED)
            cursor = page.cursor
            if cursor is None:
                return


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]
