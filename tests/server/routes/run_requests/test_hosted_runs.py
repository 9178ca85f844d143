"""A run of a platform, from its request to its export, as its owner and as others see it."""

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.server.routes.conftest import Person
from tests.server.routes.run_requests.conftest import DOMAIN, PROMPT, Runs

from mesocosm.core.ids import new_id
from mesocosm.core.run import RunStatus
from mesocosm.server.auth.principal import Kind, Principal
from mesocosm.server.auth.redaction import MARK
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.store.run_requests import RunRequestFilter
from mesocosm.store.tenancy import requests

SECRETS = ("swordfish", "acct-4711", "/srv/secret")
READS = ("", "/episodes", "/traces", "/export")


def test_a_run_is_accepted_played_and_read(runs: Runs) -> None:
    asked = runs.ask(runs.ann, name="first", tags=["a"])
    assert asked["status"] == "pending"
    assert (asked["planned"], asked["requester_id"], asked["visibility"]) == (2, str(runs.ann.user_id), "private")
    assert (asked["name"], asked["tags"]) == ("first", ["a"])
    runs.play()
    run = runs.ann.get(f"/v1/runs/{asked['id']}").json()
    assert run["status"] == "completed", runs.ann.get(f"/api/runs/{asked['id']}/log").text
    assert run["scores"] == {"reward": 1.0}
    assert run["config"]["agent_config"]["system_prompt"] == "play like a swordfish"
    assert run["metrics"][0]["n_scored"] == 2
    assert run["completed_at"].endswith(("+00:00", "Z"))


def test_unknown_fields_of_newer_programs_are_ignored(runs: Runs) -> None:
    assert runs.ask(runs.ann, colour="red")["status"] == "pending"


def test_seeds_alone_say_how_many_episodes_there_are(runs: Runs) -> None:
    asked = runs.ask(runs.ann, seed_set=[5, 3, 9], num_episodes=None)
    rows = runs.ann.get(f"/v1/runs/{asked['id']}/episodes").json()
    assert [(row["seed"], row["status"]) for row in rows] == [(5, "pending"), (3, "pending"), (9, "pending")]


def test_an_episode_that_has_not_begun_is_named_by_its_position(runs: Runs) -> None:
    run_id = runs.ask(runs.ann)["id"]
    before = runs.ann.get(f"/v1/runs/{run_id}/episodes").json()
    assert [row["id"] for row in before] == [f"{run_id}.0", f"{run_id}.1"]
    runs.play()
    after = runs.ann.get(f"/v1/runs/{run_id}/episodes").json()
    assert [row["seed"] for row in after] == [row["seed"] for row in before]
    assert all(row["status"] == "completed" and "." not in row["id"] for row in after)


def test_a_private_run_is_for_its_owner_and_their_team(runs: Runs) -> None:
    mine, ours = runs.ask(runs.ann)["id"], runs.ask(runs.ann, team_id=runs.team)["id"]
    runs.play()
    root, guest, nobody = runs.member("root", "admin"), runs.hosted.guest(), runs.hosted.anonymous

    def seen(run_id: str, path: str) -> list[int]:
        people = (runs.ann, runs.bob, runs.cid, root, guest, nobody)
        return [person.get(f"/v1/runs/{run_id}{path}").status_code for person in people]

    for path in READS:
        assert seen(mine, path) == [200, 404, 404, 200, 404, 404], path
        assert seen(ours, path) == [200, 200, 404, 200, 404, 404], path
        assert runs.ann.get(f"/v1/runs/{new_id()}{path}").status_code == 404


def test_a_public_run_is_for_everybody_once_it_has_completed(runs: Runs) -> None:
    run_id = runs.ask(runs.ann, visibility="gallery_public")["id"]
    assert runs.cid.get(f"/v1/runs/{run_id}").status_code == 404
    runs.play()
    assert runs.cid.get(f"/v1/runs/{run_id}").status_code == 200
    assert [run["id"] for run in runs.hosted.anonymous.get("/v1/runs").json()] == [run_id]


def test_who_is_outside_reads_no_prompt_no_reply_and_no_words_of_failures(open_runs: Callable[..., Runs]) -> None:
    runs = open_runs(max_missing=1.0)
    runs.world.failing.add(1)
    run_id = runs.played(runs.ann, visibility="gallery_public", num_episodes=2)
    paths = [f"/v1/runs/{run_id}{path}" for path in READS]
    for row in runs.ann.get(f"/v1/runs/{run_id}/episodes").json():
        paths += [f"/api/episodes/{row['id']}", f"/api/episodes/{row['id']}/events"]
    for person in (runs.cid, runs.hosted.guest(), runs.hosted.anonymous):
        for path in paths:
            answer = person.get(path)
            assert answer.status_code == 200, (path, answer.text)
            found = [secret for secret in SECRETS if secret in answer.text]
            assert not found, (path, found, answer.text)
    own = "".join(runs.ann.get(path).text for path in paths)
    assert all(secret in own for secret in SECRETS)


def test_an_export_for_others_tells_what_is_hidden_and_not_whose_it_is(runs: Runs) -> None:
    run_id = runs.played(runs.ann, visibility="gallery_public", num_episodes=1)
    document = runs.cid.get(f"/v1/runs/{run_id}/export").json()
    assert document["schema_version"] == "1"
    assert document["visibility"] == "gallery_public"
    assert (document["domain_id"], document["domain_name"]) == (DOMAIN, "The word game")
    assert "requester_id" not in document["run"]
    assert document["run"]["config"]["agent_config"]["system_prompt"] == MARK
    (turns,) = document["replay"].values()
    assert turns[0]["env_system_prompt"] == MARK
    assert turns[0]["observation"] == {"board": "start", "seed": 0}
    assert turns[-1]["episode_end"]["total_reward"] == 1.0
    own = runs.ann.get(f"/v1/runs/{run_id}/export").json()
    assert own["run"]["requester_id"] == str(runs.ann.user_id)
    assert own["replay"][document["episodes"][0]["id"]][0]["env_system_prompt"] == PROMPT


def test_what_a_model_thought_and_said_is_hidden(open_runs: Callable[..., Runs], tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps(["<think>go for gold</think>left", "I would rather not go on, says the oracle\n\nright"])
    )
    runs = open_runs(models=[{"name": "house/told", "served_as": f"builtin/scripted:{script}"}])
    agent = {"model": "house/told"}
    run_id = runs.played(runs.ann, visibility="gallery_public", num_episodes=1, agent_config=agent)
    own = runs.ann.get(f"/v1/runs/{run_id}/export").text
    assert "go for gold" in own
    shown = runs.cid.get(f"/v1/runs/{run_id}/export")
    assert "gold" not in shown.text
    assert "rather not" not in shown.text
    assert str(script) not in own + shown.text
    (turns,) = shown.json()["replay"].values()
    assert (turns[0]["reasoning"], turns[0]["action"]) == (MARK, "left")


def test_times_of_an_export_are_all_written_alike(runs: Runs) -> None:
    run_id = runs.played(runs.ann, num_episodes=1)
    text = runs.ann.get(f"/v1/runs/{run_id}/export").text
    ends = re.findall(r'"\d{4}-\d\d-\d\dT[\d:.]+([^"]*)"', text)
    assert len(ends) > 5
    assert set(ends) == {"+00:00"}


def test_an_export_is_read_back_as_a_run(runs: Runs, tmp_path: Path) -> None:
    from mesocosm.interop.replayed import read_replay

    run_id = runs.played(runs.ann)
    file = tmp_path / "replay.json"
    file.write_bytes(runs.ann.get(f"/v1/runs/{run_id}/export").content)
    found = read_replay(file)
    assert (found.run.id, len(found.entries), found.run.metrics[0].value) == (run_id, 2, 1.0)


def test_lists_are_newest_first_and_paged(runs: Runs) -> None:
    ids = [runs.ask(runs.ann)["id"] for _ in range(3)]
    assert [run["id"] for run in runs.ann.get("/v1/runs?limit=2").json()] == ids[:0:-1]
    first = runs.ann.get("/api/runs?whose=mine&limit=2").json()
    assert [run["id"] for run in first["items"]] == ids[:0:-1]
    rest = runs.ann.get(f"/api/runs?whose=mine&cursor={first['cursor']}").json()
    assert [run["id"] for run in rest["items"]] == ids[:1]
    assert runs.ann.get("/v1/runs?limit=101").status_code == 422


def test_a_run_that_lacks_too_many_values_is_partial_and_shown_to_nobody_else(runs: Runs) -> None:
    runs.world.failing.add(1)
    run_id = runs.played(runs.ann, visibility="gallery_public", num_episodes=2)
    told = runs.ann.get(f"/v1/runs/{run_id}").json()
    assert (told["status"], told["finished"], told["scores"] != {}) == ("partial", 2, True)
    assert runs.hosted.anonymous.get(f"/v1/runs/{run_id}").status_code == 404
    assert runs.hosted.anonymous.get(f"/api/leaderboards/{DOMAIN}").json() == []
    assert runs.hosted.anonymous.get("/api/gallery/runs").json() == []
    admin = runs.hosted.admin().get("/api/admin/status").json()
    assert admin["counts"]["runs"] == {"partial": 1}


def test_an_item_of_a_list_counts_episodes_and_names_who_asked(open_runs: Callable[..., Runs]) -> None:
    runs = open_runs(max_missing=1.0)
    runs.world.failing.add(1)
    run_id = runs.played(runs.ann, visibility="gallery_public")
    (own,) = runs.ann.get("/v1/runs").json()
    assert (own["completed_count"], own["failed_count"], own["avg_reward"]) == (1, 1, 0.5)
    assert (own["actor_type"], own["actor_id"], own["actor_username"]) == ("member", str(runs.ann.user_id), "ann")
    (seen,) = runs.hosted.anonymous.get("/v1/runs").json()
    assert (seen["id"], seen["actor_id"], seen["actor_username"], seen["requester_id"]) == (run_id, None, None, None)
    assert "swordfish" not in json.dumps(seen)


def test_a_team_lists_its_runs_and_nobody_else_does(runs: Runs) -> None:
    ours = runs.ask(runs.ann, team_id=runs.team)["id"]
    runs.ask(runs.ann)
    assert [run["id"] for run in runs.bob.get(f"/v1/runs?team_id={runs.team}").json()] == [ours]
    assert runs.bob.get("/v1/runs").json() == []
    for person in (runs.cid, runs.hosted.anonymous):
        assert person.get(f"/v1/runs?team_id={runs.team}").status_code == 403


def test_a_waiting_run_is_cancelled_at_once_and_can_be_resumed(runs: Runs) -> None:
    run_id = runs.ask(runs.ann)["id"]
    assert runs.cid.post(f"/api/runs/{run_id}/stop").status_code == 404
    cancelled = runs.ann.post(f"/api/runs/{run_id}/stop").json()
    assert (cancelled["state"], cancelled["request"]["state"]) == ("stopped", "cancelled")
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["status"] == "cancelled"
    assert runs.ann.post(f"/api/runs/{run_id}/stop").json() == cancelled
    rows = runs.ann.get(f"/v1/runs/{run_id}/episodes").json()
    assert {row["status"] for row in rows} == {"cancelled"}
    assert all(row["terminal_info"] == {"cancelled": True, "reason": "run_cancelled"} for row in rows)
    runs.play()
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["finished"] == 0
    resumed = runs.ann.post(f"/api/runs/{run_id}/resume")
    assert (resumed.status_code, resumed.json()["request"]["state"]) == (202, "queued")
    runs.play()
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["status"] == "completed"
    assert runs.ann.post(f"/api/runs/{run_id}/resume").status_code == 409


def test_a_team_mate_cancels_and_readers_do_not(runs: Runs) -> None:
    run_id = runs.ask(runs.ann, team_id=runs.team)["id"]
    assert runs.hosted.guest().post(f"/api/runs/{run_id}/stop").status_code == 404
    assert runs.hosted.anonymous.post(f"/api/runs/{run_id}/stop").status_code == 401
    assert runs.bob.post(f"/api/runs/{run_id}/stop").json()["request"]["state"] == "cancelled"


def test_a_reader_of_a_public_run_changes_nothing(runs: Runs) -> None:
    run_id = runs.played(runs.ann, visibility="gallery_public")
    path = f"/api/runs/{run_id}"
    body = {"visibility": "private"}
    changes: tuple[Callable[[Person], Any], ...] = (
        lambda person: person.post(f"{path}/stop"),
        lambda person: person.post(f"{path}/resume"),
        lambda person: person.request("PATCH", path, json=body),
        lambda person: person.request("DELETE", path),
        lambda person: person.get(f"{path}/log"),
    )
    assert [change(runs.cid).status_code for change in changes] == [403] * 5
    assert [change(runs.hosted.guest()).status_code for change in changes] == [403] * 5
    assert [change(runs.hosted.anonymous).status_code for change in changes] == [401] * 5
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["visibility"] == "gallery_public"


def test_runs_of_a_workspace_are_not_published(runs: Runs) -> None:
    run_id = runs.played(runs.ann, num_episodes=1)
    store = runs.service.store
    workspace = store.workspaces.add("Reefs", runs.ann.user_id)
    assert workspace is not None
    owned = requests.update().where(requests.c.run_id == run_id).values(workspace_id=workspace.id)
    store.database.write(lambda connection: connection.execute(owned))
    refused = runs.ann.request("PATCH", f"/api/runs/{run_id}", json={"visibility": "gallery_public"})
    assert (refused.status_code, "for its members alone" in refused.json()["detail"]) == (409, True)
    assert runs.ann.request("PATCH", f"/api/runs/{run_id}", json={"visibility": "private"}).status_code == 200
    document = runs.ann.get(f"/api/runs/{run_id}").json()
    assert (document["workspace_id"], document["may_change"]) == (workspace.id, True)
    assert runs.bob.get(f"/api/runs/{run_id}").status_code == 404


def test_visibility_is_changed_by_insiders_to_known_words_only(runs: Runs) -> None:
    run_id = runs.played(runs.ann, team_id=runs.team)
    path = f"/api/runs/{run_id}"
    assert runs.ann.request("PATCH", path, json={"visibility": "public"}).status_code == 422
    shown = runs.bob.request("PATCH", path, json={"visibility": "gallery_public"})
    assert (shown.status_code, shown.json()["visibility"]) == (200, "gallery_public")
    assert runs.cid.get(f"/v1/runs/{run_id}").status_code == 200
    runs.ann.request("PATCH", path, json={"visibility": "private"})
    assert runs.cid.get(f"/v1/runs/{run_id}").status_code == 404


def test_a_deleted_run_is_gone_and_what_it_cost_stays_counted(runs: Runs) -> None:
    run_id = runs.ask(runs.ann)["id"]
    assert runs.ann.request("DELETE", f"/api/runs/{run_id}").status_code == 409
    runs.play()
    order = runs.service.store.run_requests.get(run_id)
    assert order is not None
    runs.service.store.run_requests.remember_cost(order, 0.25)
    runs.service.store.run_requests.remember_cost(order, 0.25)
    assert runs.ann.request("DELETE", f"/api/runs/{run_id}").status_code == 204
    assert runs.ann.get(f"/v1/runs/{run_id}").status_code == 404
    assert runs.service.store.run_requests.count(RunRequestFilter(actor=order.actor)) == 0
    assert runs.service.store.run_requests.spent(actor=order.actor, since=order.created_at - 60).usd == pytest.approx(
        0.25
    )


def test_a_run_reads_completed_once_its_worker_has_let_it_go(runs: Runs) -> None:
    run_id, counts = runs.played(runs.ann), runs.service.store.counts
    runs.service.store.queue.reopen(run_id)
    assert runs.service.store.runs.get(run_id).status is RunStatus.FINISHED
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["status"] == "running"
    assert counts.take(0).runs == {"running": 1}
    runs.play()
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["status"] == "completed"
    assert counts.take(0).runs == {"completed": 1}
    assert runs.ann.request("DELETE", f"/api/runs/{run_id}").status_code == 204


@pytest.mark.parametrize("query", ["", "?retry_failed=true"])
def test_failed_episodes_of_a_partial_run_are_played_again_when_it_is_resumed(runs: Runs, query: str) -> None:
    runs.world.failing.add(1)
    run_id = runs.played(runs.ann)
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["status"] == "partial"
    runs.world.failing.clear()
    assert runs.ann.post(f"/api/runs/{run_id}/resume{query}").status_code == 202
    runs.play()
    run = runs.ann.get(f"/v1/runs/{run_id}").json()
    assert (run["status"], run["finished"], run["metrics"][0]["n_scored"]) == ("completed", 2, 2)
    assert runs.ann.post(f"/api/runs/{run_id}/resume{query}").status_code == 409


def test_the_log_tells_the_course_of_a_run(runs: Runs) -> None:
    run_id = runs.ask(runs.ann)["id"]
    assert "waits for a worker" in [line["text"] for line in runs.ann.get(f"/api/runs/{run_id}/log").json()["lines"]]
    runs.play()
    texts = [line["text"] for line in runs.ann.get(f"/api/runs/{run_id}/log").json()["lines"]]
    assert texts[-1] == "finished: 2 of 2 episodes are finished"


@pytest.mark.parametrize("path", ["/v1/runs/{}", "/v1/runs/{}/export", "/v1/runs/{}/traces", "/v1/runs/{}.1"])
def test_odd_ids_are_no_ids(runs: Runs, path: str) -> None:
    for name in ("x", "%00", "..", "a" * 190, "%ff%fe", "' or 1=1", new_id()):
        assert runs.ann.get(path.format(name)).status_code in {404, 422}, name


def test_a_run_that_is_played_is_cancelled_and_goes_on_where_it_was(runs: Runs) -> None:
    runs.world.held.add(1)
    run_id = runs.ask(runs.ann, num_episodes=3)["id"]
    player = threading.Thread(target=runs.play)
    player.start()
    assert runs.world.reached.wait(60)
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["status"] == "running"
    assert runs.ann.request("DELETE", f"/api/runs/{run_id}").status_code == 409
    assert runs.ann.post(f"/api/runs/{run_id}/stop").json()["request"]["state"] == "cancelled"
    player.join(60)
    before = runs.ann.get(f"/v1/runs/{run_id}/episodes").json()
    assert [row["status"] for row in before] == ["completed", "cancelled", "cancelled"]
    assert [row["terminal_info"].get("reason") for row in before] == [None, "run_cancelled", "run_cancelled"]
    runs.world.release.set()
    assert runs.ann.post(f"/api/runs/{run_id}/resume").json()["request"]["state"] == "queued"
    runs.play()
    after = runs.ann.get(f"/v1/runs/{run_id}/episodes").json()
    assert [row["status"] for row in after] == ["completed"] * 3
    assert after[0] == before[0]
    assert runs.ann.get(f"/v1/runs/{run_id}").json()["status"] == "completed"


def test_who_shows_and_deletes_a_run_is_noted(runs: Runs) -> None:
    run_id = runs.played(runs.ann, team_id=runs.team)
    runs.bob.request("PATCH", f"/api/runs/{run_id}", json={"visibility": "gallery_public"})
    runs.ann.request("DELETE", f"/api/runs/{run_id}")
    noted = [entry for entry in runs.service.store.audit.list() if entry.target == f"run:{run_id}"]
    assert [(entry.action, entry.actor) for entry in noted] == [
        ("run.delete", f"user:{runs.ann.user_id}"),
        ("run.show", f"user:{runs.bob.user_id}"),
    ]


def test_a_list_does_not_tell_where_models_are_asked(runs: Runs) -> None:
    order = runs.hosted.service.store.run_requests.get(runs.ask(runs.ann)["id"])
    assert order is not None
    run = runs.hosted.service.store.runs.get(order.run_id)
    named = msgspec.structs.replace(run.spec.model, name="openai/m@http://10.0.0.7:8000/v1")
    run.spec = msgspec.structs.replace(run.spec, model=named)
    run.error = "http://10.0.0.7:8000/v1/chat/completions answered 307"
    service = runs.hosted.service
    visible = VisibleRun(service, service.viewer(Principal(Kind.MEMBER, runs.ann.user_id)), run, order)
    assert visible.record.error == "…/chat/completions answered 307"


def test_a_run_is_scored_again_where_it_was_played(runs: Runs) -> None:
    run_id = runs.played(runs.ann)
    before = runs.service.store.runs.get(run_id)
    answer = runs.ann.post(f"/api/runs/{run_id}/rescore")
    assert answer.status_code == 202, answer.text
    after = runs.service.store.runs.get(run_id)
    assert "rescored_at" in after.provenance
    assert [metric.value for metric in after.metrics] == [metric.value for metric in before.metrics]
    assert after.holder is None


def test_a_run_that_waits_is_not_scored_again(runs: Runs) -> None:
    run_id = runs.ask(runs.ann)["id"]
    answer = runs.ann.post(f"/api/runs/{run_id}/rescore")
    assert (answer.status_code, "rescore it when it has ended" in answer.text) == (409, True)
