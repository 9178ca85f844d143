"""`mesocosm import`: read runs from files into the store, ours and those of other programs."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from mesocosm.cli.command import MesocosmCommand, options, plural
from mesocosm.cli.render import emit, table
from mesocosm.cli.results import command_store
from mesocosm.core.failure import MesocosmError, UnknownName, UsageError

if TYPE_CHECKING:
    from mesocosm.core.run import Run
    from mesocosm.interop.imports.assembly import ImportedRun
    from mesocosm.interop.imports.recognition import RecognisedFile
    from mesocosm.store import Store

MOST_NAMED = 5
"""Maximum files to name that hold no results."""


@dataclass(frozen=True, slots=True)
class TakenRun:
    """A run that was read from a file, and how many of its episodes are new."""

    run_id: str
    new: int
    file: str
    form: str
    foreign: str = ""


@click.command(cls=MesocosmCommand)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("--list", "listing", is_flag=True, help="Show what the files are, and import nothing.")
@click.option("--model", metavar="MODEL", help="Model of trajectories that do not name theirs.")
def import_(paths: tuple[str, ...], listing: bool, model: str | None) -> None:
    """Import runs from files, or from all files below a directory. Importing twice changes nothing.

    Files of mesocosm are bundles and replay JSON files. Of other programs: logs of Inspect (.eval, .json), results of
    lm-eval with their samples, trajectories of tau-bench, τ² and ATIF, and the orchestrator.sqlite of the elizaOS
    benchmarks. Their numbers are computed again from each sample; those that the file states are shown beside them.

    \b
    mesocosm import run.zip
    mesocosm import logs --list
    mesocosm import logs
    """
    files = _files(paths)
    several = len(files) > 1 or Path(paths[0]).is_dir()
    found = _recognised(files, several=several, whole=not listing)
    if listing:
        _list(found)
        return
    work = _Import(model)
    work.take(found.files, several=several)
    work.report(found)


@dataclass(slots=True)
class _Recognised:
    """Files with their forms, those without results, and what is wrong with others."""

    files: Iterable["RecognisedFile"] = ()
    skipped: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def _files(paths: Sequence[str]) -> list[Path]:
    """Return the files to read. Raises UsageError for a directory without any."""
    from mesocosm.interop.imports.recognition import KNOWN, files_below

    files: list[Path] = []
    for path in map(Path, paths):
        below = files_below(path) if path.is_dir() else [path]
        if not below:
            raise UsageError(f"{path} holds no file that could be imported: none below it can be {KNOWN}")
        files += below
    return files


def _recognised(files: Sequence[Path], *, several: bool, whole: bool) -> _Recognised:
    """Return files with their forms, read one by one. Raises UsageError for one that was named alone."""
    from mesocosm.interop.imports.recognition import NotResults, recognise

    found = _Recognised()

    def each() -> Iterator["RecognisedFile"]:
        for path in files:
            try:
                yield recognise(path, whole=whole)
            except NotResults as error:
                if not several:
                    raise
                if error.beside not in files:
                    found.skipped.append(str(path))
            except UsageError as error:
                if not several:
                    raise
                found.broken.append(str(error))

    found.files = each()
    return found


class _Import:
    """One import: the store, opened once something is to be stored, and what was taken."""

    def __init__(self, model: str | None) -> None:
        self._model = model
        self.taken: list[TakenRun] = []
        self.broken: list[str] = []

    @cached_property
    def store(self) -> "Store":
        """The results, created if they are not there."""
        return command_store(create=True)

    def take(self, files: Iterable["RecognisedFile"], *, several: bool) -> None:
        """Import files; a broken one of several does not keep the others from it."""
        trajectories: list[Path] = []
        for found in files:
            if several and found.form == "atif":
                trajectories.append(found.path)
                continue
            self._guarded(self._runs(found), several=several)
        if trajectories:
            self._guarded(self._trajectories(trajectories), several=several)

    def _guarded(self, runs: Iterator[TakenRun], *, several: bool) -> None:
        try:
            for taken in runs:
                self.taken.append(taken)
        except MesocosmError as error:
            if not several:
                raise
            self.broken.append(str(error))

    def _runs(self, found: "RecognisedFile") -> Iterator[TakenRun]:
        from mesocosm.api.files import import_bundle, import_replay
        from mesocosm.core.redact import Redactor
        from mesocosm.interop.imports.recognition import read_foreign

        if found.form == "bundle":
            for stored in import_bundle(found.path, lambda: self.store, options().results()):
                yield TakenRun(stored.run_id, stored.new, str(found.path), "bundle")
        elif found.form == "replay":
            for stored in import_replay(found.path, lambda: self.store):
                if stored.recorded:
                    words = f"run {stored.run_id} is here with its full record; the replay adds nothing to it"
                    click.echo(words, err=True)
                yield TakenRun(stored.run_id, stored.new, str(found.path), "replay")
        else:
            for read in read_foreign(found, Redactor()):
                yield self._foreign(read, found.path, found.form)

    def _trajectories(self, paths: Sequence[Path]) -> Iterator[TakenRun]:
        from mesocosm.core.redact import Redactor
        from mesocosm.interop.imports.atif_file import read_trajectories

        for read in read_trajectories(paths, Redactor()):
            yield self._foreign(read, paths[0].parent, "atif")

    def _foreign(self, read: "ImportedRun", path: Path, form: str) -> TakenRun:
        from mesocosm.engine.imported import measured
        from mesocosm.store.blobs import Artifact

        run = measured(self._named(read.run), read.episodes)
        if (own := self._exported(run)) is not None:
            click.echo(f"run {own.id} is here with its full record; {path} adds nothing to it", err=True)
            return TakenRun(own.id, 0, str(path), form, own.title)
        files = (
            Artifact(file.id, run.id, file.name, file.digest, file.created_at, file.episode_id) for file in read.files
        )
        try:
            new = self.store.bundles.insert(run, read.entries(), read.blobs, files, same_scores=True)
        except UsageError as error:
            # The store speaks of bundles, which this file is not.
            raise UsageError(f"{path}: {str(error).replace('the bundle', 'the file')}") from error
        return TakenRun(run.id, new, str(path), form, run.title)

    def _named(self, run: "Run") -> "Run":
        """Return a run with the model that the user names, if its file names none."""
        if not self._model or not run.model.startswith("unknown/"):
            return run
        model = msgspec.structs.replace(run.spec.model, name=self._model)
        spec = msgspec.structs.replace(run.spec, model=model)
        return msgspec.structs.replace(run, model=self._model, spec=spec)

    def _exported(self, run: "Run") -> "Run | None":
        """Return the run here that a log was exported from, None if it is not here."""
        origin = run.provenance.get("exported_from")
        with suppress(UnknownName):
            here = self.store.runs.get(origin) if isinstance(origin, str) and origin else None
            return here if here is not None and here.id == origin else None
        return None

    def report(self, found: _Recognised) -> None:
        """Say what was imported and what was not. Raises UsageError if a file was broken, or nothing was imported."""
        broken = [*found.broken, *self.broken]
        if options().json:
            document: dict[str, Any] = {
                "runs": [
                    {"run_id": one.run_id, "new_episodes": one.new, "file": one.file, "form": one.form}
                    for one in self.taken
                ]
            }
            if found.skipped or broken:
                document |= {"no_results": found.skipped, "errors": broken}
            emit(document)
        for one in self.taken if not options().json else ():
            what = f" ({one.foreign})" if one.foreign else ""
            click.echo(f"imported run {one.run_id}: {plural(one.new, 'new episode')}{what}")
            click.echo(f"  mesocosm run show {one.run_id}")
        _say_skipped(found.skipped)
        if broken:
            raise UsageError("\n".join([f"{plural(len(broken), 'file')} could not be imported:", *broken]))
        if not self.taken:
            raise UsageError("none of these files holds results that can be imported")


def _say_skipped(skipped: Sequence[str]) -> None:
    if skipped:
        more = f" and {len(skipped) - MOST_NAMED} more" if len(skipped) > MOST_NAMED else ""
        named = ", ".join(skipped[:MOST_NAMED])
        click.echo(f"{plural(len(skipped), 'file')} without results left out: {named}{more}", err=True)


def _list(found: _Recognised) -> None:
    """Show what files are: of a log of Inspect its header, of other files their form."""
    from mesocosm.interop.imports.recognition import log_summary

    rows: list[dict[str, Any]] = []
    for file in found.files:
        row: dict[str, Any] = {"file": str(file.path), "form": file.form}
        if file.form == "inspect":
            try:
                told = log_summary(file)
            except UsageError as error:
                found.broken.append(str(error))
                continue
            row |= {
                "benchmark": told.task,
                "model": told.model,
                "status": told.status,
                "samples": told.samples,
                "headline": told.headline,
            }
        rows.append(row)
    if options().json:
        emit({"files": rows, "no_results": found.skipped, "errors": found.broken})
        return
    names = ("form", "benchmark", "model", "status", "samples", "headline", "file")
    cells = [["" if (cell := row.get(name)) is None else str(cell) for name in names] for row in rows]
    table(list(names), cells, options(), right=(4,))
    _say_skipped(found.skipped)
    if found.broken:
        raise UsageError("\n".join([f"{plural(len(found.broken), 'file')} cannot be read:", *found.broken]))
