"""Runs as files: tables, bundles, static sites, and reading bundles back."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mesocosm.api.places import store_at
from mesocosm.api.results import Run, Runs
from mesocosm.core.failure import UnknownName, UsageError
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


def import_runs(path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> Runs:
    """Read the runs of a bundle (`.zip`), or of a replay file, into the store, and return them.

    Importing twice changes nothing. Raises UsageError for another file, InvalidInput for a damaged one.

    >>> bundle = run.export("run.zip")
    >>> import_runs(bundle, store="elsewhere")[0].score == run.score
    True
    """
    opened = store_at(store)
    taken = import_file(Path(path), opened)
    return Runs([Run(opened, opened.runs.get(run_id)) for run_id, _ in taken])


def import_file(path: Path, store: "Store") -> list[tuple[str, int]]:
    """Import the runs of a file; return the id of each, and the number of its episodes that were new."""
    from mesocosm.interop.replayed import is_replay

    return _import_replay(path, store) if is_replay(path) else _import_bundle(path, store)


def _import_replay(path: Path, store: "Store") -> list[tuple[str, int]]:
    from mesocosm.engine.imported import measured
    from mesocosm.interop.replayed import read_replay

    replay = read_replay(path)
    run = measured(replay.run, [entry.episode for entry in replay.entries])
    with suppress(UnknownName):
        here = store.runs.get(run.id)
        if here.id == run.id and here.signature != run.signature:
            # It is here with its full record, to which the replay adds nothing.
            return [(here.id, 0)]
    return [(run.id, store.bundles.insert(run, replay.entries))]


def _import_bundle(path: Path, store: "Store") -> list[tuple[str, int]]:
    from mesocosm.engine.imported import measured
    from mesocosm.interop.bundle import Bundle
    from mesocosm.interop.places import settled
    from mesocosm.store.blobs import Artifact

    taken = []
    results = Path("benchmark_results") if "://" in store.place else Path(store.place).parent
    with Bundle(path) as bundle:
        bundle.check()
        for run_id in bundle.head.runs:
            artifacts = [
                Artifact(item.id, item.run_id, item.name, item.digest, item.created_at, item.episode_id)
                for item in bundle.artifacts(run_id)
            ]
            run = measured(settled(bundle.run(run_id), results), bundle.episodes(run_id))
            new = store.bundles.insert(run, bundle.entries(run_id), bundle.blobs(run_id), artifacts)
            taken.append((run_id, new))
        for grouped in bundle.groups():
            store.groups.insert(grouped.group, grouped.outcomes)
    return taken
