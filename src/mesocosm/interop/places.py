"""File paths in runs that come from other machines, or go there.

An imported run may name any file of this machine, and a download would copy it.
"""

from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.folder import without_folders
from mesocosm.core.registry import SOURCES, option_roles
from mesocosm.core.run import Run

_AS_GIVEN = frozenset({"environment", "python", "benchmark", "rollout", "hosted"})
"""Kinds that store their sources as they were given. To ask a kind for its roles would load what plays it."""


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


def shared(run: Run) -> Run:
    """Return a run to give away: its source by its name, without options that say where files of this machine are."""
    ref = run.spec.benchmark
    if ref.kind in _AS_GIVEN:
        return run
    roles = option_roles(ref.kind)
    if roles.located is None:
        return run
    options = {name: value for name, value in ref.options.items() if name not in roles.local or not _names_file(value)}
    reference = msgspec.structs.replace(ref, source=without_folders(ref.source), options=options)
    return msgspec.structs.replace(run, spec=msgspec.structs.replace(run.spec, benchmark=reference))


def _names_file(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_names_file, value))
    return isinstance(value, str) and value.startswith("/")


def _below(value: Any, home: Path) -> bool:
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    try:
        return Path(value).resolve().is_relative_to(home)
    except (OSError, RuntimeError):
        return False
