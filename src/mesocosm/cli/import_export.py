"""`mesocosm export` and `mesocosm import`: write runs to files, and read them into the store."""

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from mesocosm.cli.command import MesocosmCommand, options, plural
from mesocosm.cli.render import answer, emit
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.model import ModelName
from mesocosm.core.run import AS_IMPORTED, RESCORING, UNVERIFIED, RunStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mesocosm.core.episode import Episode
    from mesocosm.core.run import Run
    from mesocosm.store import Store


MOST_OWED = 1_000_000
"""Maximum number of planned episodes that a file may lack: each counts as the worst value in one metric reading."""

TABLES = frozenset({".parquet", ".csv", ".jsonl"})
"""Suffixes of files that hold samples as a table."""


@click.command(cls=MesocosmCommand)
@click.argument("run_ids", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o", "--output", metavar="FILE", help="Bundle to write, usually NAME.zip; or NAME.parquet, .csv, .jsonl."
)
@click.option("--site", metavar="DIR", help="Directory to write a static site to.")
def export(run_ids: tuple[str, ...], output: str | None, site: str | None) -> None:
    """Write runs with all recorded data to one bundle, or to a static site for any web server.

    With a name that ends in .parquet, .csv or .jsonl, the samples of one run are written as a table: one line per
    episode with its scores, labels, tokens, cost, time, failure, prompt and answer.

    `mesocosm import` imports a bundle. A site is the viewer with the selected runs and nothing else: it needs no server
    process, works under any URL (such as GitHub Pages), and contains no paths of this machine.

    \b
    mesocosm export last -o run.zip
    mesocosm export 01a1f2 01a1f3 --site public
    mesocosm export last -o samples.parquet
    """
    if (output is None) == (site is None):
        raise UsageError("name either a bundle to write (-o NAME.zip) or the directory of a site (--site DIR)")
    store = command_store()
    found = list(dict.fromkeys(find_run(store, run_id).id for run_id in run_ids))
    if site is not None:
        _export_site(store, found, Path(site))
    elif output is not None and Path(output).suffix.lower() in TABLES:
        _export_samples(store, found, Path(output))
    elif output is not None:
        _export_bundle(store, found, output)


def _export_samples(store: "Store", found: list[str], output: Path) -> None:
    from mesocosm.interop.samples import write_samples

    if len(found) != 1:
        raise UsageError(
            f"{output} takes the samples of one run, these are {len(found)}; export each into its own file"
        )
    run = store.runs.get(found[0])
    count = write_samples(run, store, output)
    words = f"Wrote {output} ({plural(count, 'sample')}, {output.stat().st_size:,} bytes)"
    answer(words, {"output": str(output), "runs": found, "samples": count})
    if run.counts.planned > count and not options().json:
        rest = plural(run.counts.planned - count, "sample")
        click.echo(f"{rest} of {run.counts.planned:,} not begun, and not in the file", err=True)


def _export_bundle(store: "Store", found: list[str], output: str) -> None:
    from mesocosm.interop.bundle import write_bundle
    from mesocosm.interop.files import replacing

    with replacing(Path(output)) as file:
        write_bundle(file, list(map(store.bundles.run, found)))
    words = f"Wrote {output} ({plural(len(found), 'run')}, {Path(output).stat().st_size:,} bytes)"
    answer(words, {"output": output, "runs": found})


def _export_site(store: "Store", found: list[str], site: Path) -> None:
    import shlex

    from mesocosm.server.runs.published_runs import PublishedRuns
    from mesocosm.server.site.site import write_site

    written = write_site(PublishedRuns(store, [store.runs.get(run_id) for run_id in found]), site)
    if options().json:
        emit({"site": str(site), "runs": found, "files": written.files, "bytes": written.size})
        return
    contents = f"{plural(written.runs, 'run')}, {plural(written.episodes, 'episode')}"
    click.echo(f"Wrote {site} ({contents}, {plural(written.files, 'file')}, {written.size / 1e6:,.1f} MB)")
    click.echo("Publish it by copying it to any web server. To look at it here:")
    click.echo(
        f"  {shlex.join(['python3', '-m', 'http.server', '--bind', '127.0.0.1', '--directory', str(site), '8000'])}"
    )
    click.echo("  http://127.0.0.1:8000/")


@click.command(cls=MesocosmCommand)
@click.argument("file")
def import_(file: str) -> None:
    """Import the runs of a bundle, or the run of a replay JSON file. Importing twice changes nothing."""
    from mesocosm.interop.replayed import is_replay

    path = Path(file)
    taken = _import_replay(path) if is_replay(path) else _import_bundle(path)
    if options().json:
        emit({"runs": [{"run_id": run_id, "new_episodes": new} for run_id, new in taken]})
        return
    for run_id, new in taken:
        click.echo(f"imported run {run_id}: {plural(new, 'new episode')}")
        click.echo(f"  mesocosm run show {run_id}")


def _import_replay(path: Path) -> list[tuple[str, int]]:
    from mesocosm.interop.replayed import read_replay

    replay = read_replay(path)
    run = _measured(replay.run, [entry.episode for entry in replay.entries])
    store = command_store(create=True)
    with suppress(UnknownName):
        here = store.runs.get(run.id)
        if here.id == run.id and here.signature != run.signature:
            click.echo(f"run {here.id} is here with its full record; the replay adds nothing to it", err=True)
            return [(here.id, 0)]
    return [(run.id, store.bundles.insert(run, replay.entries))]


def _measured(run: "Run", episodes: "Iterable[Episode]") -> "Run":
    """Return a run with metrics computed from its finished episodes.

    If the scoring is unknown, the metrics stay as imported, and are marked. Raises UsageError if its row contradicts
    its episodes.
    """
    from mesocosm.engine.metrics import disagreements, of_episodes, outcome

    differences, made = [], run.spec.model.name
    # A file from another system may use any model name.
    with suppress(UsageError):
        made = ModelName.parse(made).shown()
    if run.model.partition("@")[0] != made.partition("@")[0]:
        differences.append(f"its model is {run.model!r}, and it was made with {made!r}")
    if run.info.get("metrics"):
        try:
            metrics = of_episodes(run, _whole(run, episodes))
        except (ValueError, OverflowError, msgspec.MsgspecError) as error:
            raise UsageError(f"run {run.id} cannot be measured: {error}; the file is damaged, or was edited") from error
        differences += disagreements(run, metrics)
        differences += [
            f"{one.n_scored:,} episodes have its {one.name}, and {one.n_planned:,} were planned to"
            for one in metrics
            if one.n_scored > one.n_planned
        ]
        # Episodes scored in two ways give no metrics: the earlier ones stay, as after an interrupted rescoring.
        if not run.provenance.get(RESCORING):
            run = msgspec.structs.replace(run, metrics=metrics)
            status, why = outcome(metrics, run.spec.limits.max_missing)
            if run.status is RunStatus.FINISHED and status is not RunStatus.FINISHED:
                run = msgspec.structs.replace(run, status=status, error=why)
    elif run.metrics:
        differences += _other_means(run, list(episodes))
        marked = {**run.provenance, UNVERIFIED: True}
        run = msgspec.structs.replace(
            run, provenance=marked, warnings=tuple(dict.fromkeys((*run.warnings, AS_IMPORTED)))
        )
    if differences:
        raise UsageError(
            f"run {run.id} is not what was exported: {'; '.join(differences)}; the file is damaged, or it was edited"
        )
    return run


def _whole(run: "Run", episodes: "Iterable[Episode]") -> "Iterator[Episode]":
    """Yield all episodes. Raises UsageError if the file lacks too many of them for any export."""
    held = 0
    for episode in episodes:
        held += 1
        yield episode
    planned = max([run.counts.planned, *run.terms.parts.values()])
    if planned > held + MOST_OWED:
        raise UsageError(
            f"run {run.id} plans {planned:,} episodes, and the file holds {held:,}; at most {MOST_OWED:,} "
            "may be missing"
        )


def _other_means(run: "Run", episodes: "Sequence[Episode]") -> "Iterator[str]":
    """Yield the means that differ from those of the scores of the same name, if every episode has one."""
    for metric in run.metrics:
        values = [score.value for one in episodes for score in one.scores if score.name == metric.name]
        known = [value for value in values if value is not None]
        if metric.aggregation != "mean" or metric.value is None or not known or len(known) != len(episodes):
            continue
        mean = sum(known) / len(known)
        if not math.isclose(metric.value, mean, rel_tol=1e-6, abs_tol=1e-9):
            yield f"its {metric.name} is stored as {metric.value}, its episodes give {mean}"


def _import_bundle(path: Path) -> list[tuple[str, int]]:
    from mesocosm.interop.bundle import Bundle
    from mesocosm.interop.places import settled
    from mesocosm.store.blobs import Artifact

    taken = []
    with Bundle(path) as bundle:
        bundle.check()
        store = command_store(create=True)
        for run_id in bundle.head.runs:
            artifacts = [
                Artifact(item.id, item.run_id, item.name, item.digest, item.created_at, item.episode_id)
                for item in bundle.artifacts(run_id)
            ]
            run = _measured(settled(bundle.run(run_id), options().results()), bundle.episodes(run_id))
            new = store.bundles.insert(run, bundle.entries(run_id), bundle.blobs(run_id), artifacts)
            taken.append((run_id, new))
        for grouped in bundle.groups():
            store.groups.insert(grouped.group, grouped.outcomes)
    return taken
