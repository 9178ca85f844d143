"""`mesocosm export`: write runs to files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import MesocosmCommand, options, plural
from mesocosm.cli.render import answer, emit
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.core.run import Run
    from mesocosm.store import Store


TABLES = frozenset({".parquet", ".csv", ".jsonl"})
"""Suffixes of files that hold samples as a table."""


@click.command(cls=MesocosmCommand)
@click.argument("run_ids", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Bundle to write, usually NAME.zip; or NAME.eval, .parquet, .csv, .jsonl; a directory for ATIF.",
)
@click.option(
    "--format", "form", type=click.Choice(["bundle", "samples", "inspect", "atif"]), help="Format  [by the name]."
)
@click.option("--site", metavar="DIR", help="Directory to write a static site to.")
def export(run_ids: tuple[str, ...], output: str | None, form: str | None, site: str | None) -> None:
    """Write runs with all recorded data to one bundle, or to a static site for any web server.

    With a name that ends in .parquet, .csv or .jsonl, the samples of one run are written as a table: one line per
    episode with its scores, labels, tokens, cost, time, failure, prompt and answer. NAME.eval is a log of Inspect.
    With `--format atif`, each episode is a trajectory (ATIF 1.7) in a directory.

    `mesocosm import` imports a bundle. A site is the viewer with the selected runs and nothing else: it needs no server
    process, works under any URL (such as GitHub Pages), and contains no paths of this machine.

    \b
    mesocosm export last -o run.zip
    mesocosm export 01a1f2 01a1f3 --site public
    mesocosm export last -o samples.parquet
    mesocosm export last -o run.eval
    mesocosm export last --format atif -o trajectories
    """
    if (output is None) == (site is None):
        raise UsageError("name either a bundle to write (-o NAME.zip) or the directory of a site (--site DIR)")
    store = command_store()
    found = list(dict.fromkeys(find_run(store, run_id).id for run_id in run_ids))
    if site is not None:
        if form is not None:
            raise UsageError("--format is for files (-o), and a site has only one")
        _export_site(store, found, Path(site))
    elif output is not None:
        writers = {"samples": _export_samples, "inspect": _export_log, "atif": _export_trajectories}
        form = form or _form_of(Path(output))
        if form in writers:
            writers[form](store, found, Path(output))
        else:
            _export_bundle(store, found, output)


def _form_of(output: Path) -> str:
    """Return the format that the name of a file says."""
    suffix = output.suffix.lower()
    return "samples" if suffix in TABLES else "inspect" if suffix == ".eval" else "bundle"


def _only(store: "Store", found: list[str], output: Path) -> "Run":
    """Return the run to export. Raises UsageError for several."""
    if len(found) != 1:
        raise UsageError(
            f"{output} takes the samples of one run, these are {len(found)}; export each into its own file"
        )
    return store.runs.get(found[0])


def _export_log(store: "Store", found: list[str], output: Path) -> None:
    from mesocosm.interop.inspect_log import stored_files, write_log

    run = _only(store, found, output)
    count = write_log(run, store, stored_files(store.artifacts.of_run(run.id), store.blobs), output)
    words = f"Wrote {output} ({plural(count, 'sample')}, {output.stat().st_size:,} bytes)"
    answer(words, {"output": str(output), "runs": found, "samples": count})
    _say_rest(run.counts.planned - count, run.counts.planned)


def _export_trajectories(store: "Store", found: list[str], output: Path) -> None:
    from mesocosm.interop.atif import write_trajectories

    run = _only(store, found, output)
    written, without = write_trajectories(run, store, output)
    words = f"Wrote {output} ({written:,} {'trajectory' if written == 1 else 'trajectories'})"
    answer(words, {"output": str(output), "runs": found, "trajectories": written, "without_steps": without})
    if without and not options().json:
        click.echo(f"{plural(without, 'episode')} without any step, and not in it", err=True)
    _say_rest(run.counts.planned - written - without, run.counts.planned)


def _say_rest(count: int, planned: int) -> None:
    if count > 0 and not options().json:
        click.echo(f"{plural(count, 'sample')} of {planned:,} not finished, and not in the file", err=True)


def _export_samples(store: "Store", found: list[str], output: Path) -> None:
    from mesocosm.interop.samples import write_samples

    run = _only(store, found, output)
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
