"""The digest of a rollout's source, and the commit that it came from."""

import os
import subprocess
from pathlib import Path

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.rollouts.source import MOST_CHANGES, read_changes, read_commit, read_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "quiz"
    (folder / "tools").mkdir(parents=True)
    (folder / "main.py").write_text("one")
    (folder / "tools" / "add.py").write_text("two")
    return folder


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}.items():
        monkeypatch.setenv(name, value)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "someone")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "someone@example.org")


def run(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_equal_files_give_equal_digests_wherever_they_are(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    (copy / "tools").mkdir(parents=True)
    (copy / "tools" / "add.py").write_text("two")
    (copy / "main.py").write_text("one")
    source = read_source(folder)
    assert read_source(copy) == source
    assert (source.digest[:7], source.files, source.size) == ("sha256:", 2, 6)


def test_content_and_path_are_part_of_the_digest(folder: Path) -> None:
    before = read_source(folder).digest
    (folder / "main.py").write_text("One")
    changed = read_source(folder).digest
    (folder / "main.py").rename(folder / "other.py")
    assert len({before, changed, read_source(folder).digest}) == 3


def test_content_that_moves_from_one_file_to_the_next_changes_the_digest(folder: Path) -> None:
    before = read_source(folder).digest
    (folder / "main.py").write_text("onet")
    (folder / "tools" / "add.py").write_text("wo")
    assert read_source(folder).digest != before


def test_times_and_permissions_do_not_matter(folder: Path) -> None:
    before = read_source(folder)
    (folder / "main.py").chmod(0o755)
    os.utime(folder / "main.py", (1, 1))
    assert read_source(folder) == before


@pytest.mark.parametrize(
    "name",
    [
        ".venv/bin/python",
        "tools/__pycache__/add.cpython-312.pyc",
        "quiz.egg-info/PKG-INFO",
        "uv.lock",
        ".git/HEAD",
        "node_modules/a/index.js",
        ".mesocosm/x",
        ".osmosis/x",
        "dist/quiz.whl",
        "build/lib/main.py",
    ],
)
def test_what_tools_make_is_no_part_of_the_source(folder: Path, name: str) -> None:
    before = read_source(folder)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("made")
    assert read_source(folder) == before


@pytest.mark.parametrize("name", ["build.py", "dist", "data.csv", ".env", "a b/ü.txt"])
def test_everything_else_is_part_of_the_source(folder: Path, name: str) -> None:
    before = read_source(folder)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("")
    assert read_source(folder).files == before.files + 1


def test_a_link_to_a_file_counts_as_the_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text("three")
    (folder / "shared.py").symlink_to(tmp_path / "shared.py")
    before = read_source(folder)
    (tmp_path / "shared.py").write_text("four")
    assert read_source(folder).digest != before.digest


def test_a_link_to_a_directory_is_refused_by_its_name(folder: Path, tmp_path: Path) -> None:
    (folder / "linked").symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"linked is a link to a directory"):
        read_source(folder)


def test_a_link_to_nothing_is_refused_by_its_name(folder: Path) -> None:
    (folder / "linked").symlink_to(folder / "absent")
    with pytest.raises(UsageError, match=r"linked is a link to nothing"):
        read_source(folder)


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    before = read_source(folder)
    os.mkfifo(folder / "pipe")
    assert read_source(folder) == before


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="absent"):
        read_source(tmp_path / "absent")


@pytest.mark.usefixtures("git")
def test_the_commit_is_known_and_whether_the_folder_differs_from_it(folder: Path) -> None:
    run(folder.parent, "init", "-q", "-b", "trunk")
    run(folder.parent, "add", ".")
    run(folder.parent, "commit", "-q", "-m", "first")
    commit = read_commit(folder)
    assert commit is not None
    assert (commit.id, commit.dirty, commit.branch) == (run(folder, "rev-parse", "HEAD"), False, "trunk")
    (folder.parent / "outside.txt").write_text("")
    assert read_commit(folder) == commit
    (folder / "new.py").write_text("")
    changed = read_commit(folder)
    assert changed is not None
    assert changed.dirty


@pytest.mark.usefixtures("git")
def test_a_program_that_a_repository_names_is_not_run(folder: Path, tmp_path: Path) -> None:
    program = tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    run(folder, "init", "-q")
    run(folder, "add", ".")
    run(folder, "commit", "-q", "-m", "first")
    run(folder, "config", "core.fsmonitor", str(program))
    assert read_commit(folder) is not None
    assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("git")
def test_a_repository_without_commits_has_none(folder: Path) -> None:
    run(folder, "init", "-q")
    assert read_commit(folder) is None


def test_without_a_repository_or_git_there_is_no_commit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
    assert read_commit(folder) is None
    monkeypatch.setenv("PATH", "")
    assert read_commit(folder) is None


@pytest.mark.usefixtures("git")
def test_what_differs_from_the_commit_is_told_as_a_patch_that_has_an_end(folder: Path) -> None:
    run(folder.parent, "init", "-q")
    run(folder.parent, "add", ".")
    run(folder.parent, "commit", "-q", "-m", "first")
    assert read_changes(folder) == ""
    (folder / "main.py").write_text("another")
    (folder / "new.py").write_text("never shown")
    told = read_changes(folder)
    assert "-one" in told
    assert "+another" in told
    assert told.endswith("new file new.py\n")
    (folder / "main.py").write_text("x" * 2 * MOST_CHANGES)
    assert MOST_CHANGES < len(read_changes(folder)) < MOST_CHANGES + 100


def test_a_package_that_is_called_as_tools_call_their_output_counts(tmp_path: Path) -> None:
    for place in ("build", "agent/build"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "steps.py").touch()
    assert list(read_source(tmp_path).contents) == ["agent/build/steps.py"]
