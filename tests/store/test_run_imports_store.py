"""Imports of runs in the store: uploads by content, leases of checks, and the transaction that stores a run."""

import hashlib
import time
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import Connection, update

from mesocosm.core.entry import Entry
from mesocosm.core.failure import Problem, UnknownName
from mesocosm.core.ids import new_id
from mesocosm.store import Store, run_imports
from mesocosm.store.run_imports import MOST_CHECKS, ImportRoomFull, ImportState, ImportTaken, RunImport, foreign_id
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.tenancy import run_imports as table

if TYPE_CHECKING:
    from tests.store.conftest import Samples

PART = 10
ROOM = 1_000
DATA = b"0123456789abcdefghij12345"
SOURCE = new_id()


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_imports, "PART_BYTES", PART)


def wanted(data: bytes = DATA, **given: Any) -> RunImport:
    fields = {"actor": "user:1", "source": SOURCE, "host": "laptop", "size": len(data)}
    return RunImport(**{**fields, "digest": hashlib.sha256(data).hexdigest(), **given})


def begun(store: Store, data: bytes = DATA, **given: Any) -> RunImport:
    return store.run_imports.begin(wanted(data, **given), most_bytes=ROOM)


def submitted(store: Store, data: bytes = DATA, **given: Any) -> RunImport:
    found = begun(store, data, **given)
    for number in range(1, found.part_count + 1):
        assert store.run_imports.add_part(found, number, data[(number - 1) * PART : number * PART])
    assert store.run_imports.submit(found)
    return found


def state(store: Store, found: RunImport) -> ImportState | None:
    row = store.run_imports.get(found.id)
    return None if row is None else row.state


def blob_count(store: Store) -> int:
    with store.database.once() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM blobs").scalar_one())


def imported(store: Store, samples: "Samples", data: bytes = DATA, *, episodes: int = 1, **given: Any) -> RunImport:
    """Upload a run and store it."""
    origin = given.pop("origin", {})
    submitted(store, data, **given)
    claimed = store.run_imports.claim("w", 30.0)
    assert claimed is not None
    run = samples.run(id=claimed.target)
    fields: dict[str, Any] = {"model": run.model, "kind": "imported", "config": {"imported": origin}}
    request = RunRequest(run_id=run.id, actor=claimed.actor, state="ended", created_at=1.0, **fields)
    ids = [foreign_id(str(index), run.id) for index in range(episodes)]
    entries = [Entry(samples.episode(run.id, index, id=key), [samples.chunk()]) for index, key in enumerate(ids)]
    run.counts = run.counts.__class__(planned=10, completed=episodes)
    store.bundles.insert(run, entries, ending=store.run_imports.ending(claimed, request))
    return claimed


def test_the_same_bundle_is_the_same_import_and_continues(store: Store) -> None:
    first = begun(store)
    store.run_imports.add_part(first, 2, DATA[10:20])
    again = begun(store)
    assert (again.id, list(store.run_imports.parts(first.id))) == (first.id, [2])
    assert not store.run_imports.submit(first)
    assert state(store, first) is ImportState.UPLOADING


def test_the_bundle_of_a_run_that_went_on_replaces_an_unfinished_upload(store: Store) -> None:
    first = begun(store)
    store.run_imports.add_part(first, 1, DATA[:10])
    second = begun(store, DATA + b"more")
    assert second.id != first.id
    assert store.run_imports.get(first.id) is None
    assert blob_count(store) == 0


def test_a_run_has_one_id_for_each_person_and_place_whoever_chose_the_first() -> None:
    places: list[dict[str, Any]] = [{}, {"actor": "user:2"}, {"team_id": "t"}, {"workspace_id": "t"}]
    ids = [wanted(**place).target for place in places]
    assert len(set(ids)) == len(places)
    assert ids[0] == wanted(DATA + b"more").target
    assert SOURCE not in ids
    assert {len(found) for found in ids} == {36}
    assert all(found[:13] == SOURCE[:13] for found in ids), "runs sort by the time when they were played"
    assert len(foreign_id("any word")) == 36


def test_a_run_is_stored_with_its_request_at_once_and_the_parts_are_gone(store: Store, samples: "Samples") -> None:
    claimed = imported(store, samples)
    found = store.run_imports.get(claimed.id)
    assert found is not None
    assert (found.state, found.run_id) == (ImportState.IMPORTED, claimed.target)
    request = store.run_requests.get(claimed.target)
    assert request is not None
    assert (request.kind, request.actor, request.state) == ("imported", "user:1", "ended")
    assert (store.run_imports.parts(claimed.id), blob_count(store)) == ({}, 0)
    assert begun(store).id == claimed.id, "the same bundle again is the same import"
    assert store.run_requests.spent(actor="user:1", since=0.0).usd == 0.0
    assert store.queue.claim("w", 30.0, 5) is None


def test_a_lost_claim_stores_no_run(store: Store, samples: "Samples") -> None:
    submitted(store)
    claimed = store.run_imports.claim("w", -1.0)
    assert claimed is not None
    other = store.run_imports.claim("other", 30.0)
    assert other is not None
    run = samples.run(id=claimed.target)
    request = RunRequest(run_id=run.id, actor="user:1", model="m", kind="imported", state="ended", created_at=1.0)
    with pytest.raises(ImportTaken):
        store.bundles.insert(run, [], ending=store.run_imports.ending(claimed, request))
    with pytest.raises(UnknownName):
        store.runs.get(run.id)
    assert store.run_requests.get(run.id) is None
    assert not store.run_imports.renew(claimed, 30.0)
    assert store.run_imports.renew(other, 30.0)


def test_what_fails_before_the_end_stores_nothing(store: Store, samples: "Samples") -> None:
    run = samples.run()

    def fail(_: Connection) -> None:
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        store.bundles.insert(run, [samples.entry(run.id)], ending=fail)
    with pytest.raises(UnknownName):
        store.runs.get(run.id)


def test_a_grown_run_keeps_its_id_and_request_and_has_one_import(store: Store, samples: "Samples") -> None:
    first = imported(store, samples)
    second = imported(store, samples, DATA + b"more", episodes=3)
    assert (first.target, state(store, first)) == (second.target, None)
    assert store.runs.get(second.target).counts.completed == 3
    assert state(store, second) is ImportState.IMPORTED


def test_a_refused_bundle_says_why_and_may_be_sent_again(store: Store) -> None:
    found = submitted(store)
    claimed = store.run_imports.claim("w", 30.0)
    assert claimed is not None
    assert store.run_imports.refuse(claimed, [Problem("", "wrong", "mend it")])
    refused = store.run_imports.get(found.id)
    assert refused is not None
    assert (refused.state, [one.message for one in refused.problems]) == (ImportState.ERROR, ["wrong"])
    assert (store.run_imports.parts(found.id), blob_count(store)) == ({}, 0)
    again = begun(store)
    assert (again.id, again.state, again.problems) == (found.id, ImportState.UPLOADING, [])


def test_deleting_a_run_forgets_its_import(store: Store, samples: "Samples") -> None:
    claimed = imported(store, samples)
    store.runs.delete(claimed.target)
    assert store.run_imports.get(claimed.id) is None
    assert begun(store).state is ImportState.UPLOADING


def test_a_bundle_whose_checks_never_end_is_an_error(store: Store) -> None:
    found = submitted(store)
    for _ in range(MOST_CHECKS):
        assert store.run_imports.claim("w", -1.0) is not None
    assert store.run_imports.claim("w", -1.0) is None
    assert state(store, found) is ImportState.ERROR


def test_a_released_check_costs_no_try(store: Store) -> None:
    submitted(store)
    for _ in range(MOST_CHECKS + 1):
        claimed = store.run_imports.claim("w", 30.0)
        assert claimed is not None
        store.run_imports.release(claimed)
    assert store.workers.waiting()


def test_one_person_has_room_for_so_much(store: Store) -> None:
    begun(store, size=ROOM)
    with pytest.raises(ImportRoomFull) as full:
        begun(store, source=new_id())
    assert (full.value.used, full.value.most, full.value.shared) == (ROOM, ROOM, False)
    assert begun(store, actor="user:2").size == len(DATA)


def test_a_workspace_has_room_for_so_much(store: Store) -> None:
    ann, bob = store.users.add("ann"), store.users.add("bob")
    workspace = store.workspaces.add("Reef", ann.id)
    assert workspace is not None
    hers, his = (wanted(actor=f"user:{one.id}", workspace_id=workspace.id) for one in (ann, bob))
    store.run_imports.begin(hers, most_bytes=ROOM, most_shared=len(DATA))
    with pytest.raises(ImportRoomFull) as full:
        store.run_imports.begin(his, most_bytes=ROOM, most_shared=len(DATA))
    assert (full.value.used, full.value.shared) == (len(DATA), True)
    assert store.run_imports.begin(his, most_bytes=ROOM, most_shared=2 * len(DATA)).id


def test_a_push_of_an_earlier_state_leaves_the_origin_of_a_later_one(store: Store, samples: "Samples") -> None:
    later = imported(store, samples, episodes=2, origin={"episodes": 2, "at": 2.0})
    imported(store, samples, DATA + b"!", origin={"episodes": 1, "at": 1.0})
    request = store.run_requests.get(later.target)
    assert request is not None
    assert request.config == {"imported": {"episodes": 2, "at": 2.0}}
    imported(store, samples, DATA + b"?", episodes=3, origin={"episodes": 3, "at": 3.0})
    request = store.run_requests.get(later.target)
    assert request is not None
    assert request.config == {"imported": {"episodes": 3, "at": 3.0}}


def test_imports_of_a_person_are_listed_newest_first(store: Store) -> None:
    first, second = begun(store, source=new_id()), begun(store, source=new_id())
    begun(store, actor="user:2")
    assert [one.id for one in store.run_imports.list("user:1", limit=9)] == [second.id, first.id]
    assert [one.id for one in store.run_imports.list("user:1", limit=9, cursor=second.id)] == [first.id]


def test_abandoned_uploads_are_removed(store: Store) -> None:
    old, new = begun(store, source=new_id()), begun(store)
    store.run_imports.add_part(old, 1, DATA[:10])
    statement = update(table).where(table.c.id == old.id).values(updated_at=time.time() - 100)
    store.database.execute(statement)
    assert store.run_imports.drop_abandoned(50.0) == 1
    assert store.run_imports.get(old.id) is None
    assert blob_count(store) == 0
    assert state(store, new) is ImportState.UPLOADING


def test_an_upload_is_given_up_but_not_an_imported_run(store: Store, samples: "Samples") -> None:
    assert store.run_imports.abort(begun(store))
    assert not store.run_imports.abort(imported(store, samples))
