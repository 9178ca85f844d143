"""Restrict the file paths in an imported run to those below the local results directory.

An imported run may name any file of this machine, and a download would copy it.
"""

from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.registry import SOURCES, option_roles
from mesocosm.core.run import Run


def settled(run: Run, results: Path) -> Run:
    """Return an imported run without option paths that are not below `results`."""
    home, benchmark = results.resolve(), run.spec.benchmark
    # The kept options of every kind, because the kind itself comes from the imported run.
    kept = frozenset[str]().union(*(option_roles(entry.name).kept for entry in SOURCES.entries()))
    options = {name: value for name, value in benchmark.options.items() if name not in kept or _below(value, home)}
    if len(options) == len(benchmark.options):
        return run
    reference = msgspec.structs.replace(benchmark, options=options)
    return msgspec.structs.replace(run, spec=msgspec.structs.replace(run.spec, benchmark=reference))


def _below(value: Any, home: Path) -> bool:
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    try:
        return Path(value).resolve().is_relative_to(home)
    except (OSError, RuntimeError):
        return False
