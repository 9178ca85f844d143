"""Folders of OpenEnv environments: their openenv.yaml, an interpreter for them, and their server."""

import asyncio
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.content import Content
from mesocosm.core.failure import InvalidInput, Problem, RunAborted, UsageError
from mesocosm.core.folder import files_below, from_home
from mesocosm.core.foreign import finite
from mesocosm.core.inherited import inherited
from mesocosm.environments.launch import EndedEarly, Launched, ServerPlace, launch_command
from mesocosm.environments.restarts import Restarts
from mesocosm.http.client import HttpClient
from mesocosm.sandboxes.installed import installed_python

MANIFEST = "openenv.yaml"
APP = "server.app:app"
_ASK_S = 60.0
_NO_PACKAGE = "attempted relative import beyond top-level package"
_READ = """
import importlib.util, json, sys
found = [name for name in ("openenv", "openenv_core", "uvicorn", "yaml") if importlib.util.find_spec(name)]
answer = {"found": found}
if "yaml" in found:
    import yaml
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            answer["manifest"] = yaml.safe_load(file)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        answer["broken"] = str(error)
json.dump(answer, sys.stdout, default=str)
"""
"""Run in the interpreter of an environment, which can read YAML; mesocosm cannot."""


class _Answer(msgspec.Struct):
    found: list[str]
    manifest: Any = None
    broken: str = ""

    @property
    def missing(self) -> list[str]:
        wanted = ["uvicorn", "yaml"] + ["openenv"] * (not {"openenv", "openenv_core"} & {*self.found})
        return [name for name in wanted if name not in self.found]


@dataclass(frozen=True, slots=True)
class OpenEnvFolder:
    """An environment as its author wrote it: the folder, its openenv.yaml, an interpreter that has its packages.

    `files` are the digests of what belongs to it, by name.
    """

    path: Path
    manifest: Mapping[str, Any]
    python: str
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.manifest.get("name") or self.path.name)

    @property
    def version(self) -> str:
        """Its version; that of its package if openenv.yaml names none."""
        project = self.project.get("project")
        packaged = project.get("version") if isinstance(project, dict) else None
        return str(self.manifest.get("version") or packaged or "1")

    @property
    def app(self) -> str:
        """The application to serve, `module:attribute`."""
        return str(self.manifest.get("app") or APP)

    @property
    def has_tasks(self) -> bool:
        """Whether openenv.yaml says that its server lists tasks."""
        found: Any = self.manifest
        for key in ("validation", "capabilities", "task_api"):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found is True

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The declared range of rewards."""
        found: Any = self.manifest
        for key in ("validation", "reward", "range"):
            found = found.get(key) if isinstance(found, Mapping) else None
        if not isinstance(found, list) or len(found) != 2:
            return None
        low, high = (finite(value) if isinstance(value, int | float) else None for value in found)
        return (low, high) if low is not None and high is not None and low < high else None

    @property
    def project(self) -> Mapping[str, Any]:
        """What its pyproject.toml says; {} without one, or if it cannot be read."""
        try:
            return tomllib.loads((self.path / "pyproject.toml").read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            return {}

    @property
    def package(self) -> str:
        """The name under which its code is a package: that of its own start script, else that of the folder."""
        project = self.project.get("project")
        scripts = project.get("scripts") if isinstance(project, Mapping) else None
        server = str(scripts.get("server", "")) if isinstance(scripts, Mapping) else ""
        module, own = server.partition(":")[0], self.app.partition(":")[0]
        return module.removesuffix(f".{own}") if module.endswith(f".{own}") else self.path.name

    def content(self) -> Content:
        """Return its content, to detect changes while it is played."""
        return Content(f"the environment {self.name}", self.files, lambda: _files(self.path))


def is_folder(source: str) -> bool:
    """Return whether the source of an environment is a folder rather than the URL of its server."""
    return not source.startswith(("http://", "https://"))


def read_folder(source: str, python: str = "") -> OpenEnvFolder:
    """Return the environment in a folder; `python` is an interpreter that has its packages.

    Without it, that of the folder's own .venv is taken, else the one that `mesocosm guests install openenv` made, else
    the one that runs this. Raises UsageError if there is no environment, or no interpreter; InvalidInput for a manifest
    that cannot be used.
    """
    path = from_home(source).absolute()
    if path.name == MANIFEST:
        path = path.parent
    if not (path / MANIFEST).is_file():
        problem = "has no openenv.yaml" if path.is_dir() else "is no folder"
        raise UsageError(
            f"{path} {problem}; name the folder of an OpenEnv environment, or the URL of its server, as in "
            "openenv:http://127.0.0.1:8000"
        )
    chosen, answer = _interpreter(path, python)
    if answer.broken or not isinstance(answer.manifest, dict):
        said = answer.broken or "it holds no mapping"
        raise InvalidInput(str(path / MANIFEST), [Problem("", said, "correct the YAML")])
    runtime = answer.manifest.get("runtime", "fastapi")
    if runtime != "fastapi":
        fix = "start its server yourself, and name the URL"
        raise InvalidInput(str(path / MANIFEST), [Problem("runtime", f"is {runtime!r}; only fastapi is started", fix)])
    return OpenEnvFolder(path, answer.manifest, chosen, _files(path))


def _files(path: Path) -> dict[str, str]:
    try:
        return files_below(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"{error.filename} cannot be read ({reason}), but it belongs to {path}") from error


def _interpreter(path: Path, named: str) -> tuple[str, _Answer]:
    lacking = []
    for candidate in [_named(named)] if named else _candidates(path):
        answer = _asked(candidate, path)
        if not answer.missing:
            return candidate, answer
        lacking.append(f"{candidate} lacks {', '.join(answer.missing)}")
    raise UsageError(
        f"no Python here can run the environment in {path}: {'; '.join(lacking)}. Install it with `mesocosm guests "
        f"install openenv`, or name an interpreter that has its packages: -P python=PATH"
    )


def _candidates(path: Path) -> Iterator[str]:
    own = path / ".venv" / "bin" / "python"
    if own.exists():
        yield str(own)
        return
    if installed := installed_python("openenv"):
        yield installed
    yield sys.executable


def _named(name: str) -> str:
    found = shutil.which(str(from_home(name)))
    if found is None:
        raise UsageError(f"python={name}: there is no such program; name an interpreter, as in ~/envs/x/bin/python")
    return str(Path(found).absolute())


def _asked(python: str, path: Path) -> _Answer:
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            [python, "-c", _READ, str(path / MANIFEST)],
            capture_output=True,
            timeout=_ASK_S,
            check=True,
            stdin=subprocess.DEVNULL,
            env=inherited(os.environ),
        )
        return msgspec.json.decode(done.stdout, type=_Answer)
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise UsageError(
            f"{python} cannot be used: {words[0] if words else f'exit code {error.returncode}'}"
        ) from error
    except (OSError, subprocess.TimeoutExpired, msgspec.DecodeError) as error:
        raise UsageError(f"{python} cannot be used: {error}") from error


class FolderServer:
    """The server of a folder, started here; one that has exited is started again for the next episode.

    `place` is where it runs. Its files must not change meanwhile.
    """

    def __init__(self, folder: OpenEnvFolder, place: ServerPlace, client: HttpClient, seconds: float) -> None:
        self._folder = folder
        self._place = place
        self._client = client
        self._seconds = seconds
        self._content = folder.content()
        self._as_package = False
        self._host: Launched | None = None
        self._lock = asyncio.Lock()
        self._restarts = Restarts("server")
        self._notice: Callable[[str], None] = lambda _: None

    async def open(self, notice: Callable[[str], None]) -> Launched:
        """Start it. Raises RunAborted with its last words; EpisodeError (cancelled) if a file has changed."""
        self._notice = notice
        async with self._lock:
            self._host = await self._started()
        return self._host

    async def host(self) -> Launched:
        """Return it while it runs, else start it again. Raises EpisodeError, RunAborted if it keeps exiting."""
        while True:
            host = self._host
            if host is None:
                raise RunAborted(f"the server of {self._folder.name!r} was not started, or is stopped")
            if host.process.returncode is None:
                return host
            async with self._lock:
                if self._host is host:
                    self._host = await self._restarts.again(host, self._started, self._notice)

    def warnings(self) -> Sequence[str]:
        """Return warnings about files that changed while it ran."""
        return self._content.warnings()

    async def close(self) -> None:
        """Stop it with everything that it started."""
        async with self._lock:
            host, self._host = self._host, None
        if host is not None:
            await host.process.stop()

    async def _started(self) -> Launched:
        await self._content.check()
        try:
            launched = await self._launched()
        except RunAborted as error:
            if self._as_package or not isinstance(error.__cause__, EndedEarly):
                raise
            if _NO_PACKAGE not in error.__cause__.stderr:
                raise
            # Its modules import each other as parts of a package, which the folder is when seen from outside.
            self._as_package = True
            launched = await self._launched()
        try:
            await self._content.check()
        except BaseException:
            await launched.process.stop()
            raise
        self._notice(f"started {launched.name} at {launched.url} (process {launched.process.pid})")
        return launched

    async def _launched(self) -> Launched:
        folder = self._folder
        app = f"{folder.package}.{folder.app}" if self._as_package else folder.app
        where = ["--app-dir", str(folder.path.parent)] if self._as_package else []

        def command(port: int) -> Sequence[str]:
            served = ["--host", "127.0.0.1", "--port", str(port), "--no-access-log", *where]
            return [folder.python, "-m", "uvicorn", app, *served]

        try:
            return await launch_command(
                f"uvicorn {app}", command, folder.path, self._place, self._client, seconds=self._seconds
            )
        except RunAborted as error:
            raise RunAborted(f"the server of {folder.path} does not start: {error}") from error.__cause__
