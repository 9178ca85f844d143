"""Official runs and boards: what they take, and that no choice of runs helps."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.server.routes.run_requests.conftest import DOMAIN, Runs, document_of

from mesocosm.core.run import RunStatus
from mesocosm.server.workers.worker import ClaimedRun, StopReason
from mesocosm.store.environments import BuildState, EnvironmentRow, VersionRow
from mesocosm.store.run_requests import RunRequest
from mesocosm.store.tenancy import environments

OpenRuns = Callable[..., Runs]
MODEL = "house/random"
MODELS = [{"name": MODEL, "served_as": "builtin/random", "guests": True}, {"name": "builtin/random", "guests": True}]
TERMS = {"episodes": 3, "max_steps": 1, "max_tokens": 100, "temperature": 0.5, "on_malformed": "fail"}
PROTOCOLS = f"/api/domains/{DOMAIN}/protocols"


@pytest.fixture
def runs(open_runs: OpenRuns) -> Runs:
    """A platform with a model that takes places; random agents are references."""
    return open_runs(models=MODELS)


@pytest.fixture
def official(runs: Runs) -> Runs:
    """A platform on which the domain has an official board."""
    answer = runs.ann.post(PROTOCOLS, TERMS)
    assert answer.status_code == 201, answer.text
    return runs


def body(**given: Any) -> dict[str, Any]:
    agent = {"model": MODEL, **given.pop("agent_config", {})}
    return {"domain_id": DOMAIN, "binding_vow_version": "1.0.0", "agent_config": agent, "official": True, **given}


def ask(runs: Runs, person: Any = None, **given: Any) -> dict[str, Any]:
    answer = (person or runs.bob).post("/v1/runs", body(**given))
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


def played(runs: Runs, **given: Any) -> str:
    run_id = str(ask(runs, **given)["id"])
    runs.play()
    return run_id


def board(runs: Runs, **query: Any) -> dict[str, Any]:
    answer = runs.hosted.anonymous.get(f"/api/leaderboards/{DOMAIN}/official", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def entry(runs: Runs) -> dict[str, Any]:
    """Return the one entry of the board."""
    (found,) = board(runs)["entries"]
    return dict(found)


def test_an_official_run_is_played_by_the_protocol(official: Runs) -> None:
    run = ask(official, agent_config={"system_prompt": "be brief"})
    assert (run["protocol"], run["visibility"], run["planned"]) == (1, "gallery_public", 3)
    spec = official.service.store.runs.get(run["id"]).spec
    assert (spec.model.temperature, spec.model.max_tokens, spec.limits.episode_steps) == (0.5, 100, 1)
    assert spec.agent.options == {"on_malformed": "fail", "system_prompt": "be brief"}


def test_the_server_draws_other_seeds_for_every_run(official: Runs) -> None:
    drawn = [ask(official)["config"]["seed_set"] for _ in range(4)]
    assert all(len(set(seeds)) == 3 for seeds in drawn)
    assert len({seed for seeds in drawn for seed in seeds}) == 12


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seed_set": [1, 2, 3]}, "the server draws the seeds"),
        ({"num_episodes": 2}, "num_episodes of an official run is 3"),
        ({"trials": 2}, "trials of an official run is 1"),
        ({"visibility": "private"}, "visibility of an official run is"),
        ({"binding_vow_version": "0.9.0"}, "binding_vow_version of an official run is"),
        ({"env_id": "e"}, "which environment"),
        ({"agent_config": {"temperature": 0.0}}, "temperature of an official run is 0.5"),
        ({"agent_config": {"max_tokens": 4096}}, "max_tokens of an official run is 100"),
    ],
)
def test_what_the_protocol_fixes_cannot_be_chosen(official: Runs, given: dict[str, Any], words: str) -> None:
    answer = official.bob.post("/v1/runs", body(**given))
    assert (answer.status_code, words in answer.text) == (422, True), answer.text


def test_what_is_said_as_the_protocol_has_it_is_taken(official: Runs) -> None:
    assert ask(official, num_episodes=3, visibility="gallery_public", agent_config={"max_tokens": 100})["protocol"] == 1


def test_guests_and_domains_without_a_protocol_have_no_official_runs(runs: Runs) -> None:
    assert "has no official board" in runs.bob.post("/v1/runs", body()).text
    assert board(runs) == {"protocol": None, "versions": [], "entries": [], "others": []}
    runs.ann.post(PROTOCOLS, TERMS)
    assert runs.hosted.guest().post("/v1/runs", body(agent_config={"model": "builtin/random"})).status_code == 403


def test_only_who_may_change_a_domain_declares_its_protocol(runs: Runs) -> None:
    assert runs.cid.post(PROTOCOLS, TERMS).status_code == 403
    assert runs.hosted.anonymous.post(PROTOCOLS, TERMS).status_code == 401
    assert runs.member("root", "admin").post(PROTOCOLS, TERMS).status_code == 201
    assert runs.ann.post(PROTOCOLS, {"seeds": [1]}).status_code == 422
    assert "at most 10,000" in runs.ann.post(PROTOCOLS, {"episodes": 10_000, "trials": 2}).text


def test_a_changed_protocol_begins_a_board_and_keeps_the_one_before(official: Runs) -> None:
    first = played(official)
    assert official.ann.post(PROTOCOLS, TERMS).json()["version"] == 1
    assert official.ann.post(PROTOCOLS, {**TERMS, "max_steps": 2}).json()["version"] == 2
    new, old = board(official), board(official, version=1)
    assert (new["protocol"]["version"], new["versions"], new["entries"]) == (2, [2, 1], [])
    assert [one["run_id"] for one in old["entries"]] == [first]
    assert official.hosted.anonymous.get(f"/api/leaderboards/{DOMAIN}/official?version=3").status_code == 404


def test_finished_attempts_are_taken_together_and_take_a_place(official: Runs) -> None:
    for _ in range(3):
        played(official)
    found = entry(official)
    assert (found["rank"], found["runs"], found["n_scored"], found["unranked"]) == (1, 3, 9, "")
    assert found["attempts"] == {"total": 3, "finished": 3, "going": 0, "unfinished": 0, "deleted": 0}


def test_official_runs_are_not_on_the_ordinary_board(official: Runs) -> None:
    played(official)
    official.played(official.bob, agent_config={"model": MODEL}, visibility="gallery_public")
    (ordinary,) = official.hosted.anonymous.get(f"/api/leaderboards/{DOMAIN}").json()
    assert (ordinary["runs"], ordinary["protocol"], ordinary["candidates"]) == (1, None, 1)
    assert entry(official)["protocol"] == 1


def test_lists_and_the_gallery_mark_official_runs(official: Runs) -> None:
    run_id = played(official)
    ordinary = played(official, official=False, num_episodes=3, visibility="gallery_public")
    looking = official.hosted.anonymous
    shown = looking.get("/api/gallery/runs").json()
    assert {run["run_id"]: run["protocol"] for run in shown} == {run_id: 1, ordinary: None}
    listed = looking.get("/api/runs").json()["items"]
    assert {run["id"]: run["protocol"] for run in listed} == {run_id: 1, ordinary: None}
    assert looking.get(f"/api/runs/{run_id}").json()["protocol"] == 1


def test_a_cancelled_attempt_costs_the_place_until_it_is_resumed(official: Runs) -> None:
    bad = ask(official)
    official.bob.post(f"/api/runs/{bad['id']}/stop")
    played(official)
    found = entry(official)
    assert (found["rank"], found["attempts"]["total"], found["attempts"]["unfinished"]) == (None, 2, 1)
    assert found["unranked"] == "of 2 attempts 1 not finished (resume it)"
    assert official.bob.post(f"/api/runs/{bad['id']}/resume").status_code == 202
    official.play()
    assert (entry(official)["rank"], entry(official)["attempts"]["finished"]) == (1, 2)


def test_a_deleted_attempt_costs_the_place_for_good(official: Runs) -> None:
    bad = played(official)
    assert official.bob.request("DELETE", f"/api/runs/{bad}").status_code == 204
    assert board(official)["others"][0]["attempts"]["deleted"] == 1
    played(official)
    assert (entry(official)["rank"], entry(official)["unranked"]) == (None, "of 2 attempts 1 deleted")


def test_another_configuration_does_not_leave_bad_attempts_behind(official: Runs) -> None:
    official.bob.request("DELETE", f"/api/runs/{played(official, agent_config={'system_prompt': 'first'})}")
    played(official, agent_config={"system_prompt": "second"})
    assert entry(official)["rank"] is None


def test_a_new_team_does_not_leave_bad_attempts_behind(official: Runs) -> None:
    official.bob.request("DELETE", f"/api/runs/{played(official)}")
    played(official, team_id=official.team)
    assert entry(official)["rank"] is None


def test_attempts_of_one_participant_do_not_count_against_another(official: Runs) -> None:
    official.bob.request("DELETE", f"/api/runs/{played(official)}")
    played(official, person=official.cid)
    assert (entry(official)["rank"], entry(official)["attempts"]["total"]) == (1, 1)


def test_an_attempt_that_goes_on_is_counted_and_costs_nothing_yet(official: Runs) -> None:
    played(official)
    ask(official)
    assert (entry(official)["rank"], entry(official)["attempts"]["going"]) == (1, 1)


def test_a_partial_attempt_takes_no_place(official: Runs) -> None:
    store = official.service.store
    run = store.runs.get(played(official))
    run.status = RunStatus.PARTIAL
    store.leases.take(run.id, store.leases.owner())
    store.runs.save(run)
    store.leases.release(run.id, store.leases.owner())
    assert board(official)["entries"] == []
    assert board(official)["others"][0]["attempts"]["unfinished"] == 1


def test_an_official_run_cannot_be_hidden(official: Runs) -> None:
    run_id = played(official)
    answer = official.bob.request("PATCH", f"/api/runs/{run_id}", json={"visibility": "private"})
    assert (answer.status_code, "public, whatever its score" in answer.text) == (409, True)
    assert official.hosted.anonymous.get(f"/v1/runs/{run_id}").status_code == 200


def test_a_resumed_attempt_keeps_its_seeds_its_model_and_its_agent(official: Runs) -> None:
    run = ask(official)
    official.bob.post(f"/api/runs/{run['id']}/stop")
    other = {"model": "builtin/random", "seed_set": [1], "agent_config": {"model": "builtin/random"}}
    again = official.bob.post(f"/api/runs/{run['id']}/resume", other).json()
    official.play()
    assert again["request"]["config"] == run["config"]
    assert official.service.store.runs.get(run["id"]).model == MODEL


def test_nobody_scores_an_official_run_anew(official: Runs) -> None:
    run_id = played(official)
    assert official.bob.post(f"/api/runs/{run_id}/rescore").status_code == 409


def test_episodes_that_go_badly_are_played_to_their_end_when_the_run_is_cancelled(official: Runs) -> None:
    graces: list[float] = []

    for run_id in (ask(official)["id"], official.ask(official.bob)["id"]):
        order = official.service.store.run_requests.get(run_id)
        assert isinstance(order, RunRequest)
        playing = ClaimedRun(official.service, order, "worker")
        playing._control.halt = lambda _reason, grace: graces.append(grace)
        playing.stop(StopReason.CANCELLED)
    assert graces == [official.service.settings.episode_s, 1.0]


def test_a_cancelled_attempt_is_not_resumed_while_its_last_episodes_are_played(official: Runs) -> None:
    run_id = ask(official)["id"]
    official.service.store.queue.claim("worker", 60.0, 5)
    store = official.service.store
    run = store.runs.get(run_id)
    run.status = RunStatus.RUNNING
    store.leases.take(run_id, store.leases.owner())
    store.runs.save(run)
    official.bob.post(f"/api/runs/{run_id}/stop")
    assert not store.runs.get(run_id).stop_requested
    answer = official.bob.post(f"/api/runs/{run_id}/resume")
    assert (answer.status_code, "still being played" in answer.text) == (409, True)
    store.leases.release(run_id, store.leases.owner())


def submitted(runs: Runs, version: int, verdict: str = "") -> None:
    """Let the domain be played in a submitted environment, of which this version is used."""
    row = runs.service.store.domains.get(DOMAIN)
    assert row is not None
    manifest = json.dumps({**row.document, "adapter": "adapter.py"})
    built = VersionRow(
        environment_id="env-1",
        version=version,
        state=BuildState.READY,
        manifest=manifest,
        digest=f"digest {version}",
        verdict=verdict,
    )
    owner = EnvironmentRow(id="env-1", holder_key="user:999", domain_id=DOMAIN, status="ready", ready_version=version)
    runs.service.store.environments.add(owner, built)
    used = environments.update().values(ready_version=version)
    runs.service.store.database.write(lambda connection: connection.execute(used))
    assert runs.service.store.domains.replace(msgspec.structs.replace(row, environment_id="env-1"))


def test_a_protocol_binds_the_version_of_its_environment(runs: Runs) -> None:
    submitted(runs, 2)
    assert runs.ann.post(PROTOCOLS, TERMS).json()["environment_version"] == 2
    submitted(runs, 3)
    run = ask(runs)
    assert (run["env_id"], run["env_version"]) == ("env-1", 2)
    assert runs.ann.post(PROTOCOLS, TERMS).json()["version"] == 2


def test_an_environment_that_failed_its_check_gets_no_official_board(runs: Runs) -> None:
    submitted(runs, 2, '{"state":"failed","summary":"x","problems":["isolation: seed-1 plays differently"]}')
    answer = runs.ann.post(PROTOCOLS, TERMS)
    assert (answer.status_code, "isolation: seed-1 plays differently" in answer.text) == (409, True), answer.text
    warned = runs.ask(runs.ann, agent_config={"model": MODEL})
    assert "failed its author's `mesocosm check`: isolation" in warned["warnings"][0]


def test_a_domain_whose_rules_changed_needs_a_new_protocol(official: Runs) -> None:
    row = official.service.store.domains.get(DOMAIN)
    assert row is not None
    vow = {**row.document["binding_vow"], "version": "2.0.0"}
    assert official.ann.request("PATCH", f"/api/domains/{DOMAIN}", json={"binding_vow": vow}).status_code == 200
    answer = official.bob.post("/v1/runs", body())
    assert (answer.status_code, "declare a new protocol" in answer.text) == (409, True), answer.text


def test_an_environment_without_seeds_gets_no_official_board(runs: Runs) -> None:
    episode = {"max_steps": 5, "supports_seed": False}
    vow = {**document_of("unseeded", runs.world.url)["binding_vow"], "episode": episode}
    runs.domain("unseeded", binding_vow=vow)
    answer = runs.ann.post("/api/domains/unseeded/protocols", TERMS)
    assert (answer.status_code, "takes no seeds" in answer.text) == (409, True)
