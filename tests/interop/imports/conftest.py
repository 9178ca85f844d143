"""A store to import into, and what an import came to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mesocosm.core.episode import Episode
from mesocosm.core.event import Event
from mesocosm.core.redact import Redactor
from mesocosm.core.run import Run
from mesocosm.engine.imported import measured
from mesocosm.interop.imports.recognition import read_foreign, recognise
from mesocosm.interop.replay import all_episodes
from mesocosm.store import Store, open_store
from mesocosm.store.blobs import Artifact


@dataclass(frozen=True)
class Imported:
    """A run in a store."""

    run: Run
    store: Store
    new: int

    @property
    def episodes(self) -> list[Episode]:
        """Its episodes in plan order."""
        return list(all_episodes(self.store, self.run.id))

    def events(self, episode: Episode) -> list[Event]:
        """Return the trace of an episode."""
        return list(self.store.traces.events(episode.id))

    @property
    def values(self) -> dict[str, float | None]:
        """Its metrics by name."""
        return {metric.name: metric.value for metric in self.run.metrics}


Importing = Callable[[Path], list[Imported]]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return an empty store."""
    opened = open_store(tmp_path / "results")
    yield opened
    opened.close()


@pytest.fixture
def importing(store: Store) -> Importing:
    """Return what imports a file as the command does."""

    def work(path: Path) -> list[Imported]:
        found = []
        for read in read_foreign(recognise(path), Redactor(secrets=())):
            run = measured(read.run, read.episodes)
            files = (Artifact(f.id, run.id, f.name, f.digest, f.created_at, f.episode_id) for f in read.files)
            new = store.bundles.insert(run, read.entries(), read.blobs, files, same_scores=True)
            found.append(Imported(store.runs.get(run.id), store, new))
        return found

    return work
