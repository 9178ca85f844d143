"""Identify the code of a rollout: a digest of its files, and their commit."""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from mesocosm.core.failure import UsageError

LEFT_OUT = frozenset(
    {
        *(".venv", "venv", "__pycache__", "node_modules"),
        *(".git", ".mesocosm", ".osmosis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints"),
    }
)
"""Directories that are not source: output of tools and of runs."""

_BUILT = frozenset({"dist", "build"})
"""Directories that build tools create at the top of a project; deeper ones may be packages."""
_LEFT_OUT_FILES = frozenset({"uv.lock", ".git", ".DS_Store"})
_GIT_S = 5.0
MOST_CHANGES = 65_536


@dataclass(frozen=True, slots=True)
class Source:
    """The files of a rollout: the digest (`sha256:…`) of their paths and contents, their number and total bytes.

    `contents` maps paths to the digests of single files.
    """

    digest: str
    files: int
    size: int
    contents: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit of a work tree, and whether the folder has uncommitted changes."""

    id: str
    dirty: bool
    branch: str = ""


def read_source(folder: Path) -> Source:
    """Return the digest of the rollout in `folder`.

    Equal paths and contents give an equal digest on every machine; times, owners and permissions do not matter. Links
    to files count as the files. Raises UsageError for links to directories, broken links and unreadable files.
    """
    whole = sha256()
    size, contents = 0, dict[str, str]()
    for name, path in sorted(_files(folder, b"")):
        content, length = _content(path)
        whole.update(len(name).to_bytes(8, "big") + name + content)
        size += length
        contents[os.fsdecode(name)] = content.hex()
    return Source(f"sha256:{whole.hexdigest()}", len(contents), size, contents)


def read_commit(folder: Path) -> Commit | None:
    """Return the commit of `folder`; None without a repository, a commit, or git."""
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    status = _git(folder, "status", "--porcelain", "--", ".")
    if not commit or status is None:
        return None
    branch = _git(folder, "symbolic-ref", "--short", "--quiet", "HEAD")
    return Commit(commit.strip(), bool(status.strip()), (branch or "").strip())


def read_changes(folder: Path, without: Iterable[str] = ()) -> str:
    """Return the uncommitted changes of `folder`: a patch, and the names of untracked files.

    Files whose names match one of the patterns `without` are left out. It has at most MOST_CHANGES characters and a
    note about what is cut; it is empty if git reports nothing.
    """
    paths = (".", *(f":(exclude,glob,icase)**/{pattern}" for pattern in without))
    patch = _git(folder, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD", "--", *paths) or ""
    unknown = _git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", *paths) or ""
    changes = patch + "".join(f"new file {name}\n" for name in unknown.split("\0") if name)
    if len(changes) <= MOST_CHANGES:
        return changes
    return f"{changes[:MOST_CHANGES]}\n[{len(changes) - MOST_CHANGES:,} more characters are left out]\n"


def _files(folder: Path, prefix: bytes) -> Iterator[tuple[bytes, Path]]:
    """Yield each source file: its path relative to the rollout, with `/`, and its location."""
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror or error}") from error
    for entry in entries:
        path = Path(entry.path)
        name = prefix + os.fsencode(entry.name)
        if entry.is_dir():
            if entry.name in LEFT_OUT or (not prefix and entry.name in _BUILT) or entry.name.endswith(".egg-info"):
                continue
            if entry.is_symlink():
                raise UsageError(
                    f"{path} is a link to a directory, whose files no digest covers; copy them into {folder}"
                )
            yield from _files(path, name + b"/")
        elif entry.name in _LEFT_OUT_FILES or entry.name.endswith((".pyc", ".egg-info")):
            continue
        elif entry.is_file():
            yield name, path
        elif entry.is_symlink():
            raise UsageError(f"{path} is a link to nothing; remove it or mend it")


def _content(path: Path) -> tuple[bytes, int]:
    """Return the digest and length of a file's content, reading it in chunks."""
    digest, length = sha256(), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(2**20):
                digest.update(piece)
                length += len(piece)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    return digest.digest(), length


def _git(folder: Path, *words: str) -> str | None:
    """Return git's output for `folder`, or None if git fails."""
    # The repository's fsmonitor setting may name a program, which git would run.
    command = ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *words]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 -- git itself, and no shell
            command, capture_output=True, env=environment, timeout=_GIT_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None
