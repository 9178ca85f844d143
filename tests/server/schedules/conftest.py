"""A team whose code is synced from a repository, and its schedules."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.server.evaluations.conftest import CONFIG, FILES, Team, cheap_passwords, open_team, team
from tests.server.routes.conftest import Person

from mesocosm.core.ids import digest_bytes
from mesocosm.core.snapshot import SnapshotFile
from mesocosm.store.repositories import Repository, Sync, SyncedConfiguration, SyncState, new_repository
from mesocosm.store.schedules import Schedule, ScheduledRun

__all__ = ["cheap_passwords", "open_team", "team"]

SUMS = "configs/eval/sums.toml"
COMMITS = tuple(letter * 40 for letter in "abc")


@dataclass
class Synced:
    """A team, the repository of its workspace, and what is scheduled there."""

    team: Team
    repository: Repository

    @property
    def store(self) -> Any:
        """The store of the server."""
        return self.team.service.store

    @property
    def path(self) -> str:
        """The path of the workspace in the API."""
        return f"/api/workspaces/{self.team.workspace}"

    def sync(self, commit: str, branch: str = "main", **files: str) -> None:
        """Sync a commit, as a worker does it; `files` replace the configuration by its stem."""
        contents = {name: text.encode() for name, text in FILES.items()}
        contents |= {f"configs/eval/{stem}.toml": text.encode() for stem, text in files.items() if text}
        for stem, text in files.items():
            if not text:
                del contents[f"configs/eval/{stem}.toml"]
        listed = [SnapshotFile(name, digest_bytes(data), len(data)) for name, data in contents.items()]
        snapshot = self.store.snapshots.add(listed, lambda file: contents[file.path])
        self.store.syncs.add(Sync(repository_id=self.repository.id, number=0, branch=branch))
        claimed = self.store.syncs.claim("syncing", 60.0)
        names = sorted(name for name in contents if name.endswith(".toml"))
        done = {
            "state": SyncState.SUCCESS,
            "commit_id": commit,
            "snapshot": snapshot.digest,
            "configurations": tuple(SyncedConfiguration(name, valid=True) for name in names),
            "ended_at": 1.0,
        }
        assert self.store.syncs.save(msgspec.structs.replace(claimed, **done))

    def schedule(self, by: Person | None = None, *, due: bool = True, **given: Any) -> Schedule:
        """Make a schedule, by default one that is due now."""
        body = {"name": "nightly", "configuration": SUMS, "cron": "0 3 * * *"} | given
        answer = (by or self.team.owner).post(f"{self.path}/schedules", body)
        assert answer.status_code == 201, answer.text
        schedule_id = answer.json()["schedule"]["id"]
        if due and body["cron"]:
            self.store.schedules.change(schedule_id, next_at=1000.0)
        return self.again(schedule_id)

    def again(self, schedule_id: str) -> Schedule:
        """Return a schedule as it is stored."""
        found = self.store.schedules.get(self.team.workspace, schedule_id)
        assert found is not None
        return found  # type: ignore[no-any-return]

    def owed(self, schedule: Schedule) -> list[ScheduledRun]:
        """Return what a schedule owed, the oldest first."""
        return list(reversed(self.store.scheduled_runs.list(schedule.id)))

    def member(self, name: str, role: str = "member") -> Person:
        """Return a new member of the workspace."""
        person = self.team.hosted.member(name)
        assert self.team.owner.post(f"{self.path}/members", {"username": name, "role": role}).status_code == 201
        return person


@pytest.fixture
def synced(team: Team) -> Synced:
    """A team whose repository was synced at the first commit."""
    row = new_repository(team.workspace, "github.com/a/b", "https://github.com/a/b", branch="main")
    made = team.service.store.repositories.connect(row)
    assert made is not None
    found = Synced(team, made)
    found.sync(COMMITS[0])
    return found


OTHER = CONFIG.replace('limit = "all"', "limit = 3")
"""The same configuration with fewer rows."""
