"""Addresses of repositories: one spelling for each, and words for what cannot work."""

from typing import Any

import pytest

from mesocosm.server.builds.repository_address import RepositorySource, read_source
from mesocosm.server.refusal import Refusal
from mesocosm.server.settings import Settings, read_settings

GITHUB = "https://github.com/you/word-game"


@pytest.fixture
def settings() -> Settings:
    return read_settings(git_hosts=("github.com", "gitlab.com", "codeberg.org", "git.example:8443"))


def refused(text: str, settings: Settings, **given: Any) -> str:
    with pytest.raises(Refusal) as caught:
        read_source(text, settings, **given)
    assert caught.value.status == 422
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        GITHUB,
        f"{GITHUB}/",
        f"  {GITHUB}.git ",
        "http://github.com/you/word-game",
        "HTTPS://GitHub.com/You/Word-Game",
        "https://www.github.com/you/word-game",
        "https://github.com:443/you/word-game",
        "github.com/you/word-game",
        "you/word-game",
        "You/Word-Game.git",
    ],
)
def test_a_repository_has_one_spelling(text: str, settings: Settings) -> None:
    assert read_source(text, settings) == RepositorySource(GITHUB)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (f"{GITHUB}/tree/main", RepositorySource(GITHUB, "main")),
        (f"{GITHUB}/tree/v1.2/games/words/", RepositorySource(GITHUB, "v1.2", "games/words")),
        (f"{GITHUB}/tree/main/with%20space", RepositorySource(GITHUB, "main", "with space")),
        (
            "https://gitlab.com/Group/sub/Repo/-/tree/main/env",
            RepositorySource("https://gitlab.com/Group/sub/Repo", "main", "env"),
        ),
        ("https://codeberg.org/a/b/src/branch/main/env", RepositorySource("https://codeberg.org/a/b", "main", "env")),
        ("git.example:8443/a/b", RepositorySource("https://git.example:8443/a/b")),
    ],
)
def test_addresses_of_folders_are_understood(text: str, source: RepositorySource, settings: Settings) -> None:
    assert read_source(text, settings) == source


def test_a_ref_and_a_folder_beside_the_address_win(settings: Settings) -> None:
    found = read_source(f"{GITHUB}/tree/main/a", settings, ref="dev", folder="./b/c/")
    assert found == RepositorySource(GITHUB, "dev", "b/c")


def test_a_ref_with_a_slash_is_told_apart_when_it_is_given(settings: Settings) -> None:
    found = read_source(f"{GITHUB}/tree/feature/x/env", settings, ref="feature/x")
    assert found == RepositorySource(GITHUB, "feature/x", "env")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("git@github.com:you/word-game.git", "ssh"),
        ("ssh://git@github.com/you/word-game", "ssh"),
        ("git://github.com/you/word-game", "https://github.com/OWNER/REPO"),
        ("ftp://github.com/you/word-game", "https://github.com/OWNER/REPO"),
        ("https://me:secret@github.com/you/word-game", "user name or password"),
        ("https://token@github.com/you/word-game", "user name or password"),
        ("https://example.org/you/word-game", "example.org are not accepted"),
        ("https://github.com.evil.example/you/repo", "are not accepted"),
        ("https://git.example/a/b", "git.example are not accepted"),
        ("https://127.0.0.1/a/b", "are not accepted"),
        ("https://github.com", "no repository"),
        ("https://github.com/you", "is not a repository"),
        ("https://github.com/you/..", "is not a repository"),
        ("https://github.com/-you/repo", "is not a repository"),
        (f"{GITHUB}/blob/main/README.md", "names a file"),
        (f"{GITHUB}/issues/3", "names a page"),
        (f"{GITHUB}?tab=readme", "without"),
        (f"{GITHUB}#readme", "without"),
        (f"{GITHUB}/tree/main/../../x", "leaves the repository"),
        (f"{GITHUB}/tree/--upload-pack=x", "not a valid name of a branch"),
        ("https://[::1/a/b", "cannot be read"),
        ("https://github.com:99999/a/b", "cannot be read"),
        ("javascript:alert(1)", "not supported"),
        ("you/word game", "spaces"),
        ("", "empty"),
        ("word-game", "is not a repository address"),
    ],
)
def test_what_cannot_work_is_refused_with_what_to_write(text: str, words: str, settings: Settings) -> None:
    assert words in refused(text, settings)


@pytest.mark.parametrize("ref", ["-x", "a..b", "a b", "x.lock", "a//b", "a~1", "@{u}", "/a", "a/", "é\x7f", "a" * 251])
def test_names_that_git_does_not_have_are_refused(ref: str, settings: Settings) -> None:
    assert "not a valid name of a branch" in refused(GITHUB, settings, ref=ref)


@pytest.mark.parametrize("folder", ["..", "a/../..", ".git", "a/.GIT/hooks", "a\\b", "a\nb", "x" * 501])
def test_folders_outside_are_refused(folder: str, settings: Settings) -> None:
    assert "folder" in refused(GITHUB, settings, folder=folder)


@pytest.mark.parametrize("text", ["/srv/words", "file:///srv/words", "./words", "~/words", "\\\\server\\words"])
def test_places_of_the_machine_are_taken_only_where_the_operator_allows_it(text: str, settings: Settings) -> None:
    assert "not accepted by this server" in refused(text, settings)


@pytest.mark.parametrize("text", ["/srv/words", "/srv//words/", "file:///srv/words", "file://localhost/srv/words"])
def test_a_local_repository_has_one_spelling(text: str) -> None:
    found = read_source(text, read_settings(local_git=True), ref="main")
    assert found == RepositorySource("/srv/words", "main")
    assert found.local


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("words/../x/./", "is not a repository address"),
        ("./words", "absolute"),
        ("/srv/../etc", "`..`"),
        ("file://host/x", "host"),
    ],
)
def test_other_local_places_are_refused(text: str, words: str) -> None:
    assert words in refused(text, read_settings(local_git=True))


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:You/Word-Game.git",
        "ssh://git@github.com/you/word-game",
        "ssh://github.com:22/you/word-game/",
        "git@github.com:/you/word-game",
    ],
)
def test_an_ssh_address_has_one_spelling_where_keys_are_kept(text: str, settings: Settings) -> None:
    found = read_source(text, settings, ref="main", folder="evals", credentials=True)
    assert found == RepositorySource("ssh://git@github.com/you/word-game", "main", "evals")
    assert (found.ssh, found.host, found.port) == (True, "github.com", 22)
    assert read_source(found.url, settings, credentials=True).url == found.url
    assert "not supported" in refused(text, settings)


def test_an_operator_allows_the_port_of_an_ssh_host(settings: Settings) -> None:
    found = read_source("ssh://gitea@git.example:8443/a/b.git", settings, credentials=True)
    assert (found.url, found.port) == ("ssh://gitea@git.example:8443/a/b", 8443)
    assert "repositories of git.example are not accepted" in refused("git@git.example:a/b", settings, credentials=True)
    assert read_source("git@git.inside:a/b", read_settings(git_hosts=("git.inside:22",)), credentials=True).port == 22


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ssh://git:word@github.com/a/b", "cannot be read; write ssh://git@HOST/OWNER/REPO"),
        ("ssh://-oProxyCommand=x@github.com/a/b", "cannot be read"),
        ("ssh://git@-oProxyCommand=x/a/b", "not accepted"),
        ("ssh://git@github.com/a/b?x", "cannot be read"),
        ("ssh://git@github.com:99999/a/b", "cannot be read"),
        ("ssh://git@github.com", "names a host, but no repository"),
        ("git@github.com:--upload-pack=x/b", "is not a repository of github.com"),
        ("https://you:word@github.com/a/b", "give the token on its own (mesocosm workspace credentials"),
    ],
)
def test_ssh_addresses_that_cannot_work_are_refused(text: str, words: str, settings: Settings) -> None:
    told = refused(text, settings, credentials=True)
    assert words in told
    assert "word@" not in told
