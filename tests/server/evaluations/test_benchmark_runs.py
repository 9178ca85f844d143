"""Runs of built-in benchmarks on a server: submitted, run by workers, with datasets in place of paths."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.evaluations.conftest import OpenTeam, Team
from tests.server.routes.conftest import Person

from mesocosm.core.registry import SOURCES
from mesocosm.core.run import BenchmarkRef

pytestmark = pytest.mark.usefixtures("forked_checks")

PROBLEMS = b"".join(
    b'{"question": "What is %d + 1?", "answer": "It is so. #### %d"}\n' % (number, number + 1) for number in range(8)
)


@pytest.fixture
def school(team: Team) -> Team:
    """A team with a dataset of word problems."""
    team.add_dataset("problems", PROBLEMS, columns={"user_prompt": "question", "ground_truth": ["answer"]})
    return team


def submit(team: Team, by: Person | None = None, **given: Any) -> httpx.Response:
    body: dict[str, Any] = {
        "kind": "benchmark",
        "benchmark": "gsm8k",
        "model": "openai/tiny",
        "workspace": team.workspace,
    }
    body["parameters"] = {"data_path": "dataset:problems"}
    return (by or team.owner).post("/api/runs", {**body, **given})


def test_a_benchmark_runs_on_a_dataset_of_the_workspace(school: Team, tmp_path: Path) -> None:
    answer = submit(school, name="sums", trials=2, tags=["base"])
    assert answer.status_code == 202, answer.text
    run = answer.json()
    assert (run["counts"]["planned"], run["tags"], run["name"]) == (16, ["base"], "sums")
    school.work()
    done = school.run(run["id"])
    assert (done["state"], done["benchmark"], done["kind"]) == ("finished", "gsm8k", "environment")
    assert done["primary"]["value"] == 0.75
    assert done["request"]["kind"] == "benchmark"
    assert done["request"]["parameters"] == {"data_path": "dataset:problems"}
    local = tmp_path / "test.jsonl"
    local.write_bytes(PROBLEMS)
    ref = BenchmarkRef("benchmark", "gsm8k", {"parameters": {"data_path": str(local)}})
    assert done["benchmark_digest"] == SOURCES.get("benchmark")(ref).info.digest


def test_a_benchmark_without_a_workspace_is_the_callers_own(team: Team) -> None:
    answer = submit(team, workspace="", benchmark="eliza-format", parameters={})
    assert answer.status_code == 202, answer.text
    run = answer.json()["id"]
    assert team.hosted.member("eve").get(f"/api/runs/{run}").status_code == 404
    team.work()
    assert team.run(run)["state"] == "finished"


def test_the_same_request_with_the_same_name_is_the_same_run(school: Team) -> None:
    first = submit(school, name="once").json()["id"]
    assert submit(school, name="once").json()["id"] == first
    assert submit(school, name="once", trials=2).status_code == 409


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"benchmark": "none"}, 422, "none"),
        ({"benchmark": "osworld"}, 422, "starts a program of its own"),
        ({"model": "openai/unknown"}, 422, "cannot be run here"),
        ({"model": "replay/etc/passwd"}, 422, "cannot be run here"),
        ({"agent": "os:system"}, 422, "is code"),
        ({"parameters": {"data_path": "/etc/passwd"}}, 422, "a server reads no paths"),
        ({"parameters": {"data_path": "dataset:none"}}, 422, "has no dataset 'none'"),
        ({"parameters": {"data_path": "dataset:problems@9"}}, 422, "version 9"),
        ({"parameters": {"data_path": ["dataset:problems"]}}, 422, "a server reads no paths"),
        ({"workspace": ""}, 422, "in no workspace"),
        ({"parameters": {"data_path": "dataset:problems", "base_url": "http://x"}}, 422, "calls its own models only"),
        ({"parameters": {"data_path": "dataset:problems", "openai_base_url": "http://x"}}, 422, "its own models"),
        ({"parameters": {"data_path": "dataset:problems", "limit": 0}}, 422, "parameters.limit"),
        ({"parameters": {"data_path": "dataset:problems", "strange": 0}}, 422, "strange"),
        ({"trials": 0}, 422, "trials"),
        ({"name": "a b"}, 422, "letters, digits"),
        ({"strange": 1}, 422, "strange"),
    ],
)
def test_what_cannot_work_is_refused_with_words_and_stores_nothing(
    school: Team, given: dict[str, Any], status: int, words: str
) -> None:
    answer = submit(school, **given)
    assert answer.status_code == status, answer.text
    assert words in answer.text
    assert str(school.service.settings.data_dir) not in answer.text
    assert school.owner.get("/api/runs").json()["items"] == []


def test_guests_viewers_and_strangers_cannot_submit(school: Team) -> None:
    vic = school.hosted.member("vic")
    school.owner.post(f"/api/workspaces/{school.workspace}/members", {"username": "vic", "role": "viewer"})
    assert submit(school, vic).status_code == 403
    assert submit(school, school.hosted.member("eve")).status_code == 404
    assert submit(school, school.hosted.guest(), workspace="").status_code == 403
    assert submit(school, school.hosted.anonymous, workspace="").status_code == 401


def test_a_run_has_at_most_as_many_episodes_as_the_server_allows(open_team: OpenTeam) -> None:
    team = open_team(max_samples_per_run=15)
    team.add_dataset("problems", PROBLEMS, columns={"user_prompt": "question", "ground_truth": ["answer"]})
    assert "16 episodes" in submit(team, trials=2).json()["detail"]
    assert submit(team, max_examples=7, trials=2).status_code == 202
