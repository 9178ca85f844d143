"""`bench list` and `bench show`, also as `bench list-benchmarks` and `bench describe`."""

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mesocosm.cli.command import MesocosmCommand, options, plural
from mesocosm.cli.render import emit, number, table

if TYPE_CHECKING:
    from mesocosm.benchmarks.catalogue import BenchmarkCatalogue, KnownBenchmark
    from mesocosm.benchmarks.descriptor import Descriptor

UNCOVERED = 2
"""Exit code of `list-benchmarks` if a folder holds no benchmark."""

folders_option = click.option(
    "--benchmarks-dir",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Additional folder of benchmarks (folders with benchmark.toml). Repeatable.",
)


def catalogue(folders: tuple[Path, ...]) -> "BenchmarkCatalogue":
    """Return the benchmarks that are built in, installed, and in the given folders."""
    from mesocosm.benchmarks.catalogue import read_catalogue

    return read_catalogue(folders)


@click.command("list", cls=MesocosmCommand)
@folders_option
@click.option("--check", is_flag=True, help="Exit 2 if a folder holds no benchmark.")
def list_(folders: tuple[Path, ...], check: bool) -> int:
    """List all benchmarks: those that are built in, installed, and in the folders of --benchmarks-dir."""
    found = catalogue(folders)
    if options().json:
        items = [_entry(known) for known in found.benchmarks]
        emit({"items": items, "next": None, "uncovered": _uncovered(found)})
    else:
        tell_listed(found)
    return UNCOVERED if check and found.uncovered else 0


@click.command("list-benchmarks", cls=MesocosmCommand)
@folders_option
def list_benchmarks(folders: tuple[Path, ...]) -> int:
    """List all benchmarks and verify that every benchmark folder is covered; exit 2 when one is not."""
    found = catalogue(folders)
    if options().json:
        emit({"benchmarks": [_entry(known) for known in found.benchmarks], "uncovered": _uncovered(found)})
    else:
        tell_listed(found)
    return UNCOVERED if found.uncovered else 0


def tell_listed(found: "BenchmarkCatalogue") -> None:
    """Print the benchmarks, and the folders that hold none."""
    rows = [
        [
            known.descriptor.id,
            known.directory,
            known.descriptor.kind,
            known.origin,
            known.descriptor.split,
            known.descriptor.title,
        ]
        for known in found.benchmarks
    ]
    click.echo("Benchmarks")
    table(["id", "folder", "kind", "from", "data", "title"], rows, options(), whole=(0, 1, 2), spare=(1,))
    directories = len({known.folder for known in found.benchmarks}) + len(found.uncovered)
    click.echo(
        f"\n{plural(len(rows), 'benchmark')} in {plural(directories, 'folder')}"
        + (f"; {plural(len(found.uncovered), 'folder')} could not be read:" if found.uncovered else "")
    )
    for uncovered in found.uncovered:
        click.echo(f"  {uncovered.folder}: {uncovered.reason}")
    click.echo("Generated data need no download; `mesocosm bench show ID` says what a benchmark needs.")


@click.command(cls=MesocosmCommand)
@click.argument("benchmark")
@folders_option
def show(benchmark: str, folders: tuple[Path, ...]) -> int:
    """Show BENCHMARK: what it measures, its parameters, its requirements here, published scores."""
    return _show(benchmark, folders)


@click.command(cls=MesocosmCommand)
@click.argument("benchmark")
@folders_option
def describe(benchmark: str, folders: tuple[Path, ...]) -> int:
    """Show BENCHMARK, as `bench show` does."""
    return _show(benchmark, folders)


def _show(benchmark: str, folders: tuple[Path, ...]) -> int:
    from mesocosm.benchmarks.requirements import missing

    known = catalogue(folders).find(benchmark)
    lacking = missing(
        known, {name: parameter.usual for name, parameter in known.descriptor.parameters.items()}, os.environ
    )
    if options().json:
        emit({**known.descriptor.model_dump(mode="json"), **_entry(known), "missing": lacking})
        return 0
    _tell(known, lacking, folders)
    return 0


def _entry(known: "KnownBenchmark") -> dict[str, Any]:
    descriptor = known.descriptor
    return {
        "id": descriptor.id,
        "aliases": list(descriptor.aliases),
        "title": descriptor.title,
        "kind": descriptor.kind,
        "version": descriptor.version,
        "licence": descriptor.licence,
        "directory": known.directory,
        "folder": str(known.folder),
        "origin": known.origin,
    }


def _uncovered(found: "BenchmarkCatalogue") -> list[dict[str, str]]:
    return [{"folder": str(uncovered.folder), "reason": uncovered.reason} for uncovered in found.uncovered]


def _tell(known: "KnownBenchmark", lacking: list[str], folders: Sequence[Path]) -> None:
    descriptor, chosen = known.descriptor, options()
    score = descriptor.score
    click.echo(f"{descriptor.id}: {descriptor.title}\n\n{descriptor.description.strip()}")
    bounds = (
        f", {number(score.low)} to {number(score.high)}" if score.low is not None and score.high is not None else ""
    )
    facts = [
        ("kind", descriptor.kind),
        ("also called", ", ".join(descriptor.aliases)),
        ("version", descriptor.version),
        ("split", descriptor.split),
        ("source", descriptor.source),
        ("licence", descriptor.licence),
        ("agent", descriptor.agent),
        ("score", f"{score.field} ({score.unit}{bounds}), {'higher' if score.higher_is_better else 'lower'} is better"),
        ("model", f"temperature {descriptor.model.temperature:g}, max_tokens {descriptor.model.max_tokens}"),
        ("folder", str(known.folder)),
        ("runs here", "yes" if not lacking else f"no: {'; '.join(lacking)}"),
    ]
    table(["", ""], [[name, value] for name, value in facts if value], chosen)
    if descriptor.parameters:
        click.echo("\nParameters (-P NAME=VALUE)")
        rows = [
            [
                name,
                parameter.type,
                "–" if parameter.default is None else _spelled(parameter.default),
                _meaning(name, descriptor),
            ]
            for name, parameter in descriptor.parameters.items()
        ]
        table(["name", "type", "default", "meaning"], rows, chosen)
    if descriptor.reference:
        click.echo("\nPublished scores")
        references = [
            [one.label, number(one.value), one.unit, one.split, str(one.published or "–"), one.source]
            for one in descriptor.reference
        ]
        table(["model", "value", "unit", "split", "date", "source"], references, chosen, right=(1,))
    places = "".join(f" --benchmarks-dir {shlex.quote(str(folder))}" for folder in folders)
    click.echo(f"\n  mesocosm bench run {descriptor.id}{places} -m builtin/random")


def _spelled(value: Any) -> str:
    """Return a value as it is written in --extra, strings without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _meaning(name: str, descriptor: "Descriptor") -> str:
    parameter = descriptor.parameters[name]
    parts = [parameter.help]
    if parameter.choices:
        parts.append(f"one of {', '.join(map(str, parameter.choices))}")
    if parameter.aliases:
        parts.append(f"also {', '.join(parameter.aliases)}")
    if name == descriptor.sampling:
        parts.append("set by --max-examples")
    return "; ".join(parts)
