"""Normalise and validate URLs of GitHub repositories."""

import re
from urllib.parse import urlsplit

_OWNER = re.compile(r"[A-Za-z0-9-]{1,39}")
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]{1,100}")
_SHORT = re.compile(r"[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}")


class InvalidGithubUrl(ValueError):
    """The text is not a URL of a GitHub repository; the message is the reason."""


def normalize_github_url(url: str) -> str:
    """Return a URL in the canonical form for comparing repositories, without validating it.

    The form is lower case, https, without a trailing slash or `.git`; `owner/repo` means github.com.
    """
    text = url.strip().rstrip("/").lower().removesuffix(".git")
    if _SHORT.fullmatch(text) and not text.startswith("github.com/"):
        return f"https://github.com/{text}"
    if "://" not in text:
        return f"https://{text}"
    return re.sub(r"\Ahttp://", "https://", text)


def validate_github_url(url: str) -> str:
    """Return the normalised URL of a repository. Raises InvalidGithubUrl with the problem."""
    normal = normalize_github_url(url)
    try:
        parts = urlsplit(normal)
        host = parts.netloc
    except ValueError as error:
        raise InvalidGithubUrl(f"{url!r} is not a URL: {error}") from error
    if parts.scheme != "https" or host != "github.com":
        raise InvalidGithubUrl(f"{url!r} is not a repository on GitHub; write https://github.com/OWNER/REPO")
    if parts.query or parts.fragment:
        raise InvalidGithubUrl(f"{url!r} has more than a repository in it; leave out what follows its name")
    owner, _, repository = parts.path.removeprefix("/").partition("/")
    if not _OWNER.fullmatch(owner):
        raise InvalidGithubUrl(f"{url!r} names no owner; write https://github.com/OWNER/REPO")
    if not _REPOSITORY.fullmatch(repository) or repository in {".", ".."}:
        raise InvalidGithubUrl(
            f"{url!r} names no repository of {owner}; give the repository itself, not a page or a file inside it"
        )
    return normal
