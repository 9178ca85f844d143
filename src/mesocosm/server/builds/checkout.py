"""Fetch the files of a repository at one commit, with git in a sandbox.

git can reach only the host of the repository. It has its own configuration, no hooks and no prompts, the credentials
that it is given, and limits of time and space from the settings. Submodules and Git LFS files are not fetched; the log
has a note then.
"""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from mesocosm.core.failure import MesocosmError
from mesocosm.sandboxes.disk import DEEPEST, remove
from mesocosm.sandboxes.egress_proxy import PORTS, EgressProxy
from mesocosm.sandboxes.program_limits import MIB
from mesocosm.sandboxes.sandboxed_process import Finished
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError, disk_full_error
from mesocosm.server.builds.fetch_errors import SET_KEY, host_refusal
from mesocosm.server.builds.git_credentials import GitCredentials
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.builds.sandbox import build_sandbox
from mesocosm.server.settings import Settings

MOST_FILES = 20_000
BRANCHES = "refs/heads/"
_FETCH = """
git init --quiet source && cd source
git fetch --quiet --depth=1 --no-tags --no-recurse-submodules "$1" "$2"
git rev-parse --verify --quiet 'FETCH_HEAD^{commit}' > ../commit
git show --no-patch --format=%ct%n%an%n%B FETCH_HEAD > ../about
git checkout --quiet --detach FETCH_HEAD
"""
_LIST = 'git ls-remote --symref "$1" HEAD "refs/heads/*" > refs'
_LONGEST_ABOUT, _LONGEST_LIST = 65_536, 16 * MIB
_CONFIG = """[safe]
directory = *
[core]
hooksPath = /dev/null
fsmonitor = false
autocrlf = false
[credential]
helper =
[submodule]
recurse = false
[gc]
auto = 0
"""
_PASSED = ("GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR")
_POINTER = b"version https://git-lfs"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAMED = 12

_NO_REF = "couldn't find remote ref|not our ref|unadvertised object|no such remote ref|invalid refspec"


@dataclass(frozen=True, slots=True)
class FetchedCommit:
    """A commit that was checked out. Author and message are as its author wrote them; `at` is UNIX seconds."""

    id: str
    author: str
    message: str
    at: float | None


async def fetch(
    settings: Settings, source: RepositorySource, directory: BuildDirectory, log: BuildLog, *, commit: str = ""
) -> str:
    """Check out a source into `directory.source` and return its commit; `commit` takes precedence over `source.ref`.

    Raises BuildError, or InfrastructureError if the disk is full.
    """
    return (await fetch_commit(settings, source, directory, log, commit=commit)).id


async def fetch_commit(
    settings: Settings,
    source: RepositorySource,
    directory: BuildDirectory,
    log: BuildLog,
    *,
    commit: str = "",
    credentials: GitCredentials | None = None,
) -> FetchedCommit:
    """Check out a source like `fetch`, and return its commit with author, message and time.

    `credentials` are None where none can be stored, which changes what errors advise.
    """
    work = directory.folder / "checkout"
    work.mkdir()
    (work / "gitconfig").write_text(_CONFIG)
    wanted = commit or source.ref or "HEAD"
    log.say(f"fetching {source.url} at {wanted if wanted != 'HEAD' else 'its default branch'}")
    git = _Git(settings, source, work, credentials)
    done = await git.run(["sh", "-ec", _FETCH, "sh", _address(source), wanted], log)
    if done.how != "ok":
        raise await _fetch_error(git, wanted, done, log)
    found = (work / "commit").read_text(errors="replace").strip()
    if not _COMMIT.fullmatch(found):
        raise BuildError(f"{wanted!r} of {source.url} is not a commit; name a branch, a tag, or all digits of a commit")
    about = _about(found, work / "about")
    remove(work / "source" / ".git")
    (work / "source").rename(directory.source)
    remove(work)
    _check_files(settings, source, directory.source, log)
    log.say(f"commit {found}")
    return about


def _about(commit: str, path: Path) -> FetchedCommit:
    with path.open("rb") as file:
        text = file.read(_LONGEST_ABOUT).decode(errors="replace")
    at, author, message = (*text.split("\n", 2), "", "")[:3]
    return FetchedCommit(commit, author, message.strip(), float(at) if at.isdecimal() and len(at) < 12 else None)


@dataclass(frozen=True, slots=True)
class RemoteBranches:
    """The branches of a repository with their commits. `default` is empty if it has no commit."""

    default: str
    commits: Mapping[str, str]


async def list_branches(
    settings: Settings,
    source: RepositorySource,
    folder: Path,
    log: BuildLog,
    credentials: GitCredentials | None = None,
) -> RemoteBranches:
    """Ask a repository for its branches; `folder` is an empty one to work in. Raises BuildError."""
    work = folder / "listing"
    work.mkdir(parents=True)
    (work / "gitconfig").write_text(_CONFIG)
    git = _Git(settings, source, work, credentials)
    done = await git.run(["sh", "-ec", _LIST, "sh", _address(source)], log)
    if done.how != "ok":
        raise await _fetch_error(git, "HEAD", done, log)
    with (work / "refs").open("rb") as file:
        text = file.read(_LONGEST_LIST).decode(errors="replace")
    remove(work)
    head = re.search(r"^ref: refs/heads/(\S+)\tHEAD$", text, re.MULTILINE)
    commits = dict(
        reversed(found) for found in re.findall(r"^([0-9a-f]{40,64})\trefs/heads/(\S+)$", text, re.MULTILINE)
    )
    return RemoteBranches(head[1] if head and head[1] in commits else "", commits)


def _address(source: RepositorySource) -> str:
    return f"file://{quote(source.url)}" if source.local else source.url


class _Git:
    """git for one source, in a sandbox. `refused` says why its host could not be reached; empty if it could."""

    def __init__(
        self, settings: Settings, source: RepositorySource, work: Path, credentials: GitCredentials | None
    ) -> None:
        self.settings = settings
        self.source = source
        self.work = work
        self.credentials = credentials
        self.access = (credentials or GitCredentials()).prepare(source, work)
        self.refused = ""

    async def run(self, command: list[str], log: BuildLog | None) -> Finished:
        """Run a command that calls git. Raises BuildError if a local repository is not there."""
        settings, source, work = self.settings, self.source, self.work
        if source.local and not await asyncio.to_thread(Path(source.url).is_dir):
            raise BuildError(f"there is no repository at {source.url} on this server; correct the path")
        if source.ssh and (self.credentials is None or self.credentials.deploy_key is None):
            raise BuildError(f"{source.url} is read over SSH, and there is no deploy key for it; set one: {SET_KEY}")
        most = 2 * settings.source_mb * MIB
        shown = [Path(source.url)] if source.local else []
        env, trusted = _environment(source, work)
        readable = (*shown, *trusted, *self.access.readable)
        sandbox = build_sandbox(settings, readable, seconds=settings.clone_s, most_bytes=most)
        egress = _egress(settings, source)
        done = await sandbox.run(
            command,
            cwd=work,
            writable=[work],
            env={**env, **self.access.variables},
            seconds=settings.clone_s,
            egress=egress,
            secrets=self.access.secrets,
            heard=log.hear if log is not None else None,
            most_bytes=most,
        )
        self.refused = egress.refused[0] if egress is not None and egress.refused else ""
        return done


def _egress(settings: Settings, source: RepositorySource) -> EgressProxy | None:
    """Return the network access to the host of a source; None for a local one.

    A host that the operator lists with its port may have a private address.
    """
    if source.local:
        return None
    address = f"{source.host}:{source.port}"
    loopback = [address] if address in settings.git_hosts else []
    ports = {source.port} if source.ssh else PORTS
    return EgressProxy([source.host], ports=ports, loopback=loopback, most_bytes=2 * settings.source_mb * MIB)


def _environment(source: RepositorySource, work: Path) -> tuple[Mapping[str, str], list[Path]]:
    """Return the environment variables of git, and the existing certificate files that they name."""
    passed = {name: os.environ[name] for name in _PASSED if os.environ.get(name)}
    return {
        "GIT_CONFIG_GLOBAL": str(work / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "file" if source.local else "ssh" if source.ssh else "https",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C.UTF-8",
        **passed,
    }, [Path(value) for value in passed.values() if Path(value).exists()]


async def _fetch_error(git: _Git, wanted: str, done: Finished, log: BuildLog) -> MesocosmError:
    said, source, settings = done.output_tail, git.source, git.settings
    where = source.url
    if git.refused:
        return BuildError(f"{where} could not be reached: {git.refused}; try again later")
    if done.how == "timeout":
        return BuildError(
            f"{where} was not fetched within {settings.clone_s:g} s; make the repository smaller, or try again later"
        )
    if done.reason.endswith("folders deep"):
        return BuildError(f"{where} has folders more than {DEEPEST} levels deep; flatten them")
    if done.how == "limit" or "file too large" in said.lower() or "no space left" in said.lower():
        return disk_full_error(git.work) or _too_large(settings, where, done.reason)
    if re.search(_NO_REF, said, re.IGNORECASE):
        return await _no_ref(git, wanted)
    said = log.clean(said)
    last = _last(said) or f"git ended with code {done.code}"
    return BuildError(host_refusal(source, git.credentials, said) or f"{where} could not be fetched: {last}")


def _too_large(settings: Settings, where: str, reason: str = "") -> BuildError:
    """Return the error of a repository with too many bytes."""
    why = f" ({reason})" if reason else ""
    return BuildError(
        f"{where} is too large: the limit is {settings.source_mb} MiB{why}; keep datasets and recordings "
        "out of the repository"
    )


async def _no_ref(git: _Git, wanted: str) -> BuildError:
    source = git.source
    if wanted == "HEAD":
        return BuildError(f"{source.url} has no commit on its default branch; push one, or name a branch with `ref`")
    command = ["git", "ls-remote", "--heads", "--tags", _address(source)]
    listed = await git.run(command, None)
    names = re.findall(r"refs/(?:heads|tags)/(\S+?)(?:\^\{\})?$", listed.output_tail, re.MULTILINE)
    names = list(dict.fromkeys(names))
    more = ", …" if len(names) > _NAMED else ""
    there = f"; it has {', '.join(names[:_NAMED])}{more}" if names else ""
    if _COMMIT.fullmatch(wanted):
        return BuildError(f"{source.url} has no commit {wanted}; push it to a branch, or name another one{there}")
    if re.fullmatch(r"[0-9a-f]{6,63}", wanted):
        return BuildError(
            f"{source.url} has no commit {wanted}; write all 40 digits of a commit that is on a branch{there}"
        )
    if wanted.startswith(BRANCHES):
        return BuildError(f"{source.url} has no branch {wanted.removeprefix(BRANCHES)!r}{there}")
    slash = " If its name has a slash in it, give `ref` and `folder` beside the plain address." if source.folder else ""
    return BuildError(f"{source.url} has no branch or tag {wanted!r}{there}.{slash}")


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (telling or lines or [""])[-1].removeprefix("fatal: ").removeprefix("error: ")


def _check_files(settings: Settings, source: RepositorySource, root: Path, log: BuildLog) -> None:
    """Raise BuildError for too many or too large files and links out of the repository; log what was not fetched."""
    total = count = 0
    pointers = []
    for entry in walk(root):
        name = Path(entry.path).relative_to(root).as_posix()
        count += 1
        if entry.is_symlink():
            target = Path(os.path.realpath(entry.path))
            if not target.is_relative_to(root.resolve()):
                raise BuildError(f"{name} is a link to a place outside the repository; put the file itself there")
        elif entry.is_file(follow_symlinks=False):
            size = entry.stat(follow_symlinks=False).st_size
            total += size
            if size < 1024 and Path(entry.path).read_bytes().startswith(_POINTER):
                pointers.append(name)
    if count > MOST_FILES:
        raise BuildError(
            f"{source.url} has {count:,} files, more than the {MOST_FILES:,} that are taken; leave some out"
        )
    if total > settings.source_mb * MIB:
        raise _too_large(settings, source.url)
    if pointers:
        log.note(f"{', '.join(pointers[:3])}: kept by Git LFS, which is not fetched; only its pointer is there")
    if (root / ".gitmodules").exists():
        log.note("submodules are not fetched; copy what is needed into the repository")


def walk(root: Path) -> Iterator["os.DirEntry[str]"]:
    """Yield all files below a folder; links are not followed."""
    pending = [root]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(Path(entry.path))
                else:
                    yield entry
