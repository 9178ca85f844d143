"""The settings of runs, and how they differ."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from mesocosm.core.registry import option_roles
from mesocosm.core.run import Run

MOST = 500
"""Maximum differences to list."""

LONGEST = 2_000
"""Maximum characters of a text value to show; a longer one is truncated."""

DEPTH = 8
"""Levels of a nested setting to compare one by one; anything deeper is one value."""

_MANY = 20
_PROVENANCE = frozenset({"mesocosm", "python", "system", "imported_from", "server"})


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting in which runs differ: its `values` (JSON) in the order of the runs, None if a run lacks it."""

    field: str
    values: tuple[Any, ...]


def differences(runs: Sequence[Run]) -> tuple[Difference, ...]:
    """Return the settings in which `runs` differ, in the order of `configuration`, at most `MOST`."""
    settings = [dict(configuration(run)) for run in runs]
    names = dict.fromkeys(name for found in settings for name in found)
    unequal = (name for name in names if any(found.get(name) != settings[0].get(name) for found in settings))
    return tuple(
        Difference(name, tuple(format_value(found.get(name)) for found in settings)) for name in islice(unequal, MOST)
    )


def configuration(run: Run) -> Iterator[tuple[str, Any]]:
    """Yield all settings of a run as dotted names with values.

    Settings without influence on the result are left out: ids, times, names, tags, the command, file locations,
    parallelism, how long to wait for a server.
    """
    spec = run.spec
    yield "benchmark", run.benchmark
    yield "benchmark.version", run.benchmark_version
    yield "benchmark.digest", run.benchmark_digest
    yield "benchmark.kind", run.kind
    local = {f"benchmark.options.{name}" for name in option_roles(spec.benchmark.kind).local}
    options = _flat("benchmark.options", spec.benchmark.options)
    yield from ((name, value) for name, value in options if not _is_below(name, local))
    yield from _flat("inputs", run.info.get("inputs", {}))
    yield "model", run.model
    model = _fields(spec.model)
    # A different path is no difference: the displayed name contains its last part.
    model.pop("name")
    yield from _flat("model", model)
    yield "agent", run.agent
    yield from _flat("agent.options", spec.agent.options)
    yield from _flat("selection", _fields(spec.selection))
    limits = _fields(spec.limits)
    limits.pop("outage_seconds", None)
    yield from _flat("limits", limits)
    yield from _flat("provenance", {name: value for name, value in run.provenance.items() if name in _PROVENANCE})


def _is_below(name: str, places: Collection[str]) -> bool:
    """Return whether a dotted name is one of the places, or lies below one."""
    return any(name == place or name.startswith(f"{place}.") for place in places)


def format_value(value: Any) -> Any:
    """Return a value short enough to display: long lists and texts are truncated, with their length."""
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]}… ({len(value):,} characters)"
    if isinstance(value, list | tuple):
        short = [format_value(item) for item in value[:_MANY]]
        return short if len(value) <= _MANY else [*short, f"… ({len(value):,} values)"]
    if isinstance(value, Mapping):
        return {name: format_value(item) for name, item in value.items()}
    return value


def _fields(record: msgspec.Struct) -> dict[str, Any]:
    """Return all fields including defaults, so that a default and the same explicit value look equal."""
    return msgspec.structs.asdict(record)


def _flat(name: str, value: Any, depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and depth:
        for key, item in value.items():
            yield from _flat(f"{name}.{key}", item, depth - 1)
    else:
        yield name, list(value) if isinstance(value, tuple) else value
