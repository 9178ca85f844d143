"""Copies of runs for publishing, without anything that identifies this machine."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from mesocosm.core.entry import Entry
from mesocosm.core.run import Run, RunStatus
from mesocosm.core.score import Score
from mesocosm.engine.reviewing import HUMAN, of_people
from mesocosm.server.auth.principal import SERVER
from mesocosm.server.auth.redaction import Mask, public
from mesocosm.server.permissions.grant import Grant, grant
from mesocosm.server.service import local_service
from mesocosm.store import Store, open_store
from mesocosm.store.lease_owner import abandoned


def _without_reviewers(entry: Entry) -> Entry:
    """Return an entry without the names of those who judged its episode; its checksum is of what was recorded."""
    scores = tuple(
        Score(one.name, one.value, one.missing) if one.name == HUMAN else one for one in entry.episode.scores
    )
    return replace(entry, episode=msgspec.structs.replace(entry.episode, scores=scores), checksum="", link=None)


class PublishedRuns:
    """Selected runs of a store."""

    def __init__(self, store: Store, runs: Sequence[Run]) -> None:
        self._store = store
        self.runs = tuple(runs)

    @property
    def going_on(self) -> Run | None:
        """The first run that a process is still working on, None if there is none."""
        open_runs = (run for run in self.runs if run.status in {RunStatus.PENDING, RunStatus.RUNNING})
        return next((run for run in open_runs if not abandoned(run)), None)

    @contextmanager
    def copied(self) -> Iterator[tuple[Grant, Mask]]:
        """Copy the runs to a temporary store; yield access to it, and a mask for paths of this machine in text."""
        with tempfile.TemporaryDirectory(prefix="mesocosm-") as folder:
            store, mask = open_store(folder), Mask.of(self.runs, [Path(self._store.place).parent, Path(folder)])
            try:
                for run in self.runs:
                    blobs, artifacts = self._store.blobs.of_run(run.id), self._store.artifacts.of_run(run.id)
                    entries = self._store.bundles.entries(run.id)
                    copied = map(_without_reviewers, entries) if of_people(run) else entries
                    store.bundles.insert(public(run), copied, blobs, artifacts)
                yield grant(local_service(store), SERVER), mask
            finally:
                store.close()
