"""Schedules in both databases: who gets a run that is due, and that it is owed once."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from mesocosm.store import Store
from mesocosm.store.repositories import Repository, Sync, SyncState, new_repository
from mesocosm.store.schedules import KEPT, MOST_TRIES, Schedule, ScheduledState, is_name_taken
from mesocosm.store.tenancy import scheduled_runs

LEASE_S = 1000.0
MOST = 3


@pytest.fixture
def reefs(store: Store) -> str:
    """Return the id of a workspace."""
    made = store.workspaces.add("Reefs", store.users.add("ada").id)
    assert made is not None
    return made.id


@pytest.fixture
def repository(store: Store, reefs: str) -> Repository:
    """Return the repository of the workspace, which follows main."""
    row = new_repository(reefs, "github.com/a/b", "https://github.com/a/b", branch="main")
    made = store.repositories.connect(row)
    assert made is not None
    return made


def added(store: Store, workspace: str, name: str = "nightly", **given: Any) -> Schedule:
    fields: dict[str, Any] = {"configuration": "configs/eval/a.toml", "cron": "0 3 * * *", "next_at": 1000.0} | given
    made = store.schedules.add(Schedule(id="", workspace_id=workspace, name=name, **fields), MOST)
    assert made is not None
    return made


def synced(store: Store, repository: Repository, commit: str, branch: str = "main", **given: Any) -> bool:
    """Sync a commit, as a worker does it; return whether it could be stored."""
    store.syncs.add(Sync(repository_id=repository.id, number=0, branch=branch, **given))
    claimed = store.syncs.claim("worker", LEASE_S)
    assert claimed is not None
    done = {"state": SyncState.SUCCESS, "commit_id": commit, "ended_at": time.time()}
    return store.syncs.save(msgspec.structs.replace(claimed, **done))


def owed(store: Store, schedule: Schedule) -> list[tuple[str, str]]:
    """Return state and commit of what a schedule owes, the oldest first."""
    return [(one.state.value, one.commit_id) for one in reversed(store.scheduled_runs.list(schedule.id))]


def test_a_schedule_comes_back_as_it_was_and_is_found_by_its_name_in_its_workspace(store: Store, reefs: str) -> None:
    ada = store.users.named("ada")
    assert ada is not None
    made = added(
        store, reefs, overrides={"limit": 5, "tags": ["ä"]}, timezone="Europe/Berlin", created_by=ada.id, branch="b"
    )
    assert store.schedules.list(reefs) == (made,)
    assert store.schedules.get(reefs, made.id) == store.schedules.get(reefs, "nightly") == made
    assert store.schedules.get("other", made.id) is None


def test_a_workspace_has_no_two_schedules_of_one_name_and_not_too_many(store: Store, reefs: str) -> None:
    added(store, reefs)
    with pytest.raises(IntegrityError) as refused:
        added(store, reefs)
    assert is_name_taken(refused.value)
    with pytest.raises(IntegrityError) as refused:
        added(store, "no-workspace")
    assert not is_name_taken(refused.value)
    added(store, reefs, "second")
    added(store, reefs, "third")
    fourth = Schedule(id="", workspace_id=reefs, name="fourth", configuration="configs/eval/a.toml")
    assert store.schedules.add(fourth, MOST) is None


def test_what_is_due_is_what_is_enabled_and_whose_time_has_come(store: Store, reefs: str) -> None:
    late = added(store, reefs, "late", next_at=500.0)
    later = added(store, reefs, "later", next_at=1000.0)
    added(store, reefs, "future", next_at=time.time() + 1000)
    assert [one.id for one in store.schedules.due()] == [late.id, later.id]
    assert store.schedules.pause(late.id)
    assert [one.id for one in store.schedules.due()] == [later.id]


def test_a_due_schedule_is_advanced_by_one_of_many_workers(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: store.schedules.advance(made, time.time() + 100), range(16)))
    assert sum(done) == 1
    assert owed(store, made) == [("pending", "")]
    assert store.scheduled_runs.list(made.id)[0].due_at == 1000.0
    after = store.schedules.get(reefs, made.id)
    assert after is not None
    assert after.last_at == 1000.0
    assert not store.schedules.due()


def test_a_run_that_still_waits_is_not_joined_by_another(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    assert store.schedules.advance(made, 2000.0)
    again = store.schedules.get(reefs, made.id)
    assert again is not None
    assert store.schedules.advance(again, 3000.0)
    assert owed(store, made) == [("pending", "")]


def test_a_schedule_that_was_changed_or_paused_meanwhile_is_not_advanced(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    store.schedules.change(made.id, next_at=1001.0)
    assert not store.schedules.advance(made, 2000.0)
    store.schedules.change(made.id, next_at=1000.0)
    store.schedules.pause(made.id)
    assert not store.schedules.advance(made, 2000.0)
    assert owed(store, made) == []


def test_an_owed_run_is_claimed_once_and_again_when_its_worker_dies(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    store.schedules.advance(made, None)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: store.scheduled_runs.claim(f"worker {number}", LEASE_S), range(8)))
    claims = [one for one in found if one is not None]
    assert len(claims) == 1
    first, schedule = claims[0]
    assert schedule.id == made.id
    store.workers.end(first.claimed_by or "")
    again = store.scheduled_runs.claim("next", LEASE_S)
    assert again is not None
    assert (again[0].id, again[0].tries) == (first.id, 2)
    store.scheduled_runs.refused(first, "too late: its claim is lost")
    assert owed(store, made) == [("pending", "")]
    store.scheduled_runs.submitted(again[0], "run")
    told = store.schedules.get(reefs, made.id)
    assert told is not None
    assert (told.last_run, told.last_fault) == ("run", "")
    assert store.scheduled_runs.claim("next", LEASE_S) is None


def test_a_run_that_ends_every_worker_is_refused(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    store.schedules.advance(made, None)
    for number in range(MOST_TRIES):
        assert store.scheduled_runs.claim(f"worker {number}", -1.0) is not None
    assert store.scheduled_runs.claim("last", LEASE_S) is None
    told = store.schedules.get(reefs, made.id)
    assert told is not None
    assert "3 workers ended" in told.last_fault


def test_what_is_tried_again_waits_and_says_why(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    store.schedules.advance(made, None)
    claimed = store.scheduled_runs.claim("worker", LEASE_S)
    assert claimed is not None
    store.scheduled_runs.retry(claimed[0], "the queue is full", 1000.0)
    told = store.schedules.get(reefs, made.id)
    assert told is not None
    assert told.last_fault == "the queue is full"
    assert store.scheduled_runs.claim("worker", LEASE_S) is None
    store.database.execute(update(scheduled_runs).values(retry_at=0.0))
    again = store.scheduled_runs.claim("worker", LEASE_S)
    assert again is not None
    assert again[0].tries == 1


def test_the_commit_of_an_owed_run_is_kept_once_it_is_chosen(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    store.schedules.advance(made, None)
    claimed = store.scheduled_runs.claim("worker", -1.0)
    assert claimed is not None
    assert store.scheduled_runs.choose(claimed[0], "a" * 40)
    again = store.scheduled_runs.claim("other", LEASE_S)
    assert again is not None
    assert again[0].commit_id == "a" * 40
    assert not store.scheduled_runs.choose(claimed[0], "b" * 40)


def test_pausing_refuses_what_is_owed_and_says_why(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    store.schedules.advance(made, 5000.0)
    assert store.schedules.pause(made.id, "ada left")
    assert not store.schedules.pause(made.id)
    told = store.schedules.get(reefs, made.id)
    assert told is not None
    assert (told.enabled, told.next_at, told.last_fault) == (False, None, "ada left")
    assert owed(store, made) == [("refused", "")]
    assert store.scheduled_runs.claim("worker", LEASE_S) is None


def test_a_run_that_was_submitted_while_the_schedule_was_paused_is_told(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    store.schedules.advance(made, None)
    claimed = store.scheduled_runs.claim("worker", LEASE_S)
    assert claimed is not None
    store.schedules.pause(made.id)
    store.scheduled_runs.submitted(claimed[0], "run")
    assert store.scheduled_runs.list(made.id)[0].state is ScheduledState.SUBMITTED
    assert store.scheduled_runs.schedule_of("run") == store.schedules.get(reefs, made.id)


def test_deleting_a_schedule_or_its_workspace_deletes_what_is_owed(store: Store, reefs: str) -> None:
    made, other = added(store, reefs), added(store, reefs, "other")
    for one in (made, other):
        store.schedules.advance(one, None)
    assert store.schedules.delete(made.id)
    assert not store.schedules.delete(made.id)
    assert owed(store, made) == []
    store.workspaces.delete(reefs)
    assert store.scheduled_runs.claim("worker", LEASE_S) is None


def test_only_the_last_runs_of_a_schedule_are_kept(store: Store, reefs: str) -> None:
    made = added(store, reefs)
    for number in range(KEPT + 3):
        store.schedules.change(made.id, next_at=1000.0 + number)
        current = store.schedules.get(reefs, made.id)
        assert current is not None
        store.schedules.advance(current, None)
        claimed = store.scheduled_runs.claim("worker", LEASE_S)
        assert claimed is not None
        store.scheduled_runs.submitted(claimed[0], f"run {number}")
    kept = store.scheduled_runs.list(made.id, limit=1000)
    assert (len(kept), kept[0].due_at) == (KEPT, 1000.0 + KEPT + 2)


def test_a_sync_with_a_new_commit_of_its_branch_owes_a_run(store: Store, reefs: str, repository: Repository) -> None:
    followed = added(store, reefs, "followed", trigger="sync", next_at=None)
    other = added(store, reefs, "other", trigger="sync", next_at=None, branch="dev")
    timed = added(store, reefs, "timed", next_at=None)
    assert synced(store, repository, "a" * 40)
    assert owed(store, followed) == [("pending", "a" * 40)]
    assert owed(store, other) == owed(store, timed) == []
    assert synced(store, repository, "b" * 40, "dev")
    assert owed(store, other) == [("pending", "b" * 40)]


def test_each_new_commit_owes_a_run_and_an_old_one_none(store: Store, reefs: str, repository: Repository) -> None:
    made = added(store, reefs, trigger="sync", next_at=None)
    for commit in ("a" * 40, "a" * 40, "b" * 40):
        assert synced(store, repository, commit)
    assert owed(store, made) == [("pending", "a" * 40), ("pending", "b" * 40)]
    assert synced(store, repository, "c" * 40, wanted="c" * 40)
    assert len(owed(store, made)) == 2


def test_a_sync_whose_claim_is_lost_or_that_failed_owes_nothing(
    store: Store, reefs: str, repository: Repository
) -> None:
    made = added(store, reefs, trigger="sync", next_at=None)
    store.syncs.add(Sync(repository_id=repository.id, number=0, branch="main"))
    lost, claimed = store.syncs.claim("dead", -1.0), store.syncs.claim("worker", LEASE_S)
    assert lost is not None
    assert claimed is not None
    done = {"state": SyncState.SUCCESS, "commit_id": "a" * 40, "ended_at": time.time()}
    assert not store.syncs.save(msgspec.structs.replace(lost, **done))
    assert store.syncs.save(msgspec.structs.replace(claimed, **(done | {"state": SyncState.FAILED})))
    assert owed(store, made) == []


def test_a_paused_schedule_and_one_of_another_workspace_wait_for_no_sync(
    store: Store, reefs: str, repository: Repository
) -> None:
    paused = added(store, reefs, trigger="sync", next_at=None)
    store.schedules.pause(paused.id)
    atolls = store.workspaces.add("Atolls", None)
    assert atolls is not None
    foreign = added(store, atolls.id, trigger="sync", next_at=None, branch="main")
    assert synced(store, repository, "a" * 40)
    assert owed(store, paused) == owed(store, foreign) == []
