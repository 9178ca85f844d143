"""Write runs to files: tables, bundles, static sites."""

from pathlib import Path
from typing import TYPE_CHECKING

from mesocosm.core.failure import UsageError
from mesocosm.core.run import Run as StoredRun

if TYPE_CHECKING:
    from mesocosm.store import Store

TABLES = frozenset({".parquet", ".csv", ".jsonl"})
"""Endings of files that hold samples as a table."""


def export(run: StoredRun, store: "Store", path: Path) -> Path:
    """Write a run by the ending of `path`, as `Run.export` does."""
    ending = path.suffix.lower()
    if ending in TABLES:
        from mesocosm.interop.samples import write_samples

        write_samples(run, store, path)
    elif ending == ".zip":
        from mesocosm.interop.bundle import write_bundle
        from mesocosm.interop.files import replacing

        with replacing(path) as file:
            write_bundle(file, [store.bundles.run(run.id)])
    elif not ending:
        from mesocosm.server.runs.published_runs import PublishedRuns
        from mesocosm.server.site.site import write_site

        write_site(PublishedRuns(store, [run]), path)
    else:
        raise UsageError(f"{path}: {ending} is no format; end it in .csv, .jsonl, .parquet or .zip, or name a folder")
    return path
