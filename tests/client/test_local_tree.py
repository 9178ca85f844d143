"""What git says of a folder, and which of its files are uploaded, with real repositories."""

import os
import subprocess
from pathlib import Path

import pytest

from mesocosm.client.local_tree import LocalTree, identity_of_url, read_local_tree
from mesocosm.client.packing import SECRET_FILES, is_secret_file, pack_folder
from mesocosm.core.failure import UsageError
from mesocosm.rollouts.source import read_changes


def git(place: Path, *words: str) -> str:
    """Run git as somebody."""
    me = {f"GIT_{role}_{what}": "ada" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    me |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *words], cwd=place, env={**os.environ, **me}, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def write(place: Path, **files: str) -> None:
    for name, content in files.items():
        path = place / name.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder of a clone whose only commit is pushed."""
    git(tmp_path, "init", "--bare", "--quiet", "--initial-branch=main", "evals.git")
    git(tmp_path, "clone", "--quiet", str(tmp_path / "evals.git"), "clone")
    place = tmp_path / "clone" / "team"
    write(place, a__main="1", b="2")
    git(place, "checkout", "--quiet", "-b", "main")
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "-m", "first")
    git(place, "push", "--quiet", "--set-upstream", "origin", "main")
    return place


def test_a_pushed_commit_without_changes(clone: Path, tmp_path: Path) -> None:
    tree = read_local_tree(clone)
    url = str(tmp_path / "evals.git")
    assert (tree.url, tree.identity) == (url, f"local/{url.strip('/').removesuffix('.git')}")
    assert (tree.folder, tree.branch, tree.commit) == ("team", "main", git(clone, "rev-parse", "HEAD"))
    assert (tree.changed, tree.pushed, tree.is_dirty) == ((), ("origin/main",), False)
    assert tree.lines() == [f"{tree.identity}, folder team, branch main, commit {tree.commit[:12]}"]


def test_changed_new_renamed_and_deleted_files_are_named(clone: Path) -> None:
    write(clone, new="3", a__main="changed")
    write(clone.parent, elsewhere="not of the folder")
    git(clone, "mv", "b", "with space")
    tree = read_local_tree(clone)
    assert set(tree.changed) == {"a/main", "new", "with space"}
    assert tree.lines()[1].startswith("3 files are not committed: ")
    (clone / "a" / "main").unlink()
    assert "a/main" in read_local_tree(clone).changed


def test_a_commit_that_is_not_pushed_is_told(clone: Path) -> None:
    git(clone, "commit", "--quiet", "--allow-empty", "-m", "second")
    tree = read_local_tree(clone)
    assert tree.pushed == ()
    assert tree.lines()[1] == f"commit {tree.commit[:12]} is on no remote branch that is known here; push it first"


def test_a_detached_head_has_no_branch(clone: Path) -> None:
    git(clone, "checkout", "--quiet", "--detach")
    tree = read_local_tree(clone)
    assert (tree.branch, bool(tree.identity), tree.pushed) == ("", True, ("origin/main",))
    assert "no branch" in tree.lines()[0]


def test_a_folder_is_compared_with_what_a_workspace_is_connected_with(clone: Path) -> None:
    tree = read_local_tree(clone)
    assert tree.differences(tree.identity, "team", "main") == []
    assert tree.differences(tree.identity, "team", "") == []
    (other,) = tree.differences("github.com/you/evals", "team", "main")
    words = "the workspace is connected with github.com/you/evals, and this is"
    assert other == f"{words} {tree.identity}: the former is run"
    git(clone, "checkout", "--quiet", "-b", "try")
    assert read_local_tree(clone).differences(tree.identity, "", "main") == [
        "the workspace is the root of the repository, and this is the folder team",
        "the workspace follows main, and this is try: --branch try runs that",
    ]
    git(clone, "checkout", "--quiet", "--detach")
    assert read_local_tree(clone).differences(tree.identity, "team", "main") == []
    git(clone, "remote", "remove", "origin")
    assert read_local_tree(clone).differences("github.com/you/evals", "", "main") == []


def test_a_repository_without_a_commit_or_remote(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    tree = read_local_tree(tmp_path)
    assert (tree.identity, tree.commit, tree.branch) == ("", "", "main")
    assert tree.lines() == ["a repository without a remote: no commit yet"]


def test_outside_of_a_repository_and_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_local_tree(tmp_path) == LocalTree(unknown=f"{tmp_path} is in no git repository")
    monkeypatch.setenv("PATH", str(tmp_path))
    (line,) = read_local_tree(tmp_path).lines()
    assert line.startswith("git is not installed")


@pytest.mark.parametrize(
    ("url", "identity"),
    [
        ("https://GitHub.com/You/Evals.git", "github.com/you/evals"),
        ("https://www.github.com/you/evals/", "github.com/you/evals"),
        ("https://git.example.org:8443/Team/Evals", "git.example.org:8443/Team/Evals"),
        ("https://gitlab.com:443/a/b/c", "gitlab.com/a/b/c"),
        ("/srv/evals.git", "local/srv/evals"),
        ("", ""),
        ("https://github.com/", ""),
    ],
)
def test_an_identity_is_what_a_server_calls_the_repository(url: str, identity: str) -> None:
    assert identity_of_url(url) == identity


def names(place: Path) -> list[str]:
    return [file.path for file in pack_folder(place).snapshot.files]


def test_ignored_files_and_those_of_tools_are_not_uploaded(clone: Path) -> None:
    write(clone, DOTgitignore="*.log\n/out/\n", x="new", runDOTlog="", out__y="", DOTvenv__z="", a__xDOTpyc="")
    write(clone, uvDOTlock="kept: it is what the rollout is built from")
    assert names(clone) == [".gitignore", "a/main", "b", "uv.lock", "x"]


def test_gitignore_is_followed_outside_of_a_repository(tmp_path: Path) -> None:
    write(tmp_path, DOTgitignore="*.log\n", xDOTlog="", a__DOTgitignore="!*.log\n", a__xDOTlog="kept")
    assert names(tmp_path) == [".gitignore", "a/.gitignore", "a/x.log"]
    assert not (tmp_path / ".git").exists()


def test_without_git_a_gitignore_cannot_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "project"
    write(place, a="", DOTvenv__b="")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert names(place) == ["a"]
    write(place, c__DOTgitignore="")
    with pytest.raises(UsageError, match="install git"):
        pack_folder(place)


def test_secrets_stay_here_even_if_they_are_committed(clone: Path) -> None:
    write(clone, DOTenv="KEY=old-value", sub__serverDOTpem="", DOTenvDOTexample="KEY=", DOTaws__config="")
    git(clone, "add", "--all", "--force")
    git(clone, "commit", "--quiet", "-m", "careless")
    write(clone, DOTenv="KEY=new-value", b="changed", sub__DOTENVDOTlocal="KEY=other-value")
    packed = pack_folder(clone)
    assert [file.path for file in packed.snapshot.files] == [".env.example", "a/main", "b"]
    assert {reason.partition(":")[0] for reason in packed.left_out} == {
        *(".env", "sub/server.pem", ".aws/config", "sub/.ENV.local"),
    }


def test_the_patch_has_no_secrets(clone: Path) -> None:
    write(clone, DOTenv="KEY=old-value", sub__DOTEnvDOTprod="KEY=old-value")
    git(clone, "add", "--all", "--force")
    git(clone, "commit", "--quiet", "-m", "careless")
    write(clone, DOTenv="KEY=new-value", b="changed", DOTnetrc="password new-value")
    (clone / "sub" / ".Env.prod").unlink()
    changes = read_changes(clone, SECRET_FILES)
    assert "+changed" in changes
    assert "-value" not in changes
    assert "netrc" not in changes


@pytest.mark.parametrize(
    "name", ["a/.env", ".env.local", "x.PEM", "id_rsa", "deep/.ssh/config", "service-account-1.json"]
)
def test_names_of_secret_files(name: str) -> None:
    assert is_secret_file(name)


@pytest.mark.parametrize("name", [".env.example", "environment.py", "keys.py", "a.keys", "env"])
def test_names_of_other_files(name: str) -> None:
    assert not is_secret_file(name)


def test_links_and_executables_are_kept_as_such(tmp_path: Path) -> None:
    write(tmp_path, runDOTsh="", folder__x="1")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "link").symlink_to("folder")
    os.mkfifo(tmp_path / "pipe")
    found = {file.path: file for file in pack_folder(tmp_path).snapshot.files}
    assert set(found) == {"run.sh", "folder/x", "link"}
    assert found["run.sh"].executable
    assert found["link"].link
    packed = pack_folder(tmp_path)
    assert packed.content(found["link"]) == b"folder"


def test_a_repository_within_is_named_and_left_out(clone: Path) -> None:
    write(clone, inner__x="")
    git(clone / "inner", "init", "--quiet")
    packed = pack_folder(clone)
    assert packed.left_out == ("inner: it is a repository of its own; copy its files into a folder",)


def test_a_file_that_changes_meanwhile_is_named(tmp_path: Path) -> None:
    write(tmp_path, x="1")
    packed = pack_folder(tmp_path)
    write(tmp_path, x="2")
    with pytest.raises(UsageError, match="x changed while it was uploaded"):
        packed.content(packed.snapshot.files[0])
    (tmp_path / "x").unlink()
    with pytest.raises(UsageError, match="x cannot be read"):
        packed.content(packed.snapshot.files[0])


def test_deleted_files_are_not_part_of_it(clone: Path) -> None:
    (clone / "b").unlink()
    assert names(clone) == ["a/main"]


def test_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff")).write_text("")
    with pytest.raises(UsageError, match="not UTF-8"):
        pack_folder(tmp_path)
