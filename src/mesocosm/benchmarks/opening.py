"""Open a benchmark from its descriptor: the kind `benchmark` of the registry."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import msgspec

from mesocosm.benchmarks.catalogue import BUILTIN, KnownBenchmark, read_catalogue
from mesocosm.benchmarks.descriptor import FILE, Descriptor, read_descriptor
from mesocosm.benchmarks.parameters import PER_BENCHMARK, settle
from mesocosm.benchmarks.setup import BenchmarkSetup, own_files
from mesocosm.core.failure import MesocosmError, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.ports import Benchmark
from mesocosm.core.registry import import_reference
from mesocosm.core.run import BenchmarkRef
from mesocosm.core.source import reference_digest

KIND = "benchmark"
ENTRY = "open_benchmark"


class BenchmarkOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the kind `benchmark`. They are not part of a run's identity: the benchmark's digest covers them.

    `folder` is that of the descriptor, empty for a built-in benchmark; `output` is where an external program writes.
    `chosen` names the parameters with another value than their default; names of runs tell them.
    """

    parameters: dict[str, Any] = {}
    knobs: dict[str, Any] = {}  # the name of `parameters` in runs of earlier versions
    chosen: list[str] = []
    folder: str = ""
    output: str = ""


def reference(known: KnownBenchmark, parameters: Mapping[str, Any], output: Path | None = None) -> BenchmarkRef:
    """Return the reference by which the engine opens a benchmark with these parameters."""
    descriptor = known.descriptor
    if descriptor.manifest:
        return BenchmarkRef("environment", str((known.folder / descriptor.manifest).resolve()), {})
    options: dict[str, Any] = {"parameters": dict(parameters)}
    known_parameters = descriptor.parameters.items()
    chosen = [
        name
        for name, parameter in known_parameters
        if parameter.type != "path"
        and name != descriptor.sampling
        and parameters.get(name) not in (None, parameter.default)
    ]
    if chosen:
        options["chosen"] = chosen
    if known.folder.parent != BUILTIN:
        options["folder"] = str(known.folder)
    if output is not None:
        options["output"] = str(output)
    return BenchmarkRef(KIND, known.folder.name if known.folder.parent == BUILTIN else descriptor.id, options)


def open_benchmark(ref: BenchmarkRef) -> Benchmark:
    """Return the benchmark of a reference; omitted parameters take their defaults.

    Raises UsageError, UnknownName, InvalidInput, Incompatible.
    """
    try:
        options = msgspec.convert(ref.options, BenchmarkOptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"options of benchmark kind {KIND!r}: {error}") from error
    folder = Path(options.folder) if options.folder else _builtin(ref.source)
    descriptor = read_descriptor(folder)
    setup = BenchmarkSetup(
        descriptor, folder, _parameters(descriptor, options), Path(options.output) if options.output else None
    )
    if descriptor.command is not None and not descriptor.module:
        from mesocosm.benchmarks.command import CommandBenchmark

        return CommandBenchmark(setup)
    entry = _entry(descriptor, folder)
    enter = import_reference(entry)
    if folder.parent != BUILTIN:
        code = reference_digest(entry, enter) if isinstance(enter, type | FunctionType) else ""
        setup = replace(setup, code=digest([code, own_files(setup)]))
    try:
        opened: Benchmark = enter(setup)
    except MesocosmError:
        raise
    except (Exception, SystemExit) as error:  # may be third-party code
        raise UsageError(f"{descriptor.id} cannot be opened: {type(error).__name__}: {error}") from error
    return opened


def _builtin(name: str) -> Path:
    """Return the folder of a built-in benchmark by the folder's name, id or alias."""
    folder = BUILTIN / name
    return folder if folder.parent == BUILTIN and (folder / FILE).is_file() else read_catalogue().find(name).folder


def _parameters(descriptor: Descriptor, options: BenchmarkOptions) -> Mapping[str, Any]:
    (settled,) = settle(
        [descriptor], {PER_BENCHMARK: {descriptor.id: options.knobs | options.parameters}}, [descriptor]
    )
    if settled.general:
        raise UsageError(
            f"{descriptor.id} has no parameter {next(iter(settled.general))!r}; it is a setting of the model"
        )
    return settled.parameters


def _entry(descriptor: Descriptor, folder: Path) -> str:
    if not descriptor.module:
        if folder.parent == BUILTIN:
            return f"mesocosm.benchmarks.builtin.{folder.name}.benchmark:{ENTRY}"
        return f"{folder / 'benchmark.py'}:{ENTRY}"
    file, colon, attribute = descriptor.module.rpartition(":")
    return f"{folder / file}:{attribute}" if colon and file.endswith(".py") else descriptor.module
