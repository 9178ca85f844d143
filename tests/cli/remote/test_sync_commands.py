"""`mesocosm workspace connect|sync|syncs` and `rollout list` against a server with a worker."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.remote.conftest import working
from tests.git_host import PEM, TOKEN, served

from mesocosm.client.local_tree import readable_url, ssh_url

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


def test_a_private_repository_is_connected_and_its_token_replaced(
    open_platform: "Open", clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "clone", "--bare", str(tmp_path / "evals.git"), "private/evals.git")
    monkeypatch.setenv("GIT_SSL_CAINFO", str(PEM))
    with served(tmp_path) as host:
        platform: Platform = open_platform(git_hosts=(host,), git_poll_s=0.0)
        platform.is_now("ada")
        platform("workspace", "create", "Reefs", "--use")
        connect = ("workspace", "connect", "--url", f"https://{host}/private/evals.git", "--folder", "team", "--yes")
        unread = platform("workspace", "connect", "--url", f"https://{host}/private/evals.git", "--token-stdin")
        assert "standard input, so nothing can be asked; add --yes" in unread.err
        with working(platform.service):
            seen = platform(*connect, "--token-stdin", "--wait", stdin="wrong-0123456789\n")
            assert seen.code == 1
            assert "with the token of this workspace: the token has expired or may not read it" in seen.err
            assert "it stays connected; try again with: mesocosm workspace sync --wait" in seen.err
            given = platform("workspace", "credentials", "--token-stdin", stdin=f"{TOKEN}\n")
            assert given.code == 0, given.err
            again = platform("workspace", "sync", "--wait")
        assert again.code == 0, again.err
        assert "rollout words  main.py" in again.out
        listed = platform("workspace", "credentials")
        assert "token" in listed.out
        assert "ada" in listed.out
        assert platform("workspace", "credentials", "--delete", "token").code == 0
        assert "has no credentials; set one with --token-stdin" in platform("workspace", "credentials").err
        said = "".join(one.out + one.err for one in (seen, given, again, listed))
        assert TOKEN not in said
        assert "wrong-0123456789" not in said


def test_a_deploy_key_is_sent_with_what_ssh_knows_of_the_host(
    open_platform: "Open", clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("needs openssh-client")
    git(clone, "remote", "set-url", "origin", "gitea@git.example.org:you/evals.git")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "deploy")], check=True)
    public = (tmp_path / "deploy.pub").read_text().split()
    known = tmp_path / "known"
    known.write_text(f"git.example.org {public[0]} {public[1]}\n")
    platform: Platform = open_platform(git_hosts=("git.example.org",))
    platform.is_now("ada")
    platform("workspace", "create", "Reefs", "--use")
    key = ("--deploy-key", str(tmp_path / "deploy"), "--known-hosts", str(known))
    made = platform("workspace", "connect", "--yes", "--json", *key)
    assert made.code == 0, made.err
    assert made.document["url"] == "ssh://gitea@git.example.org/you/evals"
    assert made.document["folder"] == "team"
    assert f"a read-only deploy key at the Git host: {public[0]} {public[1]}" in made.err
    assert "PRIVATE KEY" not in made.out + made.err
    worse = platform("workspace", "credentials", "--deploy-key", str(known))
    assert worse.code == 2
    assert "is not a private SSH key; make one with: ssh-keygen" in worse.err


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("git@github.com:you/evals.git", "ssh://git@github.com/you/evals.git"),
        ("ssh://git@git.example.org:2222/you/evals", "ssh://git@git.example.org:2222/you/evals"),
        ("https://you:token@github.com/you/evals", "ssh://git@github.com/you/evals"),
        ("git.example.org:you/evals", "ssh://git@git.example.org/you/evals"),
        ("../evals.git", ""),
        ("/srv/evals.git", ""),
        ("", ""),
    ],
)
def test_a_deploy_key_needs_an_ssh_address(remote: str, url: str) -> None:
    assert ssh_url(remote) == url
