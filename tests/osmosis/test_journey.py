"""The documentation page on evaluation runs, followed with the published program: every command of it, in its order."""

import json
import re
from pathlib import Path

from tests.osmosis.conftest import HOLD, MODEL, Program
from tests.server.workers.conftest import eventually

STATUSES = {"pending", "running", "finished", "failed", "stopped"}


def status_of(osmosis: Program, name: str) -> str:
    """Return the status of a run, which is one of those on the page."""
    found: str = osmosis("eval", "info", name)["data"]["eval_run"]["status"]
    assert found in STATUSES
    return found


def uploaded(osmosis: Program, name: str, *questions: str) -> str:
    """Upload a dataset with a name that the other release has not, wait for its check, and return the name."""
    own = f"{name}-{osmosis.release.replace('.', '-')}"
    osmosis("dataset", "upload", osmosis.rows(own, *questions), "--yes")
    eventually(lambda: osmosis("dataset", "info", own)["data"]["status"] == "uploaded")
    return own


def test_a_smoke_test_then_a_formal_evaluation(osmosis: Program) -> None:
    dataset = uploaded(osmosis, "my-dataset", "0", "1", "2", "3")
    smoke = osmosis.configure("my-rollout", dataset, "limit = 2")
    refused = osmosis.call("eval", "submit", smoke)
    assert refused.error["code"] == "INTERACTIVE_REQUIRED"
    first = osmosis("eval", "submit", smoke, "--yes")["resource"]
    formal = osmosis.configure("my-rollout", dataset, "limit = 4\nn = 2\npass_threshold = 1.0")
    second = osmosis("eval", "submit", formal, "--yes")["resource"]
    assert {first["status"], second["status"]} <= {"pending", "running"}
    for name in (first["name"], second["name"]):
        eventually(lambda name=name: status_of(osmosis, name) == "finished")  # type: ignore[misc]
    data = osmosis("eval", "info", second["name"])["data"]
    assert data["summary"]["progress"] == {"completed": 8, "total": 8, "unit": "samples"}
    assert (data["summary"]["avg_reward"], data["summary"]["pass_rate"], data["summary"]["total_tokens"] > 0) == (
        1,
        1,
        True,
    )
    assert (data["model"]["name"], data["dataset"]["name"], data["rollout"]["name"]) == (MODEL, dataset, "demo")
    assert (data["entrypoint"], data["config"]["limit"], data["summary"]["dataset_rows"]) == ("main.py", 4, 4)
    assert re.fullmatch("[0-9a-f]{40}", data["commit_sha"])
    reward = next(one for one in data["results"]["intervals"] if one["primary"])
    assert reward["low"] <= reward["value"] == 1.0 <= reward["high"]
    assert re.fullmatch("[0-9a-f]{64}", data["results"]["dataset_sha256"])
    assert data["metrics"]["summary"]["pass_at_k"] == [{"k": 1, "value": 1.0}, {"k": 2, "value": 1.0}]


def test_a_run_is_watched_stopped_listed_and_downloaded(osmosis: Program) -> None:
    server = osmosis.server
    server.release.clear()
    server.asked.clear()
    dataset = uploaded(osmosis, "my-slow-dataset", "0", f"{HOLD} this one", "2", "3")
    slow = osmosis.configure("slow", dataset, "limit = 2\nbatch_size = 2")
    name = osmosis("eval", "submit", slow, "--yes")["resource"]["name"]
    eventually(lambda: osmosis("eval", "info", name)["data"]["summary"].get("progress", {}).get("completed") == 1)
    assert server.asked.is_set()
    # The results of a run that goes on are a live snapshot.
    data = osmosis("eval", "info", name)["data"]
    assert (data["eval_run"]["status"], data["summary"]["graded"], data["metrics_available"]) == ("running", 1, True)
    assert data["summary"]["progress"] == {"completed": 1, "total": 2, "unit": "samples"}
    assert osmosis("eval", "stop", name, "--yes")["message"]
    eventually(lambda: status_of(osmosis, name) == "stopped")
    server.release.set()
    again = osmosis.call("eval", "stop", name, "--yes")
    assert again.error["code"] == "CONFLICT"
    listed = osmosis("eval", "list", "--all")["items"]
    assert next(one["status"] for one in listed if one["name"] == name) == "stopped"
    assert osmosis("eval", "logs", name)["items"]
    saved = osmosis("eval", "download", name, "--type", "all")
    assert saved["status"] == "success"
    place = Path(saved["resource"]["output_path"])
    assert json.loads((place / "metrics.json").read_text())["summary"]["total_samples"] == 1
    assert (place / "artifacts" / "row_0_run_0" / "said.txt").read_text() == "0"
    assert "asks the model" in (place / "logs.txt").read_text()
    retried = osmosis("eval", "retry", name, "--yes")["resource"]
    assert (retried["name"], retried["status"], retried["retryable_samples"]) == (name, "pending", 1)
    eventually(lambda: status_of(osmosis, name) == "finished")
    assert osmosis("eval", "info", name)["data"]["summary"]["progress"]["completed"] == 2


def test_a_person_reads_a_table(osmosis: Program) -> None:
    read = osmosis.configure("read", uploaded(osmosis, "my-read-dataset", "0", "1", "2", "3"), "limit = 1")
    run = osmosis("eval", "submit", read, "--yes")["resource"]
    eventually(lambda: status_of(osmosis, run["name"]) == "finished")
    process = osmosis.start("eval", "info", run["name"], COLUMNS="200")
    out, err = process.communicate()
    assert process.returncode == 0, err
    for words in (run["name"], "finished", "100.0%", "1 graded, 1 passed, 0 failed, 0 skipped", "Saved metrics to"):
        assert words in out
    (saved,) = osmosis.folder.glob(".osmosis/evals/*/metrics.json")
    assert json.loads(saved.read_text())["eval_run"]["name"] == run["name"]
