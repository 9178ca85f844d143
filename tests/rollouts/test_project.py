"""Workspaces."""

from pathlib import Path

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.rollouts.project import WorkspaceDirectory, find_workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "rollouts" / "quiz").mkdir(parents=True)
    (tmp_path / "rollouts" / "quiz" / "main.py").write_text("")
    (tmp_path / "configs" / "eval").mkdir(parents=True)
    return tmp_path.resolve()


@pytest.mark.parametrize("place", [".", "configs/eval", "rollouts/quiz", "rollouts/quiz/main.py"])
def test_a_workspace_is_found_from_everywhere_within(root: Path, place: str) -> None:
    assert find_workspace(root / place) == WorkspaceDirectory(root)


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
    assert WorkspaceDirectory(root).names() == ["chess", "quiz"]
