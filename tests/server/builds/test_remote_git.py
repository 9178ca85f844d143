"""Repositories behind https on loopback, reached by git through the way out of its sandbox."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.git_host import PEM, TOKEN, served
from tests.server.builds.conftest import Repositories

from mesocosm.server.builds.checkout import fetch, fetch_commit, list_branches
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.git_credentials import GitCredentials
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.repository_address import RepositorySource, read_source
from mesocosm.server.settings import Settings, read_settings


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A git host with TLS; its name as an operator writes it."""
    monkeypatch.setenv("GIT_SSL_CAINFO", str(PEM))
    with served(tmp_path) as place:
        yield place


@pytest.fixture
def settings(host: str) -> Settings:
    return read_settings(git_hosts=(host,), source_mb=2)


async def fault(
    settings: Settings,
    source: RepositorySource,
    directory: BuildDirectory,
    log: BuildLog,
    credentials: GitCredentials | None = None,
) -> str:
    with pytest.raises(BuildError) as caught:
        await fetch_commit(settings, source, directory, log, credentials=credentials)
    return str(caught.value)


def with_token(token: str) -> GitCredentials:
    return GitCredentials("x-access-token", SecretStr(token))


async def test_a_repository_is_fetched_at_a_branch_and_again_at_its_commit(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "old"})
    known.git("branch", "stable")
    source = RepositorySource(f"https://{host}/{known.path.name}/.git", "stable")
    first = await fetch(settings, source, directory, log)
    assert first == known.git("rev-parse", "stable")
    known.commit({"a.txt": "new"})
    again = BuildDirectory(directory.folder.with_name("again"))
    again.folder.mkdir()
    assert await fetch(settings, source, again, log, commit=first) == first
    assert (again.source / "a.txt").read_text() == "old"


async def test_a_missing_branch_is_told_with_those_that_there_are(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    source = RepositorySource(f"https://{host}/{known.path.name}/.git", "mian")
    assert "no branch or tag 'mian'; it has main" in await fault(settings, source, directory, log)


@pytest.mark.parametrize("name", ["nowhere", "private"])
async def test_a_repository_that_is_missing_or_private_is_told(
    name: str, host: str, settings: Settings, directory: BuildDirectory, log: BuildLog
) -> None:
    words = await fault(settings, RepositorySource(f"https://{host}/you/{name}"), directory, log)
    assert "there is no public repository at" in words
    assert "does not exist, or is private" in words


async def test_a_host_that_is_not_the_operators_is_not_reached(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    elsewhere = read_settings(git_hosts=("github.com",))
    words = await fault(elsewhere, RepositorySource(f"https://{host}/{known.path.name}/.git"), directory, log)
    assert "could not be reached" in words
    assert not directory.source.exists()


def test_an_operator_names_a_host_inside_with_its_port() -> None:
    found = read_source("https://git.inside/you/repo", read_settings(git_hosts=("git.inside:443",)))
    assert found == RepositorySource("https://git.inside/you/repo")


async def test_a_private_repository_is_read_with_its_token(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"}, "private")
    source = RepositorySource(f"https://{host}/private/.git", "main")
    credentials = with_token(TOKEN)
    branches = await list_branches(settings, source, directory.folder, log, credentials)
    assert branches.commits == {"main": known.git("rev-parse", "main")}
    found = await fetch_commit(settings, source, directory, log, credentials=credentials)
    assert found.id == known.git("rev-parse", "main")
    assert (directory.source / "a.txt").read_text() == "a"
    left = b"".join(path.read_bytes() for path in directory.folder.rglob("*") if path.is_file())
    assert TOKEN.encode() not in left
    assert TOKEN not in log.text()


async def test_a_token_goes_with_a_redirect_of_its_own_host(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"}, "private")
    source = RepositorySource(f"https://{host}/moved/private/.git", "main")
    found = await fetch_commit(settings, source, directory, log, credentials=with_token(TOKEN))
    assert found.id == known.git("rev-parse", "main")


async def test_a_token_that_is_refused_is_told_and_not_shown(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    repository({"a.txt": "a"}, "private")
    credentials = with_token("another-0123456789")
    log.hide(credentials.hidden())
    source = RepositorySource(f"https://{host}/private/.git")
    words = await fault(settings, source, directory, log, credentials)
    assert f"127.0.0.1 does not show {source.url} with the token of this workspace" in words
    assert "mesocosm workspace credentials --token-stdin" in words
    said = words + log.text()
    assert not [word for word in credentials.hidden() if word in said]


async def test_a_token_is_no_argument_of_any_process(
    host: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    repository({"a.txt": "a"}, "private")
    source = RepositorySource(f"https://{host}/private/.git")
    seen: set[bytes] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.002):
            for process in Path("/proc").iterdir():
                with contextlib.suppress(OSError):
                    seen.add((process / "cmdline").read_bytes())
                    if process.name.isdecimal() and b"bwrap" in (process / "cmdline").read_bytes()[:200]:
                        seen.add((process / "environ").read_bytes())

    watching = threading.Thread(target=look)
    watching.start()
    try:
        await fetch_commit(settings, source, directory, log, credentials=with_token(TOKEN))
    finally:
        done.set()
        watching.join()
    assert any(b"git-remote-https" in line or b"git\0fetch" in line for line in seen)
    assert not [line for line in seen if TOKEN.encode() in line]


async def test_what_is_not_a_repository_is_told(
    host: str, settings: Settings, directory: BuildDirectory, log: BuildLog
) -> None:
    source = RepositorySource(f"https://{host}/page/about")
    assert await fault(settings, source, directory, log, GitCredentials()) == (
        f"{source.url} is not a Git repository; correct the URL"
    )


async def test_without_a_token_it_says_how_to_give_one(
    host: str, settings: Settings, directory: BuildDirectory, log: BuildLog
) -> None:
    words = await fault(settings, RepositorySource(f"https://{host}/you/private"), directory, log, GitCredentials())
    assert "or give a token that may read it: mesocosm workspace credentials --token-stdin" in words
