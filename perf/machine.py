"""What the figures were measured on, and processes pinned to cores."""

import json
import os
import platform
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def machine() -> str:
    """Return processor, cores, memory and Python on one line."""
    cpu = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = names[0] if names else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"


def pinned(core: int, module: str, *arguments: str) -> dict[str, Any]:
    """Run `python -m module arguments` on one core and return the JSON document that it prints last."""
    return _measured(_on(core, [sys.executable, "-m", module, *arguments]))


def unpinned(module: str, *arguments: str) -> dict[str, Any]:
    """Run `python -m module arguments` on all cores and return the JSON document that it prints last."""
    return _measured([sys.executable, "-m", module, *arguments])


def _measured(command: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False, env=_environment()
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    document = json.loads(done.stdout.strip().splitlines()[-1])
    assert isinstance(document, dict)
    return document


def peak_mib(pid: int | str = "self") -> float:
    """Return the peak of a process's resident memory; 0 if it has ended.

    Not `ru_maxrss` on Linux: a process inherits that of the one which started it.
    """
    status = Path(f"/proc/{pid}/status")
    if pid == "self" and not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    try:
        lines = status.read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


@contextmanager
def peak_of_children() -> Iterator[list[float]]:
    """Yield a list with the peak memory in MiB of the largest process that this one has started, up to now."""
    peak, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            for task in Path("/proc/self/task").glob("*/children"):
                with suppress(OSError):
                    peak[0] = max(peak[0], *(peak_mib(int(child)) for child in task.read_text().split()), 0.0)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def started(core: int, module: str, *arguments: str) -> "subprocess.Popen[str]":
    """Start `python -m module arguments` on one core; its standard output is piped."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(_on(core, command), cwd=ROOT, stdout=subprocess.PIPE, text=True, env=_environment())


def _on(core: int, command: Sequence[str]) -> list[str]:
    return ["taskset", "-c", str(core % (os.cpu_count() or 1)), *command]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}


def line(what: str, figure: float, unit: str, budget: float, *, above: bool = True) -> None:
    """Print a figure beside its budget, and how much of it was reached."""
    share = figure / budget if above else budget / figure
    sign = "≥" if above else "≤"
    print(f"  {what:<58} {figure:>10,.1f} {unit:<11} budget {sign} {budget:,.0f} ({share:.2f}×)")
