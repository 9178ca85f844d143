"""The engine's budgets: episodes a second, memory, resume, start of the program."""

import statistics
import subprocess
import sys
import time

from perf.machine import ROOT, line, pinned, started

ROUNDS = 3


def noop() -> None:
    """10,000 one-step episodes in process on a no-op model, all of it recorded durably, on one core."""
    figures = [pinned(0, "perf.episodes", "noop", "10000") for _ in range(ROUNDS)]
    double = pinned(0, "perf.episodes", "noop", "20000")
    line("one-step episodes in process, one core", statistics.median(f["rate"] for f in figures), "episodes/s", 3000)
    line("  peak memory at 10,000", max(f["peak_mib"] for f in figures), "MiB", 300, above=False)
    growth = double["peak_mib"] - max(f["peak_mib"] for f in figures)
    print(f"    at 20,000: {double['peak_mib']:.0f} MiB ({growth:+.0f}), {double['rate']:,.0f} episodes/s")


def model() -> None:
    """A loopback model that answers after 50 ms; engine on one core, model server on the other."""
    server = started(1, "mesocosm.testing.model_server", "--port", "0", "--delay", "0.05")
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip().split()[-1]
        for parallel, count, budget in ((100, 6000, 1600), (1000, 15000, 2500)):
            arguments = ("model", str(count), "--parallel", str(parallel), "--url", url)
            rates = [pinned(0, "perf.episodes", *arguments)["rate"] for _ in range(ROUNDS)]
            line(f"50 ms model, {parallel} at a time, one core", statistics.median(rates), "episodes/s", budget)
    finally:
        server.terminate()
        server.wait(10)


def environment() -> None:
    """Episodes over HTTP with the SDK's adapter server: reset, one step, close; two cores together."""
    rates = [_unpinned("environment", "3000", "--parallel", "32") for _ in range(ROUNDS)]
    line("environment episodes over HTTP, two cores", statistics.median(rates), "episodes/s", 400)


def help_() -> None:
    """`mesocosm --help` as a whole process."""
    times = []
    for _ in range(15):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "mesocosm", "--help"], cwd=ROOT, capture_output=True, check=True)
        times.append((time.perf_counter() - began) * 1000)
    line("mesocosm --help", statistics.median(times), "ms", 150, above=False)


def _unpinned(*arguments: str) -> float:
    import json

    done = subprocess.run(
        [sys.executable, "-m", "perf.episodes", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout.strip().splitlines()[-1])["rate"])
