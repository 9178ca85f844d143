"""The way of a newcomer: scaffold, run, look, export, import; through the program itself, in one process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mesocosm.cli.main import call


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A scaffolded environment with one run of eight episodes in it."""
    place = tmp_path_factory.mktemp("newcomer")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert call(["init"]) == 0
        assert call(["run", "local", "--model", "builtin/oracle", "--episodes", "8", "--parallel", "4", "--quiet"]) == 0
        yield place


@pytest.fixture(autouse=True)
def in_place(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)


def document(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """Run a command and return the one JSON document that it printed."""
    capsys.readouterr()
    assert call([*words]) == code
    return json.loads(capsys.readouterr().out)


def test_the_scaffold_runs_green_and_the_oracle_is_its_ceiling(capsys: pytest.CaptureFixture[str]) -> None:
    run = document(capsys, "run", "show", "last", "--json")["run"]
    assert (run["status"], run["scores"]["accuracy"]) == ("finished", 1.0)
    metric = next(metric for metric in run["metrics"] if metric["name"] == "accuracy")
    assert (metric["n_scored"], metric["n_planned"], metric["method"]) == (8, 8, "wilson")


def test_the_same_command_again_is_a_new_run(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "local", "--model", "builtin/random", "--seeds", "3", "5-6", "--json", "--quiet")
    first, second = (document(capsys, *words)["run"] for _ in range(2))
    assert first["id"] != second["id"]
    assert first["signature"] == second["signature"]
    assert first["scores"] == second["scores"]
    assert first["config"]["seed_set"] == [3, 5, 6]
    assert second["attempt"] == first["attempt"] + 1


def test_the_result_names_the_run_and_how_to_look_at_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["run", "local", "--model", "builtin/oracle", "--seeds", "1"]) == 0
    output = capsys.readouterr()
    assert "accuracy" in output.out
    assert "1/1 scoreable" in output.out
    assert "mesocosm run show" in output.out
    assert "[1/1] seed=1 reward=1.00" in output.err
    assert "\x1b" not in output.out + output.err


def test_runs_are_listed_newest_first_with_a_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    page = document(capsys, "run", "list", "--limit", "1", "--json")
    assert len(page["items"]) == 1
    if page["next"]:
        following = document(capsys, "run", "list", "--limit", "1", "--cursor", page["next"], "--json")
        assert following["items"][0]["created_at"] <= page["items"][0]["created_at"]


def test_episodes_through_a_pipe_are_one_document_with_traces(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "run", "episodes", "last", "--traces")
    assert set(found) == {"run_id", "episodes", "traces_by_episode"}
    for episode in found["episodes"]:
        kinds = [event["event_type"] for event in found["traces_by_episode"][episode["id"]]]
        assert kinds[0] == "episode_start"
        assert kinds[-1] == "episode_end"
        assert kinds.count("action") == kinds.count("step_result") == episode["steps"]


def test_an_export_has_the_frozen_names_and_comes_back_by_import(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "showcase" / "replay.json"
    assert call(["run", "export", "last", "-o", str(file)]) == 0
    assert f"Wrote {file}" in capsys.readouterr().out
    replay = json.loads(file.read_text())
    assert replay["schema_version"] == "1"
    assert {"exported_at", "visibility", "domain_id", "domain_name", "binding_vow_version", "run", "episodes"} <= set(
        replay
    )
    episode = replay["episodes"][0]
    turns = replay["replay"][episode["id"]]
    assert [turn["step"] for turn in turns] == list(range(1, episode["steps"] + 1))
    assert turns[-1]["episode_end"]["status"] == episode["status"]
    assert {"board_before", "observation", "board_after", "action", "reward", "terminated"} <= set(turns[0])
    other = ["--results-dir", str(tmp_path / "other")]
    assert document(capsys, "import", str(file), "--json", *other)["runs"][0]["new_episodes"] == len(replay["episodes"])
    again = document(capsys, "import", str(file), "--json", *other)
    assert again["runs"][0]["new_episodes"] == 0
    assert document(capsys, "run", "show", "last", "--json", *other)["run"]["scores"] == replay["run"]["scores"]


def test_a_bundle_loses_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bundle, other = tmp_path / "runs.zip", ["--results-dir", str(tmp_path / "other")]
    assert call(["export", "last", "-o", str(bundle)]) == 0
    assert call(["import", str(bundle), *other]) == 0
    for words in (("run", "show", "last", "--json"), ("run", "episodes", "last", "--traces")):
        assert document(capsys, *words) == document(capsys, *words, *other)


def test_scoring_again_takes_the_rules_as_they_are_now(
    capsys: pytest.CaptureFixture[str], place: Path, tmp_path: Path
) -> None:
    manifest = json.loads((place / "benchanything.json").read_text())
    manifest["scoring"]["metrics"][1]["aggregation"] = "max"
    for name in ("adapter.py", "env.py"):
        (tmp_path / name).write_bytes((place / name).read_bytes())
    changed = tmp_path / "benchanything.json"
    changed.write_text(json.dumps(manifest))
    run = document(capsys, "run", "rescore", "last", "--manifest", str(changed), "--json")["run"]
    guesses = next(metric for metric in run["metrics"] if metric["name"] == "guesses")
    assert guesses["aggregation"] == "max"


def test_a_deleted_run_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run", "local", "--model", "builtin/empty", "--seeds", "9", "--json", "--quiet")
    run_id = document(capsys, *words)["run"]["id"]
    assert document(capsys, "run", "delete", run_id, "--yes", "--json") == {"deleted": [run_id]}
    assert call(["run", "show", run_id]) == 2
    assert run_id in capsys.readouterr().err


def test_an_agent_that_says_nothing_gets_the_worst_value(capsys: pytest.CaptureFixture[str]) -> None:
    run = document(capsys, "run", "local", "--model", "builtin/empty", "--seeds", "1", "2", "--json", "--quiet")["run"]
    accuracy = next(metric for metric in run["metrics"] if metric["name"] == "accuracy")
    assert (accuracy["value"], accuracy["n_scored"], accuracy["n_worst"]) == (0.0, 2, 2)
    assert run["counts"]["failed"] == 2
