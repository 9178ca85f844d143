"""Scoring a stored run again."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mesocosm.cli.results import find_run
from mesocosm.core.registry import BENCHMARKS
from mesocosm.core.run import Run
from mesocosm.engine.grading import rescore

if TYPE_CHECKING:
    from mesocosm.store import Store


def rescored(store: "Store", run_id: str, manifest: str | None) -> Run:
    """Return run `run_id` after grading its episodes again, with the benchmark as it is now."""
    run = find_run(store, run_id)
    reference = run.spec.benchmark
    if manifest is not None:
        reference = msgspec.structs.replace(reference, source=str(Path(manifest).resolve()))
    benchmark = BENCHMARKS.get(reference.kind)(reference)
    holder = store.leases.owner()
    store.leases.take(run.id, holder)
    try:
        return asyncio.run(rescore(run, benchmark, store))
    finally:
        store.leases.release(run.id, holder)
