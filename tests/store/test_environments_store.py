"""Submitted environments in the store: one row each, a queue of builds, and who has which version."""

import time
from collections.abc import Iterator

import msgspec
import pytest
from sqlalchemy import delete, select, update

from mesocosm.core.ids import new_id
from mesocosm.store import Store
from mesocosm.store.environments import (
    MOST_TRIES,
    BuildState,
    EnvironmentRow,
    Environments,
    SubmissionOutcome,
    Submitted,
    VersionRow,
)
from mesocosm.store.tenancy import environment_versions, environments


@pytest.fixture
def rows(store: Store) -> Iterator[Environments]:
    """No environments on each dialect in turn."""

    def empty() -> None:
        store.database.write(lambda connection: connection.execute(delete(environments)))

    empty()
    yield store.environments
    empty()


def submission(**given: object) -> EnvironmentRow:
    fields = {"id": new_id(), "holder_key": "user:1", "source": "https://github.com/a/b", "created_at": time.time()}
    return EnvironmentRow(**(fields | given))  # type: ignore[arg-type]


def submitted(rows: Environments, **given: object) -> EnvironmentRow:
    found = rows.submit(submission(**given), most=9).environment
    assert found is not None
    return found


def claimed(rows: Environments, worker: str = "w", lease: float = 30.0) -> VersionRow:
    found = rows.claim_build(worker, lease)
    assert found is not None
    return found


def finish(rows: Environments, version: VersionRow, state: BuildState, **given: object) -> bool:
    done = msgspec.structs.replace(version, state=state, ended_at=time.time(), **given)
    return rows.save_version(done, domain_id="d1" if state is BuildState.READY else None)


def expire(store: Store) -> None:
    past = update(environment_versions).values(lease_until=time.time() - 1)
    store.database.write(lambda connection: connection.execute(past))


def test_a_submission_is_a_row_and_a_queued_version(rows: Environments) -> None:
    row = submitted(rows, name="Words", ref="main", owner_id=None)
    found = rows.get(row.id)
    assert found == row
    assert (found.status, found.version, found.actor, found.scope) == ("pending", 1, "user:1", "solo")
    version = rows.version(row.id, 1)
    assert version is not None
    assert (version.state, version.source, version.ref) == (BuildState.QUEUED, row.source, "main")
    assert rows.stages([row.id]) == {row.id: "queued"}


def test_the_same_source_again_waits_for_the_build_before(rows: Environments) -> None:
    row = submitted(rows)
    assert rows.submit(submission(), most=9) == Submitted(SubmissionOutcome.BUILDING, row)


def test_the_same_source_again_is_the_next_version(rows: Environments) -> None:
    row = submitted(rows, name="Old")
    finish(rows, claimed(rows), BuildState.FAILED, error="no manifest")
    again = rows.submit(submission(name="New", ref="dev"), most=9)
    assert again.verdict is SubmissionOutcome.AGAIN
    assert again.environment is not None
    assert (again.environment.id, again.environment.version, again.environment.name) == (row.id, 2, "New")
    assert (again.environment.status, again.environment.error) == ("pending", "")
    second = rows.version(row.id, 2)
    assert second is not None
    assert (second.ref, second.state) == ("dev", BuildState.QUEUED)


def test_a_repeated_write_submits_once(rows: Environments) -> None:
    wanted = submission()
    assert rows.submit(wanted, most=9).verdict is SubmissionOutcome.NEW
    assert rows.submit(wanted, most=9).verdict is SubmissionOutcome.NEW
    finish(rows, claimed(rows), BuildState.FAILED)
    second = submission()
    first = rows.submit(second, most=9).environment
    assert rows.submit(second, most=9).environment == first
    assert first is not None
    assert first.version == 2


def test_other_folders_and_holders_are_other_environments(rows: Environments) -> None:
    ids = {submitted(rows, **given).id for given in ({}, {"folder": "a"}, {"holder_key": "team:t"})}
    assert len(ids) == 3


def test_who_has_as_many_as_they_may_gets_no_more(rows: Environments) -> None:
    submitted(rows)
    assert rows.submit(submission(folder="a"), most=1) == Submitted(SubmissionOutcome.FULL)
    assert rows.submit(submission(folder="a", holder_key="user:2"), most=1).verdict is SubmissionOutcome.NEW


def test_a_deleted_one_makes_room_and_is_another_when_submitted_again(rows: Environments) -> None:
    row = submitted(rows)
    rows.delete(row.id, 5.0)
    assert rows.get(row.id) is None
    gone = rows.get(row.id, deleted=True)
    assert gone is not None
    assert gone.deleted_at == 5.0
    again = rows.submit(submission(), most=1)
    assert again.verdict is SubmissionOutcome.NEW
    assert again.environment is not None
    assert again.environment.id != row.id


def test_deleting_ends_the_build(rows: Environments) -> None:
    row = submitted(rows)
    version = claimed(rows)
    rows.delete(row.id, 5.0)
    assert not rows.renew_build(version, 30)
    assert not finish(rows, version, BuildState.READY)
    assert rows.claim_build("w", 30) is None


def test_the_oldest_is_built_first_and_by_one_worker(rows: Environments) -> None:
    late = submitted(rows, folder="b", created_at=20.0)
    early = submitted(rows, folder="a", created_at=10.0)
    assert claimed(rows).environment_id == early.id
    assert claimed(rows, "other").environment_id == late.id
    assert rows.claim_build("third", 30) is None


def test_who_submits_much_does_not_make_others_wait(rows: Environments) -> None:
    for number in range(3):
        submitted(rows, folder=str(number), created_at=float(number + 1))
    late = submitted(rows, holder_key="user:2", created_at=50.0)
    first = claimed(rows)
    assert first.created_at == 1.0
    assert claimed(rows).environment_id == late.id
    finish(rows, first, BuildState.FAILED)
    newer = submitted(rows, holder_key="user:3", created_at=60.0)
    assert claimed(rows).environment_id == newer.id
    assert claimed(rows).created_at == 2.0


def test_a_silent_worker_loses_its_build(rows: Environments, store: Store) -> None:
    submitted(rows)
    first = claimed(rows)
    expire(store)
    second = claimed(rows, "other")
    assert second.tries == 2
    assert not rows.renew_build(first, 30)
    assert not finish(rows, first, BuildState.READY)
    assert rows.renew_build(second, 30)


def test_a_build_that_ends_its_workers_has_failed(rows: Environments, store: Store) -> None:
    row = submitted(rows)
    for number in range(MOST_TRIES):
        assert claimed(rows, f"w{number}").tries == number + 1
        expire(store)
    assert rows.claim_build("last", 30) is None
    found = rows.get(row.id)
    assert found is not None
    assert found.status == "failed"
    assert "more memory" in found.error


def test_a_build_that_is_given_back_counts_as_not_taken(rows: Environments) -> None:
    row = submitted(rows)
    version = claimed(rows)
    rows.save_version(msgspec.structs.replace(version, state=BuildState.CLONING))
    found = rows.get(row.id)
    assert found is not None
    assert found.status == "cloning"
    rows.release_build(version)
    again = claimed(rows, "other")
    assert (again.tries, again.state) == (1, BuildState.QUEUED)


def test_a_ready_version_gives_the_environment_its_domain_and_title(rows: Environments) -> None:
    row = submitted(rows, name="Submitted")
    manifest = '{"name": "Words", "description": "Guess."}'
    assert finish(rows, claimed(rows), BuildState.READY, manifest=manifest)
    found = rows.get(row.id)
    assert found is not None
    assert (found.status, found.domain_id, found.ready_version) == ("ready", "d1", 1)
    assert (found.name, found.description) == ("Words", "Guess.")


def test_a_failed_resubmission_leaves_the_working_version(rows: Environments) -> None:
    row = submitted(rows)
    finish(rows, claimed(rows), BuildState.READY)
    submitted(rows)
    finish(rows, claimed(rows), BuildState.FAILED, error="bad vow")
    found = rows.get(row.id)
    assert found is not None
    assert (found.status, found.error, found.version, found.ready_version) == ("failed", "bad vow", 2, 1)
    assert [one.id for one in rows.ready_for_domain("d1", user_id=1)] == [row.id]


def test_another_domain_leaves_the_former_in_the_history(rows: Environments) -> None:
    row = submitted(rows)
    finish(rows, claimed(rows), BuildState.READY)
    submitted(rows)
    version = msgspec.structs.replace(claimed(rows), state=BuildState.READY, ended_at=2.0)
    assert rows.save_version(version, domain_id="d2")
    found = rows.get(row.id)
    assert found is not None
    assert found.domain_id == "d2"
    assert [entry["domain_id"] for entry in found.domain_history] == ["d1"]


def test_only_what_failed_is_tried_again(rows: Environments) -> None:
    row = submitted(rows, ref="main")
    assert rows.retry(row.id, by=None, at=50.0) is None
    finish(rows, claimed(rows), BuildState.FAILED)
    again = rows.retry(row.id, by=None, at=60.0)
    assert again is not None
    assert (again.version, again.status, again.ref) == (2, "pending", "main")
    assert rows.retry(row.id, by=None, at=60.0) == again
    assert rows.retry(row.id, by=None, at=70.0) is None
    assert rows.retry("nowhere", by=None, at=70.0) is None


def test_lists_hold_what_is_asked_for_newest_first(rows: Environments) -> None:
    mine, theirs = submitted(rows), submitted(rows, holder_key="user:2")
    team = submitted(rows, holder_key="team:t")
    gone = submitted(rows, folder="gone")
    rows.delete(gone.id, 1.0)
    assert [row.id for row in rows.list_of(user_id=1)] == [mine.id]
    assert [row.id for row in rows.list_of(user_id=1, team_ids=["t"])] == [team.id, mine.id]
    assert [row.id for row in rows.list_of(everybody=True)] == [team.id, theirs.id, mine.id]
    assert [row.id for row in rows.list_of(everybody=True, limit=1, cursor=team.id)] == [theirs.id]
    assert rows.list_of() == ()


def test_versions_come_newest_first_without_their_logs(rows: Environments) -> None:
    row = submitted(rows)
    for _ in range(2):
        finish(rows, claimed(rows), BuildState.FAILED, log="words")
        submitted(rows)
    found = rows.versions(row.id)
    assert [version.version for version in found] == [3, 2, 1]
    assert {version.log for version in found} == {""}
    assert [version.version for version in rows.versions(row.id, limit=1, before=3)] == [2]


def test_what_is_added_twice_stays(rows: Environments, store: Store) -> None:
    row = submission()
    version = VersionRow(environment_id=row.id, version=1, log="a\0b")
    rows.add(row, version)
    rows.add(msgspec.structs.replace(row, name="other"), version)
    kept = rows.get(row.id)
    assert kept is not None
    assert kept.name == ""
    logs = store.database.read(lambda connection: connection.scalars(select(environment_versions.c.log)).all())
    assert logs == ["a�b"]
