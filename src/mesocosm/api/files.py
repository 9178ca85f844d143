"""Read runs from files: bundles and replay files."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mesocosm.api.places import store_at
from mesocosm.api.results import Run, Runs
from mesocosm.core.failure import UnknownName

if TYPE_CHECKING:
    from mesocosm.store import Store


class ReadRun(NamedTuple):
    """A run that was read from a file, and how many of its episodes are new.

    One that is `recorded` was here with its full record, to which the file adds nothing.
    """

    run_id: str
    new: int
    recorded: bool = False


def import_runs(path: str | os.PathLike[str], *, store: str | os.PathLike[str] | None = None) -> Runs:
    """Read the runs of a bundle (`.zip`), or of a replay file, into the store, and return them.

    Importing twice changes nothing. Raises UsageError for another file, InvalidInput for a damaged one.

    >>> bundle = run.export("run.zip")
    >>> import_runs(bundle, store="elsewhere")[0].score == run.score
    True
    """
    from mesocosm.interop.replayed import is_replay

    def opened() -> "Store":
        return store_at(store)

    file = Path(path)
    taken = list(import_replay(file, opened) if is_replay(file) else import_bundle(file, opened))
    return Runs([Run(opened(), opened().runs.get(one.run_id)) for one in taken])


def import_replay(path: Path, opened: Callable[[], "Store"]) -> Iterator[ReadRun]:
    """Store the run of a replay file, and yield it; nothing is opened for a broken file. Raises as `import_runs`."""
    from mesocosm.engine.imported import measured
    from mesocosm.interop.replayed import read_replay

    replay = read_replay(path)
    run = measured(replay.run, [entry.episode for entry in replay.entries])
    store = opened()
    with suppress(UnknownName):
        here = store.runs.get(run.id)
        if here.id == run.id and here.signature != run.signature:
            yield ReadRun(here.id, 0, recorded=True)
            return
    yield ReadRun(run.id, store.bundles.insert(run, replay.entries))


def import_bundle(path: Path, opened: Callable[[], "Store"], results: Path | None = None) -> Iterator[ReadRun]:
    """Store the runs of a bundle, and yield each once it is stored; nothing is opened for a broken file.

    Options of a run that name files are kept only where those are below `results`, by default the folder of the store.
    Raises as `import_runs`.
    """
    from mesocosm.engine.imported import measured
    from mesocosm.interop.bundle import Bundle
    from mesocosm.interop.places import settled
    from mesocosm.store.blobs import Artifact

    with Bundle(path) as bundle:
        bundle.check()
        store = opened()
        home = results or (Path("benchmark_results") if "://" in store.place else Path(store.place).parent)
        for run_id in bundle.head.runs:
            artifacts = [
                Artifact(item.id, item.run_id, item.name, item.digest, item.created_at, item.episode_id)
                for item in bundle.artifacts(run_id)
            ]
            run = measured(settled(bundle.run(run_id), home), bundle.episodes(run_id))
            new = store.bundles.insert(run, bundle.entries(run_id), bundle.blobs(run_id), artifacts)
            yield ReadRun(run_id, new)
        for grouped in bundle.groups():
            store.groups.insert(grouped.group, grouped.outcomes)
