"""`mesocosm validate`: check a document against every rule, or a benchmark by playing it."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mesocosm.cli.bench.catalogue import folders_option
from mesocosm.cli.command import MesocosmCommand, options
from mesocosm.cli.render import emit, interval, number
from mesocosm.cli.sources import named_sources
from mesocosm.core.failure import MesocosmError, UsageError

if TYPE_CHECKING:
    from mesocosm.api.cheating import BenchmarkVerdict, Played
    from mesocosm.api.folder_validation import FolderPlayed
    from mesocosm.benchmarks.catalogue import KnownBenchmark


class DocumentUnreadable(MesocosmError):
    """The document could not be read."""


@click.command(cls=MesocosmCommand)
@click.argument("file", metavar="[FILE|DIR|BENCHMARK|harbor:DIR|-]", default=".")
@click.option("--extra", default="", metavar="JSON|@FILE", help="Parameters of the benchmark.")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="Tasks for each player.")
@folders_option
def validate(file: str, extra: str, limit: int, folders: tuple[Path, ...]) -> int:
    """Check a manifest (benchanything.json) or a register body, from a file or from standard input (-).

    For a folder, by default the current one, the manifest that `run local` would use is checked.

    Prints one JSON document with ok, issues, suggested_fixes, rules_version and schema, then every problem with its
    path. Exits 1 when something is wrong.

    A benchmark, named or by its folder, is played: by the oracle (is it solvable?), by players that know nothing (is
    it free?), and by cheats (is it forgeable?). Exits 1 when the oracle does not earn everything, or one of the others
    more than the floor. Nothing is stored, and no model is asked.

    So is the benchmark of another framework: gym:Taxi-v3, inspect:TASK. --extra has its parameters.

    harbor:DIR, a task folder or a folder of them, is played in containers, by the task's own solution, by nobody, and
    by cheats that are root of the container. --extra '{"engine": "podman"}' chooses the engine.
    """
    if file.startswith("harbor:"):
        return _folders(Path(file.removeprefix("harbor:")), extra, limit)
    if named_sources([file]) and not Path(file).exists():
        return _source(file, extra, limit)
    place = Path(file)
    if file != "-" and ((place / "benchmark.toml").is_file() or not place.exists()):
        known = _benchmark(file, folders)
        if known is not None:
            return _played(known, extra, limit)
    from mesocosm.environments.validation import validate_bytes, validate_file

    try:
        verdict = validate_bytes(sys.stdin.buffer.read()) if file == "-" else validate_file(place)
    except UsageError as error:
        # An unreadable document fails the check (1) like an invalid one; 2 is for wrong flags.
        raise DocumentUnreadable(str(error)) from error
    emit(verdict.to_json())
    if not options().json and sys.stderr.isatty():
        for problem in verdict.problems:
            click.secho(f"✗ {problem}", fg="red", err=True)
        for problem in verdict.warnings:
            click.secho(f"! {problem}", fg="yellow", err=True)
    return 0 if verdict.ok else 1


def _benchmark(name: str, folders: tuple[Path, ...]) -> "KnownBenchmark | None":
    """Return the benchmark of a name or folder; None for what looks like a file that is not there."""
    from mesocosm.benchmarks.catalogue import read_catalogue

    place = Path(name)
    if place.is_dir():
        found = read_catalogue((place,))
        known = next((one for one in found.benchmarks if one.folder == place.resolve()), None)
        if known is None:
            raise UsageError("; ".join(one.reason for one in found.uncovered) or f"{name} holds no benchmark")
        return known
    if "/" in name or place.suffix:
        return None
    return read_catalogue(folders).find(name)


def _played(known: "KnownBenchmark", extra: str, limit: int) -> int:
    from mesocosm.api.cheating import validate_benchmark
    from mesocosm.cli.bench.flags import read_extra

    return _told(asyncio.run(validate_benchmark(known, read_extra(extra), limit, _say)))


def _source(what: str, extra: str, limit: int) -> int:
    from mesocosm.api.cheating import validate_source
    from mesocosm.api.experiments import installed_sources
    from mesocosm.cli.bench.flags import read_extra
    from mesocosm.core.registry import fold
    from mesocosm.core.run import BenchmarkRef

    scheme, _, name = what.partition(":")
    ref = BenchmarkRef(installed_sources()[fold(scheme)], name, read_extra(extra))
    return _told(asyncio.run(validate_source(ref, limit, _say)))


def _say(one: "Played") -> None:
    if not options().json:
        shown = interval(one.low, one.high, weak=one.weak) if one.value is not None else one.missing
        click.echo(f"{one.player:<24} {one.told:<40} {number(one.value):>7}  {shown}".rstrip())


def _told(found: "BenchmarkVerdict") -> int:
    """Print the verdict; return the exit code."""
    if options().json:
        emit(found.to_json())
        return 0 if found.ok else 1
    for one in found.players:
        if found.earned(one):
            floor = f" more than its floor of {found.floor:g}" if found.floor else ""
            click.echo(f"✗ {one.player} ({one.told}) earns {number(one.value)}{floor}")
    click.echo(f"{found.benchmark}: {found.words}")
    return 0 if found.ok else 1


def _folders(folder: Path, extra: str, limit: int) -> int:
    from mesocosm.api.folder_validation import counts, validate_folders
    from mesocosm.cli.bench.flags import read_extra

    def say(one: "FolderPlayed") -> None:
        if not options().json:
            earned = sum(value > 0 for value in one.rewards.values())
            missing = f", {len(one.missing)} without a reward" if one.missing else ""
            click.echo(f"{one.player:<10} {one.told:<66} earns in {earned}{missing}")

    verdicts = asyncio.run(validate_folders(folder, read_extra(extra), limit, say))
    ok = all(one.ok for one in verdicts)
    if options().json:
        emit({"folder": str(folder), "ok": ok, "tasks": [one.to_json() for one in verdicts]})
        return 0 if ok else 1
    for one in verdicts:
        reason = f" ({one.reason})" if one.reason else ""
        click.echo(f"{'✓' if one.ok else '✗'} {one.task}: {one.words}{reason}")
    told = "; ".join(counts(verdicts)) or "solvable · not free · not forgeable"
    click.echo(f"{folder.resolve().name}: {told}")
    return 0 if ok else 1
