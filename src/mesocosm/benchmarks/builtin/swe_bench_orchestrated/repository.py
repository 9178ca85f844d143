"""Git repositories, used so that no file an agent leaves in a checkout can be executed here.

The history is stored outside of every checkout: an agent sees neither later commits nor a configuration that git would
obey. Git runs only with our configuration, and the content of a checkout is only read.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mesocosm.benchmarks.builtin.swe_bench_orchestrated.instance import Instance
from mesocosm.benchmarks.orchestrated.confinement import passable
from mesocosm.core.failure import Cause, EpisodeError

MOST_PATCH = 400_000
"""Maximum characters of a diff; a larger one is not a repair."""
_CLONE_SECONDS = 1800.0
_GIT_SECONDS = 300.0
_NETWORK = ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")
_IGNORED = "__pycache__/\n*.pyc\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\n*.egg-info/\n"


@dataclass(frozen=True, slots=True)
class GitResult:
    """The result of a git command."""

    code: int
    output: bytes
    errors: str


async def git(words: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, data: bytes = b"") -> GitResult:
    """Run git with our configuration and `data` as its input. Raises EpisodeError if it cannot be run or hangs."""
    program = shutil.which("git")
    if program is None:
        raise EpisodeError(Cause.SANDBOX_FAILED, "there is no program git on PATH; install it")
    variables = {
        **{name: os.environ[name] for name in _NETWORK if name in os.environ},
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CEILING_DIRECTORIES": str(cwd.parent),
        **(env or {}),
    }
    process = await asyncio.create_subprocess_exec(
        *(program, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.autocrlf=false", *words),
        cwd=cwd,
        env=variables,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_CLONE_SECONDS if words[0] == "clone" else _GIT_SECONDS):
            output, errors = await process.communicate(data)
    except TimeoutError as error:
        raise EpisodeError(Cause.SANDBOX_FAILED, f"git {words[0]} did not end in time") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return GitResult(process.returncode or 0, output, errors.decode("utf-8", "replace"))


async def applies(patch: str, folder: Path) -> str:
    """Apply a patch to the files of a folder; return why it does not apply, or an empty string."""
    # Without any repository: one that an agent left in the folder could make git run its filters.
    done = await git(
        ["apply", "--whitespace=nowarn", "-"], folder, {"GIT_DIR": "/nonexistent"}, patch.encode("utf-8", "replace")
    )
    return done.errors.strip() or f"git apply ended with {done.code}" if done.code else ""


@dataclass
class Checkout:
    """The files of a commit in `folder`; git's own data is stored elsewhere."""

    folder: Path
    variables: Mapping[str, str]
    commit: str

    async def diff(self) -> str:
        """Return the changes as a patch. Raises EpisodeError if git fails."""
        await asyncio.to_thread(_remove_foreign_git, self.folder)
        for words in (["add", "-A"], ["diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", self.commit]):
            done = await git(words, self.folder, self.variables)
            if done.code:
                raise EpisodeError(Cause.SANDBOX_FAILED, f"git {words[0]} failed in a checkout", detail=done.errors)
        return done.output.decode("utf-8", "replace")

    async def changed(self) -> list[str]:
        """Return the paths of the commit's files that are not as in the commit. Raises EpisodeError if git fails."""
        words = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", self.commit]
        done = await git(words, self.folder, self.variables)
        if done.code:
            raise EpisodeError(Cause.SANDBOX_FAILED, "git diff failed in a checkout", detail=done.errors)
        return [path for path in done.output.decode("utf-8", "surrogateescape").split("\0") if path]

    async def restore(self, paths: Sequence[str]) -> None:
        """Restore files to the commit; those that are not in it are removed."""
        for path in paths:
            # A parent folder may have become a link that leads out of the checkout.
            above = [self.folder / parent for parent in reversed(Path(path).parents) if parent.name]
            for place in (*above, self.folder / path):
                if place.is_symlink() or (place.is_file() and place not in above):
                    place.unlink()
                    break
            await git(["checkout", "-f", self.commit, "--", path], self.folder, self.variables)


def _remove_foreign_git(folder: Path) -> None:
    """Remove nested `.git` entries, which would make git treat a folder as a repository and obey its configuration."""
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            if name.lower() == ".git":
                path = Path(place, name)
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink()
        folders[:] = [name for name in folders if name.lower() != ".git"]


@dataclass
class Repositories:
    """The repositories of all instances, each fetched once. `local` is a folder with repositories, if there is one.

    `root` is an absolute path without links. Do not use this after that folder is removed.
    """

    root: Path
    local: Path | None = None
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)
    _known: dict[str, Path] = field(default_factory=dict)

    async def checkout(self, instance: Instance) -> Checkout:
        """Return the files of an instance's commit in a new folder. Raises EpisodeError."""
        store = await self._objects(instance)
        place = Path(tempfile.mkdtemp(dir=self.root))
        folder, private = passable(place / "workspace"), place / "git"
        done = await git(["init", "-q", "--bare", str(private)], place)
        if not done.code:
            (private / "objects/info/alternates").write_text(f"{store / 'objects'}\n")
            (private / "info/exclude").write_text(_IGNORED)
            variables = {"GIT_DIR": str(private), "GIT_WORK_TREE": str(folder)}
            commit = await self._commit(store, instance)
            for words in (["read-tree", commit], ["checkout-index", "-q", "-a", "-f"]):
                done = done if done.code else await git(words, folder, variables)
        if done.code:
            message = f"{instance.repository} at {instance.commit} could not be checked out"
            raise EpisodeError(Cause.SANDBOX_FAILED, message, detail=done.errors)
        return Checkout(folder, variables, commit)

    async def _commit(self, store: Path, instance: Instance) -> str:
        name = "HEAD" if instance.files else instance.commit
        done = await git(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"], store, {"GIT_DIR": str(store)})
        if done.code:
            where = f"its copy at {store}" if self.local is not None else "its repository"
            message = f"{instance.id}: there is no commit {instance.commit} of {instance.repository} in {where}"
            raise EpisodeError(Cause.SANDBOX_FAILED, message)
        return done.output.decode().strip()

    async def _objects(self, instance: Instance) -> Path:
        """Return the git directory that holds an instance's commit; clone or create it on first use."""
        key = instance.id if instance.files else instance.repository
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._known:
                if instance.files:
                    self._known[key] = await self._made(instance)
                else:
                    self._known[key] = self._copy(instance.repository) or await self._cloned(instance.repository)
            return self._known[key]

    def _copy(self, repository: str) -> Path | None:
        """Return the git directory of a repository in the local folder."""
        if self.local is None:
            return None
        owner, _, name = repository.rpartition("/")
        for folder in (f"{owner}/{name}", f"{owner}__{name}", name):
            for path in (self.local / folder, self.local / f"{folder}.git"):
                found = next((git_dir for git_dir in (path / ".git", path) if (git_dir / "objects").is_dir()), None)
                if found is not None:
                    return found.resolve()
        message = f"{self.local} holds no repository {repository}: neither {owner}/{name} nor {owner}__{name}"
        raise EpisodeError(Cause.SANDBOX_FAILED, f"{message}; clone it there, or leave repos_path out")

    async def _cloned(self, repository: str) -> Path:
        place = Path(tempfile.mkdtemp(dir=self.root)) / "clone"
        done = await git(["clone", "-q", "--bare", f"https://github.com/{repository}.git", str(place)], self.root)
        if done.code:
            shutil.rmtree(place.parent, ignore_errors=True)
            message = f"{repository} could not be cloned; name a folder with a copy by the parameter repos_path"
            raise EpisodeError(Cause.SANDBOX_FAILED, message, detail=done.errors)
        return place

    async def _made(self, instance: Instance) -> Path:
        """Return a new repository with one commit, with the same digest every time."""
        place = Path(tempfile.mkdtemp(dir=self.root))
        for path, text in instance.files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text, encoding="utf-8")
        who = {"GIT_AUTHOR_NAME": "sample", "GIT_AUTHOR_EMAIL": "sample@mesocosm.example"}
        who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
        when = {f"GIT_{role}_DATE": "2026-01-01T00:00:00Z" for role in ("AUTHOR", "COMMITTER")}
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
            done = await git(words, place, {**who, **when})
            if done.code:
                message = f"the repository of {instance.id} could not be made"
                raise EpisodeError(Cause.SANDBOX_FAILED, message, detail=done.errors)
        return place / ".git"
