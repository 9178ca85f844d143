"""A new rollout: what is written, where, and that it can be read and run as it is."""

import json
import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mesocosm.cli.eval.init import init
from mesocosm.cli.main import call
from mesocosm.core.failure import UsageError
from mesocosm.rollouts.checking import KEYS
from mesocosm.rollouts.configuration import TABLES, read_config
from mesocosm.rollouts.processes.requirement import declared
from mesocosm.rollouts.scaffold import scaffold

WRITTEN = [
    ".github/workflows/quiz-eval.yml",
    ".gitignore",
    "configs/eval/quiz.toml",
    "configs/training/.gitkeep",
    "data/quiz.jsonl",
    "rollouts/quiz/main.py",
    "rollouts/quiz/pyproject.toml",
]


def below(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def test_an_empty_directory_becomes_a_workspace_with_the_rollout(tmp_path: Path) -> None:
    done = scaffold("quiz", tmp_path)
    assert below(tmp_path) == WRITTEN == sorted(map(str, done.written))
    assert done.workspace.root == tmp_path.resolve()


def test_a_directory_that_is_not_there_is_made(tmp_path: Path) -> None:
    scaffold("quiz", tmp_path / "a" / "b")
    assert below(tmp_path / "a" / "b") == WRITTEN


def test_the_configuration_is_read_without_notes_and_names_the_rest(tmp_path: Path) -> None:
    config = read_config(scaffold("quiz", tmp_path).config)
    assert (config.experiment.rollout, config.experiment.dataset) == ("quiz", "quiz")
    assert config.experiment.model_path == "builtin/oracle"
    assert config.evaluation.everything
    assert config.notes == ()


def test_the_rollout_needs_nothing_installed(tmp_path: Path) -> None:
    scaffold("quiz", tmp_path)
    assert declared(tmp_path / "rollouts" / "quiz").requirements == ()


def test_the_dataset_has_eight_rows_with_prompt_truth_and_a_column_to_slice_by(tmp_path: Path) -> None:
    scaffold("quiz", tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "data" / "quiz.jsonl").read_text().splitlines()]
    assert len(rows) == 8
    assert {tuple(row) for row in rows} == {("user_prompt", "ground_truth", "difficulty")}
    assert {row["difficulty"] for row in rows} == {"easy", "hard"}


def test_no_mark_is_left_in_what_is_written(tmp_path: Path) -> None:
    done = scaffold("quiz", tmp_path)
    assert [path for path in done.written if "{{name}}" in (tmp_path / path).read_text()] == []


def sample_values(template: str) -> Iterator[tuple[str, str, Any]]:
    """Yield table, key and value of every line of the template, those in comments too."""
    table = ""
    for line in template.splitlines():
        plain = line.removeprefix("# ")
        if found := re.match(r"\[([a-z.]+)\]", plain):
            table = found[1]
        elif table and re.match(r"[A-Za-z_]+ *= ", plain):
            for key, value in tomllib.loads(plain).items():
                yield table, key, value


def test_the_configuration_shows_every_table_and_every_key() -> None:
    template = (files("mesocosm.rollouts") / "templates" / "eval.toml").read_text("utf-8")
    shown: dict[str, set[str]] = {}
    for table, key, _ in sample_values(template):
        shown.setdefault(table, set()).add(key)
    assert set(TABLES) <= {*shown}
    shown["dataset"].add("columns")
    assert {table: set(keys) for table, keys in KEYS.items()} == {table: shown[table] for table in KEYS}


def test_every_value_that_the_configuration_shows_is_accepted(tmp_path: Path) -> None:
    config = scaffold("quiz", tmp_path).config
    one_of_two = {"experiment.branch", "experiment.commit_sha", "evaluation.sample"}
    for table, key, value in sample_values(config.read_text()):
        name = f"{table}.{key}"
        if name not in one_of_two:
            assert read_config(config, {name: value} | ({} if table != "grader" else {"grader.use": "numeric"}))


def test_a_second_rollout_joins_the_workspace_that_is_there(tmp_path: Path) -> None:
    scaffold("quiz", tmp_path)
    (tmp_path / ".gitignore").write_text("mine\n")
    done = scaffold("chess", tmp_path / "rollouts")
    assert done.workspace.root == tmp_path.resolve()
    assert (tmp_path / "rollouts" / "chess" / "main.py").is_file()
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
    assert Path(".gitignore") not in done.written


def test_nothing_is_overwritten_or_written_when_one_file_is_there(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "quiz.jsonl").write_text("mine")
    with pytest.raises(UsageError, match=r"data/quiz\.jsonl.*--force"):
        scaffold("quiz", tmp_path)
    assert below(tmp_path) == ["data/quiz.jsonl"]


def test_force_overwrites_the_rollout_but_not_the_shared_files(tmp_path: Path) -> None:
    scaffold("quiz", tmp_path)
    for name in (".gitignore", "data/quiz.jsonl"):
        (tmp_path / name).write_text("mine")
    scaffold("quiz", tmp_path, force=True)
    assert (tmp_path / ".gitignore").read_text() == "mine"
    assert (tmp_path / "data" / "quiz.jsonl").read_text() != "mine"


@pytest.mark.parametrize("name", ["default", "Quiz", "1quiz", "-quiz", "a/b", "..", "", "quiz\n", "ü", "a" * 65, "a_b"])
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        scaffold(name, tmp_path)
    assert below(tmp_path) == []


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--dir"):
        scaffold("quiz", tmp_path / "file")


def test_the_command_names_what_it_made_and_what_to_run_next(tmp_path: Path) -> None:
    done = CliRunner().invoke(init, ["quiz", "--dir", str(tmp_path)])
    assert done.exit_code == 0
    for name in WRITTEN:
        assert f"wrote {tmp_path.resolve() / name}" in done.output
    assert "mesocosm eval run-local configs/eval/quiz.toml" in done.output


def test_the_command_gives_one_document_for_programs(tmp_path: Path) -> None:
    done = CliRunner().invoke(init, ["quiz", "--dir", str(tmp_path), "--json"])
    document = json.loads(done.stdout)
    assert sorted(document["files"]) == WRITTEN
    assert document["config"] == "configs/eval/quiz.toml"
    assert document["next"] == ["mesocosm eval run-local configs/eval/quiz.toml"]


@pytest.mark.parametrize(("model", "reward"), [("builtin/oracle", 1.0), ("builtin/empty", 0.0)])
def test_it_runs_untouched_from_the_floor_to_the_ceiling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], model: str, reward: float
) -> None:
    scaffold("quiz", tmp_path)
    monkeypatch.chdir(tmp_path)
    chosen = f"experiment.model_path={model}"
    assert call(["eval", "run-local", "configs/eval/quiz.toml", "--set", chosen, "--json", "--no-view"]) == 0
    summary = json.loads(capsys.readouterr().out)["data"]["summary"]
    assert (summary["graded"], summary["failed"], summary["avg_reward"]) == (8, 0, reward)


@pytest.mark.parametrize("name", ["q", "quiz-of-the-day"])
def test_comments_of_the_configuration_stand_in_one_column(tmp_path: Path, name: str) -> None:
    lines = scaffold(name, tmp_path).config.read_text().splitlines()
    first = lines[lines.index("[experiment]") + 1 :][:4]
    assert {line.index("#") for line in first} == {33}
