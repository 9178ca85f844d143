"""`/api/cli/eval-runs/imports`: runs of one's own machine that the `osmosis` command line uploads."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.compat.osmosis_local_run import ATTEMPTS, Attempt, LocalRunFolder
from tests.compat.test_osmosis_platform import Team, refused, team, team_of
from tests.server.routes.conftest import cheap_passwords, hosted, open_hosted

from mesocosm.compat.osmosis_platform import eval_imports
from mesocosm.core.run import RunStatus
from mesocosm.server.workers.run_imports import import_run
from mesocosm.store import run_imports

pytestmark = pytest.mark.usefixtures("forked_checks")

__all__ = ["cheap_passwords", "hosted", "open_hosted", "team", "team_of"]


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker runs beside the tests, so that waiting for one is in vain."""
    monkeypatch.setattr(eval_imports, "PATIENCE_S", 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> LocalRunFolder:
    """The folder of a run."""
    found = LocalRunFolder(tmp_path / "evals")
    found.write()
    return found


def work(team: Team) -> None:
    """Do what a worker does with every waiting import."""
    service = team.hosted.service
    while (claimed := service.store.run_imports.claim("worker", 60.0)) is not None:
        assert asyncio.run(import_run(service, claimed))


def begun(team: Team, folder: LocalRunFolder, *, reimport: bool = False) -> dict[str, Any]:
    """Begin an upload, and check the answer as the program does."""
    return echoed(folder, team.client.call("POST", "/eval-runs/imports", folder.request(reimport=reimport)))


def echoed(folder: LocalRunFolder, found: dict[str, Any]) -> dict[str, Any]:
    """Return an answer that says of the files what was said of them."""
    shown = {(one["path"], one["size"], one["sha256"]) for one in found["files"]}
    assert shown == {(one["path"], one["size"], one["sha256"]) for one in folder.request()["files"]}
    assert found["expected_files"] == len(shown)
    assert found["uploaded_files"] == sum(one["state"] == "uploaded" for one in found["files"])
    return found


def sent(team: Team, folder: LocalRunFolder, session: str, paths: Sequence[str] = ()) -> list[str]:
    """Send files, those that the server wants, and return their paths."""
    files = folder.files()
    path = f"/eval-runs/imports/{session}"
    wanted = team.client.call("POST", f"{path}/uploads", {"paths": list(paths or files)})["files"]
    for one in wanted:
        data = files[one["path"]]
        assert one["size"] == len(data)
        parts = team.client.send_all(one["upload"], data)
        told = [{"part_number": part["PartNumber"], "etag": part["ETag"]} for part in parts]
        done = {"path": one["path"], **({"parts": told} if told else {})}
        team.client.call("POST", f"{path}/uploads/complete", done)
    return [one["path"] for one in wanted]


def uploaded(team: Team, folder: LocalRunFolder, *, reimport: bool = False) -> dict[str, Any]:
    """Upload a run: what `eval upload` does."""
    session = begun(team, folder, reimport=reimport)["session_id"]
    sent(team, folder, session)
    refused(team.client, "POST", f"/eval-runs/imports/{session}/finalize", {})
    work(team)
    return echoed(folder, team.client.call("POST", f"/eval-runs/imports/{session}/finalize", {}))


def test_a_run_is_uploaded_and_measured_again(team: Team, folder: LocalRunFolder) -> None:
    done = uploaded(team, folder)
    assert (done["status"], done["eval_run_name"]) == ("finalized", "first")
    found = team.client.call("GET", f"/eval-runs/{done['eval_run_id']}")
    results, run = found["results"], found["eval_run"]
    assert (run["status"], run["platform_url"]) == ("finished", done["platform_url"])
    counts = {name: results[name] for name in ("total_runs", "sampled_rows", "graded", "passed", "failed", "skipped")}
    assert counts == {"total_runs": 6, "sampled_rows": 3, "graded": 3, "passed": 2, "failed": 2, "skipped": 1}
    assert (results["pass_rate"], results["total_tokens"]) == (pytest.approx(2 / 5), 85)
    assert (found["config"]["model_path"], found["config"]["n"], found["config"]["pass_threshold"]) == (
        "openai/gpt-4o-mini",
        2,
        0.5,
    )
    assert (found["dataset"]["name"], found["rollout"]["name"], found["commit_sha"]) == ("sums", "demo", "c" * 40)
    # The machine's failure has no value; the workflow's counts as the worst.
    reward = next(one for one in results["intervals"] if one["primary"])
    assert (reward["value"], reward["missing"]) == (pytest.approx(2 / 4), {"program_failed": 1})


def test_conversations_and_files_come_back(team: Team, folder: LocalRunFolder) -> None:
    name = uploaded(team, folder)["eval_run_name"]
    types = "trajectories,artifacts"
    files = team.client.call("GET", f"/eval-runs/{name}/samples/manifest", types=types)["files"]
    listed = {one["path"] for one in files}
    assert {"artifacts/row_2_run_1/notes/a.txt", "artifacts/row_2_run_1/empty"} <= listed
    assert "trajectories/row_1_run_1.json" not in listed
    items = [{"path": one["path"], "token": one["token"]} for one in files]
    urls = team.client.call("POST", f"/eval-runs/{name}/samples/download-urls", {"items": items})["items"]
    found = {one["path"]: team.client.fetch(one["url"]).content for one in urls}
    assert found["artifacts/row_2_run_1/notes/a.txt"] == b"noted"
    steps = json.loads(found["trajectories/row_0_run_0.json"])["steps"]
    assert [(one["source"], one["message"]) for one in steps] == [("user", "2 + 2?"), ("agent", ""), ("agent", "4")]
    assert steps[1]["observation"]["results"][0]["content"] == "four"
    assert steps[2]["reasoning_content"] == "easy"


def test_the_run_names_its_rows_in_the_dataset(team: Team, folder: LocalRunFolder) -> None:
    run_id = uploaded(team, folder)["eval_run_id"]
    episodes = team.hosted.service.store.episodes.search(run_id).items
    assert sorted({one.terminal_info["row"] for one in episodes}) == [4, 5, 9]
    run = team.hosted.service.store.runs.get(run_id)
    assert (run.status, run.kind, run.unverified) == (RunStatus.PARTIAL, "rollout", False)


def test_what_was_sent_is_not_asked_for_again(team: Team, folder: LocalRunFolder) -> None:
    session = begun(team, folder)["session_id"]
    assert sent(team, folder, session, ["index.jsonl", "logs.txt"]) == ["index.jsonl", "logs.txt"]
    again = begun(team, folder)
    assert again["session_id"] == session
    assert {one["path"] for one in again["files"] if one["state"] == "uploaded"} == {"index.jsonl", "logs.txt"}
    assert "logs.txt" not in sent(team, folder, session)


def test_an_upload_is_not_ended_before_all_files_are_there(team: Team, folder: LocalRunFolder) -> None:
    session = begun(team, folder)["session_id"]
    path = f"/eval-runs/imports/{session}"
    error = refused(team.client, "POST", f"{path}/finalize", {})
    assert (error.code, "missing" in error.message) == ("CONFLICT", True)
    assert refused(team.client, "POST", f"{path}/uploads/complete", {"path": "logs.txt"}).code == "CONFLICT"


def test_large_files_come_in_parts(team: Team, folder: LocalRunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_imports, "PART_BYTES", 64)
    assert uploaded(team, folder)["status"] == "finalized"


def test_the_same_results_again_are_the_same_run(team: Team, folder: LocalRunFolder) -> None:
    done = uploaded(team, folder)
    again = begun(team, folder)
    assert (again["status"], again["eval_run_id"]) == ("finalized", done["eval_run_id"])
    assert team.client.call("POST", f"/eval-runs/imports/{again['session_id']}/finalize", {}) == again


def test_other_results_conflict_unless_they_replace_the_first(team: Team, folder: LocalRunFolder) -> None:
    first = uploaded(team, folder)
    better = replace(folder, attempts=(*ATTEMPTS[:3], Attempt(1, 1, 1.0), *ATTEMPTS[4:]))
    better.write()
    error = refused(team.client, "POST", "/eval-runs/imports", better.request())
    assert (error.code, "uploaded already" in error.message) == ("CONFLICT", True)
    assert team.client.call("GET", "/eval-runs/first")["results"]["failed"] == 2
    done = uploaded(team, better, reimport=True)
    assert (done["eval_run_id"], done["eval_run_name"]) == (first["eval_run_id"], "first")
    assert team.client.call("GET", "/eval-runs/first")["results"]["failed"] == 1
    assert team.client.call("GET", "/eval-runs", limit=50, offset=0)["total_count"] == 1


def test_a_replacement_that_is_refused_leaves_what_is_there(team: Team, folder: LocalRunFolder) -> None:
    uploaded(team, folder)
    worse = replace(folder, attempts=ATTEMPTS[:5])
    worse.write()
    session = begun(team, worse, reimport=True)["session_id"]
    sent(team, worse, session)
    refused(team.client, "POST", f"/eval-runs/imports/{session}/finalize", {})
    work(team)
    error = refused(team.client, "POST", f"/eval-runs/imports/{session}/finalize", {})
    assert error.code == "VALIDATION"
    (issue,) = error.details["issues"]
    assert "index.jsonl has 5 attempts" in issue["message"]
    assert team.client.call("GET", "/eval-runs/first")["results"]["total_runs"] == 6


def test_a_name_that_another_run_has_is_told_apart(team: Team, folder: LocalRunFolder, tmp_path: Path) -> None:
    assert uploaded(team, folder)["eval_run_name"] == "first"
    other = LocalRunFolder(tmp_path / "others", run_id="ab" * 16)
    other.write()
    assert uploaded(team, other)["eval_run_name"] == "first-abababab"


def test_a_damaged_file_is_named(team: Team, folder: LocalRunFolder) -> None:
    request = folder.request()
    (file,) = [one for one in request["files"] if one["path"] == "logs.txt"]
    file["sha256"] = "0" * 64
    session = team.client.call("POST", "/eval-runs/imports", request)["session_id"]
    sent(team, folder, session)
    refused(team.client, "POST", f"/eval-runs/imports/{session}/finalize", {})
    work(team)
    error = refused(team.client, "POST", f"/eval-runs/imports/{session}/finalize", {})
    assert error.details["issues"][0]["key"] == "logs.txt"


BAD = [
    ("files", [{"path": "../x", "size": 1, "sha256": "0" * 64}]),
    ("files", []),
    ("local_run_id", "/etc"),
    ("manifest_digest", "x"),
    ("schema_version", 2),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_what_no_program_says_is_refused_as_invalid(
    team: Team, folder: LocalRunFolder, name: str, value: object
) -> None:
    error = refused(team.client, "POST", "/eval-runs/imports", {**folder.request(), name: value})
    assert error.code == "VALIDATION"


def test_uploads_of_others_are_not_found(team: Team, folder: LocalRunFolder) -> None:
    session = begun(team, folder)["session_id"]
    mate = team.hosted.member("ben")
    team.owner.post(f"/api/workspaces/{team.workspace_id}/members", {"username": "ben", "role": "member"})
    path = f"/eval-runs/imports/{session}"
    for client in (team.of(mate), team.of(team.hosted.member("eve"), workspace="Reef")):
        for end, body in (("uploads", {"paths": ["logs.txt"]}), ("uploads/complete", {"path": "x"}), ("finalize", {})):
            assert refused(client, "POST", f"{path}/{end}", body).code == "NOT_FOUND"


def test_viewers_upload_nothing(team: Team, folder: LocalRunFolder) -> None:
    viewer = team.hosted.member("vi")
    team.owner.post(f"/api/workspaces/{team.workspace_id}/members", {"username": "vi", "role": "viewer"})
    error = refused(team.of(viewer), "POST", "/eval-runs/imports", folder.request())
    assert (error.code, "viewer" in error.message) == ("PLATFORM_ERROR", True)
