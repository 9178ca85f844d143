"""What is refused when a run is asked for, with which words, and that a refused request costs nothing."""

import json
import sys
import threading
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from tests.server.routes.run_requests.conftest import DOMAIN, Runs, document_of

from mesocosm.core.ids import new_id
from mesocosm.server.run_requests.submission import budget_left, over_budget
from mesocosm.store.environments import BuildState, EnvironmentRow, VersionRow
from mesocosm.store.run_requests import RunRequestFilter

OpenRuns = Callable[..., Runs]


def refused(runs: Runs, status: int, *words: str, person: Any = None, **given: Any) -> None:
    """Check that a run is refused, and what the answer says; nothing may be stored."""
    before = runs.service.store.run_requests.count(RunRequestFilter())
    answer = (person or runs.ann).post("/v1/runs", runs.body(**given))
    assert answer.status_code == status, answer.text
    assert all(word in answer.text for word in words), answer.text
    assert runs.service.store.run_requests.count(RunRequestFilter()) == before


def environment(runs: Runs, env_id: str, domain_id: str = DOMAIN, **given: Any) -> EnvironmentRow:
    """Add an environment of Ann's that is ready."""
    holder = f"user:{runs.ann.user_id}"
    row = EnvironmentRow(
        **{
            "id": env_id,
            "holder_key": holder,
            "owner_id": runs.ann.user_id,
            "domain_id": domain_id,
            "source": f"https://github.com/a/{env_id}",
            "status": "ready",
            "ready_version": 2,
            "version": 2,
            **given,
        }
    )
    document = runs.service.store.domains.get(domain_id)
    assert document is not None
    manifest = json.dumps({**document.document, "adapter": "adapter.py"})
    version = VersionRow(environment_id=env_id, version=2, state=BuildState.READY, manifest=manifest, digest="d" * 32)
    runs.service.store.environments.add(row, version)
    return row


def test_sizes_beyond_the_limit_are_refused_and_the_limit_is_named(open_runs: OpenRuns) -> None:
    runs = open_runs(max_episodes_per_run=20)
    refused(runs, 422, "at most 20", num_episodes=21)
    refused(runs, 422, "at most 20", num_episodes=11, trials=2)
    refused(runs, 422, "seed_set", num_episodes=3, seed_set=[1])
    refused(runs, 422, "num_episodes", num_episodes=0)
    refused(runs, 422, "max_parallel", max_parallel=0)
    refused(runs, 422, "visibility", visibility="public")
    refused(runs, 422, "max_tokens", agent_config={"max_tokens": 0})
    refused(runs, 422, "tags", tags=["a\nb"])


def test_nobody_known_asks_for_nothing(runs: Runs) -> None:
    refused(runs, 401, "Authentication required", person=runs.hosted.anonymous)


def test_a_domain_vow_or_technique_that_is_not_there_is_named(runs: Runs) -> None:
    refused(runs, 422, "no domain 'wordgame'", domain_id="wordgame")
    refused(runs, 422, "vow version 1.0.0, not '2.0.0'", binding_vow_version="2.0.0")
    refused(runs, 422, "'planning' is not declared", agent_config={"techniques": [{"technique_id": "planning"}]})
    wrong = [{"technique_id": "memory", "params": {"window": "many", "colour": 3}}]
    refused(runs, 422, "memory", agent_config={"techniques": wrong})


def test_no_module_is_imported_because_a_vow_and_a_run_name_it(runs: Runs) -> None:
    named = [{"technique_id": "antigravity:geohash"}]
    vow = {**document_of("odd", "")["binding_vow"], "techniques": named}
    runs.domain("odd", binding_vow=vow)
    refused(runs, 422, "there is no technique", "memory", domain_id="odd", agent_config={"techniques": named})
    assert "antigravity" not in sys.modules


def test_a_draft_is_for_those_whose_it_is_and_an_archived_domain_for_nobody(runs: Runs) -> None:
    runs.domain("draft-game", status="draft")
    runs.domain("old-game", status="archived")
    refused(runs, 422, "there is no domain", person=runs.cid, domain_id="draft-game")
    refused(runs, 422, "archived", domain_id="old-game")
    assert runs.ask(runs.ann, domain_id="draft-game")["status"] == "pending"


@pytest.mark.parametrize(
    "name",
    [
        *("openai/gpt-9", "builtin/scripted:/etc/passwd", "replay//etc/passwd", "builtin/human", "random", ""),
        *("openai/x@http://127.0.0.1:1/v1", "house/../../x", "house/x@http://evil/v1", "house/\u0000", "house/a b"),
    ],
)
def test_only_models_of_the_catalogue_are_run(open_runs: OpenRuns, name: str) -> None:
    runs = open_runs(
        models=[{"name": "builtin/random"}, {"name": "house/*", "served_as": "openai/*@http://10.0.0.1/v1"}]
    )
    refused(runs, 422, "model", agent_config={"model": name})


def test_an_unknown_model_is_told_near_names_and_where_the_list_is(runs: Runs) -> None:
    refused(runs, 422, "did you mean builtin/random", "`mesocosm models`", agent_config={"model": "builtin/randum"})


def test_a_model_is_shown_as_it_was_asked_for_and_never_where_it_is(open_runs: OpenRuns) -> None:
    entry = {"name": "house/*", "served_as": "openai/*@http://10.0.0.1/v1", "key": "HOUSE_KEY"}
    runs = open_runs(models=[entry], workers=0)
    run_id = runs.ask(runs.ann, agent_config={"model": "house/small"})["id"]
    run = runs.service.store.runs.get(run_id)
    assert (run.model, run.spec.model.name) == ("house/small", "openai/small@http://10.0.0.1/v1")
    for path in ("", "/episodes", "/export", "/log"):
        assert "10.0.0.1" not in runs.ann.get(f"/v1/runs/{run_id}{path}").text
    listed = runs.ann.get("/api/models").text
    assert "house/*" in listed
    assert "HOUSE_KEY" not in listed
    assert "10.0.0.1" not in listed


def test_a_model_without_its_key_is_listed_with_the_reason_and_refused(open_runs: OpenRuns) -> None:
    runs = open_runs(models=[{"name": "openai/gpt-4o", "key": "NO_SUCH_KEY_HERE"}])
    (listed,) = runs.hosted.anonymous.get("/api/models").json()["models"]
    assert (listed["available"], listed["reason"]) == (False, "its key is not set on this server")
    refused(runs, 422, "its key is not set", agent_config={"model": "openai/gpt-4o"})


def test_models_of_google_have_an_older_name(open_runs: OpenRuns) -> None:
    runs = open_runs(models=[{"name": "gemini/gemini-2.5-flash"}])
    asked = runs.ask(runs.ann, agent_config={"model": "google/gemini-2.5-flash"})
    assert asked["config"]["agent_config"]["model"] == "gemini/gemini-2.5-flash"


def test_without_a_list_the_models_are_those_whose_keys_are_set(
    open_runs: OpenRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-test")
    runs = open_runs()
    names = [model["name"] for model in runs.hosted.anonymous.get("/api/models").json()["models"]]
    assert "openai/gpt-4o-mini" in names
    assert "builtin/random" in names
    assert not [name for name in names if name.startswith(("anthropic/", "gemini/"))]
    assert "sk-of-this-test" not in runs.hosted.anonymous.get("/api/models").text


def test_guests_run_demo_domains_in_public_for_some_days(runs: Runs) -> None:
    guest = runs.hosted.guest()
    asked = runs.ask(guest, visibility="private")
    assert (asked["visibility"], asked["requester_id"][:6]) == ("gallery_public", "guest:")
    assert asked["expires_at"] > asked["created_at"]
    runs.domain("other-game")
    refused(runs, 403, "demo domains", DOMAIN, person=guest, domain_id="other-game")
    refused(runs, 403, "guests are in no team", person=guest, team_id=runs.team)
    assert [run["id"] for run in guest.get("/v1/runs").json()] == [asked["id"]]
    assert guest.request("PATCH", f"/api/runs/{asked['id']}", json={"visibility": "private"}).status_code == 403


def test_guests_use_the_models_that_are_for_guests(open_runs: OpenRuns) -> None:
    runs = open_runs(models=[{"name": "builtin/random", "guests": True}, {"name": "builtin/empty"}])
    guest = runs.hosted.guest()
    refused(runs, 403, "builtin/random", person=guest, agent_config={"model": "builtin/empty"})
    assert runs.ask(guest)["status"] == "pending"


def test_a_guest_has_so_many_runs_a_day(open_runs: OpenRuns) -> None:
    runs = open_runs(guest_runs_per_day=2)
    guest = runs.hosted.guest()
    for _ in range(2):
        runs.ask(guest)
    refused(runs, 429, "2 runs today", person=guest)
    assert runs.ask(runs.hosted.guest())["status"] == "pending"


def test_a_key_of_the_agent_that_nothing_reads_is_refused(runs: Runs) -> None:
    refused(runs, 422, "temprature", "not permitted", agent_config={"temprature": 0.7})
    technique = {"technique_id": "memory", "parameters": {"size": 3}}
    refused(runs, 422, "parameters", "not permitted", agent_config={"techniques": [technique]})


def test_teams_are_for_their_members(runs: Runs) -> None:
    refused(runs, 403, "not a member", person=runs.cid, team_id=runs.team)
    refused(runs, 403, "not a member", team_id=new_id())
    refused(runs, 422, "is not a team ID", team_id="no uuid")


def test_the_cooldown_is_spent_by_accepted_runs_only(open_runs: OpenRuns) -> None:
    runs = open_runs(cooldown_s=60.0)
    refused(runs, 422, binding_vow_version="9.9.9")
    runs.ask(runs.ann)
    answer = runs.ann.post("/v1/runs", runs.body())
    assert answer.status_code == 429
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert runs.ask(runs.bob)["status"] == "pending"


def test_of_requests_at_once_one_passes_the_cooldown(open_runs: OpenRuns) -> None:
    runs = open_runs(cooldown_s=60.0)
    statuses: list[int] = []
    gate = threading.Barrier(4)

    def ask() -> None:
        gate.wait()
        statuses.append(runs.ann.post("/v1/runs", runs.body()).status_code)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [202, 429, 429, 429]


def test_of_guest_requests_at_once_no_more_pass_than_the_quota(open_runs: OpenRuns) -> None:
    runs = open_runs(guest_runs_per_day=2)
    guest = runs.hosted.guest()
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(guest.post("/v1/runs", runs.body()).status_code))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [202, 202, 429, 429, 429]


def test_deleting_a_run_gives_no_quota_back(open_runs: OpenRuns) -> None:
    runs = open_runs(guest_runs_per_day=1)
    guest = runs.hosted.guest()
    run_id = runs.ask(guest)["id"]
    guest.post(f"/api/runs/{run_id}/stop")
    assert guest.request("DELETE", f"/api/runs/{run_id}").status_code == 204
    refused(runs, 429, "1 run today", person=guest)


def test_only_so_many_runs_wait_for_one_person(open_runs: OpenRuns) -> None:
    runs = open_runs(queued_per_actor=2)
    first = runs.ask(runs.ann)["id"]
    runs.ask(runs.ann)
    refused(runs, 429, "wait or are played")
    runs.ann.post(f"/api/runs/{first}/stop")
    assert runs.ask(runs.ann)["status"] == "pending"


def test_a_used_up_budget_refuses_what_costs_and_lets_the_rest_pass(
    open_runs: OpenRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-test")
    runs = open_runs(user_budget_usd=1.0, run_budget_usd=0.75)
    paid = {"model": "openai/gpt-4o-mini"}
    first = runs.ask(runs.ann, agent_config=paid)["id"]
    assert runs.service.store.runs.get(first).spec.limits.run_usd == 0.75
    order = runs.service.store.run_requests.get(first)
    assert order is not None
    assert over_budget(runs.service, order) == ""
    runs.service.store.run_requests.remember_cost(order, 0.6)
    second = runs.ask(runs.ann, agent_config=paid)["id"]
    assert runs.service.store.runs.get(second).spec.limits.run_usd == pytest.approx(0.4)
    again = runs.service.store.run_requests.get(second)
    assert again is not None
    runs.service.store.run_requests.remember_cost(again, 0.4)
    assert "used up" in over_budget(runs.service, order)
    refused(runs, 429, "your budget", agent_config=paid)
    costless = runs.ask(runs.ann)
    assert costless["status"] == "pending"
    free = runs.service.store.run_requests.get(costless["id"])
    assert free is not None
    assert over_budget(runs.service, free) == ""
    assert runs.ask(runs.bob, agent_config=paid)["status"] == "pending"


def test_the_budget_of_a_team_is_that_of_all_its_members(open_runs: OpenRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-test")
    runs = open_runs(team_budget_usd=0.5)
    paid = {"agent_config": {"model": "openai/gpt-4o-mini"}, "team_id": runs.team}
    order = runs.service.store.run_requests.get(runs.ask(runs.ann, **paid)["id"])
    assert order is not None
    runs.service.store.run_requests.remember_cost(order, 0.5)
    refused(runs, 429, "the budget of team Reefs", person=runs.bob, **paid)


@pytest.mark.parametrize("own", [None, 0.25])
def test_the_budget_of_a_workspace_is_that_of_all_its_runs(
    open_runs: OpenRuns, monkeypatch: pytest.MonkeyPatch, own: float | None
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-test")
    runs = open_runs(workspace_budget_usd=0.5)
    workspaces, requests = runs.service.store.workspaces, runs.service.store.run_requests
    workspace = workspaces.add("Reefs", runs.ann.user_id)
    assert workspace is not None
    workspaces.set_budget(workspace.id, own)
    asked = [runs.ask(person, agent_config={"model": "openai/gpt-4o-mini"})["id"] for person in (runs.ann, runs.bob)]
    first, second = (requests.get(run_id) for run_id in asked)
    assert first is not None
    assert second is not None
    requests.remember_cost(msgspec.structs.replace(first, workspace_id=workspace.id), 0.2)
    mine = msgspec.structs.replace(second, workspace_id=workspace.id)
    assert over_budget(runs.service, mine) == ""
    left = budget_left(runs.service, mine.actor, None, workspace.id)
    assert left.usd == pytest.approx((own or 0.5) - 0.2)
    assert left.name == "the budget of workspace Reefs"
    requests.remember_cost(mine, 0.3)
    assert over_budget(runs.service, mine) == "the budget of workspace Reefs of the last 24 hours is used up"
    assert over_budget(runs.service, second) == ""


def test_a_model_without_a_known_price_is_run_with_a_warning(open_runs: OpenRuns) -> None:
    runs = open_runs(models=[{"name": "house/x", "served_as": "openai/x@http://10.0.0.1/v1"}], user_budget_usd=1.0)
    asked = runs.ask(runs.ann, agent_config={"model": "house/x"})
    assert "no price is known for house/x" in asked["warnings"][0]
    assert runs.service.store.runs.get(asked["id"]).spec.limits.run_usd is None


def test_addresses_inside_the_network_are_refused(open_runs: OpenRuns) -> None:
    runs = open_runs(private_env_urls=False)
    refused(runs, 422, "URL cannot be used")


def test_the_only_environment_in_scope_is_chosen(runs: Runs) -> None:
    runs.domain("built-game", endpoint={"mode": "sandbox", "url": None})
    refused(runs, 422, "no environment to play in", domain_id="built-game")
    environment(runs, "env-1", "built-game")
    asked = runs.ask(runs.ann, domain_id="built-game")
    assert (asked["env_id"], asked["env_version"]) == ("env-1", 2)
    options = runs.service.store.runs.get(asked["id"]).spec.benchmark.options
    assert options == {"environment": "env-1", "version": 2}
    environment(runs, "env-2", "built-game")
    refused(runs, 422, "name one as env_id", "env-2", domain_id="built-game")
    assert runs.ask(runs.ann, domain_id="built-game", env_id="env-2")["env_id"] == "env-2"


def test_an_environment_that_is_named_must_be_ready_ones_own_and_of_the_domain(runs: Runs) -> None:
    runs.domain("built-game", endpoint={"mode": "sandbox", "url": None})
    environment(runs, "env-1", "built-game")
    environment(runs, "env-2", "built-game", ready_version=None, status="cloning")
    refused(runs, 404, "no environment 'env-9'", domain_id="built-game", env_id="env-9")
    refused(runs, 404, "have no environment", person=runs.cid, domain_id="built-game", env_id="env-1")
    refused(runs, 400, "not ready (cloning)", domain_id="built-game", env_id="env-2")
    refused(runs, 422, "belongs to domain 'built-game'", env_id="env-1")


def test_runs_of_an_environment_are_listed_without_what_strangers_hide(runs: Runs) -> None:
    runs.domain("built-game", endpoint={"mode": "sandbox", "url": None})
    environment(runs, "env-1", "built-game")
    mine = runs.ask(runs.ann, domain_id="built-game")["id"]
    document = runs.service.store.domains.get("built-game")
    assert document is not None
    runs.service.store.domains.replace(msgspec.structs.replace(document, environment_id="env-1"))
    hers = runs.ask(runs.cid, domain_id="built-game")
    assert hers["env_id"] == "env-1"
    assert [run["id"] for run in runs.ann.get("/v1/runs?env_id=env-1").json()] == [mine]
    assert [run["id"] for run in runs.cid.get("/v1/runs?env_id=env-1").json()] == [hers["id"]]


def test_with_a_team_its_environments_go_and_runs_in_them_are_cancelled(runs: Runs) -> None:
    environment(runs, "env-of-team", holder_key=f"team:{runs.team}", team_id=runs.team)
    run_id = runs.ask(runs.bob, env_id="env-of-team", team_id=runs.team)["id"]
    assert runs.ann.request("DELETE", f"/api/teams/{runs.team}").status_code == 204
    assert runs.service.store.environments.get("env-of-team") is None
    assert runs.bob.get(f"/v1/runs/{run_id}").json()["status"] == "cancelled"


def test_of_several_things_that_are_wrong_the_first_of_a_fixed_order_is_told(runs: Runs) -> None:
    environment(runs, "grid", domain_id=runs.domain("other"))
    wrong = {"domain_id": "wordgame", "binding_vow_version": "9.9.9", "agent_config": {"model": "openai/nothing"}}
    refused(runs, 422, "is not a team ID", **wrong, team_id="reefs", env_id="nothing")
    refused(runs, 403, "not a member of team", **wrong, team_id=str(uuid4()), env_id="nothing")
    refused(runs, 404, "no environment", **wrong, env_id="nothing")
    refused(runs, 404, "have no environment", **wrong, env_id="grid", person=runs.bob)
    refused(runs, 422, "belongs to domain 'other'", **wrong, env_id="grid")
    refused(runs, 422, "no domain 'wordgame'", **wrong)
    refused(runs, 422, "vow version", **{**wrong, "domain_id": DOMAIN})
    refused(runs, 422, "cannot be run here", agent_config=wrong["agent_config"])
