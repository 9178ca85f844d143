"""What a sample costs here and in a framework's own runner, both against the same model server.

Measured is the processor time of all processes of a runner, without the model server. Each runner plays few and then
many samples, so that what a start costs falls out; runners alternate, because a shared machine is noisy.
"""

import os
import resource
import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from perf.machine import line, started

ROUNDS = 3
BUDGET_MS = 5.0
"""Processor time of a sample above that of the framework's own runner."""

Runner = Callable[[int], Sequence[str]]
"""Returns the command that plays this many samples."""


def interpreter(guest: str) -> str:
    """Return the Python of a framework. Raises SystemExit if `MESOCOSM_TEST_GUESTS` has none."""
    guests = os.environ.get("MESOCOSM_TEST_GUESTS", "")
    python = Path(guests).absolute() / guest / "bin" / "python"
    if not guests or not python.exists():
        raise SystemExit(f"MESOCOSM_TEST_GUESTS names no folder with a virtual environment `{guest}`")
    return str(python)


@contextmanager
def model_server() -> Iterator[str]:
    """Serve a model that answers 7 to everything; yields its URL, without `/v1`."""
    server = started(0, "mesocosm.testing.model_server", "--port", "0", "--answer", "7")
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[-1].rstrip("/").removesuffix("/v1")
    finally:
        server.kill()
        server.wait()


@dataclass(frozen=True, slots=True)
class SampleCost:
    """Measures in `folder`, where runners are started; `variables` are added to their environment.

    `few` and `many` are the numbers of samples that each runner plays.
    """

    folder: Path
    few: int
    many: int
    variables: Mapping[str, str] = field(default_factory=dict)

    def compare(self, what: str, *, ours: Runner, theirs: Runner) -> None:
        """Print the milliseconds of a sample in both runners, and their difference beside its budget."""
        for runner in (theirs, ours):
            # The first run fills caches.
            self._spent(runner(self.few))
        each: dict[str, list[float]] = {"theirs": [], "ours": []}
        for _ in range(ROUNDS):
            for side, runner in (("theirs", theirs), ("ours", ours)):
                each[side].append(self._each(runner))
        middle = {side: statistics.median(found) for side, found in each.items()}
        print(f"{what}: ours {middle['ours']:.2f} ms a sample, its own runner {middle['theirs']:.2f} ms")
        for side, found in each.items():
            print(f"  {side:6} {[round(one, 2) for one in found]}")
        line("ours adds", middle["ours"] - middle["theirs"], "ms", BUDGET_MS, above=False)

    def _each(self, runner: Runner) -> float:
        few, many = (self._spent(runner(count)) for count in (self.few, self.many))
        return 1000 * (many - few) / (self.many - self.few)

    def _spent(self, command: Sequence[str]) -> float:
        """Return the processor time in seconds of a program with all that it waited for."""
        places = {"MESOCOSM_RESULTS_DIR": str(self.folder / "results")}
        environment = {**os.environ, **places, **self.variables}
        before = _children_s()
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-1000:]}{done.stderr[-3000:]}")
        return _children_s() - before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
