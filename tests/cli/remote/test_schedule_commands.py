"""`mesocosm eval schedule …` against a server."""

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.server.runnable_code import add_code, add_dataset

from mesocosm.store.repositories import Sync, SyncedConfiguration, SyncState, new_repository

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Open, Platform

SUMS = "configs/eval/sums.toml"


@pytest.fixture
def platform(open_platform: "Open") -> "Platform":
    """A server on which Ada's workspace was synced, and her command line."""
    platform: Platform = open_platform()
    platform.is_now("ada")
    place = platform("workspace", "create", "Reefs", "--use", "--json").document["id"]
    store = platform.service.store
    row = new_repository(place, "github.com/a/b", "https://github.com/a/b", branch="main")
    assert store.repositories.connect(row) is not None
    store.syncs.add(Sync(repository_id=row.id, number=0, branch="main"))
    claimed = store.syncs.claim("worker", 30.0)
    assert claimed is not None
    found = (SyncedConfiguration(SUMS, valid=True),)
    over: dict[str, Any] = {"state": SyncState.SUCCESS, "commit_id": "a" * 40, "ended_at": 1.0, "configurations": found}
    over["snapshot"] = add_code(platform.service, SUMS)
    add_dataset(platform.service, place)
    assert store.syncs.save(msgspec.structs.replace(claimed, **over))
    return platform


def test_a_schedule_is_added_listed_paused_resumed_and_removed(platform: "Platform") -> None:
    assert "no schedules; add one" in platform("eval", "schedule", "list").err
    added = platform(
        *("eval", "schedule", "add", SUMS, "--cron", "0 3 * * 1-5", "--timezone", "Europe/Berlin"),
        *("-n", "50", "--tag", "night", "-m", "builtin/random"),
    )
    assert added.code == 0, added.err
    lines = added.out.splitlines()
    assert lines[:2] == ["Added the schedule sums.", "next, in your time zone:"]
    assert len(lines) == 7
    (listed,) = platform("eval", "schedule", "list", "--json").document
    assert (listed["name"], listed["cron"], listed["timezone"]) == ("sums", "0 3 * * 1-5", "Europe/Berlin")
    assert listed["overrides"] == {"limit": 50, "model": "builtin/random", "tags": ["night"]}
    assert "0 3 * * 1-5 Europe/Berlin" in platform("eval", "schedule", "list").out
    assert "paused; go on with: mesocosm eval schedule resume sums" in platform("eval", "schedule", "pause", "sums").out
    assert "paused" in platform("eval", "schedule", "list").out
    assert "Its runs are those of ada." in platform("eval", "schedule", "resume", "sums").out
    asked = platform("eval", "schedule", "remove", "sums", stdin="n\n")
    assert (asked.code, "nothing was removed" in asked.err) == (1, True)
    assert platform("eval", "schedule", "remove", "sums", "--yes").out == "Removed the schedule sums.\n"
    assert platform("eval", "schedule", "list", "--json").document == []


def test_a_schedule_for_syncs_shows_what_it_ran(platform: "Platform") -> None:
    platform("eval", "schedule", "add", SUMS, "--on-sync", "--name", "each", "--branch", "main")
    store = platform.service.store
    (workspace, *_) = platform("workspace", "list", "--json").document
    schedule = store.schedules.get(workspace["id"], "each")
    assert schedule is not None
    store.schedules.change(schedule.id, next_at=1000.0)
    store.schedules.advance(msgspec.structs.replace(schedule, next_at=1000.0), None)
    claimed = store.scheduled_runs.claim("worker", 30.0)
    assert claimed is not None
    store.scheduled_runs.refused(claimed[0], "the configuration is gone")
    shown = platform("eval", "schedule", "show", "each").out
    assert "each: configs/eval/sums.toml, after syncs of main" in shown
    assert "problem: the configuration is gone" in shown
    assert "refused" in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((SUMS,), "say when"),
        ((SUMS, "--cron", "@daily", "--on-sync"), "say when"),
        ((SUMS, "--on-sync", "--timezone", "UTC"), "belongs to --cron"),
        ((SUMS, "--cron", "0 3 * *"), "five fields"),
        ((SUMS, "--cron", "@daily", "--timezone", "Mars"), "no time zone"),
        (("configs/eval/none.toml", "--cron", "@daily"), f"it has: {SUMS}"),
        ((SUMS, "--cron", "@daily", "--name", "a b"), "name"),
    ],
)
def test_what_cannot_run_is_said_at_once(platform: "Platform", words: tuple[str, ...], told: str) -> None:
    refused = platform("eval", "schedule", "add", *words)
    assert refused.code != 0
    assert told in refused.err
    assert platform("eval", "schedule", "list", "--json").document == []
