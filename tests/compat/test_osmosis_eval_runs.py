"""`/api/cli/eval-runs`: the requests of the `osmosis` command line about runs, and what it needs in the answers."""

import contextlib
import io
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from tests.compat.test_osmosis_platform import Team, refused, team, team_of
from tests.server.routes.conftest import cheap_passwords, hosted, open_hosted

from mesocosm.cli.main import call
from mesocosm.core.entry import Entry
from mesocosm.core.ids import new_id
from mesocosm.core.run import Run, RunStatus
from mesocosm.store import open_store
from mesocosm.store.bundle import StoredRun
from mesocosm.store.revision import DATABASE_NAME
from mesocosm.store.run_requests import RunRequest

__all__ = ["cheap_passwords", "hosted", "open_hosted", "team", "team_of"]

MAIN = """
from mesocosm.rollouts import AgentWorkflow, AgentWorkflowConfig, AgentWorkflowOutput, Grader, LocalBackend


class Answer(AgentWorkflow):
    async def run(self, ctx):
        said = ctx.prompt[-1]["content"]
        print("answers", said)
        if said == "fails":
            raise KeyError("no tool")
        return AgentWorkflowOutput(messages=[*ctx.prompt, {"role": "assistant", "content": said}])


class Reward(Grader):
    async def grade(self, ctx):
        said = ctx.sample.messages[-1]["content"]
        if said == "skipped":
            ctx.sample.remove_sample = True
        else:
            ctx.set_reward(float(said))


backend = LocalBackend(workflow=Answer, grader=Reward, workflow_config=AgentWorkflowConfig(name="answer"))
"""
EVALUATION = {"n": 2, "pass_threshold": 0.5, "limit": 4, "batch_size": 1}
CONFIG = {"experiment": {"rollout": "answering"}, "evaluation": EVALUATION, "env": {"LOG_LEVEL": "info"}}
TOML = """
[experiment]
rollout = "answering"
entrypoint = "main.py"
model_path = "builtin/empty"
dataset = "rows"

[evaluation]
limit = 4
n = 2
pass_threshold = 0.5
batch_size = 1

[advanced]
isolation = "in-process"
"""
ROWS = ("1", "0.25", "fails", "skipped", "1", "1")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with one run of a rollout: four rows twice, rewards 1 and 0.25, one that fails, one left out."""
    root = tmp_path_factory.mktemp("workspace")
    for folder in ("rollouts/answering", "configs/eval", "data"):
        (root / folder).mkdir(parents=True)
    (root / "rollouts/answering/main.py").write_text(MAIN)
    (root / "configs/eval/answering.toml").write_text(TOML)
    lines = [json.dumps({"user_prompt": one, "ground_truth": one}) + "\n" for one in ROWS]
    (root / "data/rows.jsonl").write_text("".join(lines))
    words = ["eval", "run-local", str(root / "configs/eval/answering.toml"), "--quiet", "--no-view"]
    words += ["--results-dir", str(root / "results"), "--json"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MESOCOSM_")}
    out = io.StringIO()
    with patch.dict(os.environ, kept, clear=True), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert call(words) in {0, 1}, out.getvalue()
    return root / "results" / DATABASE_NAME


Put = Callable[..., str]


@pytest.fixture
def put(team: Team, played: Path) -> Iterator[Put]:
    """Return what puts the run into the team's workspace and returns its id."""
    with contextlib.closing(open_store(played)) as source:
        found = source.runs.list(limit=1).items[0].id

        def add(name: str = "math-1", *, state: str = "ended", status: RunStatus | None = None, **given: Any) -> str:
            stored = StoredRun(source.database, source.runs.get(found))
            store, run_id = team.hosted.service.store, new_id()
            ids = dict[str, str]()
            entries = []
            for entry in stored.entries():
                episode_id = ids.setdefault(entry.episode.id, new_id())
                entry.episode.id, entry.episode.run_id = episode_id, run_id
                # A checksum covers the ids.
                entries.append(Entry(entry.episode, entry.chunks, entry.blobs, link=entry.link))
            changes: dict[str, Any] = {"id": run_id, "chain": "", "name": name}
            run: Run = msgspec.structs.replace(stored.record, **changes)
            store.bundles.insert(run, iter(entries), stored.blobs(), [])
            if status is not None:
                run.status = status
                store.runs.save(run)
            store.run_requests.add(request(team, run, name, state, **given))
            return run_id

        yield add


def request(team: Team, run: Run, name: str, state: str, **given: Any) -> RunRequest:
    """Return the request of a rollout's run."""
    fields: dict[str, Any] = {
        "run_id": run.id,
        "actor": f"user:{team.owner.user_id}",
        "actor_name": "ana",
        "workspace_id": team.workspace_id,
        "model": "openai/gpt-4o-mini",
        "kind": "rollout",
        "name": name,
        "commit_id": "c" * 40,
        "branch": "main",
        "configuration": "configs/eval/answering.toml",
        "state": state,
        "created_at": time.time(),
        "config": {
            "config": CONFIG,
            "assignments": {},
            "rollout": "answering",
            "entrypoint": "main.py",
            "dataset": "rows",
            "dataset_digest": "d" * 64,
            "scopes": {"KEY": "personal", "TEAM_KEY": "workspace"},
        },
    }
    return RunRequest(**(fields | given))


def test_a_finished_run_is_shown_with_its_results(team: Team, put: Put) -> None:
    run_id = put()
    found = team.client.call("GET", "/eval-runs/math-1")
    run, results = found["eval_run"], found["results"]
    assert (run["id"], run["name"], run["status"]) == (run_id, "math-1", "finished")
    assert (found["config"]["model_path"], found["config"]["n"], found["config"]["limit"]) == (
        "openai/gpt-4o-mini",
        2,
        4,
    )
    assert (found["dataset"]["name"], found["rollout"]["name"], found["entrypoint"]) == ("rows", "answering", "main.py")
    assert (found["branch"], found["commit_sha"], found["env_config"]) == ("main", "c" * 40, {"LOG_LEVEL": "info"})
    assert found["resolved_secret_scopes"] == {"KEY": "user", "TEAM_KEY": "workspace"}
    counts = {name: results[name] for name in ("total_runs", "sampled_rows", "graded", "passed", "failed", "skipped")}
    assert counts == {"total_runs": 8, "sampled_rows": 4, "graded": 4, "passed": 2, "failed": 2, "skipped": 2}
    assert results["score"] == pytest.approx(0.625)
    assert results["pass_rate"] == pytest.approx(2 / 6)
    assert (results["pass_threshold"], results["reward_stats"]["pass_at_k"]["2"]) == (0.5, pytest.approx(1 / 3))
    reward = next(one for one in results["intervals"] if one["name"] == "reward")
    assert reward["primary"]
    assert reward["low"] <= reward["value"] <= reward["high"]
    assert results["dataset_sha256"] == "d" * 64


def test_a_run_is_found_by_its_id_as_well(team: Team, put: Put) -> None:
    run_id = put()
    assert team.client.call("GET", f"/eval-runs/{run_id}") == team.client.call("GET", "/eval-runs/math-1")


@pytest.mark.parametrize("name", ["nope", "a%2Fb%20c", "nope%2Fmetrics"])
@pytest.mark.parametrize("after", ["", "/metrics", "/logs", "/samples/manifest"])
def test_unknown_names_are_not_found_by_the_right_route(team: Team, put: Put, name: str, after: str) -> None:
    put(name="")
    error = refused(team.client, "GET", f"/eval-runs/{name}{after}")
    assert error.code == "NOT_FOUND"
    assert "has no run" in error.message


def test_runs_of_other_workspaces_are_not_found(team: Team, put: Put) -> None:
    other = team.hosted.service.store.workspaces.add("Other", team.owner.user_id)
    assert other is not None
    run_id = put("elsewhere", workspace_id=other.id)
    for reference in (run_id, "elsewhere"):
        assert refused(team.client, "GET", f"/eval-runs/{reference}").code == "NOT_FOUND"
        assert refused(team.client, "POST", f"/eval-runs/{reference}/stop", {}).code == "NOT_FOUND"
    assert team.client.call("GET", "/eval-runs", limit=50, offset=0)["eval_runs"] == []


def test_runs_are_listed_in_pages_newest_first(team: Team, put: Put) -> None:
    for number in range(3):
        put(f"run-{number}")
    first = team.client.call("GET", "/eval-runs", limit=2, offset=0)
    assert [one["name"] for one in first["eval_runs"]] == ["run-2", "run-1"]
    assert (first["total_count"], first["has_more"], first["next_offset"]) == (3, True, 2)
    last = team.client.call("GET", "/eval-runs", limit=2, offset=2)
    assert [one["name"] for one in last["eval_runs"]] == ["run-0"]
    assert (last["has_more"], last["next_offset"]) == (False, None)
    (row,) = last["eval_runs"]
    for name in ("model", "dataset", "rollout"):
        assert isinstance(row[name]["name"], str)
    assert (row["results"]["total_runs"], row["config"]["n"]) == (8, 2)


STATES = [
    ("queued", RunStatus.PENDING, "pending"),
    ("queued", RunStatus.FINISHED, "pending"),
    ("claimed", RunStatus.PENDING, "pending"),
    ("claimed", RunStatus.RUNNING, "running"),
    ("claimed", RunStatus.STOPPED, "running"),
    ("cancelled", RunStatus.RUNNING, "running"),
    ("cancelled", RunStatus.STOPPED, "stopped"),
    ("ended", RunStatus.STOPPED, "failed"),
    ("ended", RunStatus.FAILED, "failed"),
    ("ended", RunStatus.PARTIAL, "finished"),
]


@pytest.mark.parametrize(("state", "status", "shown"), STATES)
def test_statuses_are_those_that_the_command_line_knows(
    team: Team, put: Put, state: str, status: RunStatus, shown: str
) -> None:
    put(state=state, status=status)
    assert team.client.call("GET", "/eval-runs/math-1")["eval_run"]["status"] == shown
    assert team.client.call("GET", "/eval-runs/math-1/metrics")["status"] == shown


def test_metrics_say_what_the_details_say(team: Team, put: Put) -> None:
    run_id = put()
    found = team.client.call("GET", f"/eval-runs/{run_id}/metrics")
    overview = found["overview"]
    assert (overview["total_samples"], overview["completed_samples"], overview["graded"]) == (8, 8, 4)
    assert overview["duration_ms"] >= 0
    stats = {"mean": 0.625, "median": 0.625, "std": 0.375, "min": 0.25, "max": 1.0}
    assert found["reward_stats"] == pytest.approx(stats)
    assert [one["k"] for one in found["pass_at_k"]] == [1, 2]


def test_a_run_that_is_over_is_not_stopped(team: Team, put: Put) -> None:
    put()
    error = refused(team.client, "POST", "/eval-runs/math-1/stop", {})
    assert (error.code, "finished" in error.message) == ("CONFLICT", True)


def test_a_waiting_run_is_stopped_and_retried(team: Team, put: Put) -> None:
    run_id = put(state="queued", status=RunStatus.PENDING)
    team.client.call("POST", "/eval-runs/math-1/stop", {})
    assert team.client.call("GET", "/eval-runs/math-1")["eval_run"]["status"] == "stopped"
    assert refused(team.client, "POST", "/eval-runs/math-1/stop", {}).code == "CONFLICT"
    # All its samples were played, and those that failed are the agent's failures.
    error = refused(team.client, "POST", "/eval-runs/math-1/retry", {})
    assert (error.code, run_id in error.message) == ("CONFLICT", True)


def test_a_run_in_work_is_not_retried(team: Team, put: Put) -> None:
    put(state="claimed", status=RunStatus.RUNNING)
    error = refused(team.client, "POST", "/eval-runs/math-1/retry", {})
    assert (error.code, "running" in error.message) == ("CONFLICT", True)


def test_an_imported_run_is_retried_where_it_was_run(team: Team, put: Put) -> None:
    put(kind="imported")
    error = refused(team.client, "POST", "/eval-runs/math-1/retry", {})
    assert error.details["local_run"]["eval_run_name"] == "math-1"


def test_logs_are_read_page_by_page_backwards(team: Team, put: Put) -> None:
    put()
    whole = team.client.call("GET", "/eval-runs/math-1/logs", limit=200, direction="older")
    assert whole["next_cursor"] is None
    texts = [one["message"] for one in whole["logs"]]
    assert "8 of 8" in texts[-1]
    last = team.client.call("GET", "/eval-runs/math-1/logs", limit=1, direction="older")
    assert last["logs"] == whole["logs"][-1:]
    before = team.client.call("GET", "/eval-runs/math-1/logs", limit=1, cursor=last["next_cursor"])
    assert before["logs"] == whole["logs"][-2:-1]


def manifest(team: Team, **given: Any) -> dict[str, dict[str, Any]]:
    """Return the files of the run by path."""
    found = team.client.call("GET", "/eval-runs/math-1/samples/manifest", **given)["files"]
    return {one["path"]: one for one in found}


def addresses(team: Team, files: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the addresses of files."""
    items = [{"path": one["path"], "token": one["token"]} for one in files.values()]
    found = team.client.call("POST", "/eval-runs/math-1/samples/download-urls", {"items": items})["items"]
    return {one["path"]: one["url"] for one in found}


def test_files_have_the_sizes_that_were_listed(team: Team, put: Put) -> None:
    put()
    files = manifest(team, types="metrics,trajectories,artifacts,logs")
    samples = {f"trajectories/row_{row}_run_{run}.json" for row in range(4) for run in range(2)}
    assert set(files) == {"metrics.json", "summary.jsonl", "logs.txt"} | samples
    fetched = {path: team.client.fetch(url).content for path, url in addresses(team, files).items()}
    assert {path: len(data) for path, data in fetched.items()} == {path: one["size"] for path, one in files.items()}
    assert json.loads(fetched["metrics.json"])["eval_run"]["name"] == "math-1"
    sample = json.loads(fetched["trajectories/row_1_run_1.json"])
    assert (sample["steps"][-1]["message"], sample["extra"]["osmosis"]["reward"]) == ("0.25", 0.25)
    lines = list(map(json.loads, fetched["summary.jsonl"].decode().splitlines()))
    assert [(one["row_index"], one["run_index"]) for one in lines[:5]] == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]
    assert "no tool" in fetched["logs.txt"].decode()


def test_files_of_some_rows_are_listed(team: Team, put: Put) -> None:
    put()
    files = manifest(team, types="trajectories", rows="0,2-3")
    assert {path for path in files if "row_1" in path} == set()
    assert "trajectories/row_2_run_0.json" in files


@pytest.mark.parametrize(("name", "value"), [("rows", "3-x"), ("rows", "-1"), ("types", "secrets")])
def test_files_that_cannot_be_chosen_are_refused_as_invalid(team: Team, put: Put, name: str, value: str) -> None:
    put()
    given: dict[str, Any] = {"types": "metrics", name: value}
    assert refused(team.client, "GET", "/eval-runs/math-1/samples/manifest", **given).code == "VALIDATION"


def test_artifacts_are_files_of_their_sample(team: Team, put: Put) -> None:
    run_id = put()
    store = team.hosted.service.store
    episode = store.episodes.search(run_id).items[0]
    for name, data in (("notes/a b.txt", b"noted"), ("manifest.json", b"{}"), ("../up.txt", b"x")):
        store.artifacts.add(run_id, name, data, content_type="text/plain", episode_id=episode.id)
    files = manifest(team, types="artifacts")
    assert {path: one["size"] for path, one in files.items()} == {"artifacts/row_0_run_0/notes/a b.txt": 5}
    (address,) = addresses(team, files).values()
    assert team.client.fetch(address).content == b"noted"


def test_an_address_is_for_one_file_and_needs_its_signature(team: Team, put: Put) -> None:
    put()
    (address,) = addresses(team, manifest(team, types="metrics")).values()
    place = address.removeprefix("http://127.0.0.1:8010")
    for changed, status in ((place.replace("metrics.json", "logs.txt"), 403), (place.partition("&signature")[0], 401)):
        assert team.hosted.request("GET", changed).status_code == status
    assert team.hosted.request("GET", place).status_code == 200


def test_files_of_other_runs_have_no_address_here(team: Team, put: Put) -> None:
    put()
    store = team.hosted.service.store
    other = put("other")
    episode = store.episodes.search(other).items[0]
    files = {"x": {"path": "trajectories/row_0_run_0.json", "token": episode.id}}
    (address,) = addresses(team, files).values()
    answer = team.hosted.request("GET", address.removeprefix("http://127.0.0.1:8010"))
    assert answer.status_code == 404


def test_strangers_learn_nothing_of_runs(team: Team, put: Put) -> None:
    run_id = put()
    stranger = team.of(team.hosted.member("eve"), workspace="Reef")
    for path in ("", "/metrics", "/logs", "/samples/manifest"):
        error = refused(stranger, "GET", f"/eval-runs/{run_id}{path}")
        assert error.details["code"] == "WORKSPACE_SCOPE_HEADER_ACCESS_DENIED"
    path = f"/api/cli/eval-runs/{run_id}/samples/file?path=metrics.json"
    assert team.hosted.member("bob").get(path).status_code == 404
