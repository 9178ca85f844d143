"""Code of a commit or branch that is not checked out."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.rollouts.checkout import check_out

Git = Callable[..., str]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "repository" / "evaluations"
    (place / "rollouts/quiz").mkdir(parents=True)
    (place / "rollouts/quiz/main.py").write_text("old")
    return place


@pytest.fixture
def git(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Return git in a repository with one commit on `main`."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "someone")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "someone@example.org")

    def run(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=workspace.parent, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    run("add", ".")
    run("commit", "-q", "-m", "first")
    return run


def test_the_files_of_a_commit_are_there_and_those_of_the_user_stay(git: Git, workspace: Path, tmp_path: Path) -> None:
    first, main = git("rev-parse", "HEAD"), workspace / "rollouts/quiz/main.py"
    main.write_text("new")
    (workspace / "rollouts/quiz/added.py").write_text("added")
    git("add", ".")
    git("commit", "-q", "-m", "second")
    main.write_text("not committed")
    status, code = git("status", "--porcelain"), check_out(workspace, commit=first[:8], cache=tmp_path / "cache")
    assert code.commit == first
    assert [path.name for path in (code.root / "rollouts/quiz").iterdir()] == ["main.py"]
    assert (code.root / "rollouts/quiz/main.py").read_text() == "old"
    assert (main.read_text(), git("status", "--porcelain")) == ("not committed", status)


def test_a_branch_is_its_tip_at_this_moment(git: Git, workspace: Path, tmp_path: Path) -> None:
    git("checkout", "-q", "-b", "other")
    (workspace / "rollouts/quiz/main.py").write_text("of the other branch")
    git("commit", "-q", "-a", "-m", "second")
    git("checkout", "-q", "main")
    code = check_out(workspace, branch="other", cache=tmp_path / "cache")
    assert (code.root / "rollouts/quiz/main.py").read_text() == "of the other branch"


def test_a_copy_is_used_again_and_another_is_made_once_a_run_has_changed_it(
    git: Git, workspace: Path, tmp_path: Path
) -> None:
    def copy() -> Path:
        return check_out(workspace, branch="main", cache=tmp_path / "cache").root

    first = copy()
    (first / "rollouts/quiz/__pycache__").mkdir()
    (first / "rollouts/quiz/__pycache__/main.cpython-311.pyc").write_bytes(b"made")
    assert copy() == first
    (first / "rollouts/quiz/left.txt").write_text("left by a run")
    second = copy()
    assert second != first
    (second / "rollouts/quiz/main.py").write_text("changed by a run")
    third = copy()
    assert (third / "rollouts/quiz/main.py").read_text() == "old"
    (third / "rollouts/quiz/main.py").unlink()
    assert (copy() / "rollouts/quiz/main.py").read_text() == "old"


def test_a_commit_that_is_not_there_is_refused(git: Git, workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no commit 0123abcd; fetch it"):
        check_out(workspace, commit="0123abcd", cache=tmp_path / "cache")
    with pytest.raises(UsageError, match="no branch --help"):
        check_out(workspace, branch="--help", cache=tmp_path / "cache")


def test_a_commit_without_the_workspace_is_refused(git: Git, workspace: Path, tmp_path: Path) -> None:
    git("rm", "-q", "-r", "evaluations")
    git("commit", "-q", "--allow-empty", "-m", "nothing")
    gone = git("rev-parse", "HEAD")
    git("checkout", "-q", "HEAD~1")
    with pytest.raises(UsageError, match="has no files in"):
        check_out(workspace, commit=gone, cache=tmp_path / "cache")


def test_a_submodule_is_refused_with_its_path(git: Git, workspace: Path, tmp_path: Path) -> None:
    git("update-index", "--add", "--cacheinfo", f"160000,{git('rev-parse', 'HEAD')},evaluations/vendored")
    git("commit", "-q", "-m", "a submodule")
    with pytest.raises(UsageError, match="evaluations/vendored is a submodule"):
        check_out(workspace, branch="main", cache=tmp_path / "cache")


def test_a_folder_outside_of_every_repository_is_refused(workspace: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in no git repository"):
        check_out(workspace, branch="main", cache=tmp_path / "cache")
