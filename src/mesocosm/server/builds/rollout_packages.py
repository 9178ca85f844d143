"""Install what rollouts declare, in the sandbox, and set up the sandbox of their processes.

The packages of a rollout are installed once on a machine for each content of its requirements and its uv.lock, and each
interpreter, whoever asks for them: all runs and workers with the same content share the environment. An interpreter
that a sandboxed installation could write to is only started in a sandbox.
"""

import asyncio
import os
import shutil
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mesocosm.core.failure import InfrastructureError, UsageError
from mesocosm.rollouts.processes.installation import (
    Installation,
    InstallError,
    PackageSet,
    kept_environments,
    pip_command,
    requirement_files,
    venv_command,
)
from mesocosm.rollouts.processes.requirement import Interpreter, name_of
from mesocosm.rollouts.processes.sandboxed import WorkerSandbox, interpreter_folders
from mesocosm.rollouts.source import read_source
from mesocosm.sandboxes.disk import remove, settle
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.sandbox import choose
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.pip import PIP, RequirementLine, run_pip
from mesocosm.server.settings import Settings

PROJECT = "pyproject.toml"
_DAY_S = 86_400.0
_OPEN_FILES = 8192
_SPARED_S = 3_600.0
"""Seconds after the time limit of a run for which an environment that it began to use is not removed."""


@dataclass(frozen=True, slots=True)
class PreparedRollout:
    """What the processes of a rollout run with: the interpreter `python` with its packages, and their `sandbox`.

    Both are for `ProcessExecutor(folder, entrypoint, python=…, sandbox=…)`.
    """

    python: str
    sandbox: WorkerSandbox


async def prepare_rollout(settings: Settings, folder: Path, log: BuildLog) -> PreparedRollout:
    """Return the interpreter and the sandbox for the rollout in `folder`, a checkout that is only read.

    What it declares is installed if that was not done on this machine, with progress in `log`; a run that needs the
    same packages meanwhile waits, in this process or another, and takes over a failure. The environment stays for later
    runs, at least as long as a run may last (`run_s`). Cancelling ends the installation and removes what it left.

    Raises BuildError for the author, with the end of what pip printed; InfrastructureError if the disk or the place for
    packages is full; UsageError if there is no sandbox on this machine.
    """
    kind = choose(settings.sandbox, settings.unsafe_sandbox)
    disk = settings.rollout_disk_mb * MIB
    installs = packages_folder(settings)

    def say(words: str) -> None:
        log.say(words.replace(f"{installs}{os.sep}", ""))

    try:
        source = await asyncio.to_thread(read_source, folder)
        installation = Installation(
            folder,
            installs,
            {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            installer=SandboxedInstaller(settings, folder, log),
            content=source.digest,
        )
        found = await installation.python(say)
    except (InstallError, UsageError) as error:
        raise BuildError(log.clean(str(error).replace(f"{folder}{os.sep}", ""))) from error
    interpreter = () if found.folder is None else (found.folder, *interpreter_folders(Path(found.base.path)))
    sandbox = WorkerSandbox(
        kind=kind,
        allowance=ProgramLimits(processes=settings.rollout_processes, file_bytes=disk, open_files=_OPEN_FILES),
        most_memory=settings.rollout_memory_mb * MIB,
        most_disk=disk,
        hosts=settings.rollout_hosts,
        interpreter=interpreter,
    )
    return PreparedRollout(found.path, sandbox)


def packages_folder(settings: Settings) -> Path:
    """Return the folder of the environments of all rollouts."""
    return settings.data_dir.absolute() / "rollout-packages"


def sweep_packages(settings: Settings) -> int:
    """Remove environments that were unused for long, and what killed installations left; return their number."""
    before, left = _unused_before(settings, settings.rollout_packages_days * _DAY_S), time.time() - _DAY_S
    found = kept_environments(packages_folder(settings))
    return sum(kept.remove(before if kept.bytes else left) for kept in found)


class SandboxedInstaller:
    """Installs the requirements of the rollout in `folder` by pip in a sandbox. Implements installation.Installer.

    Only the operator's package index and the package hosts are reached. Settings of pip or uv in the folder have no
    effect, so requirements that would mean something else by them are refused.
    """

    def __init__(self, settings: Settings, folder: Path, log: BuildLog) -> None:
        self._settings = settings
        self._folder = folder
        self._log = log

    async def install(self, environment: Path, interpreter: Interpreter, packages: PackageSet) -> None:
        """Make a virtual environment with these packages. Raises InstallError, InfrastructureError."""
        lines = self._lines(packages)
        await asyncio.to_thread(self._make_room)
        await _make_venv(interpreter, environment)
        scratch = environment.with_name(f"{environment.name}-scratch")
        try:
            await asyncio.to_thread(scratch.mkdir)
            # pip builds packages of the folder in place, and what was checked out must not change.
            here = scratch if packages.portable else scratch / "source"
            if not packages.portable:
                await asyncio.to_thread(shutil.copytree, self._folder, here, symlinks=True)
            with requirement_files(packages) as words:
                files = {Path(word).parent for word in words if word.startswith(os.sep)}
                await run_pip(
                    self._settings,
                    [*pip_command(environment), *PIP, *words],
                    lines,
                    self._log,
                    cwd=here,
                    readable=[*files, *interpreter_folders(Path(interpreter.path))],
                    packages=environment,
                    scratch=scratch,
                )
        except BuildError as error:
            raise InstallError(f"rollout {self._folder.name}: {error}") from error
        finally:
            await asyncio.to_thread(remove, scratch)
        await asyncio.to_thread(settle, environment)

    def _lines(self, packages: PackageSet) -> list[RequirementLine]:
        """Return the requirements with their lines in the project file. Raises InstallError."""
        text = (self._folder / PROJECT).read_text(encoding="utf-8-sig")
        lines = [RequirementLine(PROJECT, _line_of(text, wanted), wanted) for wanted in packages.requirements]
        elsewhere = _uv_sources(text)
        for line in lines:
            if line.text.lstrip().startswith("-") or not line.text.isprintable():
                raise InstallError(f"{line} is not a requirement; options of pip have no place there")
            if name_of(line.text) in elsewhere:
                raise InstallError(
                    f"{line}: [tool.uv.sources] takes it from elsewhere, and a server installs from its package index "
                    "alone; publish it there, or put its code into the rollout"
                )
        return lines

    def _make_room(self) -> None:
        """Remove the longest unused environments until they are below their limit. Raises InfrastructureError."""
        settings = self._settings
        most = settings.rollout_packages_mb * MIB
        found = kept_environments(packages_folder(settings))
        size = sum(kept.bytes for kept in found)
        before = _unused_before(settings, 0.0)
        for kept in found:
            if size > most and kept.bytes and kept.remove(before):
                size -= kept.bytes
        if size > most:
            raise InfrastructureError(
                f"the packages of rollouts in use have more than {settings.rollout_packages_mb:,} MB on this worker; "
                "try later, or an administrator raises rollout_packages_mb"
            )


def _unused_before(settings: Settings, seconds: float) -> float:
    """Return the time before which an unused environment may go: no run that began to use it then still runs."""
    return time.time() - max(seconds, settings.run_s + _SPARED_S)


async def _make_venv(interpreter: Interpreter, environment: Path) -> None:
    """Make an empty virtual environment, outside of the sandbox: none of it is foreign. Raises InfrastructureError."""
    process = await asyncio.create_subprocess_exec(
        *venv_command(interpreter, environment),
        cwd=environment.parent,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise InfrastructureError(f"Python {interpreter} of this worker makes no virtual environment: {last}")


def _uv_sources(text: str) -> set[str]:
    """Return the packages that [tool.uv.sources] of a project file takes from elsewhere."""
    found: object = tomllib.loads(text)
    for key in ("tool", "uv", "sources"):
        found = found.get(key) if isinstance(found, dict) else None
    return {name_of(name) for name in found} if isinstance(found, dict) else set()


def _line_of(text: str, wanted: str) -> int:
    """Return the number of the line that has a requirement, 0 if none has it whole."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if wanted in line), 0)
