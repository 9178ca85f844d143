"""What an episode of an Inspect task costs above Inspect's own runner: `python -m perf.guests_inspect PYTHON`.

Each side runs FEW and then MANY samples in processes of their own; the difference of their processor times, divided by
that of the samples, is the cost of one, without the start. Sides alternate, because a shared machine is noisy.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from perf.machine import ROOT, line, started

FEW, MANY, ROUNDS = 10, 160, 3
BUDGET_MS = 5.0
PARTS = ROOT / "tests" / "guests" / "inspect_parts"

_OURS = """
import sys
import mesocosm as mc
source, model, count, python = sys.argv[1:]
run = mc.evaluate(f"inspect:{source}", model=model, params={"python": python, "count": int(count), "tools": False},
    parallel=16, progress=False)
assert run.status == "finished", run.status
"""


def cost(python: str) -> None:
    """Print the processor time of a sample in ms, here and in Inspect's own runner."""
    server = started(1, "mesocosm.testing.model_server", "--port", "0", "--answer", "7")
    try:
        assert server.stdout is not None
        words = server.stdout.readline().split()
        address = words[-1].rstrip("/").removesuffix("/v1")
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(ROUNDS):
            theirs.append(_each([python, str(PARTS / "own.py"), f"{address}/v1", f"{PARTS / 'tasks.py'}@sums"], "own"))
            ours.append(_each([sys.executable, "-c", _OURS, f"{PARTS / 'tasks.py'}@sums", address, python], "ours"))
        print(
            f"a sample in Inspect's own runner {statistics.median(theirs):.1f} ms, here {statistics.median(ours):.1f}"
        )
        line("cost above Inspect's own runner", statistics.median(ours) - statistics.median(theirs), "ms", BUDGET_MS)
    finally:
        server.kill()


def _each(command: Sequence[str], side: str) -> float:
    few, many = (_spent(_with(command, side, count)) for count in (FEW, MANY))
    return 1_000 * (many - few) / (MANY - FEW)


def _with(command: Sequence[str], side: str, count: int) -> list[str]:
    if side == "own":
        return [*command, "0", "1", f"count={count}", "tools=false"]
    python, code, script, source, address, guest = command
    return [python, code, script, source, f"openai/adder@{address}/v1", str(count), guest]


def _spent(command: Sequence[str]) -> float:
    """Return the processor seconds of a program and everything that it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "MESOCOSM_RESULTS_DIR": str(Path(folder) / "results"), "OPENAI_API_KEY": "sk-none"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2_000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    cost(sys.argv[1])
