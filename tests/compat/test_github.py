"""URLs of repositories on GitHub."""

import pytest

from bench_common.utils.github import InvalidGithubUrl, normalize_github_url, validate_github_url

KILN = "https://github.com/potters/kiln.env"


@pytest.mark.parametrize(
    "url",
    [
        KILN,
        "http://github.com/Potters/Kiln.env",
        "HTTPS://GitHub.com/potters/kiln.env/",
        "  https://github.com/potters/kiln.env.git ",
        "https://github.com/potters/kiln.env.git/",
        "github.com/potters/kiln.env",
        "potters/kiln.env",
    ],
)
def test_spellings_of_one_repository_are_one(url: str) -> None:
    assert normalize_github_url(url) == KILN
    assert validate_github_url(url) == KILN


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "not a repository on GitHub"),
        ("https://gitlab.com/potters/kiln", "not a repository on GitHub"),
        ("https://www.github.com/potters/kiln", "not a repository on GitHub"),
        ("https://github.com.evil.example/potters/kiln", "not a repository on GitHub"),
        ("https://someone@github.com/potters/kiln", "not a repository on GitHub"),
        ("https://github.com:444/potters/kiln", "not a repository on GitHub"),
        ("git@github.com:potters/kiln.git", "not a repository on GitHub"),
        ("ssh://git@github.com/potters/kiln", "not a repository on GitHub"),
        ("https://[github.com/potters/kiln", "not a URL"),
        ("https://github.com/potters", "no repository of potters"),
        ("https://github.com/potters/..", "no repository of potters"),
        ("https://github.com/potters/kiln/tree/main", "no repository of potters"),
        ("https://github.com/potters/kiln?tab=readme", "more than a repository"),
        ("https://github.com/potters/kiln#usage", "more than a repository"),
        ("https://github.com//kiln", "no owner"),
        (f"https://github.com/{'p' * 40}/kiln", "no owner"),
        (f"https://github.com/potters/{'k' * 101}", "no repository of potters"),
    ],
)
def test_other_urls_are_refused_with_the_reason(url: str, words: str) -> None:
    with pytest.raises(InvalidGithubUrl, match=words):
        validate_github_url(url)


def test_the_refusal_is_a_value_error() -> None:
    assert issubclass(InvalidGithubUrl, ValueError)
