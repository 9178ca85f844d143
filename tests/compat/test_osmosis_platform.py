"""`/api/cli`: the requests of the `osmosis` command line, and what it needs in the answers."""

import asyncio
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import update
from tests.compat.osmosis_client import OsmosisClient, OsmosisError
from tests.server.routes.conftest import Hosted, Person, cheap_passwords, hosted, open_hosted

from mesocosm.compat.osmosis_platform import datasets
from mesocosm.server.auth import device_flow
from mesocosm.server.workers.dataset_checks import check_dataset_version
from mesocosm.store.repositories import Sync, SyncedRollout, SyncState, new_repository
from mesocosm.store.tenancy import personal_tokens

__all__ = ["cheap_passwords", "hosted", "open_hosted"]

PART = 64
DATA = "".join(json.dumps({"user_prompt": str(n), "ground_truth": str(n)}) + "\n" for n in range(6)).encode()


@dataclass
class Team:
    """A workspace `Reef` with the repository `git.example.org/acme/evals`, and the client of its owner."""

    hosted: Hosted
    owner: Person
    workspace_id: str
    client: OsmosisClient

    def of(self, person: Person, **given: str) -> OsmosisClient:
        """Return the client of somebody else."""
        return OsmosisClient(self.hosted, person.token, **given)

    def check(self) -> None:
        """Check what was uploaded, as a worker does."""
        store = self.hosted.service.store.datasets
        while (claimed := store.claim_check("worker", 60.0)) is not None:
            asyncio.run(check_dataset_version(self.hosted.service, claimed))


@pytest.fixture
def team(hosted: Hosted) -> Team:
    return team_of(hosted)


def team_of(hosted: Hosted) -> Team:
    """Return a team on a platform."""
    owner = hosted.member("ana")
    store = hosted.service.store
    made = store.workspaces.add("Reef", owner.user_id)
    assert made is not None
    connect(hosted, made.id, "git.example.org/Acme/evals")
    return Team(hosted, owner, made.id, OsmosisClient(hosted, owner.token))


def connect(hosted: Hosted, workspace_id: str, identity: str) -> None:
    """Connect a workspace with a repository that has one synced rollout."""
    store = hosted.service.store
    row = new_repository(workspace_id, identity, f"https://{identity}", branch="main")
    assert store.repositories.connect(row) is not None
    store.syncs.add(Sync(repository_id=row.id, number=0, branch="main"))
    claimed = store.syncs.claim("worker", 30.0)
    assert claimed is not None
    done = {"state": SyncState.SUCCESS, "commit_id": "c" * 40, "ended_at": 1_700_000_000.0, "branch": "main"}
    assert store.syncs.save(replaced(claimed, rollouts=(SyncedRollout("demo", ("main.py",)),), **done))


def replaced(sync: Sync, **given: Any) -> Sync:
    """Return a sync with other values."""
    return Sync(**{name: getattr(sync, name) for name in Sync.__struct_fields__} | given)


def refused(client: OsmosisClient, method: str, path: str, body: Any = None, **given: Any) -> OsmosisError:
    """Return the error of a request."""
    with pytest.raises(OsmosisError) as caught:
        client.call(method, path, body, **given)
    return caught.value


def test_the_caller_and_the_workspace_of_a_clone_are_verified(team: Team) -> None:
    found = team.client.call("GET", "/verify")
    assert found["user"] == {"id": str(team.owner.user_id), "email": "ana", "name": "ana"}
    assert found["workspace"] == {"id": team.workspace_id, "name": "Reef", "role": "owner"}


def test_a_repository_without_a_workspace_is_verified_without_one(team: Team) -> None:
    assert "workspace" not in OsmosisClient(team.hosted, team.owner.token, repository="acme/other").call(
        "GET", "/verify"
    )


@pytest.mark.parametrize(("token", "code"), [("wrong", "TOKEN_INVALID"), ("", "TOKEN_INVALID")])
def test_a_wrong_token_asks_for_a_login(team: Team, token: str, code: str) -> None:
    error = refused(OsmosisClient(team.hosted, token), "GET", "/verify")
    assert (error.code, error.details["code"]) == ("AUTH_REQUIRED", code)


def test_an_expired_token_is_told_from_a_wrong_one(team: Team) -> None:
    token = team.owner.post("/api/tokens", {"name": "ci"}).json()["token"]
    team.hosted.service.store.database.execute(update(personal_tokens).values(expires_at=1.0))
    error = refused(OsmosisClient(team.hosted, token), "GET", "/verify")
    assert (error.code, error.details["code"]) == ("AUTH_REQUIRED", "TOKEN_EXPIRED")


def test_what_is_refused_before_it_reaches_a_route_is_said_in_words(open_hosted: Any) -> None:
    hosted = open_hosted(public_url="https://bench.example.org")
    headers = OsmosisClient(hosted, "").headers()
    far = hosted.request("GET", "/api/cli/verify", headers={**headers, "Host": "elsewhere.example.org"})
    large = hosted.request("POST", "/api/cli/eval-runs", headers=headers, content=b" " * (2 << 20) + b"{}")
    assert (far.status_code, large.status_code) == (421, 413)
    assert "host name 'elsewhere.example.org'" in far.json()["error"]
    assert "send less" in large.json()["error"]


def test_too_many_logins_are_told_as_such(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_flow, "_STARTS", 1)
    body = {"deviceName": "laptop"}
    team.client.call("POST", "/device/authorize", body, scoped=False, token=False)
    assert refused(team.client, "POST", "/device/authorize", body, scoped=False, token=False).code == "RATE_LIMITED"


def test_a_missing_token_asks_for_a_login(team: Team) -> None:
    error = refused(team.client, "GET", "/verify", token=False)
    assert (error.code, error.details["code"]) == ("AUTH_REQUIRED", "AUTH_HEADER_MISSING")


def test_a_token_that_may_only_read_changes_nothing(team: Team) -> None:
    token = team.owner.post("/api/tokens", {"name": "ci", "scope": "read"}).json()["token"]
    client = OsmosisClient(team.hosted, token)
    assert client.call("GET", "/datasets", limit=50, offset=0)["datasets"] == []
    assert "read" in refused(client, "POST", "/environment-secrets", {"name": "A", "value": "b"}).message


def test_workspaces_are_listed_with_their_repositories(team: Team) -> None:
    team.hosted.service.store.workspaces.add("Alone", team.owner.user_id)
    found = team.client.call("GET", "/workspaces", scoped=False)["workspaces"]
    assert {one["name"]: one["connected_repo"] for one in found} == {
        "Reef": {"repo_full_name": "Acme/evals"},
        "Alone": None,
    }


def test_a_workspace_is_chosen_by_name(team: Team) -> None:
    assert team.of(team.owner, workspace="Reef").call("GET", "/rollouts", limit=50, offset=0)["total_count"] == 1


@pytest.mark.parametrize("given", [{"workspace": "Nope"}, {"repository": "acme/nope"}, {"workspace": "Reef"}, {}])
def test_a_workspace_of_others_is_refused_like_one_that_does_not_exist(team: Team, given: dict[str, str]) -> None:
    stranger = team.of(team.hosted.member("eve"), **given)
    error = refused(stranger, "GET", "/datasets", limit=50, offset=0)
    way = "WORKSPACE" if "workspace" in given else "GIT"
    assert (error.code, error.details["code"]) == ("NOT_FOUND", f"{way}_SCOPE_HEADER_ACCESS_DENIED")


def test_a_request_names_one_workspace(team: Team) -> None:
    error = refused(team.client, "GET", "/datasets", scoped=False)
    assert error.details["code"] == "GIT_SCOPE_HEADER_REQUIRED"
    headers = {**team.client.headers(), "X-Osmosis-Workspace": "Reef"}
    answer = team.hosted.request("GET", "/api/cli/datasets", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "WORKSPACE_SCOPE_HEADER_CONFLICT")


def test_a_repository_of_two_workspaces_asks_for_one(team: Team) -> None:
    second = team.hosted.service.store.workspaces.add("Tide pools", team.owner.user_id)
    assert second is not None
    connect(team.hosted, second.id, "github.com/acme/evals")
    error = refused(team.client, "GET", "/datasets", limit=50, offset=0)
    assert error.code == "CONFLICT"
    assert "--workspace" in error.message


def test_an_administrator_gets_their_own_workspace_before_those_of_others(team: Team) -> None:
    root = team.hosted.admin()
    client = team.of(root)
    assert client.call("GET", "/verify")["workspace"]["name"] == "Reef"
    own = team.hosted.service.store.workspaces.add("Own", root.user_id)
    assert own is not None
    connect(team.hosted, own.id, "github.com/acme/evals")
    assert client.call("GET", "/verify")["workspace"]["name"] == "Own"


def test_a_dataset_is_uploaded_listed_shown_and_downloaded(team: Team) -> None:
    done = team.client.upload("hard", DATA)
    assert (done["file_name"], done["status"]) == ("hard", "processing")
    team.check()
    found = team.client.call("GET", "/datasets/hard")
    assert (found["id"], found["status"], found["row_count"]) == (done["id"], "uploaded", 6)
    assert (found["file_size"], found["file_format"], found["creator_name"]) == (len(DATA), "jsonl", "ana")
    assert found["data_preview"][0] == {"user_prompt": "0", "ground_truth": "0"}
    assert datetime.fromisoformat(found["updated_at"]).tzinfo is not None
    listed = team.client.call("GET", "/datasets", limit=50, offset=0)
    assert [one["file_name"] for one in listed["datasets"]] == ["hard"]
    assert (listed["total_count"], listed["has_more"], listed["next_offset"]) == (1, False, None)
    told = team.client.call("GET", f"/datasets/{found['id']}/download")
    answer = team.client.fetch(told["presigned_url"])
    assert (answer.content, told["file_name"]) == (DATA, "hard.jsonl")
    assert "hard.jsonl" in answer.headers["content-disposition"]


def test_a_dataset_is_uploaded_in_parts(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesocosm.store.datasets.PART_BYTES", PART)
    begun = team.client.call("POST", "/datasets", {"file_name": "h", "file_size": len(DATA), "extension": "jsonl"})
    assert begun["upload"]["method"] == "multipart"
    assert len(begun["upload"]["presigned_urls"]) == -(-len(DATA) // PART)
    parts = team.client.send_all(begun["upload"], DATA)
    team.client.call("POST", f"/datasets/{begun['id']}/complete", {"file_extension": "jsonl", "parts": parts})
    team.check()
    assert team.client.call("GET", "/datasets/h")["status"] == "uploaded"


def test_a_name_that_is_taken_is_a_conflict_with_the_id_that_overwrites(team: Team) -> None:
    first = team.client.upload("hard", DATA)
    body = {"file_name": "hard", "file_size": 9, "extension": "jsonl"}
    waiting = refused(team.client, "POST", "/datasets", body)
    team.check()
    error = refused(team.client, "POST", "/datasets", body)
    assert (waiting.code, error.code) == ("CONFLICT", "CONFLICT")
    assert waiting.details["existing_dataset_id"] == error.details["existing_dataset_id"] == first["id"]
    before = team.client.call("GET", "/datasets/hard")["updated_at"]
    team.client.upload("hard", DATA + DATA[:1].replace(b"{", b"\n"), overwrite_dataset_id=first["id"])
    between = team.client.call("GET", "/datasets/hard")
    team.check()
    after = team.client.call("GET", "/datasets/hard")
    assert (between["status"], after["status"], after["id"]) == ("processing", "uploaded", first["id"])
    assert len({before, between["updated_at"], after["updated_at"]}) == 3


def test_a_file_with_faults_is_an_error_whose_logs_say_why(team: Team) -> None:
    team.client.upload("hard", b'{"question": 1}\n')
    team.check()
    assert team.client.call("GET", "/datasets/hard")["status"] == "error"
    logs = team.client.call("GET", "/datasets/hard/logs", limit=50, direction="older")
    assert logs["next_cursor"] is None
    assert [one["level"] for one in logs["logs"]][:1] == ["info"]
    assert "user_prompt" in logs["logs"][-1]["message"]


def test_logs_of_a_dataset_are_read_a_page_at_a_time(team: Team) -> None:
    team.client.upload("hard", DATA)
    team.check()
    newest = team.client.call("GET", "/datasets/hard/logs", limit=1, direction="older")
    assert "6 rows" in newest["logs"][0]["message"]
    older = team.client.call("GET", "/datasets/hard/logs", limit=1, direction="older", cursor=newest["next_cursor"])
    assert "began" in older["logs"][0]["message"]
    assert older["next_cursor"] is None


def test_an_upload_that_is_given_up_leaves_nothing(team: Team) -> None:
    begun = team.client.call("POST", "/datasets", {"file_name": "hard", "file_size": 9, "extension": "csv"})
    assert team.client.call("POST", f"/datasets/{begun['id']}/abort", {}) == {}
    assert refused(team.client, "GET", "/datasets/hard").code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("given", "word"),
    [({"extension": "xml"}, "Parquet"), ({"file_size": 0}, "size"), ({"file_name": ""}, "a name has"), ({}, "")],
)
def test_a_file_that_cannot_be_taken_is_refused_as_input(team: Team, given: dict[str, Any], word: str) -> None:
    body = {"file_name": "hard", "file_size": 9, "extension": "jsonl", **given} if given else {}
    error = refused(team.client, "POST", "/datasets", body)
    assert error.code == "VALIDATION"
    assert word in f"{error.message} {error.details.get('issues')}"


@pytest.mark.parametrize("path", ["/datasets/a%2Fb%20c", "/datasets/a%2Fb%20c/logs", "/datasets/a%2Fb%20c/download"])
def test_names_with_a_slash_reach_the_route_of_datasets(team: Team, path: str) -> None:
    error = refused(team.client, "GET", path)
    assert error.code == "NOT_FOUND"
    assert "'a/b c'" in error.message


def test_bytes_are_not_promised_over_plain_http_to_other_machines(team: Team) -> None:
    body = {"file_name": "hard", "file_size": 9, "extension": "jsonl"}
    headers = {**team.client.headers(), "Host": "10.0.0.5:8010"}
    answer = team.hosted.request("POST", "/api/cli/datasets", json=body, headers=headers)
    assert answer.status_code == 400
    assert "https" in answer.json()["error"]
    assert refused(team.client, "GET", "/datasets/hard").code == "NOT_FOUND"


def test_an_address_for_bytes_is_of_that_request_alone(team: Team) -> None:
    begun = team.client.call("POST", "/datasets", {"file_name": "hard", "file_size": len(DATA), "extension": "jsonl"})
    address = begun["upload"]["presigned_url"].partition("8010")[2]
    for method, other in (
        ("PUT", address.replace("parts/1?", "parts/2?")),
        ("PUT", address.replace("?", "?digest=" + "0" * 64 + "&")),
        ("PUT", address[:-3]),
        ("GET", "/api/me/context?" + address.partition("?")[2]),
    ):
        assert team.hosted.request(method, other, content=DATA).status_code == 403
    token = address.partition("signature=")[2]
    answer = team.hosted.request("GET", "/api/me/context", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401


def test_an_expired_address_for_bytes_is_refused_as_object_stores_do(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    # At 403 the program asks for another address; at any other status it gives up.
    monkeypatch.setattr(datasets, "UPLOAD_S", -60.0)
    begun = team.client.call("POST", "/datasets", {"file_name": "hard", "file_size": len(DATA), "extension": "jsonl"})
    answer = team.hosted.request("PUT", begun["upload"]["presigned_url"].partition("8010")[2], content=DATA)
    assert (answer.status_code, "ask for another one" in answer.json()["detail"]) == (403, True)


def test_an_upload_that_is_ended_again_is_the_same(team: Team) -> None:
    # The program repeats this request when it got no answer.
    begun = team.client.call("POST", "/datasets", {"file_name": "hard", "file_size": len(DATA), "extension": "jsonl"})
    team.client.send_all(begun["upload"], DATA)
    ends = [team.client.call("POST", f"/datasets/{begun['id']}/complete", {"file_extension": "jsonl"}) for _ in "12"]
    team.check()
    ends.append(team.client.call("POST", f"/datasets/{begun['id']}/complete", {"file_extension": "jsonl"}))
    assert len({end["id"] for end in ends}) == 1


def test_an_address_for_bytes_ends_with_the_rights_of_its_owner(team: Team) -> None:
    store = team.hosted.service.store.workspaces
    bob = team.hosted.member("bob")
    assert bob.user_id is not None
    store.add_member(team.workspace_id, bob.user_id, "member")
    body = {"file_name": "hard", "file_size": len(DATA), "extension": "jsonl"}
    address = team.of(bob).call("POST", "/datasets", body)["upload"]["presigned_url"].partition("8010")[2]
    store.remove(team.workspace_id, bob.user_id, by_owner=True)
    assert team.hosted.request("PUT", address, content=DATA).status_code == 404


def test_a_secret_is_set_listed_without_its_value_and_deleted_by_a_body(team: Team) -> None:
    value = "s3cr3t-value"
    for scope in ("user", "workspace"):
        made = team.client.call("POST", "/environment-secrets", {"name": "API_KEY", "value": value, "scope": scope})
        assert (made["name"], made["scope"]) == ("API_KEY", scope)
        assert made["id"]
    listed = team.client.call("GET", "/environment-secrets", limit=50, offset=0, scope="all")
    assert sorted(one["scope"] for one in listed["environment_secrets"]) == ["user", "workspace"]
    assert value not in json.dumps(listed)
    team.client.call("DELETE", "/environment-secrets", {"name": "API_KEY", "scope": "user"})
    listed = team.client.call("GET", "/environment-secrets", limit=50, offset=0, scope="user")
    assert listed["environment_secrets"] == []


@pytest.mark.parametrize(("name", "value"), [("no-name", "x"), ("PATH", "x"), ("A", "")])
def test_a_secret_that_no_run_could_have_is_refused_without_its_value(team: Team, name: str, value: str) -> None:
    error = refused(team.client, "POST", "/environment-secrets", {"name": name, "value": value or " ", "scope": "user"})
    assert error.code == "VALIDATION"


def test_rollouts_are_listed_with_the_commit_that_was_synced(team: Team) -> None:
    found = team.client.call("GET", "/rollouts", limit=50, offset=0)["rollouts"]
    assert [(one["name"], one["last_synced_commit_sha"]) for one in found] == [("demo", "c" * 40)]
    assert (found[0]["repo_full_name"], found[0]["last_synced_at"][:10]) == ("Acme/evals", "2023-11-14")
    assert refused(team.client, "GET", "/rollouts", limit=50, offset=0, branch="other").code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/models/lora", "models"),
        ("/training-runs", "training_runs"),
        ("/benchmarks", "benchmarks"),
        ("/benchmark-runs", "benchmark_runs"),
    ],
)
def test_what_the_server_does_not_have_is_an_empty_list(team: Team, path: str, key: str) -> None:
    assert team.client.call("GET", path, limit=50, offset=0)[key] == []


def test_the_models_of_the_server_are_base_models(team: Team) -> None:
    models = team.client.call("GET", "/models/base", limit=50, offset=0)["models"]
    assert models
    name = models[0]["id"]
    assert team.client.call("GET", f"/models/base/{name.replace('/', '%2F')}")["model_name"] == name
    assert refused(team.client, "GET", "/models/base/Qwen%2FQwen3-8B").code == "NOT_FOUND"
    assert refused(team.client, "GET", "/models/Qwen").code == "NOT_FOUND"


@pytest.mark.parametrize(("method", "path"), [("POST", "/training-runs"), ("GET", "/usage"), ("POST", "/x/y/")])
def test_what_the_server_does_not_do_is_said_in_words(team: Team, method: str, path: str) -> None:
    error = refused(team.client, method, path, {} if method == "POST" else None)
    assert error.code == "NOT_FOUND"
    assert f"{method} /api/cli{path}" in error.message


def test_a_token_is_deleted_at_logout(team: Team) -> None:
    made = team.owner.post("/api/tokens", {"name": "laptop"}).json()
    client = OsmosisClient(team.hosted, made["token"])
    assert client.call("DELETE", f"/tokens/{made['id']}", scoped=False) == {}
    assert refused(client, "GET", "/verify").code == "AUTH_REQUIRED"


def test_on_a_server_without_accounts_parts_are_sent_without_headers(open_hosted: Any) -> None:
    hosted = open_hosted(auth_disabled=True)
    made = hosted.service.store.workspaces.add("Reef", None)
    assert made is not None
    connect(hosted, made.id, "github.com/acme/evals")
    client = OsmosisClient(hosted, "anything")
    client.upload("hard", DATA)
    assert client.call("GET", "/datasets/hard")["status"] == "processing"
