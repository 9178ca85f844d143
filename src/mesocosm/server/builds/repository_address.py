"""The source of a submission: the normalized address of a repository, a ref in it, and a folder."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from mesocosm.server.refusal import Refusal
from mesocosm.server.settings import Settings

GITHUB = "github.com"
SSH_PORT = 22
_OWNER = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}")
_PART = re.compile(r"[A-Za-z0-9_.~-]{1,100}")
_SHORT = re.compile(r"[^/.:@\s]+/[^/:@\s]+")
_SSH = re.compile(r"[^/@:]+@[^/:]+:")
_SSH_EXAMPLE = "ssh://git@HOST/OWNER/REPO"
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
# git-check-ref-format(1); git would parse a leading dash as an option.
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(/|$)|(^|/)\.|[/.]$|^[-/]|^@$")
_TREES = {GITHUB: ("tree",), "gitlab.com": ("-", "tree"), "bitbucket.org": ("src",)}
_GITEA = (("src", "branch"), ("src", "tag"), ("src", "commit"))
_FILES = ("blob", "raw", "edit", "commits", "issues", "pull", "releases", "wiki", "actions")
_DEEPEST = 10


@dataclass(frozen=True, slots=True)
class RepositorySource:
    """A repository, a ref and a folder in it.

    `url` is https://HOST/PATH, ssh://USER@HOST/PATH or an absolute path of this machine. `ref` and `folder` are empty
    for the default branch and the root.
    """

    url: str
    ref: str = ""
    folder: str = ""

    @property
    def local(self) -> bool:
        """Whether the repository is on this machine."""
        return self.url.startswith("/")

    @property
    def ssh(self) -> bool:
        """Whether the repository is read over SSH, with a key."""
        return self.url.startswith("ssh://")

    @property
    def host(self) -> str:
        """The name of the host; empty for a local repository."""
        return "" if self.local else urlsplit(self.url).hostname or ""

    @property
    def port(self) -> int:
        """The port of the host."""
        return urlsplit(self.url).port or (SSH_PORT if self.ssh else 443)


def read_source(
    given: str, settings: Settings, *, ref: str | None = None, folder: str | None = None, credentials: bool = False
) -> RepositorySource:
    """Parse the address of a repository. `ref` and `folder` take precedence over those in the address.

    With `credentials`, it may be an SSH address, because keys can be stored for it. Raises Refusal (422) with a hint
    for an invalid address, ref or folder.
    """
    text = given.strip()
    if not text or any(ord(letter) < 33 or ord(letter) == 127 for letter in text):
        raise _invalid("the address of the repository is empty, or has spaces or line breaks in it")
    if _is_local(text):
        found = _local(text, settings)
    elif credentials and _is_ssh(text):
        found = _over_ssh(text, settings)
    else:
        found = _remote(text, settings, ref, credentials=credentials)
    if ref is not None and ref.strip():
        found = replace(found, ref=_ref(ref.strip()))
    if folder is not None and folder.strip():
        found = replace(found, folder=_folder(folder.strip()))
    return found


def _is_local(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~", "\\")) or text.lower().startswith("file:") or text in (".", "..")


def _local(text: str, settings: Settings) -> RepositorySource:
    if not settings.local_git:
        raise _invalid(
            "paths and file:// URLs are not accepted by this server; push the repository to "
            f"{_listed(settings.git_hosts)} and give its https URL"
        )
    if text.lower().startswith("file:"):
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise _invalid(f"file://{parts.netloc}… names another machine; write file:///absolute/path")
        text = unquote(parts.path)
    if not text.startswith("/") or "\0" in text:
        raise _invalid("a local repository is named by its absolute path, for example /srv/repositories/word-game")
    parts_of = PurePosixPath(text).parts
    if ".." in parts_of:
        raise _invalid("write the path of the repository without `..`")
    return RepositorySource(str(PurePosixPath(*[part for part in parts_of if part != "//"])).replace("//", "/"))


def _is_ssh(text: str) -> bool:
    return text.lower().startswith("ssh://") or ("://" not in text and _SSH.match(text) is not None)


def _over_ssh(text: str, settings: Settings) -> RepositorySource:
    """Parse ssh://USER@HOST/PATH, or USER@HOST:PATH as git writes it too."""
    if "://" not in text:
        user_host, _, rest = text.partition(":")
        text = f"ssh://{user_host}/{rest.lstrip('/')}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _invalid(f"the address of the repository cannot be read: {error}; write {_SSH_EXAMPLE}") from error
    user, host = parts.username or "git", (parts.hostname or "").rstrip(".")
    if parts.password is not None or not _USER.fullmatch(user) or parts.query or parts.fragment:
        raise _invalid(f"the SSH address of the repository cannot be read; write {_SSH_EXAMPLE}")
    place = host if port in (None, SSH_PORT) else f"{host}:{port}"
    _check_host(place, f"{place}:{SSH_PORT}", settings)
    path = _without_git(_segments(parts.path))
    _check_path(host, path, settings)
    return RepositorySource(f"ssh://{user}@{place}/{'/'.join(_one_spelling(host, path))}")


def _check_host(place: str, with_port: str, settings: Settings) -> None:
    """Raise Refusal unless the operator allows a host, listed with or without its default port."""
    if place not in settings.git_hosts and with_port not in settings.git_hosts:
        raise _invalid(
            f"repositories of {place or 'no host'} are not accepted by this server; it accepts those of "
            f"{_listed(settings.git_hosts)}. Its administrators can add a host (setting git_hosts)"
        )


def _remote(text: str, settings: Settings, ref: str | None, *, credentials: bool) -> RepositorySource:
    text = _with_scheme(text, settings)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _invalid(f"the address of the repository cannot be read: {error}; write {_example(settings)}") from error
    if parts.username is not None or parts.password is not None:
        raise _invalid(
            "the address has a user name or password in it, which is not accepted: others can see the address. "
            + (
                "Leave them out, and give the token on its own (mesocosm workspace credentials --token-stdin)"
                if credentials
                else "Make the repository public and leave them out"
            )
        )
    if parts.query or parts.fragment:
        raise _invalid("write the address of the repository without `?…` and `#…`")
    host = (parts.hostname or "").rstrip(".")
    host = GITHUB if host == f"www.{GITHUB}" else host
    host_port = host if port in (None, 443, 80) else f"{host}:{port}"
    _check_host(host_port, f"{host_port}:443", settings)
    path, ref_found, folder = _split(host, _segments(parts.path), ref, settings)
    return RepositorySource(f"https://{host_port}/{'/'.join(path)}", ref_found, folder)


def _with_scheme(text: str, settings: Settings) -> str:
    if _SSH.match(text):
        raise _invalid(f"ssh URLs are not supported, because there is no key here; write {_example(settings)}")
    scheme = _SCHEME.match(text)
    if scheme and not re.match(r"[^/]*:\d+(/|$)", text):
        if scheme[1].lower() not in ("http", "https"):
            raise _invalid(f"{scheme[1]}: URLs are not supported; write {_example(settings)}")
        if not text[scheme.end() :].startswith("//"):
            raise _invalid(f"the address of the repository cannot be read; write {_example(settings)}")
        return text
    if "." not in text.partition("/")[0] and not _SHORT.fullmatch(text.rstrip("/")):
        raise _invalid(f"{text!r} is not a repository address; write {_example(settings)}")
    if _SHORT.fullmatch(text.rstrip("/")):
        return f"https://{GITHUB}/{text}"
    return f"https://{text}"


def _segments(path: str) -> list[str]:
    found = [unquote(part) for part in path.split("/") if part]
    if not found:
        raise _invalid("the address names a host, but no repository; write for example https://github.com/you/repo")
    return found


def _split(host: str, parts: list[str], ref: str | None, settings: Settings) -> tuple[list[str], str, str]:
    """Return the path of the repository, and the ref and folder of a tree URL (empty if there is none)."""
    path, rest = _parted(host, parts)
    path = _without_git(path)
    _check_path(host, path, settings)
    path = _one_spelling(host, path)
    if not rest:
        return path, "", ""
    wanted = (ref or "").strip().split("/")
    many = len(wanted) if rest[: len(wanted)] == wanted else 1
    return path, _ref("/".join(rest[:many])), _folder("/".join(rest[many:]))


def _without_git(path: list[str]) -> list[str]:
    last = path[-1]
    return [*path[:-1], last[:-4]] if last.lower().endswith(".git") and len(last) > 4 else path


def _one_spelling(host: str, path: list[str]) -> list[str]:
    # GitHub ignores case, and one repository must have one spelling.
    return [part.lower() for part in path] if host == GITHUB else path


def _parted(host: str, parts: list[str]) -> tuple[list[str], list[str]]:
    marks: Sequence[tuple[str, ...]] = [_TREES[host]] if host in _TREES else [("-", "tree"), *_GITEA]
    for start in range(2, len(parts)):
        for mark in marks:
            if tuple(parts[start : start + len(mark)]) == mark and len(parts) > start + len(mark):
                return parts[:start], parts[start + len(mark) :]
    if host == GITHUB and len(parts) > 2:
        what = "a file" if parts[2] in ("blob", "raw", "edit") else "a page"
        kind = what if parts[2] in _FILES else "something"
        raise _invalid(
            f"the address names {kind} in a repository; write https://{GITHUB}/OWNER/REPO, or the address of a folder "
            "as …/tree/REF/FOLDER"
        )
    return parts, []


def _check_path(host: str, path: list[str], settings: Settings) -> None:
    fits = 2 <= len(path) <= _DEEPEST and all(_PART.fullmatch(part) and part.strip(".") for part in path)
    if host == GITHUB:
        fits = fits and len(path) == 2 and bool(_OWNER.fullmatch(path[0]))
    if not fits:
        raise _invalid(f"{'/'.join(path)!r} is not a repository of {host}; write {_example(settings)}")


def _ref(ref: str) -> str:
    if len(ref) > 250 or _NO_REF.search(ref):
        raise _invalid(f"{ref!r} is not a valid name of a branch, tag or commit; write for example main")
    return ref


def _folder(folder: str) -> str:
    if "\\" in folder or any(ord(letter) < 32 for letter in folder) or len(folder) > 500:
        raise _invalid(f"{folder!r} is not a folder; write it with slashes, for example games/words")
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    if ".." in parts or any(part.lower() == ".git" for part in parts):
        raise _invalid(f"the folder {folder!r} leaves the repository; name one in it")
    return "/".join(parts)


def _listed(hosts: Sequence[str]) -> str:
    return ", ".join(hosts) or "no host at all"


def _example(settings: Settings) -> str:
    host = next(iter(settings.git_hosts), GITHUB)
    return f"https://{host}/OWNER/REPO"


def _invalid(words: str) -> Refusal:
    return Refusal(422, words)
