"""Fetching repositories: exactly one commit, and words for every way in which it fails."""

from pathlib import Path

import pytest
from tests.server.builds.conftest import Repositories, Repository

from mesocosm.core.failure import InfrastructureError
from mesocosm.sandboxes import watches
from mesocosm.server.builds.checkout import fetch
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.log import BuildLog, notes_of
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.settings import Settings, read_settings


@pytest.fixture
def settings() -> Settings:
    return read_settings(local_git=True, source_mb=2)


async def failed(settings: Settings, source: RepositorySource, directory: BuildDirectory, log: BuildLog) -> str:
    with pytest.raises(BuildError) as caught:
        await fetch(settings, source, directory, log)
    assert str(directory.folder) not in str(caught.value)
    return str(caught.value)


def of(repository: Repository, ref: str = "", folder: str = "") -> RepositorySource:
    return RepositorySource(str(repository.path), ref, folder)


async def test_the_files_of_the_default_branch_are_there_without_git(
    settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a", "b/c.txt": "c"})
    commit = await fetch(settings, of(known), directory, log)
    assert commit == known.git("rev-parse", "HEAD")
    assert sorted(path.name for path in directory.source.iterdir()) == ["a.txt", "b"]
    assert commit in log.text()


@pytest.mark.parametrize("kind", ["branch", "tag", "commit"])
async def test_a_branch_a_tag_or_a_commit_can_be_asked_for(
    kind: str, settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "old"})
    first = known.git("rev-parse", "HEAD")
    known.git("branch", "feature/old")
    known.git("tag", "-a", "v1", "-m", "first")
    known.commit({"a.txt": "new"})
    ref = {"branch": "feature/old", "tag": "v1", "commit": first}[kind]
    assert await fetch(settings, of(known, ref), directory, log) == first
    assert (directory.source / "a.txt").read_text() == "old"


async def test_the_same_commit_is_fetched_again_after_others_were_pushed(
    settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "old"})
    first = known.git("rev-parse", "HEAD")
    known.commit({"a.txt": "new"})
    assert await fetch(settings, of(known, "main"), directory, log, commit=first) == first
    assert (directory.source / "a.txt").read_text() == "old"


async def test_a_missing_branch_is_told_with_those_that_there_are(
    settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    known.git("tag", "v1")
    words = await failed(settings, of(known, "mian"), directory, log)
    assert "no branch or tag 'mian'; it has main, v1" in words


async def test_a_missing_commit_is_told(
    settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    assert "write all 40 digits" in await failed(settings, of(repository({"a": "a"}), "abcdef1"), directory, log)


async def test_an_empty_repository_is_told(
    settings: Settings, tmp_path: Path, directory: BuildDirectory, log: BuildLog
) -> None:
    empty = Repository(tmp_path / "empty")
    assert "has no commit on its default branch" in await failed(settings, of(empty), directory, log)


async def test_a_missing_repository_is_told(
    settings: Settings, tmp_path: Path, directory: BuildDirectory, log: BuildLog
) -> None:
    assert "there is no repository at" in await failed(
        settings, RepositorySource(str(tmp_path / "none")), directory, log
    )


async def test_a_folder_that_is_no_repository_is_told(
    settings: Settings, tmp_path: Path, directory: BuildDirectory, log: BuildLog
) -> None:
    (tmp_path / "plain").mkdir()
    assert "is not a Git repository" in await failed(
        settings, RepositorySource(str(tmp_path / "plain")), directory, log
    )


async def test_an_unreachable_host_is_told(settings: Settings, directory: BuildDirectory, log: BuildLog) -> None:
    words = await failed(settings, RepositorySource("https://host.invalid/a/b"), directory, log)
    assert "https://host.invalid/a/b" in words
    assert "could not be reached" in words


async def test_more_than_may_be_is_not_taken(
    settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    many = {f"{number}.txt": "x" * 900_000 for number in range(3)}
    assert "too large: the limit is 2 MiB" in await failed(settings, of(repository(many)), directory, log)


async def test_a_small_pack_of_huge_files_is_ended_while_it_unfolds(
    settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    huge = repository({"zeros": b"\0" * 40_000_000})
    assert "too large" in await failed(settings, of(huge), directory, log)


async def test_a_full_disk_is_no_fault_of_the_repository(
    settings: Settings,
    repository: Repositories,
    directory: BuildDirectory,
    log: BuildLog,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    huge = repository({"zeros": b"\0" * 40_000_000})
    monkeypatch.setattr(watches, "LEAST_FREE", 2**62)
    with pytest.raises(InfrastructureError, match="the disk of its worker is full"):
        await fetch(settings, of(huge), directory, log)


async def test_a_link_out_of_the_repository_is_refused(
    settings: Settings, repository: Repositories, tmp_path: Path, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    (known.path / "inside").symlink_to("a.txt")
    (known.path / "outside").symlink_to("/etc/passwd")
    known.commit({})
    assert "outside is a link to a place outside" in await failed(settings, of(known), directory, log)


async def test_links_inside_stay(
    settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a"})
    (known.path / "inside").symlink_to("a.txt")
    known.commit({})
    await fetch(settings, of(known), directory, log)
    assert (directory.source / "inside").read_text() == "a"


async def test_hooks_and_filters_of_the_repository_do_not_run(
    settings: Settings, repository: Repositories, tmp_path: Path, directory: BuildDirectory, log: BuildLog
) -> None:
    known = repository({"a.txt": "a", ".gitattributes": "* filter=evil\n"})
    hook = known.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    await fetch(settings, of(known), directory, log)
    assert not (tmp_path / "ran").exists()


async def test_what_is_not_fetched_is_noted(
    settings: Settings, repository: Repositories, directory: BuildDirectory, log: BuildLog
) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    known = repository({"data.bin": pointer, ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ../x\n'})
    await fetch(settings, of(known), directory, log)
    notes = notes_of(log.text())
    assert any("data.bin" in note and "LFS" in note for note in notes)
    assert any("submodules" in note for note in notes)
