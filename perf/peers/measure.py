"""What a command costs with every process that it starts: time, processor time, peak memory. Linux only.

`python -m perf.peers.measure RESULT SECONDS FOLDER VARIABLES COMMAND …` runs the command in a folder with the variables
of a JSON object, and writes the figures to RESULT as JSON. It is a process of its own, so that all descendants belong
to it, those too whose parents have ended.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

PAUSE_S = 0.1
"""Time between two looks at the memory; a process that lives shorter may not be seen."""

FAREWELL_S = 10.0
"""How long processes that outlive the command may take to end by themselves."""

_PR_SET_CHILD_SUBREAPER = 36


def descendants(process: int) -> list[int]:
    """Return all processes below one, itself excluded."""
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def resident(process: int) -> int:
    """Return the bytes of memory of a process; pages that it shares count in equal parts for each who has them."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def bytes_below(folder: Path) -> int:
    """Return the bytes that the files below a folder occupy on disk."""
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def measured(command: list[str], limit: float, folder: Path, variables: dict[str, str]) -> dict[str, float]:
    """Run a command to its end, at most `limit` seconds, and return what it took with everything that it started."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    ended = threading.Event()
    peak = 0

    def watch() -> None:
        nonlocal peak
        while not ended.wait(PAUSE_S):
            peak = max(peak, sum(map(resident, descendants(os.getpid()))))

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=variables)
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        code = -1
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(FAREWELL_S)
    seconds = time.perf_counter() - began
    left = _bury()
    ended.set()
    watcher.join()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime
    return {"code": code, "seconds": seconds, "processor": processor, "peak": peak, "left_behind": left}


def _bury() -> int:
    """Wait for the processes that outlived the command, end those that stay, and return how many these were."""
    limit = time.monotonic() + FAREWELL_S
    killed: set[int] = set()
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        alive = descendants(os.getpid())
        if not alive:
            return len(killed)
        if time.monotonic() > limit:
            for one in alive:
                killed.add(one)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
        time.sleep(PAUSE_S / 10)


def main() -> None:
    """Measure the command of the arguments."""
    result, limit, folder, variables, *command = sys.argv[1:]
    found = measured(command, float(limit), Path(folder), json.loads(variables))
    Path(result).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
