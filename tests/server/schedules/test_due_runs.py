"""Runs that schedules owe: submitted once, as whom they belong to, of the commit they are of; or refused, with why."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import update
from tests.server.evaluations.conftest import CONFIG
from tests.server.schedules.conftest import COMMITS, OTHER, SUMS, Synced

from mesocosm.core.ids import new_id
from mesocosm.server.schedules import due_runs
from mesocosm.server.schedules.due_runs import submit_due
from mesocosm.store.notifications import Notification
from mesocosm.store.run_requests import RunRequest, RunRequestFilter
from mesocosm.store.schedules import ScheduledState
from mesocosm.store.tenancy import scheduled_runs

pytestmark = pytest.mark.usefixtures("forked_checks")


def submitted(synced: Synced) -> list[RunRequest]:
    """Return the runs of the workspace, the oldest first."""
    wanted = RunRequestFilter(workspace_id=synced.team.workspace)
    return sorted(synced.store.run_requests.list(wanted), key=lambda request: request.created_at)


def told(synced: Synced) -> Any:
    """Add a notification for refused schedules; return what reads its messages."""
    wanted = Notification(
        id=new_id(), workspace_id=synced.team.workspace, name="n", host="h", format="mesocosm", events=("schedule",)
    )
    made = synced.store.notifications.add(wanted, 9)
    return lambda: [json.loads(one.body)["data"] for one in synced.store.deliveries.list(made.id)]


def test_a_due_schedule_plays_its_configuration_at_the_newest_commit(synced: Synced) -> None:
    synced.sync(COMMITS[1])
    schedule = synced.schedule(overrides={"limit": 4, "tags": ["night"]})
    assert submit_due(synced.team.service, "worker") == 1
    (request,) = submitted(synced)
    assert (request.actor, request.actor_name) == (f"user:{synced.team.owner.user_id}", "ada")
    assert (request.configuration, request.commit_id, request.branch) == (SUMS, COMMITS[1], "main")
    assert request.name == "nightly-19700101T001640Z"
    synced.team.work()
    run = synced.team.run(request.run_id)
    assert (run["state"], run["counts"]["planned"], run["tags"]) == ("finished", 4, ["night"])
    detail = synced.team.owner.get(f"{synced.path}/schedules/{schedule.id}").json()
    (last,) = detail["runs"]
    assert (last["status"], last["run_id"], last["run_status"], last["score"]) == (
        *("submitted", request.run_id, "finished"),
        1.0,
    )
    assert detail["schedule"]["last"] == last
    assert submit_due(synced.team.service, "worker") == 0


def test_times_that_were_missed_are_one_run(synced: Synced) -> None:
    schedule = synced.schedule(cron="*/5 * * * *")
    for _ in range(3):
        submit_due(synced.team.service, "worker")
    assert len(submitted(synced)) == 1
    after = synced.again(schedule.id)
    assert after.next_at is not None
    assert after.next_at > 1_700_000_000
    assert after.last_at == 1000.0


def test_many_workers_submit_one_run(synced: Synced) -> None:
    for number in range(4):
        synced.schedule(name=f"n{number}")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: submit_due(synced.team.service, name), ("w1", "w2", "w3", "w4")))
    assert sorted(request.name[:2] for request in submitted(synced)) == ["n0", "n1", "n2", "n3"]


@pytest.mark.parametrize("after", ["_newest_commit", "submit_evaluation"])
def test_a_worker_that_dies_while_it_submits_loses_and_repeats_nothing(
    synced: Synced, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    schedule = synced.schedule()
    whole = getattr(due_runs, after)

    class Killed(BaseException):
        pass

    def dies(*given: Any, **named: Any) -> None:
        whole(*given, **named)
        raise Killed

    monkeypatch.setattr(due_runs, after, dies)
    with pytest.raises(Killed):
        submit_due(synced.team.service, "dead")
    monkeypatch.undo()
    assert submit_due(synced.team.service, "other") == 0
    synced.store.workers.end("dead")
    synced.sync(COMMITS[1])
    assert submit_due(synced.team.service, "other") == 1
    (request,) = submitted(synced)
    (owed,) = synced.owed(schedule)
    assert (owed.state, owed.run_id) == (ScheduledState.SUBMITTED, request.run_id)
    assert request.commit_id == (COMMITS[0] if after == "submit_evaluation" else COMMITS[1])


def test_each_sync_with_a_new_commit_plays_that_commit(synced: Synced) -> None:
    schedule = synced.schedule(trigger="sync", cron="")
    for commit in (COMMITS[1], COMMITS[1], COMMITS[2]):
        synced.sync(commit)
    assert submit_due(synced.team.service, "worker") == 2
    assert [request.commit_id for request in submitted(synced)] == list(COMMITS[1:])
    assert [one.state for one in synced.owed(schedule)] == [ScheduledState.SUBMITTED] * 2


def test_overrides_replace_the_model_of_the_configuration(synced: Synced) -> None:
    synced.schedule(overrides={"model": "openai/judge"})
    submit_due(synced.team.service, "worker")
    (request,) = submitted(synced)
    assert request.model == "openai/judge"


def test_a_schedule_of_a_branch_plays_that_branch(synced: Synced) -> None:
    synced.sync(COMMITS[1], "dev", sums=OTHER)
    synced.schedule(branch="dev")
    submit_due(synced.team.service, "worker")
    (request,) = submitted(synced)
    assert (request.commit_id, request.branch, request.config["config"]["evaluation"]["limit"]) == (
        *(COMMITS[1], "dev"),
        3,
    )


def test_a_name_that_a_person_has_taken_costs_no_run(synced: Synced) -> None:
    answer = synced.team.submit(name="nightly-19700101T001640Z")
    assert answer.status_code == 202
    synced.schedule()
    submit_due(synced.team.service, "worker")
    _, request = submitted(synced)
    assert request.name.startswith("nightly-19700101T001640Z-")


def test_a_configuration_that_is_gone_is_refused_and_the_schedule_goes_on(synced: Synced) -> None:
    schedule, messages = synced.schedule(), told(synced)
    synced.sync(COMMITS[1], sums="", other=CONFIG)
    submit_due(synced.team.service, "worker")
    (owed,) = synced.owed(schedule)
    assert owed.state is ScheduledState.REFUSED
    assert f"has no file {SUMS}" in owed.fault
    after = synced.again(schedule.id)
    assert (after.enabled, after.last_fault) == (True, owed.fault)
    assert [(one["fault"], one["paused"]) for one in messages()] == [(owed.fault, False)]
    assert submitted(synced) == []
    synced.sync(COMMITS[2])
    synced.store.schedules.change(schedule.id, next_at=2000.0)
    submit_due(synced.team.service, "worker")
    assert synced.again(schedule.id).last_fault == ""
    assert len(submitted(synced)) == 1


def test_a_repository_that_is_gone_is_told(synced: Synced) -> None:
    schedule = synced.schedule()
    synced.team.owner.request("DELETE", f"{synced.path}/repository")
    submit_due(synced.team.service, "worker")
    assert "has no repository any more" in synced.again(schedule.id).last_fault


@pytest.mark.parametrize(
    ("what", "told_why"),
    [
        ("left", "ben, whose runs these are, left the workspace"),
        ("viewer", "is only a viewer of the workspace now"),
        ("disabled", "the account of ben, whose runs these are, is disabled"),
    ],
)
def test_the_schedule_of_somebody_who_may_not_submit_any_more_is_paused(
    synced: Synced, what: str, told_why: str
) -> None:
    ben = synced.member("ben")
    schedule, messages = synced.schedule(ben), told(synced)
    owner, path = synced.team.owner, f"{synced.path}/members/{ben.user_id}"
    if what == "left":
        assert owner.request("DELETE", path).status_code == 204
    elif what == "viewer":
        assert owner.request("PATCH", path, json={"role": "viewer"}).status_code == 200
    else:
        synced.store.users.set_disabled(ben.user_id, disabled=True)
    submit_due(synced.team.service, "worker")
    after = synced.again(schedule.id)
    assert (after.enabled, after.next_at) == (False, None)
    assert told_why in after.last_fault
    assert [one.state for one in synced.owed(schedule)] == [ScheduledState.REFUSED]
    assert submitted(synced) == []
    (message,) = messages()
    assert (message["paused"], told_why in message["fault"]) == (True, True)
    answer = owner.request("PATCH", f"{synced.path}/schedules/nightly", json={"enabled": True})
    assert answer.json()["schedule"]["owner"] == "ada"
    synced.store.schedules.change(schedule.id, next_at=2000.0)
    submit_due(synced.team.service, "worker")
    (request,) = submitted(synced)
    assert request.actor_name == "ada"


def test_an_account_that_was_deleted_pauses_what_it_scheduled(synced: Synced) -> None:
    schedule = synced.schedule()
    synced.store.schedules.change(schedule.id, created_by=None)
    submit_due(synced.team.service, "worker")
    assert "the account that it belongs to was deleted" in synced.again(schedule.id).last_fault


def test_what_there_is_no_room_for_now_is_submitted_later(open_team: Any, synced: Synced) -> None:
    service = synced.team.service
    settings = service.settings
    service.settings = settings.model_copy(update={"queued_per_actor": 1})
    assert synced.team.submit().status_code == 202
    schedule = synced.schedule()
    submit_due(service, "worker")
    (owed,) = synced.owed(schedule)
    assert (owed.state, owed.tries) == (ScheduledState.PENDING, 0)
    assert "of your runs wait or are played already" in owed.fault
    assert synced.again(schedule.id).last_fault == owed.fault
    assert submit_due(service, "worker") == 0
    service.settings = settings
    synced.store.database.execute(update(scheduled_runs).values(retry_at=0.0))
    assert submit_due(service, "worker") == 1
    assert synced.again(schedule.id).last_fault == ""
    assert len(submitted(synced)) == 2


def test_the_runs_of_a_paused_schedule_are_not_submitted(synced: Synced) -> None:
    schedule = synced.schedule()
    synced.store.schedules.advance(schedule, None)
    answer = synced.team.owner.request("PATCH", f"{synced.path}/schedules/nightly", json={"enabled": False})
    assert answer.status_code == 200
    assert submit_due(synced.team.service, "worker") == 0
    assert submitted(synced) == []


def test_a_time_zone_that_is_gone_pauses_the_schedule(synced: Synced) -> None:
    schedule = synced.schedule()
    synced.store.schedules.change(schedule.id, timezone="Mars/Olympus")
    submit_due(synced.team.service, "worker")
    after = synced.again(schedule.id)
    assert (after.enabled, "no time zone Mars/Olympus" in after.last_fault) == (False, True)
