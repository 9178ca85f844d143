"""`mesocosm workspace connect|sync|syncs` and `rollout list` against a server with a worker."""

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.remote.conftest import working

from mesocosm.client.local_tree import readable_url

if TYPE_CHECKING:
    from tests.cli.remote.conftest import Open, Platform

CONFIG = (
    '[experiment]\nrollout = "words"\nentrypoint = "main.py"\nmodel_path = "openai/gpt-5-mini"\ndataset = "hard"\n'
    "[evaluation]\nn = 0\n"
)


def git(place: Path, *words: str) -> None:
    """Run git as somebody."""
    me = {f"GIT_{role}_{what}": "ada" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *words], cwd=place, env={**os.environ, **me}, check=True, capture_output=True)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a clone of a bare repository, in the folder of a workspace."""
    git(tmp_path, "init", "--bare", "--initial-branch=main", "evals.git")
    git(tmp_path, "clone", str(tmp_path / "evals.git"), "clone")
    place = tmp_path / "clone" / "team"
    for name, content in {"rollouts/words/main.py": "print()\n", "configs/eval/hard.toml": CONFIG}.items():
        (place / name).parent.mkdir(parents=True)
        (place / name).write_text(content)
    git(place, "checkout", "-b", "main")
    git(place, "add", "--all")
    git(place, "commit", "-m", "first")
    git(place, "push", "origin", "main")
    monkeypatch.chdir(place / "rollouts")
    return place


def test_a_repository_is_connected_synced_and_listed(open_platform: "Open", clone: Path) -> None:
    platform: Platform = open_platform(local_git=True, git_poll_s=0.0)
    platform.is_now("ada")
    platform("workspace", "create", "Reefs", "--use")
    assert platform("workspace", "syncs").err == (
        "there are no syncs; connect a repository with: mesocosm workspace connect\n"
    )
    asked = platform("workspace", "connect", stdin="n\n")
    assert asked.code == 1
    assert "evals.git, folder team\nbranch: the default one\n" in asked.err
    assert platform("workspace", "connect", "--yes").code == 0
    with working(platform.service):
        seen = platform("workspace", "sync", "--wait")
    assert seen.code == 0, seen.err
    assert "success  main" in seen.out
    assert "rollout words  main.py" in seen.out
    assert "to mend: configs/eval/hard.toml:7: evaluation.n" in seen.out
    (rollout,) = platform("rollout", "list", "--json").document
    assert (rollout["name"], rollout["branch"], len(rollout["commit"])) == ("words", "main", 40)
    assert "ada" in platform("workspace", "syncs").out
    hook = platform("workspace", "hook", "--json").document
    assert hook["url"].startswith("http")
    assert hook["secret"] not in platform("workspace", "repository").out
    assert platform("workspace", "disconnect", "--yes").code == 0
    assert platform("workspace", "sync").code != 0


@pytest.mark.parametrize(
    ("origin", "url"),
    [
        ("git@github.com:you/evals.git", "https://github.com/you/evals.git"),
        ("ssh://git@git.example.org:2222/you/evals", "https://git.example.org/you/evals"),
        ("https://you:token@github.com/you/evals", "https://github.com/you/evals"),
        ("https://github.com/you/evals", "https://github.com/you/evals"),
        ("../evals.git", "/srv/evals.git"),
    ],
)
def test_origin_becomes_what_a_server_can_read(origin: str, url: str) -> None:
    assert readable_url(origin, Path("/srv/clone")) == url


def test_what_is_on_the_disk_is_uploaded_without_a_repository(open_platform: "Open", clone: Path) -> None:
    platform: Platform = open_platform()
    platform.is_now("ada")
    platform("workspace", "create", "Reefs", "--use")
    (clone / "rollouts" / "words" / "main.py").write_text("print(2)\n")
    (clone / ".env").write_text("KEY=of-nobody\n")
    seen = platform("workspace", "upload", "--json")
    assert seen.code == 0, seen.err
    document = seen.document
    assert (document["branch"], document["dirty"], document["files"]) == ("main", True, 2)
    assert "+print(2)" in document["changes"]
    assert [one["name"] for one in document["rollouts"]] == ["words"]
    assert "not uploaded: .env: it may hold secrets" in seen.err
    assert "of-nobody" not in seen.out
    again = platform("workspace", "upload")
    assert f"snapshot {document['id']}: 2 files" in again.out
    assert "to mend: configs/eval/hard.toml:7: evaluation.n" in again.out
