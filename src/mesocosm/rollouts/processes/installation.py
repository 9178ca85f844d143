"""The virtual environments of rollouts: created once per set of requirements, and shared by rollouts."""

import asyncio
import json
import os
import re
import shutil
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Protocol

from mesocosm.core.failure import MesocosmError, UsageError
from mesocosm.core.ids import digest
from mesocosm.rollouts.processes.requirement import (
    SERVER,
    SPOKEN,
    Declared,
    Interpreter,
    contradicts,
    declared,
    fits,
    fitting,
    own,
    satisfied,
)
from mesocosm.sandboxes.disk import remove, used

MARK = "mesocosm.json"
"""The file that names the complete environment in a folder. Its time is that of the last use."""

INSTALLER = ("PIP_", "UV_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "SSL_CERT_")
"""Our variables that the installer also sees: where packages come from. Installing runs none of the rollout's code
unless a requirement names a folder or an archive to build."""

_FAILED = "failed.json"
_TAIL = 15
_LOOK_S = 0.1
_LOCAL = re.compile(r"@|[/\\]|^\s*[.-]")
"""Marks a requirement whose meaning may depend on the folder: an address, a path, an option."""


class InstallError(MesocosmError):
    """The requirements of a rollout cannot be installed. The message has the end of the installer's output."""


@dataclass(frozen=True, slots=True)
class PackageSet:
    """What is installed together: `requirements`, and the versions of whatever else they bring (`locked`)."""

    requirements: tuple[str, ...]
    locked: tuple[str, ...] = ()

    @property
    def portable(self) -> bool:
        """Whether the requirements mean the same in every folder: names and versions, no paths or addresses."""
        return not any(_LOCAL.search(line.partition(";")[0]) for line in self.requirements)


class Installer(Protocol):
    """Makes virtual environments."""

    async def install(self, environment: Path, interpreter: Interpreter, packages: PackageSet) -> None:
        """Make the folder `environment`, a virtual environment of `interpreter` with the packages.

        Raises InstallError if they cannot be installed. What is left then is removed by the caller.
        """


@dataclass(frozen=True, slots=True)
class RolloutPython:
    """The interpreter for a rollout: the path of its program, and the interpreter that its environment was made of.

    `folder` is the folder of the virtual environment; None for our own interpreter.
    """

    path: str
    base: Interpreter
    folder: Path | None = None


class Installation:
    """Finds or creates the environment for the rollout in `folder`, below `installs`.

    `installer` makes it; None: pip or uv with all our rights, which may run code of the packages. With `installing`
    unset it is only found. `environment` are the declared variables. `content` identifies the files of the rollout,
    for requirements that depend on them; by default its path does.
    """

    def __init__(
        self,
        folder: Path,
        installs: Path,
        environment: Mapping[str, str],
        *,
        installer: Installer | None = None,
        installing: bool = True,
        content: str = "",
    ) -> None:
        self._folder = folder
        self._installing = installing
        self._installs = installs.absolute()
        self._declared = environment
        ours = {name: value for name, value in os.environ.items() if name.startswith(INSTALLER)}
        self._environment = {**ours, **environment}
        self._installer = installer or LocalInstaller(folder, self._environment)
        self._content = content

    async def python(self, notice: Callable[[str], None]) -> RolloutPython:
        """Return the interpreter for the rollout: our own if it satisfies everything that the rollout declares.

        Raises MesocosmError with the end of the installer's output.
        """
        needs = declared(self._folder)
        if (
            fits(own().version, needs.requires_python)
            and all(map(satisfied, needs.requirements))
            and not any(map(contradicts, needs.locked))
        ):
            return RolloutPython(own().path, own())
        interpreter = await self._interpreter(needs)
        packages = PackageSet((*needs.requirements, *((SPOKEN,) if needs.shimmed else SERVER)), needs.locked)
        without = PackageSet(needs.without_shimmed(), needs.locked)
        stand_in = self._place(interpreter, without)
        first: InstallError | None = None
        if not needs.shimmed or _complete(stand_in) is None:
            try:
                return await self._environment_for(interpreter, packages, notice)
            except InstallError as error:
                if not needs.shimmed:
                    raise
                first = error
        try:
            found = await self._environment_for(interpreter, without, notice)
        except InstallError as error:
            raise first or error from None
        notice(
            f"rollout {self._folder.name}: osmosis-ai could not be installed, mesocosm's own stand-in serves; "
            f"remove {stand_in} to try again"
        )
        return found

    async def _interpreter(self, needs: Declared) -> Interpreter:
        found = await fitting(needs.requires_python, self._environment)
        if found is None:
            raise UsageError(
                f"rollout {self._folder.name} needs Python {needs.requires_python}, and there is only {own()}: "
                "install one and put it on the path, or widen requires-python in its pyproject.toml"
            )
        return found

    async def _environment_for(
        self, interpreter: Interpreter, packages: PackageSet, notice: Callable[[str], None]
    ) -> RolloutPython:
        place = self._place(interpreter, packages)
        found = _used(place)
        if found is None:
            if not self._installing:
                raise MesocosmError(
                    f"rollout {self._folder.name}: what it declares ({', '.join(packages.requirements)}) is not "
                    "installed, and nothing is installed for a rollout in a sandbox; install it where the server runs, "
                    f"or make the virtual environment {place} by playing the rollout once without a sandbox"
                )
            found = await self._make(place, interpreter, packages, notice)
        return RolloutPython(str(_program(found)), interpreter, found)

    def _place(self, interpreter: Interpreter, packages: PackageSet) -> Path:
        """Return the folder of the environment for these packages, the same for all rollouts that declare them.

        If their meaning may depend on the folder, or the rollout sets variables of the installer, it gets its own.
        """
        settings = {name: value for name, value in self._declared.items() if name.startswith(INSTALLER)}
        own_folder = ""
        if not packages.portable or (isinstance(self._installer, LocalInstaller) and _configures_uv(self._folder)):
            own_folder = self._content or str(self._folder)
        locked = [list(packages.locked)] if packages.locked else []
        known = [sorted(packages.requirements), interpreter.path, str(interpreter), settings, own_folder, *locked]
        return self._installs / f"{self._folder.name if own_folder else 'shared'}-{digest(known)}"

    async def _make(
        self, place: Path, interpreter: Interpreter, packages: PackageSet, notice: Callable[[str], None]
    ) -> Path:
        """Create an environment in its final location, since it contains its own path; the mark makes it complete.

        Each try has a new folder, in which processes of an earlier one that was killed cannot write.
        """
        name = f"rollout {self._folder.name}"
        self._installs.mkdir(parents=True, exist_ok=True)
        with _lock_file(place).open("a") as held:
            since = time.time()
            if not _locked(held.fileno()):
                notice(f"{name}: another process makes its virtual environment; waiting for it")
                while not _locked(held.fileno()):  # noqa: ASYNC110 -- another process, which sets no event
                    await asyncio.sleep(_LOOK_S)
                if failed := _failure(place, since):
                    raise InstallError(failed)
            if (found := _used(place)) is not None:
                return found
            began, count = time.monotonic(), len(packages.requirements)
            words = f"{count} requirement{'s' * (count != 1)}"
            notice(f"{name}: making its virtual environment (Python {interpreter}, {words})")
            await asyncio.to_thread(_empty, place)
            environment = place / token_hex(4)
            try:
                await self._installer.install(environment, interpreter, packages)
                size = await asyncio.to_thread(used, [environment], 2**62, 2**62)
            except BaseException as error:
                await asyncio.to_thread(remove, environment)
                if isinstance(error, InstallError):
                    _write(place / _FAILED, {"error": str(error)})
                raise
            facts = {"requirements": list(packages.requirements), "python": str(interpreter), "bytes": size.bytes}
            _write(place / MARK, {"environment": environment.name, **facts})
            notice(f"{name}: its virtual environment is ready after {time.monotonic() - began:.0f} s")
            return environment


class LocalInstaller:
    """Installs by uv, or by pip where uv is missing, outside of any sandbox. Implements Installer."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = environment

    async def install(self, environment: Path, interpreter: Interpreter, packages: PackageSet) -> None:
        """Make a virtual environment with these packages. Raises InstallError."""
        uv = shutil.which("uv", path=self._environment.get("PATH", os.defpath))
        program = str(_program(environment))
        with requirement_files(packages) as words:
            if uv is not None:
                await self._run(uv, "venv", "--quiet", "--python", interpreter.path, str(environment))
                await self._run(uv, "pip", "install", "--python", program, *words)
            else:
                await self._run(*venv_command(interpreter, environment))
                pip = (*pip_command(environment), "install", "--disable-pip-version-check", "--no-input")
                await self._run(*pip, *words)

    async def _run(self, *command: str) -> None:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self._folder,
            env=self._environment,
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
            raise InstallError(self._refusal(said.decode("utf-8", "replace")))

    def _refusal(self, output: str) -> str:
        words = "\n".join(f"  | {line}" for line in output.strip().splitlines()[-_TAIL:])
        return (
            f"rollout {self._folder.name}: what its pyproject.toml declares could not be installed; "
            f"the installer's last words:\n{words}\n"
            "Mend the dependencies or the connection to the package index and run again."
        )


@contextmanager
def requirement_files(packages: PackageSet) -> Iterator[list[str]]:
    """Write packages into files of a folder that everybody may read; return the options of an installer."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        wanted, locked = Path(folder, "requirements.txt"), Path(folder, "locked.txt")
        wanted.write_text("\n".join(packages.requirements) + "\n", encoding="utf-8")
        locked.write_text("\n".join(packages.locked) + "\n", encoding="utf-8")
        yield ["-r", str(wanted), *(("-c", str(locked)) if packages.locked else ())]


def venv_command(interpreter: Interpreter, environment: Path) -> list[str]:
    """Return the command that makes an empty virtual environment, with a pip of its own only if we have none."""
    bare = ("--without-pip",) if find_spec("pip") is not None else ()
    return [interpreter.path, "-I", "-m", "venv", *bare, str(environment)]


def pip_command(environment: Path) -> list[str]:
    """Return the command of pip for an environment: our own, which can install from outside, or its pip."""
    program = str(_program(environment))
    return (
        [own().path, "-I", "-m", "pip", "--python", program]
        if find_spec("pip") is not None
        else [program, "-I", "-m", "pip"]
    )


@dataclass(frozen=True, slots=True)
class KeptEnvironment:
    """A folder of `installs`: the time of its last use and its size in bytes; size 0 if it was never completed."""

    place: Path
    used_at: float
    bytes: int

    def remove(self, before: float) -> bool:
        """Remove it unless it was used after a time or is being made; return whether it is gone."""
        with _lock_file(self.place).open("a") as held:
            if not _locked(held.fileno()):
                return False
            mark, aside = self.place / MARK, self.place / f"{MARK}.unused"
            try:
                # Whoever uses it now either comes too late to touch the mark, or has made it young.
                mark.replace(aside)
                if aside.stat().st_mtime > before:
                    aside.replace(mark)
                    return False
            except OSError:
                if self.used_at > before:
                    return False
            return remove(self.place)


def kept_environments(installs: Path) -> list[KeptEnvironment]:
    """Return the environments below a folder, the longest unused first, with those that were never completed."""
    found = []
    for place in installs.iterdir() if installs.is_dir() else ():
        mark = place / MARK
        try:
            if place.is_dir():
                complete = mark.is_file()
                size = int(json.loads(mark.read_bytes()).get("bytes", 0)) if complete else 0
                found.append(KeptEnvironment(place, (mark if complete else place).stat().st_mtime, size))
        except (OSError, ValueError):
            continue
    return sorted(found, key=lambda one: one.used_at)


def _lock_file(place: Path) -> Path:
    return place.with_suffix(".lock")


def _locked(file: int) -> bool:
    """Lock an open file unless another process has it; a blocking wait in a thread could not be cancelled."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _configures_uv(folder: Path) -> bool:
    """Return whether uv finds its own settings here: a uv.toml, or [tool.uv] in a pyproject.toml, here or above."""
    for place in (folder, *folder.parents):
        if (place / "uv.toml").is_file():
            return True
        project = place / "pyproject.toml"
        try:
            if "uv" in tomllib.loads(project.read_text(encoding="utf-8-sig")).get("tool", {}):
                return True
        except (OSError, ValueError, RecursionError):
            continue
    return False


def _program(environment: Path) -> Path:
    return environment / "bin" / "python"


def _empty(place: Path) -> None:
    remove(place)
    place.mkdir(exist_ok=True)


def _write(path: Path, facts: Mapping[str, object]) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(facts), encoding="utf-8")
    new.replace(path)


def _complete(place: Path) -> Path | None:
    """Return the complete environment in a folder, None if there is none."""
    try:
        environment = place / str(json.loads((place / MARK).read_bytes())["environment"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    # The program is a link to an interpreter that may have been removed since.
    return environment if _program(environment).exists() else None


def _used(place: Path) -> Path | None:
    """Return the complete environment in a folder and note that it is used now."""
    found = _complete(place)
    if found is not None:
        try:
            os.utime(place / MARK)
        except OSError:
            return None
    return found


def _failure(place: Path, since: float) -> str:
    """Return why the last try failed if it did after a time, otherwise an empty string."""
    path = place / _FAILED
    try:
        return str(json.loads(path.read_bytes())["error"]) if path.stat().st_mtime > since else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""
