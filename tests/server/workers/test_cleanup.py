"""Cleaning up: what nobody needs any more goes, what somebody may play stays."""

import os
import time
from typing import Any

from mesocosm.core.ids import new_id
from mesocosm.server.workers.cleanup import clean
from mesocosm.store.environments import EnvironmentRow

OLD_S = 3 * 86_400.0


def test_versions_that_nobody_plays_leave_the_disk(platform: Any, world: Any) -> None:
    environment_id = new_id()
    row = EnvironmentRow(
        id=environment_id, holder_key="user:1", version=5, ready_version=4, created_at=time.time() - OLD_S
    )
    platform.service.store.environments.add(row)
    platform.order(world.url, (1,), environment_id=environment_id, environment_version=2)
    built = platform.folder / "environments" / environment_id
    old = time.time() - OLD_S
    for version in range(1, 6):
        (built / str(version) / "source").mkdir(parents=True)
    (built / "notes").mkdir()
    # A version that was built again today, for a run that was resumed.
    for version in (1, 2, 4, 5):
        os.utime(built / str(version), (old, old))
    os.utime(built / "notes", (old, old))
    os.utime(built, (old, old))

    assert clean(platform.service).environment_folders == 1
    assert sorted(folder.name for folder in built.iterdir()) == ["2", "3", "4", "5", "notes"]


def test_environments_that_nobody_knows_leave_the_disk(platform: Any) -> None:
    folder = platform.folder / "environments" / new_id()
    (folder / "1").mkdir(parents=True)
    os.utime(folder, (time.time() - OLD_S,) * 2)

    assert clean(platform.service).environment_folders == 1
    assert not folder.exists()
