"""`mesocosm bench show-runs` and the viewer's file over 10,000 stored runs of benchmarks, beside skipped ones."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.compat.viewer_data import shown_runs, write_viewer_data
from mesocosm.core.group import Outcome, OutcomeStatus, RunGroup
from mesocosm.store import open_store
from mesocosm.store.database import open_database
from mesocosm.store.run_index import insert_run
from perf.large_store import some_run
from perf.machine import ROOT, line, peak_mib

RUNS = 10_000
SKIPPED = 2_000
ROUNDS = 9


def show_runs() -> None:
    """Generate the runs, then time the command as a whole process, without Python's own start, and its parts."""
    with tempfile.TemporaryDirectory() as place:
        generate(Path(place))
        bare = _median([sys.executable, "-c", "pass"])
        for words in ((), ("--desc",), ("--limit", str(RUNS))):
            command = [sys.executable, "-m", "mesocosm", "bench", "show-runs", *words, "--results-dir", place]
            what = " ".join(("show-runs", *words))
            line(f"{what} of {RUNS:,}, without Python's start", _median(command) - bare, "ms", 300, above=False)
        _parts(Path(place))


def generate(place: Path) -> None:
    """Fill a results directory with runs as `bench run` leaves them, and outcomes that were skipped."""
    database = open_database(place)
    with database.once(immediate=True) as connection:
        for number in range(RUNS):
            insert_run(database, connection, _run(number))
    database.close()
    store = open_store(place)
    store.groups.add(RunGroup("rg_1", 1.79e9))
    for position in range(SKIPPED):
        agent = f"agent-{position % 3}"
        store.groups.save_outcome(
            Outcome("rg_1", position, "words", "words", OutcomeStatus.SKIPPED, agent=agent, reason="already_succeeded")
        )
    store.close()


def _run(number: int) -> Any:
    run = some_run(number)
    provider, _, model = run.model.partition("/")
    facts = {
        "directory": run.benchmark,
        "provider": provider,
        "model": model,
        "extra": {"sample": 10, "seed": number},
        "cwd": "/work",
        "unit": "ratio",
        "eliza_commit": "c" * 40,
        "high_score": {"label": "best", "value": 0.9, "source": "https://example.org"},
    }
    return msgspec.structs.replace(run, provenance={**run.provenance, "bench": facts})


def _median(command: list[str]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def _parts(place: Path) -> None:
    began = time.perf_counter()
    store = open_store(place)
    line("opening the store", (time.perf_counter() - began) * 1000, "ms", 50, above=False)
    for limit in (200, RUNS):
        began = time.perf_counter()
        assert len(shown_runs(store, limit=limit)) == limit
        line(f"the rows of {limit:,} runs", (time.perf_counter() - began) * 1000, "ms", 300, above=False)
    before = peak_mib()
    began = time.perf_counter()
    path = write_viewer_data(store, place)
    line(f"viewer_data.json, {path.stat().st_size / 2**20:.0f} MiB", time.perf_counter() - began, "s", 5, above=False)
    line("memory that it takes", peak_mib() - before, "MiB", 50, above=False)
    store.close()
