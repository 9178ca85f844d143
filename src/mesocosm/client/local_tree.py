"""What git says of a folder: the repository that it belongs to, its commit, and whether others can get that commit."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mesocosm.core.failure import UsageError

_GIT_S = 30.0
_NAMED = 5
_SSH = re.compile(r"(?:ssh://)?(?:[^/@:]+@)?([^/:]+)(?::\d+/|[:/])/?(.+)")
_GITHUB = "github.com"


@dataclass(frozen=True, slots=True)
class LocalTree:
    """The state of a folder in a git repository.

    `unknown` says why nothing else is known. `url` is that of the remote as a server reads it, `identity` its
    `host/owner/repo`; both are empty without a remote. `folder` is the path within the repository, empty for its root;
    `branch` is empty for a detached head, `commit` before the first one. `changed` are the files of the folder that
    differ from the commit, `pushed` the remote branches with the commit, as of the last fetch or push.
    """

    unknown: str = ""
    url: str = ""
    identity: str = ""
    folder: str = ""
    branch: str = ""
    commit: str = ""
    changed: tuple[str, ...] = ()
    pushed: tuple[str, ...] = ()

    @property
    def is_dirty(self) -> bool:
        """Whether files differ from the commit."""
        return bool(self.changed)

    def lines(self) -> list[str]:
        """Return the state in lines for people, with what a server will not see."""
        if self.unknown:
            return [self.unknown]
        place = self.identity or "a repository without a remote"
        where = f", folder {self.folder}" if self.folder else ""
        if not self.commit:
            return [f"{place}{where}: no commit yet"]
        head = f"branch {self.branch}" if self.branch else "no branch"
        found = [f"{place}{where}, {head}, commit {self.commit[:12]}"]
        if self.changed:
            more = f", and {len(self.changed) - _NAMED:,} more" if len(self.changed) > _NAMED else ""
            files = "1 file is" if len(self.changed) == 1 else f"{len(self.changed):,} files are"
            found.append(f"{files} not committed: {', '.join(self.changed[:_NAMED])}{more}")
        if not self.pushed:
            found.append(f"commit {self.commit[:12]} is on no remote branch that is known here; push it first")
        return found

    def differences(self, identity: str, folder: str, branch: str) -> list[str]:
        """Return how this folder is not the one that a workspace is connected with, in lines for people.

        `identity`, `folder` and `branch` are those of the repository of the workspace, the branch empty while its
        default one is not known. Without a remote here, nothing is compared.
        """
        if not self.identity:
            return []
        if self.identity != identity:
            return [f"the workspace is connected with {identity}, and this is {self.identity}: the former is run"]
        found = []
        if self.folder != folder:
            there, here = (f"the folder {name}" if name else "the root" for name in (folder, self.folder))
            found.append(f"the workspace is {there} of the repository, and this is {here}")
        if branch and self.branch and self.branch != branch:
            found.append(f"the workspace follows {branch}, and this is {self.branch}: --branch {self.branch} runs that")
        return found


def read_local_tree(folder: Path) -> LocalTree:
    """Return the state of a folder. Raises UsageError if git fails or takes longer than 30 s."""
    if shutil.which("git") is None:
        return LocalTree(unknown="git is not installed, so the commit of the folder is not known")
    try:
        prefix = run_git(folder, "rev-parse", "--show-prefix").rstrip("\n")
    except UsageError:
        return LocalTree(unknown=f"{folder} is in no git repository")
    branch = _line(folder, "symbolic-ref", "--short", "--quiet", "HEAD")
    commit = _line(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    url = remote_url(folder, branch)
    return LocalTree(
        url=url,
        identity=identity_of_url(url),
        folder=prefix.rstrip("/"),
        branch=branch,
        commit=commit,
        changed=_changed(folder, prefix),
        pushed=_pushed(folder) if commit else (),
    )


def leads_here(folder: Path, commit: str) -> bool:
    """Return whether the commit of a folder is a later one than another, or the same; False if that is not known."""
    try:
        run_git(folder, "merge-base", "--is-ancestor", commit, "HEAD")
    except UsageError:
        return False
    return True


def remote_url(folder: Path, branch: str = "") -> str:
    """Return the URL of the remote of a branch, else of origin, else of the only remote; empty if there is none.

    Paths become absolute, SSH addresses https, and credentials are left out. Raises UsageError if git fails.
    """
    url = _remote(folder, branch)
    return readable_url(url, Path(_line(folder, "rev-parse", "--show-toplevel"))) if url else ""


def ssh_remote_url(folder: Path) -> str:
    """Return ssh://USER@HOST/PATH of the remote that `remote_url` finds; empty if it has no such address."""
    return ssh_url(_remote(folder, _line(folder, "symbolic-ref", "--short", "--quiet", "HEAD")))


def ssh_url(url: str) -> str:
    """Return the SSH address of a repository whose address is given in any form; empty if it has none.

    The user of an https URL's host is taken to be `git`.
    """
    if url.startswith("ssh://"):
        return url
    if found := re.fullmatch(r"https?://(?:[^/@]*@)?([^/:]+)(?::\d+)?/(.+)", url):
        return f"ssh://git@{found[1]}/{found[2]}"
    found = None if "://" in url or url.startswith(("/", ".")) else re.fullmatch(r"(?:([^/@:]+)@)?([^/:]+):/?(.+)", url)
    return f"ssh://{found[1] or 'git'}@{found[2]}/{found[3]}" if found else ""


def _remote(folder: Path, branch: str) -> str:
    """Return the URL of a remote as git has it."""
    remotes = run_git(folder, "remote").split()
    tracked = _line(folder, "config", "--get", f"branch.{branch}.remote") if branch else ""
    name = next((one for one in (tracked, "origin") if one in remotes), remotes[0] if len(remotes) == 1 else "")
    return _line(folder, "remote", "get-url", name) if name else ""


def readable_url(url: str, top: Path) -> str:
    """Return the URL by which a server reads what a remote of the repository at `top` names."""
    if "://" not in url and (url.startswith((".", "/")) or (top / url).exists()):
        return str((top / url).resolve())
    found = None if re.match(r"(?:https?|file|git)://", url) else _SSH.fullmatch(url)
    return f"https://{found[1]}/{found[2]}" if found else re.sub(r"^(https?://)[^/@]*@", r"\1", url)


def identity_of_url(url: str) -> str:
    """Return `host/owner/repo` of the URL of a repository, as servers do; empty for no URL."""
    path = url.removeprefix("file://")
    if path.startswith("/"):
        return f"local/{path.strip('/').removesuffix('.git')}"
    parts = urlsplit(url)
    host = parts.netloc.lower().removesuffix(":443").removeprefix("www.")
    name = parts.path.strip("/").removesuffix(".git")
    return f"{host}/{name.lower() if host == _GITHUB else name}" if host and name else ""


def run_git(folder: Path, *words: str, variables: Mapping[str, str] | None = None) -> str:
    """Return git's output for a folder. Raises UsageError with its message if it fails, or takes longer than 30 s."""
    passed = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    passed |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(variables or {})}
    # The repository's fsmonitor setting may name a program, which git would run.
    command = ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *words]
    try:
        done = subprocess.run(  # noqa: S603 -- git itself, and no shell
            command, capture_output=True, env=passed, timeout=_GIT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"git cannot be run in {folder}: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise UsageError(f"git {words[0]} failed in {folder}: {said or f'exit code {done.returncode}'}")
    return os.fsdecode(done.stdout)


def _line(folder: Path, *words: str) -> str:
    """Return the line that git prints; empty if it fails, which here means that there is no such thing."""
    try:
        return run_git(folder, *words).rstrip("\n")
    except UsageError:
        return ""


def _changed(folder: Path, prefix: str) -> tuple[str, ...]:
    found, entries = [], iter(run_git(folder, "status", "--porcelain", "-z", "-uall", "--", ".").split("\0"))
    for entry in entries:
        if entry:
            found.append(entry[3:].removeprefix(prefix))
        if entry[:1] in ("R", "C"):
            next(entries)  # the former name
    return tuple(found)


def _pushed(folder: Path) -> tuple[str, ...]:
    branches = run_git(folder, "for-each-ref", "--contains", "HEAD", "--format=%(refname:lstrip=2)", "refs/remotes")
    return tuple(name for name in branches.split("\n") if name and not name.endswith("/HEAD"))
