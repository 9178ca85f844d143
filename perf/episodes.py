"""Episodes a second of the whole engine in one process on one core: run, record, commit.

python -m perf.episodes noop 10000
python -m perf.episodes model 5000 --parallel 100 --url http://127.0.0.1:PORT/v1
python -m perf.episodes environment 2000 --parallel 16
"""

import argparse
import asyncio
import json
import resource
import tempfile
import time
from pathlib import Path

import perf.noop
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import open_store
from perf.machine import peak_mib

HERE = Path(__file__).parent


def spec_of(kind: str, count: int, parallel: int, url: str) -> RunSpec:
    """Return what to run."""
    model = f"openai/loopback@{url}" if kind == "model" else "noop/noop"
    source = BenchmarkRef("python", f"{perf.noop.__name__}:OneStep")
    if kind == "environment":
        source = BenchmarkRef("environment", str(HERE / "one_step" / "benchanything.json"))
    return RunSpec(source, ModelSettings(model), selection=Selection(count=count), parallel=parallel)


def main() -> None:
    """Run and print one JSON line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["noop", "model", "environment"])
    parser.add_argument("count", type=int)
    parser.add_argument("--parallel", type=int, default=64)
    parser.add_argument("--url", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as place:
        store = open_store(Path(place) / "orchestrator.sqlite")
        began = time.perf_counter()
        spec = spec_of(given.kind, given.count, given.parallel, given.url)
        run = asyncio.run(session.run(spec, store))
        seconds = time.perf_counter() - began
        store.close()
    assert run.counts.completed == given.count, run
    cpu = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    print(json.dumps({"rate": given.count / seconds, "seconds": seconds, "cpu": cpu, "peak_mib": peak_mib()}))


if __name__ == "__main__":
    main()
