"""Syncs of a workspace with repositories on this disk: what is found, kept, and refused."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.server.builds.conftest import Repositories, Repository

from mesocosm.server.builds.sync import synchronize, write_snapshot
from mesocosm.server.service import Service
from mesocosm.server.settings import read_settings
from mesocosm.store import open_store
from mesocosm.store.repositories import Repository as RepositoryRow
from mesocosm.store.repositories import Sync, SyncState, new_repository

CONFIG = """[experiment]
rollout = "words"
entrypoint = "main.py"
model_path = "openai/gpt-5-mini"
dataset = "hard"
"""
PROJECT = '[project]\nname = "words"\nversion = "1"\ndependencies = ["openai>=1.70"]\nrequires-python = ">=3.11"\n'
FILES: Mapping[str, str | bytes] = {
    "rollouts/words/main.py": "print()\n",
    "rollouts/words/pyproject.toml": PROJECT,
    "configs/eval/hard.toml": CONFIG,
    "data/hard.jsonl": "{}\n",
}


@dataclass
class Host:
    """A server without workers, and a workspace of one person."""

    service: Service
    workspace_id: str

    def connect(self, known: Repository, **given: Any) -> RepositoryRow:
        row = new_repository(self.workspace_id, "local/words", str(known.path), **given)
        assert self.service.store.repositories.connect(row) == row
        return row

    def queue(self, row: RepositoryRow, **given: Any) -> Sync:
        found = self.service.store.syncs.add(Sync(repository_id=row.id, number=0, **given))
        assert found is not None
        return found

    def claim(self) -> Sync:
        found = self.service.store.syncs.claim("worker", 30.0)
        assert found is not None
        return found

    def sync(self, row: RepositoryRow, **given: Any) -> Sync:
        """Queue a sync and do it; return what came of it."""
        number = self.queue(row, **given).number
        asyncio.run(synchronize(self.service, self.claim()))
        found = self.service.store.syncs.get(row.id, number)
        assert found is not None
        assert not list((self.service.settings.data_dir / "syncs").iterdir())
        return found

    def written(self, sync: Sync, place: Path) -> dict[str, bytes]:
        """Write the snapshot of a sync; return the content of its files."""
        snapshots = self.service.store.snapshots
        assert sync.snapshot is not None
        write_snapshot(snapshots, snapshots.get(sync.snapshot), place)
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if not path.is_dir()}


@pytest.fixture
def open_host(tmp_path: Path, put_empty_store: Callable[[Path], Path]) -> Iterator[Callable[..., Host]]:
    """Return what opens a server with other settings."""
    store = open_store(put_empty_store(tmp_path / "results"))

    def opened(**given: Any) -> Host:
        settings = read_settings(**{"data_dir": tmp_path / "data", "local_git": True, **given})
        owner = store.users.add("ada")
        workspace = store.workspaces.add("Reefs", owner.id)
        assert workspace is not None
        return Host(Service(settings, store), workspace.id)

    yield opened
    store.close()


@pytest.fixture
def host(open_host: Callable[..., Host]) -> Host:
    """A server that takes repositories of this disk."""
    return open_host()


def test_a_sync_tells_what_a_commit_has_and_keeps_it(host: Host, repository: Repositories, tmp_path: Path) -> None:
    known = repository(FILES)
    row = host.connect(known)
    found = host.sync(row)
    assert (found.state, found.error) == (SyncState.SUCCESS, "")
    assert (found.commit_id, found.branch, found.author) == (known.git("rev-parse", "HEAD"), "main", "Somebody")
    assert found.message == "change"
    assert found.committed_at is not None
    assert abs(found.committed_at - time.time()) < 3600
    (rollout,) = found.rollouts
    assert (rollout.name, rollout.entrypoints) == ("words", ("main.py",))
    assert (rollout.requirements, rollout.requires_python) == (("openai>=1.70",), ">=3.11")
    (config,) = found.configurations
    assert (config.path, config.valid, config.rollout, config.dataset) == (
        *("configs/eval/hard.toml", True, "words", "hard"),
    )
    assert found.faults == ()
    assert host.written(found, tmp_path / "out") == {
        name: os.fsencode(content) for name, content in FILES.items() if isinstance(content, str)
    }
    assert host.service.store.repositories.of(host.workspace_id).branch == "main"  # type: ignore[union-attr]
