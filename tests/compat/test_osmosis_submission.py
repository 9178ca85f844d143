"""`POST /api/cli/eval-runs`: evaluations that the `osmosis` command line submits, and secrets that come with them."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.compat.osmosis_client import OsmosisClient
from tests.compat.test_osmosis_platform import refused, replaced
from tests.server.evaluations.conftest import COMMIT, Team, cheap_passwords, open_team, team
from tests.server.evaluations.test_evaluations import sandboxed

from mesocosm.server.workspace_secrets import secrets_for
from mesocosm.store.repositories import Sync, SyncedRollout, SyncState, new_repository
from mesocosm.store.workspace_secrets import run_holder

pytestmark = pytest.mark.usefixtures("forked_checks")

__all__ = ["cheap_passwords", "open_team", "team"]

VALUE = "tok-9f8e7d6c5b4a3210"
EXPERIMENT = {"rollout": "sums", "entrypoint": "main.py", "model_path": "openai/tiny", "dataset": "hard"}


@pytest.fixture
def client(team: Team) -> OsmosisClient:
    """The program in a clone of the repository that the workspace is connected with; its code is synced."""
    store = team.service.store
    identity = "github.com/acme/evals"
    row = new_repository(team.workspace, identity, f"https://{identity}", branch="main")
    assert store.repositories.connect(row) is not None
    store.syncs.add(Sync(repository_id=row.id, number=0, branch="main"))
    claimed = store.syncs.claim("worker", 30.0)
    upload = store.snapshot_uploads.get(team.workspace, team.snapshot)
    assert claimed is not None
    assert upload is not None
    done = {"state": SyncState.SUCCESS, "commit_id": COMMIT, "ended_at": 1_700_000_000.0, "branch": "main"}
    found = replaced(claimed, rollouts=(SyncedRollout("sums", ("main.py",)),), snapshot=upload.snapshot, **done)
    assert store.syncs.save(found)
    return OsmosisClient(team.hosted, team.owner.token)


def body(secrets: dict[str, Any] | None = None, **evaluation: Any) -> dict[str, Any]:
    """Return what the program sends."""
    tables: dict[str, Any] = {"experiment_config": EXPERIMENT}
    tables |= {"evaluation_config": evaluation} if evaluation else {}
    return tables | ({"secrets": secrets} if secrets else {})


def test_an_evaluation_is_submitted_and_waits(team: Team, client: OsmosisClient) -> None:
    done = client.call("POST", "/eval-runs", body(limit=4, n=2))
    assert (done["status"], done["name"].startswith("sums-")) == ("pending", True)
    found = client.call("GET", f"/eval-runs/{done['name']}")
    assert (found["eval_run"]["id"], found["commit_sha"], found["branch"]) == (done["id"], COMMIT, "main")
    assert found["results"]["sampled_rows"] == 4
    assert found["results"]["total_dataset_rows"] == 8
    run = team.run(done["id"])
    assert (run["counts"]["planned"], run["workspace_id"]) == (8, team.workspace)


def test_a_configuration_is_refused_with_what_is_wrong_in_it(client: OsmosisClient) -> None:
    error = refused(client, "POST", "/eval-runs", body(limit="many", batch_size=-1, n=True))
    assert error.code == "VALIDATION"
    assert {one["key"] for one in error.details["issues"]} == {
        "evaluation.limit",
        "evaluation.batch_size",
        "evaluation.n",
    }


@pytest.mark.parametrize("name", ["rollout", "dataset", "model_path", "entrypoint"])
def test_what_the_workspace_does_not_have_is_named(client: OsmosisClient, name: str) -> None:
    given = {**body(), "experiment_config": {**EXPERIMENT, name: "nothing/like-it"}}
    error = refused(client, "POST", "/eval-runs", given)
    assert error.code in {"VALIDATION", "NOT_FOUND"}
    assert "nothing/like-it" in f"{error.message} {error.details}"


def test_missing_secrets_are_told_so_that_the_program_can_help(client: OsmosisClient) -> None:
    error = refused(client, "POST", "/eval-runs", body({"required": ["TOKEN", "OTHER"]}))
    assert (error.code, error.message) == ("NOT_FOUND", "Secret(s) not found: TOKEN, OTHER")
    assert error.details["platform_url"].endswith(
        client.call("GET", "/workspaces", scoped=False)["workspaces"][0]["id"]
    )


def test_viewers_submit_nothing(team: Team, client: OsmosisClient) -> None:
    viewer = team.hosted.member("vi")
    team.owner.post(f"/api/workspaces/{team.workspace}/members", {"username": "vi", "role": "viewer"})
    error = refused(OsmosisClient(team.hosted, viewer.token), "POST", "/eval-runs", body())
    assert (error.code, "viewer" in error.message) == ("PLATFORM_ERROR", True)


def held(team: Team, run_id: str) -> dict[str, str]:
    """Return the values that a run gets."""
    found = secrets_for(team.service, team.workspace, team.owner.user_id, ["TOKEN"], run_id)
    return {name: value.get_secret_value() for name, value in found.items()}


def stored(team: Team, run_id: str) -> int:
    """Return how many values of a run are kept."""
    return len(team.service.store.workspace_secrets.list(team.workspace, [run_holder(run_id)], 4))


def test_a_value_that_comes_with_a_run_is_for_that_run_alone(team: Team, client: OsmosisClient) -> None:
    client.call("POST", "/environment-secrets", {"name": "TOKEN", "value": "stored", "scope": "user"})
    given = {"required": ["TOKEN"], "provided": {"TOKEN": VALUE}}
    run = client.call("POST", "/eval-runs", body(given))
    other = client.call("POST", "/eval-runs", body({"required": ["TOKEN"]}))
    assert held(team, run["id"]) == {"TOKEN": VALUE}
    assert held(team, other["id"]) == {"TOKEN": "stored"}
    assert client.call("GET", f"/eval-runs/{run['name']}")["resolved_secret_scopes"] == {"TOKEN": "run"}
    listed = client.call("GET", "/environment-secrets", limit=50, offset=0)["environment_secrets"]
    assert [(one["name"], one["scope"]) for one in listed] == [("TOKEN", "user")]


def test_values_are_shown_nowhere(team: Team, client: OsmosisClient, tmp_path: Path) -> None:
    run = client.call("POST", "/eval-runs", body({"required": ["TOKEN"], "provided": {"TOKEN": VALUE}}))
    path = f"/api/runs/{run['id']}"
    shown = [team.owner.get(f"{path}{part}").text for part in ("", "/log", "/export")]
    assert VALUE not in "".join(shown)
    kept = subprocess.run(["grep", "-rl", VALUE, str(tmp_path)], capture_output=True, check=False, text=True)
    assert kept.stdout == ""


def test_a_value_that_is_not_required_is_refused(client: OsmosisClient) -> None:
    error = refused(client, "POST", "/eval-runs", body({"required": [], "provided": {"TOKEN": VALUE}}))
    assert (error.code, error.details["issues"][0]["key"]) == ("VALIDATION", "TOKEN")
    assert VALUE not in str(error)


def test_a_refused_run_leaves_no_value(team: Team, client: OsmosisClient) -> None:
    given = {"required": ["TOKEN"], "provided": {"TOKEN": "x" * 100_000}}
    error = refused(client, "POST", "/eval-runs", body(given))
    assert (error.code, "xxx" in str(error)) == ("VALIDATION", False)
    assert not team.service.store.workspace_secrets.exist()


def test_a_stopped_run_keeps_no_value_and_asks_for_it_again(team: Team, client: OsmosisClient) -> None:
    given = {"required": ["TOKEN"], "provided": {"TOKEN": VALUE}}
    run = client.call("POST", "/eval-runs", body(given))
    client.call("POST", f"/eval-runs/{run['name']}/stop", {})
    assert stored(team, run["id"]) == 0
    error = refused(client, "POST", f"/eval-runs/{run['name']}/retry", {})
    assert (error.code, error.details["run_secret_names"]) == ("CONFLICT", ["TOKEN"])
    wrong = {"secrets": {"TOKEN": VALUE, "OTHER": VALUE}}
    assert "OTHER" in refused(client, "POST", f"/eval-runs/{run['name']}/retry", wrong).message
    again = client.call("POST", f"/eval-runs/{run['name']}/retry", {"secrets": {"TOKEN": "new-value-123"}})
    assert (again["status"], again["retryable_samples"]) == ("pending", 0)
    assert held(team, run["id"]) == {"TOKEN": "new-value-123"}


@sandboxed
def test_a_finished_run_keeps_no_value(team: Team, client: OsmosisClient) -> None:
    given = {"required": ["TOKEN"], "provided": {"TOKEN": VALUE}}
    run = client.call("POST", "/eval-runs", body(given, limit=2))
    team.work()
    found = client.call("GET", f"/eval-runs/{run['name']}")
    assert (found["eval_run"]["status"], found["results"]["graded"]) == ("finished", 2)
    assert stored(team, run["id"]) == 0


def test_values_of_runs_that_are_gone_are_swept(team: Team, client: OsmosisClient) -> None:
    given = {"required": ["TOKEN"], "provided": {"TOKEN": VALUE}}
    run = client.call("POST", "/eval-runs", body(given))
    secrets = team.service.store.workspace_secrets
    assert secrets.drop_of_ended_runs(-1.0) == 0
    team.service.store.queue.end(run["id"])
    assert secrets.drop_of_ended_runs() == 0
    assert secrets.drop_of_ended_runs(-1.0) == 1
