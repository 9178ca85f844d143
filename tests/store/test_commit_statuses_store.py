"""Statuses of commits in both databases: which are due, and who sends one."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.run import RunStatus
from mesocosm.store import Store
from mesocosm.store.commit_statuses import CommitStatus
from mesocosm.store.queue import AdmissionTerms
from mesocosm.store.repositories import new_repository
from mesocosm.store.run_requests import RunRequest

if TYPE_CHECKING:
    from tests.store.conftest import Samples

LEASE_S = 1000.0


@pytest.fixture
def reefs(store: Store) -> str:
    """Return the id of a workspace."""
    made = store.workspaces.add("Reefs", store.users.add("ada").id)
    assert made is not None
    return made.id


def queued(store: Store, samples: "Samples", workspace: str | None, **given: Any) -> RunRequest:
    run = samples.run()
    fields = {"commit_id": "a" * 40, "configuration": "configs/eval/hard.toml", "created_at": time.time(), **given}
    request = RunRequest(run_id=run.id, actor="user:1", model="m", workspace_id=workspace, **fields)
    assert store.queue.admit(request, run, AdmissionTerms()) is None
    return request


def ended(store: Store, run_id: str, status: RunStatus = RunStatus.FINISHED) -> None:
    run = store.runs.get(run_id)
    run.status = status
    store.runs.save(run)
    store.queue.end(run_id)


def claimed(store: Store) -> CommitStatus:
    found = store.commit_statuses.claim("worker", LEASE_S)
    assert found is not None
    return found


def test_the_host_is_told_of_a_run_and_of_its_end(store: Store, samples: "Samples", reefs: str) -> None:
    run_id = queued(store, samples, reefs).run_id
    first = claimed(store)
    assert (first.run_id, first.sent, first.attempts) == (run_id, "", 1)
    store.commit_statuses.told(first)
    assert store.commit_statuses.claim("worker", LEASE_S) is None
    ended(store, run_id)
    assert store.workers.waiting()
    last = claimed(store)
    assert (last.run_id, last.sent, last.attempts) == (run_id, "pending", 1)
    store.commit_statuses.drop(last)
    assert store.commit_statuses.claim("worker", LEASE_S) is None
    assert not store.workers.waiting()


def test_runs_outside_of_workspaces_or_without_a_commit_are_nobodys_business(
    store: Store, samples: "Samples", reefs: str
) -> None:
    queued(store, samples, None)
    queued(store, samples, reefs, commit_id="")
    assert store.commit_statuses.claim("worker", LEASE_S) is None


def test_a_resumed_run_is_told_again(store: Store, samples: "Samples", reefs: str) -> None:
    run_id = queued(store, samples, reefs).run_id
    ended(store, run_id, RunStatus.STOPPED)
    last = claimed(store)
    assert store.queue.reopen(run_id)
    # Whoever was telling its end changes nothing any more.
    store.commit_statuses.drop(last)
    again = claimed(store)
    assert (again.run_id, again.sent, again.attempts) == (run_id, "", 1)


def test_one_worker_sends_a_status_and_another_takes_over(store: Store, samples: "Samples", reefs: str) -> None:
    queued(store, samples, reefs)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda name: store.commit_statuses.claim(name, LEASE_S), "abcdef"))
    (dead,) = (one for one in found if one is not None)
    store.commit_statuses.postpone(dead, -1.0)
    alive = store.commit_statuses.claim("alive", LEASE_S)
    assert alive is not None
    assert alive.attempts == 2
    store.commit_statuses.told(dead)
    store.commit_statuses.told(alive)
    assert store.commit_statuses.claim("alive", LEASE_S) is None


def test_a_postponed_status_waits(store: Store, samples: "Samples", reefs: str) -> None:
    queued(store, samples, reefs)
    store.commit_statuses.postpone(claimed(store), 3600.0)
    assert store.commit_statuses.claim("worker", LEASE_S) is None


def test_a_later_run_of_the_configuration_speaks_for_the_commit(store: Store, samples: "Samples", reefs: str) -> None:
    first = queued(store, samples, reefs, created_at=1.0)
    other = queued(store, samples, reefs, created_at=2.0, configuration="configs/eval/easy.toml")
    assert not store.commit_statuses.superseded(first)
    second = queued(store, samples, reefs, created_at=3.0)
    assert store.commit_statuses.superseded(first)
    assert not store.commit_statuses.superseded(other)
    assert not store.commit_statuses.superseded(second)


def test_what_went_wrong_is_kept_with_the_repository(store: Store, reefs: str) -> None:
    row = new_repository(reefs, "github.com/a/b", "https://github.com/a/b")
    assert store.repositories.connect(row) == row
    for words in ("github.com answered 403", ""):
        store.repositories.note_status(row.id, words)
        known = store.repositories.of(reefs)
        assert known is not None
        assert known.status_error == words
