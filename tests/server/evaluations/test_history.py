"""What a team looks at around its evaluations: the earlier run, the code that can be run, the files of samples."""

from pathlib import Path
from typing import Any

import pytest
from tests.server.evaluations.conftest import COMMIT, CONFIG, FILES, ROWS, OpenTeam, Team
from tests.server.evaluations.test_evaluations import sandboxed

pytestmark = pytest.mark.usefixtures("forked_checks")


def previous(team: Team, run: Any) -> Any:
    return team.owner.get(f"/api/runs/{run['id']}/previous").json()


def test_the_first_run_of_a_configuration_has_no_earlier_one(team: Team) -> None:
    assert previous(team, team.submitted()) == {"run": None, "change": None, "note": ""}


@sandboxed
def test_a_run_is_compared_with_the_last_finished_one_of_its_configuration(team: Team, tmp_path: Path) -> None:
    first = team.submitted(name="first")
    team.work()
    worse = FILES["rollouts/sums/main.py"].replace("else 0.0", "else 0.0 if True else 1.0").replace("1.0 if", "0.5 if")
    team.snapshot = team.add_code({**FILES, "rollouts/sums/main.py": worse}, tmp_path / "worse")
    second = team.submitted(name="second")
    waiting = previous(team, second)
    assert (waiting["run"]["id"], waiting["change"]) == (first["id"], None)
    team.work()
    found = previous(team, second)
    change = found["change"]
    assert found["run"]["name"] == "first"
    assert (change["metric"], change["delta"], change["paired"], change["n"]) == ("reward", -0.375, True, 8)
    assert change["low"] < -0.375 < change["high"] < 0
    assert change["verdict"] == "worse"
    again = team.submitted(name="other", configuration="", config=_tables())
    assert previous(team, again)["run"] is None


def differences(team: Team, *runs: Any) -> dict[str, list[Any]]:
    """Return the settings in which runs differ."""
    found = team.owner.get("/api/compare", params={"run": [run["id"] for run in runs]}).json()
    return {one["field"]: one["values"] for one in found["differences"]}


@sandboxed
def test_compared_runs_differ_in_their_commits_but_not_in_their_ids(team: Team, tmp_path: Path) -> None:
    first, again = team.submitted(name="first", limit=2), team.submitted(name="again", limit=2)
    files = {**FILES, "README.md": "more"}
    team.snapshot = team.add_code(files, tmp_path / "other", commit="b" * 40, dirty=True)
    second = team.submitted(name="second", limit=2)
    team.work()
    assert differences(team, first, again) == {}
    assert differences(team, first, second) == {
        "commit": [f"main {COMMIT[:12]}", f"main {'b' * 12}+"],
        "benchmark.options.rollout.snapshot": [
            run["request"]["evaluation"]["snapshot"] for run in map(team.run, (first["id"], second["id"]))
        ],
    }


def _tables() -> dict[str, Any]:
    experiment = {"rollout": "sums", "entrypoint": "main.py", "model_path": "openai/tiny", "dataset": "hard"}
    return {"experiment": experiment, "evaluation": {"limit": "all"}}


@sandboxed
def test_runs_of_two_datasets_are_not_compared_and_say_so(team: Team) -> None:
    team.submitted(name="first")
    team.work()
    team.add_dataset("other", ROWS)
    second = team.submitted(name="second", dataset="other")
    team.work()
    found = previous(team, second)
    assert (found["run"]["name"], found["change"]) == ("first", None)
    assert "dataset hard" in found["note"]


@sandboxed
def test_files_of_samples_are_listed_by_pages_with_row_and_size(team: Team) -> None:
    run = team.submitted(rows="2,5-6")
    team.work()
    path, found, cursor = f"/api/runs/{run['id']}/artifacts", [], None
    while True:
        page = team.owner.get(path, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        found += page["items"]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert sorted((one["task_id"], one["trial"], one["name"]) for one in found) == [
        (row, 0, "notes/why.txt") for row in ("2", "5", "6")
    ]
    for one in found:
        content = team.owner.get(f"/api/blobs/{one['digest']}", params={"download": "why.txt"})
        assert len(content.content) == one["size"]
    assert team.owner.get(path, params={"cursor": "bad"}).status_code == 400


def test_code_that_can_be_run_is_listed_with_its_configurations(open_team: OpenTeam, tmp_path: Path) -> None:
    team = open_team()
    more = {**FILES, "configs/eval/more.toml": CONFIG}
    team.snapshot = team.add_code(more, tmp_path / "more", commit="d" * 40, dirty=True)
    newest, older = team.owner.get(f"/api/workspaces/{team.workspace}/code").json()
    assert (newest["kind"], newest["snapshot"], newest["dirty"]) == ("upload", team.snapshot, True)
    assert [one["path"] for one in newest["configurations"]] == ["configs/eval/more.toml", "configs/eval/sums.toml"]
    assert [one["name"] for one in older["rollouts"]] == ["sums"]
    stranger = team.hosted.member("eve")
    assert stranger.get(f"/api/workspaces/{team.workspace}/code").status_code == 404
