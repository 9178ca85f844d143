"""A copy of the code at another commit than the one checked out, in a separate directory.

Git writes it through a separate index, so the user's files, index and work trees stay unchanged.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.core.ids import digest
from mesocosm.rollouts.source import LEFT_OUT
from mesocosm.rollouts.tables import Code

_GIT_S = 300.0
_SUBMODULE = "160000"


def check_out(root: Path, *, commit: str = "", branch: str = "", cache: Path | None = None) -> Code:
    """Return a copy of the workspace `root` at a commit or at the tip of a branch.

    Copies are stored below `cache` (None: the user's cache directory) and reused while their files are unchanged.
    Raises UsageError if git cannot provide that commit with all its files, InfrastructureError if the copy cannot be
    written.
    """
    repository = _Repository(root.resolve())
    found = repository.resolve(commit, branch)
    inside = repository.inside()
    listed = repository.git("ls-tree", "-r", "-z", "--full-tree", found, *([inside] if inside else []))
    if not listed:
        raise UsageError(f"commit {found[:12]} has no files in {root}; name a commit that has this workspace")
    submodules = [line.partition("\t")[2] for line in listed.split("\0") if line.startswith(_SUBMODULE)]
    if submodules:
        raise UsageError(
            f"{submodules[0]} is a submodule, whose files commit {found[:12]} of {repository.top} does not hold; "
            "check that commit out yourself and leave commit_sha and branch out"
        )
    places = (cache or _cache()).absolute()
    try:
        places.mkdir(parents=True, exist_ok=True)
        key = digest([found, inside])[:16]
        with (places / f"{key}.lock").open("a") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            return Code(found, repository.copy(found, inside, places, key) / inside)
    except OSError as error:
        raise InfrastructureError(f"{places}: no code can be checked out there: {error.strerror or error}") from error


class _Repository:
    """The repository that contains a folder. Raises UsageError if there is none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.top = folder
        try:
            self.top = Path(self.git("rev-parse", "--show-toplevel").rstrip("\n"))
        except UsageError as error:
            raise UsageError(
                f"{folder} is in no git repository, so no commit or branch of it can be checked out; leave commit_sha "
                "and branch out to run the files as they are"
            ) from error

    def resolve(self, commit: str, branch: str) -> str:
        """Return the full id of a commit or of the tip of a branch; a local branch comes before one of origin."""
        names = (commit,) if commit else (f"refs/heads/{branch}", f"refs/remotes/origin/{branch}")
        for name in names:
            try:
                return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip()
            except UsageError:
                continue
        what = f"commit {commit}" if commit else f"branch {branch}"
        raise UsageError(f"{self.top} has no {what}; fetch it (`git fetch`) or name one that is there")

    def inside(self) -> str:
        """Return the path of the folder in the repository, empty for its root."""
        return self.git("rev-parse", "--show-prefix").rstrip("\n").rstrip("/")

    def copy(self, commit: str, inside: str, places: Path, key: str) -> Path:
        """Return the first unmodified copy of a commit, or a new one. Modified copies stay: runs may use them."""
        for number in count():
            place = places / (f"{key}-{number}" if number else key)
            tree, index = place / "tree", place / "index"
            if not place.exists():
                new = places / f"{key}.new"
                shutil.rmtree(new, ignore_errors=True)
                (new / "tree").mkdir(parents=True)
                self._fill(commit, inside, new / "tree", new / "index")
                new.rename(place)
                return tree
            if self._unchanged(inside, tree, index):
                return tree
        raise AssertionError("count() ends")

    def _fill(self, commit: str, inside: str, tree: Path, index: Path) -> None:
        self.git("read-tree", commit, tree=tree, index=index)
        paths = self.git("ls-files", "-z", "--", inside or ".", tree=tree, index=index)
        self.git("checkout-index", "-z", "--stdin", "--quiet", "-u", tree=tree, index=index, given=paths)
        if not (tree / inside).is_dir():
            raise UsageError(f"commit {commit[:12]} of {self.top} has no {inside}")

    def _unchanged(self, inside: str, tree: Path, index: Path) -> bool:
        """Return whether a copy has exactly the commit's files, unmodified."""
        if not index.is_file() or not (tree / inside).is_dir():
            return False
        part = ("--", inside or ".")
        wanted = {os.fsencode(name) for name in self.git("ls-files", "-z", *part, tree=tree, index=index).split("\0")}
        there = {os.fsencode(path.relative_to(tree)) for path in _files(tree)}
        return there <= wanted and not self.git("diff-files", "--name-only", *part, tree=tree, index=index)

    def git(self, *words: str, tree: Path | None = None, index: Path | None = None, given: str = "") -> str:
        """Return the output of git. Raises UsageError with git's message if it fails."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        where = self._folder
        if tree is not None and index is not None:
            variables |= {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(tree)}
            variables["GIT_DIR"] = self.git("rev-parse", "--absolute-git-dir").rstrip("\n")
            where = tree
        # The repository's fsmonitor setting may name a program, which git would run.
        command = ["git", "-c", "core.fsmonitor=false", *words]
        variables |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        try:
            done = subprocess.run(  # noqa: S603 -- git itself, and no shell
                command,
                cwd=where,
                input=os.fsencode(given),
                capture_output=True,
                env=variables,
                timeout=_GIT_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"git cannot be run in {where}: {error}") from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise UsageError(f"git {words[0]} failed in {self.top}: {said or f'exit code {done.returncode}'}")
        return os.fsdecode(done.stdout)


def _files(place: Path) -> Iterator[Path]:
    """Yield the files below a directory, except those that tools and runs create beside the source."""
    for entry in os.scandir(place):
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in LEFT_OUT:
                yield from _files(Path(entry.path))
        elif not entry.name.endswith(".pyc"):
            yield Path(entry.path)


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "mesocosm" / "checkouts"
