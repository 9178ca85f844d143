"""Schedules of a workspace over the API: what is taken, whose they are, and who changes them."""

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.server.runnable_code import CONFIG, add_code, add_dataset

from mesocosm.store.repositories import Sync, SyncedConfiguration, SyncState, new_repository

if TYPE_CHECKING:
    from tests.server.routes.conftest import Hosted, Person

SUMS, BROKEN = "configs/eval/sums.toml", "configs/eval/broken.toml"
NIGHTLY = {"name": "nightly", "configuration": SUMS, "cron": "0 3 * * *", "timezone": "Europe/Berlin"}


def synced(
    hosted: "Hosted",
    owner: "Person",
    *,
    sync: bool = True,
    branch: str = "main",
    config: str = CONFIG,
    dataset: bool = True,
) -> str:
    """Return the path of a workspace whose repository was synced."""
    place = str(owner.post("/api/workspaces", {"name": "Reefs"}).json()["id"])
    store = hosted.service.store
    row = store.repositories.connect(new_repository(place, "github.com/a/b", "https://github.com/a/b", branch=branch))
    assert row is not None
    if dataset:
        add_dataset(hosted.service, place, owner.user_id)
    if sync:
        store.syncs.add(Sync(repository_id=row.id, number=0, branch=branch))
        claimed = store.syncs.claim("worker", 30.0)
        assert claimed is not None
        found = (SyncedConfiguration(SUMS, valid=True), SyncedConfiguration(BROKEN, valid=False))
        over = {"state": SyncState.SUCCESS, "commit_id": "a" * 40, "ended_at": 1.0, "configurations": found}
        over["snapshot"] = add_code(hosted.service, SUMS, config)
        assert store.syncs.save(msgspec.structs.replace(claimed, **over))
    return f"/api/workspaces/{place}"


def added(person: "Person", path: str, **given: Any) -> Any:
    answer = person.post(f"{path}/schedules", NIGHTLY | given)
    assert answer.status_code == 201, answer.text
    return answer.json()["schedule"]


def patch(person: "Person", path: str, which: str, **given: Any) -> tuple[int, Any]:
    answer = person.request("PATCH", f"{path}/schedules/{which}", json=given)
    return answer.status_code, answer.json()


def test_a_schedule_says_when_it_runs_next(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada)
    made = added(ada, path, overrides={"limit": 5, "tags": ["night"], "model": "builtin/random"})
    assert (made["owner"], made["owned"], made["enabled"], made["fault"]) == ("ada", True, True, "")
    assert made["overrides"] == {"limit": 5, "model": "builtin/random", "tags": ["night"]}
    detail = ada.get(f"{path}/schedules/nightly").json()
    assert detail["schedule"] == made
    assert len(detail["next_times"]) == 5
    assert detail["next_times"][0] == made["next_at"]
    assert made["next_at"][11:16] in ("01:00", "02:00")
    assert detail["runs"] == []
    assert ada.get(f"{path}/schedules").json() == [made]


def test_the_next_times_are_told_before_anything_is_made(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada)
    answer = ada.get(f"{path}/schedule-times", params={"cron": "*/15 * * * *", "timezone": "Asia/Tokyo"})
    times = answer.json()["times"]
    assert [one[14:16] in ("00", "15", "30", "45") for one in times] == [True] * 5
    for query, told in (({"cron": "61 * * * *"}, "bad minute"), ({"cron": "@daily", "timezone": "Nowhere"}, "UTC")):
        answer = ada.get(f"{path}/schedule-times", params=query)
        assert answer.status_code == 422
        assert told in answer.json()["detail"]


@pytest.mark.parametrize(
    ("given", "status", "told"),
    [
        ({"cron": "0 3 * *"}, 422, "five fields"),
        ({"cron": ""}, 422, "five fields"),
        ({"timezone": "Mars/Olympus"}, 422, "no time zone"),
        ({"configuration": "configs/eval/none.toml"}, 422, f"it has: {SUMS}, {BROKEN}"),
        ({"configuration": BROKEN}, 422, "is invalid; `mesocosm workspace syncs 1`"),
        ({"branch": "dev"}, 409, "'dev' of github.com/a/b was never synced"),
        ({"trigger": "sync"}, 422, "not both"),
        ({"overrides": {"model": "openai/none-such"}}, 422, "openai/none-such"),
        ({"overrides": {"limit": 0}}, 422, ""),
        ({"overrides": {"other": 1}}, 422, ""),
        ({"overrides": {"tags": ["a\nb"]}}, 422, "control characters"),
        ({"name": "a b"}, 422, ""),
        ({"name": "x" * 61}, 422, ""),
    ],
)
def test_what_cannot_run_is_refused(hosted: "Hosted", given: dict[str, Any], status: int, told: str) -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada)
    answer = ada.post(f"{path}/schedules", NIGHTLY | given)
    assert answer.status_code == status
    assert told in answer.text
    assert ada.get(f"{path}/schedules").json() == []


@pytest.mark.parametrize(
    ("config", "dataset", "told"),
    [
        (CONFIG.replace("builtin/random", "openai/none-such"), True, "openai/none-such"),
        (CONFIG, False, "has no dataset 'sums'"),
        (CONFIG + '[secrets]\nrequired = ["SEARCH_API_KEY"]\n', True, "mesocosm secret set SEARCH_API_KEY"),
        (CONFIG + '[grader]\nuse = "none-such"\n', True, "none-such"),
    ],
)
def test_a_schedule_whose_runs_would_be_refused_is_refused_at_once(
    hosted: "Hosted", config: str, dataset: bool, told: str
) -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada, config=config, dataset=dataset)
    answer = ada.post(f"{path}/schedules", NIGHTLY)
    assert (answer.status_code, told in answer.text) == (422, True), answer.text
    assert ada.get(f"{path}/schedules").json() == []


def test_a_model_of_the_schedule_takes_the_place_of_one_that_the_server_lacks(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada, config=CONFIG.replace("builtin/random", "openai/none-such"))
    added(ada, path, overrides={"model": "builtin/random"})
    status, told = patch(ada, path, "nightly", overrides={})
    assert (status, "openai/none-such" in told["detail"]) == (422, True)


def test_without_a_repository_or_a_sync_nothing_is_scheduled(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada, sync=False)
    answer = ada.post(f"{path}/schedules", NIGHTLY)
    assert (answer.status_code, "never synced" in answer.text) == (409, True)
    ada.request("DELETE", f"{path}/repository")
    answer = ada.post(f"{path}/schedules", NIGHTLY)
    assert (answer.status_code, "workspace connect" in answer.text) == (409, True)


def test_a_name_is_taken_once_and_the_path_may_begin_with_a_dot(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada)
    assert added(ada, path, configuration=f"./{SUMS}")["configuration"] == SUMS
    answer = ada.post(f"{path}/schedules", NIGHTLY)
    assert (answer.status_code, "already" in answer.text) == (409, True)
    added(ada, path, name="other")
    status, told = patch(ada, path, "other", name="nightly")
    assert (status, "already" in told["detail"]) == (409, True)


def test_a_schedule_for_syncs_has_no_times(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada)
    made = added(ada, path, trigger="sync", cron="")
    assert (made["next_at"], made["trigger"]) == (None, "sync")
    status, detail = patch(ada, path, "nightly", trigger="cron", cron="@hourly")
    assert (status, len(detail["next_times"])) == (200, 5)
    status, detail = patch(ada, path, "nightly", trigger="sync")
    assert (status, detail["schedule"]["cron"], detail["next_times"]) == (200, "", [])


def test_a_schedule_is_paused_and_resumed(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada)
    made = added(ada, path)
    _, detail = patch(ada, path, made["id"], enabled=False)
    assert (detail["schedule"]["enabled"], detail["schedule"]["next_at"], detail["next_times"]) == (False, None, [])
    _, detail = patch(ada, path, made["id"], cron="@hourly")
    assert (detail["schedule"]["enabled"], detail["schedule"]["next_at"]) == (False, None)
    _, detail = patch(ada, path, made["id"], enabled=True)
    assert (detail["schedule"]["enabled"], len(detail["next_times"])) == (True, 5)
    actions = [note.action for note in hosted.service.store.audit.list(limit=20) if note.action.startswith("schedule")]
    assert sorted(actions) == ["schedule.change", "schedule.change", "schedule.create", "schedule.pause"]


def test_renaming_does_not_move_the_next_time(hosted: "Hosted") -> None:
    ada = hosted.member("ada")
    path = synced(hosted, ada)
    made = added(ada, path)
    hosted.service.store.schedules.change(made["id"], next_at=1000.0)
    patch(ada, path, "nightly", name="renamed")
    row = hosted.service.store.schedules.get(path.rpartition("/")[2], "renamed")
    assert row is not None
    assert row.next_at == 1000.0


def test_members_change_their_own_and_admins_all(hosted: "Hosted") -> None:
    ada, ben, cid, dee = (hosted.member(name) for name in ("ada", "ben", "cid", "dee"))
    path = synced(hosted, ada)
    for person, role in ((ben, "member"), (cid, "viewer"), (dee, "member")):
        ada.post(f"{path}/members", {"username": person.name, "role": role})
    assert cid.post(f"{path}/schedules", NIGHTLY).status_code == 403
    added(ben, path)
    for person in (cid, dee):
        assert person.get(f"{path}/schedules/nightly").json()["schedule"]["owned"] is False
        assert patch(person, path, "nightly", enabled=False)[0] == 403
        assert person.request("DELETE", f"{path}/schedules/nightly").status_code == 403
    assert patch(ben, path, "nightly", enabled=False)[0] == 200
    _, detail = patch(ada, path, "nightly", enabled=True)
    assert detail["schedule"]["owner"] == "ben"
    _, detail = patch(ada, path, "nightly", name="night")
    assert detail["schedule"]["owner"] == "ben"
    _, detail = patch(ada, path, "night", overrides={"limit": 3})
    assert detail["schedule"]["owner"] == "ada"
    assert patch(ben, path, "night", enabled=False)[0] == 403
    assert ada.request("DELETE", f"{path}/schedules/night").status_code == 204
    assert ada.get(f"{path}/schedules/night").status_code == 404


def test_resuming_the_schedule_of_somebody_who_left_makes_it_ones_own(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    path = synced(hosted, ada)
    ada.post(f"{path}/members", {"username": "ben", "role": "member"})
    added(ben, path)
    ada.request("DELETE", f"{path}/members/{ben.user_id}")
    patch(ada, path, "nightly", enabled=False)
    _, detail = patch(ada, path, "nightly", enabled=True)
    assert detail["schedule"]["owner"] == "ada"


def test_a_viewer_that_was_a_member_does_not_own_their_schedule_any_more(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    path = synced(hosted, ada)
    ada.post(f"{path}/members", {"username": "ben", "role": "member"})
    added(ben, path)
    ada.request("PATCH", f"{path}/members/{ben.user_id}", json={"role": "viewer"})
    assert ben.get(f"{path}/schedules").json()[0]["owned"] is False
    assert patch(ben, path, "nightly", enabled=False)[0] == 403


def test_schedules_of_other_workspaces_are_not_found(hosted: "Hosted") -> None:
    ada, ben = hosted.member("ada"), hosted.member("ben")
    path = synced(hosted, ada)
    made = added(ada, path)
    other = ben.post("/api/workspaces", {"name": "Atolls"}).json()["id"]
    assert ben.get(f"{path}/schedules").status_code == 404
    for name in (made["id"], "nightly"):
        assert ben.get(f"/api/workspaces/{other}/schedules/{name}").status_code == 404
        assert patch(ben, f"/api/workspaces/{other}", name, enabled=False)[0] == 404
