"""What a step of an OpenEnv environment costs here, above a bare loop with OpenEnv's own client.

Needs MESOCOSM_TEST_GUESTS, a folder with a virtual environment `openenv`. The server runs in a process of its own;
measured is the processor time of the client's side alone. Rounds alternate, because a shared machine is noisy.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import perf.noop  # noqa: F401 - registers the model
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.http.client import HttpClient
from mesocosm.http.errors import HttpError
from mesocosm.sandboxes.port import free_port
from mesocosm.store import open_store
from perf.machine import ROOT

EPISODES = 40
STEPS = 50
ROUNDS = 5
PARALLEL = 16
BUDGET_MS = 2.0
"""Processor time of a step above that of the bare loop."""
_HERE = ROOT / "tests" / "environments" / "openenv"


def openenv() -> None:
    """Print the processor time of a step in both, and fail if the difference is above the budget."""
    python = Path(os.environ.get("MESOCOSM_TEST_GUESTS", "")) / "openenv" / "bin" / "python"
    if not python.exists():
        print("  skipped: MESOCOSM_TEST_GUESTS names no folder with a virtual environment `openenv`")
        return
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [str(python), "-m", "uvicorn", "server.app:app", "--port", str(port), "--no-access-log"]
    limits = {**os.environ, "COUNTING_SESSIONS": str(PARALLEL)}
    with subprocess.Popen(command, cwd=_HERE / "counting_env", env=limits, stderr=subprocess.DEVNULL) as server:
        try:
            asyncio.run(_up(url, server))
            pairs = [(_bare(python, url), _ours(url)) for _ in range(ROUNDS)]
        finally:
            server.kill()
    for number, (bare, ours) in enumerate(pairs, 1):
        print(f"  round {number}: bare {bare:.2f} ms, here {ours:.2f} ms a step ({ours / bare:.1f}x)")
    added = statistics.median(ours - bare for bare, ours in pairs)
    print(f"  added, median: {added:.2f} ms of processor time a step (budget {BUDGET_MS} ms)")
    if added > BUDGET_MS:
        sys.exit(1)


async def _up(url: str, server: "subprocess.Popen[bytes]") -> None:
    async with HttpClient() as client:
        while server.poll() is None:
            try:
                if (await client.request("GET", f"{url}/health", timeout=5)).status == 200:
                    return
            except HttpError:
                await asyncio.sleep(0.1)
    sys.exit("the server ended")


def _bare(python: Path, url: str) -> float:
    """Return the milliseconds of processor time of a step with OpenEnv's client."""
    episode = json.dumps({"seed": 1, "actions": [{"word": "the next one"}] * STEPS})
    command = [str(python), str(_HERE / "bare_loop.py"), url]
    done = subprocess.run(command, input=f"{episode}\n" * EPISODES, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["steps"] == EPISODES * STEPS
    return float(found["cpu_s"]) / found["steps"] * 1000


def _ours(url: str) -> float:
    """Return the same of a run: with its agent, its trace, its store, and a model that answers at once."""
    options = {"max_steps": STEPS, "tasks": False}
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder))
        spec = RunSpec(
            BenchmarkRef("openenv", url, options),
            ModelSettings("noop/noop"),
            selection=Selection(count=EPISODES),
            parallel=PARALLEL,
        )
        before = time.process_time()
        run = asyncio.run(session.run(spec, store))
        taken = time.process_time() - before
        store.close()
    assert run.counts.truncated == EPISODES, run.counts
    return taken / (EPISODES * STEPS) * 1000
