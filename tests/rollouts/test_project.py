"""Workspaces and the rollouts in them."""

from pathlib import Path

import pytest

from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.rollouts.project import Workspace, find_workspace, read_rollout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "rollouts" / "quiz").mkdir(parents=True)
    (tmp_path / "rollouts" / "quiz" / "main.py").write_text("")
    (tmp_path / "configs" / "eval").mkdir(parents=True)
    return tmp_path.resolve()


@pytest.mark.parametrize("place", [".", "configs/eval", "rollouts/quiz", "rollouts/quiz/main.py"])
def test_a_workspace_is_found_from_everywhere_within(root: Path, place: str) -> None:
    assert find_workspace(root / place) == Workspace(root)


def test_the_nearest_workspace_is_meant(root: Path) -> None:
    inner = root / "rollouts" / "quiz"
    (inner / "rollouts").mkdir()
    (inner / "configs").mkdir()
    assert find_workspace(inner / "configs").root == inner


def test_a_directory_with_only_one_of_the_folders_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "rollouts").mkdir()
    with pytest.raises(UsageError, match="eval init"):
        find_workspace(tmp_path)


def test_the_rollouts_of_a_workspace_are_its_folders(root: Path) -> None:
    for name in ("chess", ".hidden", "__pycache__"):
        (root / "rollouts" / name).mkdir()
    (root / "rollouts" / "notes.txt").write_text("")
    assert Workspace(root).names() == ["chess", "quiz"]


def test_a_rollout_says_its_name_and_what_it_needs(root: Path) -> None:
    folder = root / "rollouts" / "quiz"
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "a-quiz"\nrequires-python = ">=3.12"\ndependencies = ["openai>=1.70"]\n'
    )
    rollout = read_rollout(folder, "main.py")
    assert (rollout.name, rollout.dependencies, rollout.requires_python) == ("a-quiz", ("openai>=1.70",), ">=3.12")
    assert rollout.entry == folder / "main.py"


def test_a_rollout_without_a_project_file_declares_nothing(root: Path) -> None:
    rollout = read_rollout(root / "rollouts" / "quiz", "main.py")
    assert (rollout.name, rollout.dependencies, rollout.requires_python) == ("quiz", (), "")


def test_a_missing_entry_file_is_told(root: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.py"):
        read_rollout(root / "rollouts" / "quiz", "absent.py")


@pytest.mark.parametrize(
    ("content", "paths"),
    [
        (b"[project]\nname = 1\ndependencies = 'openai'\nrequires-python = 3", 3),
        (b"[project]\ndependencies = [1]", 1),
        (b"project = 1", 1),
        (b"[project\n", 1),
        (b"\xff", 1),
        (b"a = " + b"[" * 5000, 1),
    ],
)
def test_a_project_file_that_cannot_be_read_is_told(root: Path, content: bytes, paths: int) -> None:
    folder = root / "rollouts" / "quiz"
    (folder / "pyproject.toml").write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        read_rollout(folder, "main.py")
    assert len(caught.value.problems) == paths
