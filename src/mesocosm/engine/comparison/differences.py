"""What runs were made of, and in which of it they differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from mesocosm.core.registry import option_roles
from mesocosm.core.run import Run

MOST = 500
"""Differences that are listed at most."""

LONGEST = 2_000
"""Characters of a text that is shown as a value; of a longer one its beginning."""

DEPTH = 8
"""Levels of a nested setting that are compared one by one; what lies deeper is one value."""

_MANY = 20
_PROVENANCE = frozenset({"mesocosm", "python", "system", "imported_from", "server"})


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting in which runs differ: `values` (JSON) in their order, None where a run has none."""

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
    """Yield everything that a run was made of as dotted names with values.

    Left out is what says nothing about the outcome: ids, times, names, tags, the command, where files lie, how many
    episodes were played at once, how long a server was waited for.
    """
    spec = run.spec
    yield "benchmark", run.benchmark
    yield "benchmark.version", run.benchmark_version
    yield "benchmark.digest", run.benchmark_digest
    yield "benchmark.kind", run.kind
    local = option_roles(spec.benchmark.kind).local
    options = {name: value for name, value in spec.benchmark.options.items() if name not in local}
    yield from _flat("benchmark.options", options)
    yield from _flat("inputs", run.info.get("inputs", {}))
    yield "model", run.model
    model = _fields(spec.model)
    # A path is no difference: the shown name has its last part.
    model.pop("name")
    yield from _flat("model", model)
    yield "agent", run.agent
    yield from _flat("agent.options", spec.agent.options)
    yield from _flat("selection", _fields(spec.selection))
    limits = _fields(spec.limits)
    limits.pop("outage_seconds", None)
    yield from _flat("limits", limits)
    yield from _flat("provenance", {name: value for name, value in run.provenance.items() if name in _PROVENANCE})


def format_value(value: Any) -> Any:
    """Return a value short enough to be looked at: long lists and texts keep their beginning and say how long."""
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]}… ({len(value):,} characters)"
    if isinstance(value, list | tuple):
        short = [format_value(item) for item in value[:_MANY]]
        return short if len(value) <= _MANY else [*short, f"… ({len(value):,} values)"]
    if isinstance(value, Mapping):
        return {name: format_value(item) for name, item in value.items()}
    return value


def _fields(record: msgspec.Struct) -> dict[str, Any]:
    """Return all fields, defaults too: a default and the same value given must not look different."""
    return msgspec.structs.asdict(record)


def _flat(name: str, value: Any, depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and depth:
        for key, item in value.items():
            yield from _flat(f"{name}.{key}", item, depth - 1)
    else:
        yield name, list(value) if isinstance(value, tuple) else value
