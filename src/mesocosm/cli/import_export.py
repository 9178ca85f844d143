"""`mesocosm export`: write runs to files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mesocosm.cli.command import MesocosmCommand, options, plural
from mesocosm.cli.render import answer, emit
from mesocosm.cli.results import command_store, find_run
from mesocosm.core.failure import UsageError

if TYPE_CHECKING:
    from mesocosm.store import Store


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
