"""Read runs from files: bundles and replay files."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mesocosm.api.places import store_at
from mesocosm.api.results import Run, Runs
from mesocosm.core.failure import UnknownName

if TYPE_CHECKING:
    from mesocosm.store import Store


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
