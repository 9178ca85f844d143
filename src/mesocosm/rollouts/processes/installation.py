"""The virtual environments of rollouts: created once per set of requirements, and shared by rollouts."""

import asyncio
import json
import os
import re
import shutil
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from mesocosm.core.failure import MesocosmError, UsageError
from mesocosm.core.ids import digest
from mesocosm.rollouts.processes.requirement import (
    SERVER,
    SPOKEN,
    Declared,
    Interpreter,
    declared,
    fits,
    fitting,
    own,
    satisfied,
)

MARK = "mesocosm.json"
"""An environment that contains this file is complete."""

INSTALLER = ("PIP_", "UV_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "SSL_CERT_")
"""Our variables that the installer also sees: where packages come from. Installing runs none of the rollout's code
unless a requirement names a folder or an archive to build."""

_TAIL = 15
_LOOK_S = 0.1
_LOCAL = re.compile(r"@|[/\\]|^\s*[.-]")
"""Marks a requirement whose meaning may depend on the folder: an address, a path, an option."""


class Installation:
    """Finds or creates the environment for the rollout in `folder`, below `installs`.

    With `installing` unset it only finds: installing may run code of the packages, with all our rights.
    """

    def __init__(
        self, folder: Path, installs: Path, environment: Mapping[str, str], *, installing: bool = True
    ) -> None:
        self._folder = folder
        self._installing = installing
        self._installs = installs.absolute()
        self._declared = environment
        ours = {name: value for name, value in os.environ.items() if name.startswith(INSTALLER)}
        self._environment = {**ours, **environment}

    async def python(self, notice: Callable[[str], None]) -> str:
        """Return the interpreter for the rollout: our own if it satisfies everything that the rollout declares.

        Raises MesocosmError with the end of the installer's output.
        """
        needs = declared(self._folder)
        if fits(own().version, needs.requires_python) and all(map(satisfied, needs.requirements)):
            return own().path
        interpreter = await self._interpreter(needs)
        lines = (*needs.requirements, *((SPOKEN,) if needs.shimmed else SERVER))
        stand_in = self._place(interpreter, needs.without_shimmed())
        if not needs.shimmed or not _whole(stand_in):
            try:
                return await self._environment_for(interpreter, lines, notice)
            except _InstallFailed as error:
                if not needs.shimmed:
                    raise MesocosmError(self._refusal(error)) from error
                first = error
            try:
                await self._environment_for(interpreter, needs.without_shimmed(), notice)
            except _InstallFailed:
                raise MesocosmError(self._refusal(first)) from first
        notice(
            f"rollout {self._folder.name}: osmosis-ai could not be installed, mesocosm's own stand-in serves; "
            f"remove {stand_in} to try again"
        )
        return str(_program(stand_in))

    async def _interpreter(self, needs: Declared) -> Interpreter:
        found = await fitting(needs.requires_python, self._environment)
        if found is None:
            raise UsageError(
                f"rollout {self._folder.name} needs Python {needs.requires_python}, and there is only {own()}: "
                "install one and put it on the path, or widen requires-python in its pyproject.toml"
            )
        return found

    async def _environment_for(
        self, interpreter: Interpreter, lines: Sequence[str], notice: Callable[[str], None]
    ) -> str:
        place = self._place(interpreter, lines)
        if not _whole(place):
            if not self._installing:
                raise MesocosmError(
                    f"rollout {self._folder.name}: what it declares ({', '.join(lines)}) is not installed, and nothing "
                    "is installed for a rollout in a sandbox; install it where the server runs, or make the virtual "
                    f"environment {place} by playing the rollout once without a sandbox"
                )
            await self._make(place, interpreter, lines, notice)
        return str(_program(place))

    def _place(self, interpreter: Interpreter, lines: Sequence[str]) -> Path:
        """Return the location of the environment for these requirements, the same for all rollouts that declare them.

        If their meaning may depend on the folder, or the rollout sets variables of the installer, it gets its own.
        """
        settings = {name: value for name, value in self._declared.items() if name.startswith(INSTALLER)}
        own_folder = "" if _portable(lines) and not _configures_uv(self._folder) else str(self._folder)
        content = digest([sorted(lines), interpreter.path, str(interpreter), settings, own_folder])
        return self._installs / f"{self._folder.name if own_folder else 'shared'}-{content[:16]}"

    async def _make(
        self, place: Path, interpreter: Interpreter, lines: Sequence[str], notice: Callable[[str], None]
    ) -> None:
        """Create an environment in its final location, since it contains its own path; the mark makes it complete."""
        name = f"rollout {self._folder.name}"
        self._installs.mkdir(parents=True, exist_ok=True)
        with place.with_suffix(".lock").open("a") as held:
            if not _locked(held.fileno()):
                notice(f"{name}: another process makes its virtual environment; waiting for it")
                while not _locked(held.fileno()):  # noqa: ASYNC110 -- another process, which sets no event
                    await asyncio.sleep(_LOOK_S)
            if _whole(place):
                return
            began, count = time.monotonic(), len(lines)
            packages = f"{count} requirement{'s' * (count != 1)}"
            notice(f"{name}: making its virtual environment (Python {interpreter}, {packages})")
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
            try:
                await self._install(place, interpreter, lines)
            except BaseException:
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
                raise
            notice(f"{name}: its virtual environment is ready after {time.monotonic() - began:.0f} s")

    async def _install(self, place: Path, interpreter: Interpreter, lines: Sequence[str]) -> None:
        uv = shutil.which("uv", path=self._environment.get("PATH", os.defpath))
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            if uv is not None:
                await self._run(uv, "venv", "--quiet", "--python", interpreter.path, str(place))
                await self._run(uv, "pip", "install", "--python", str(_program(place)), "-r", file.name)
            else:
                await self._install_by_pip(place, interpreter, file.name)
        mark = place / f"{MARK}.new"
        mark.write_text(json.dumps({"requirements": list(lines), "python": str(interpreter)}), encoding="utf-8")
        mark.replace(place / MARK)

    async def _install_by_pip(self, place: Path, interpreter: Interpreter, file: str) -> None:
        # Our own pip can install into the environment from outside, so the environment needs no pip.
        ours = find_spec("pip") is not None
        bare = ("--without-pip",) if ours else ()
        await self._run(interpreter.path, "-I", "-m", "venv", *bare, str(place))
        program = str(_program(place))
        pip = (own().path, "-I", "-m", "pip", "--python", program) if ours else (program, "-I", "-m", "pip")
        await self._run(*pip, "install", "--disable-pip-version-check", "--no-input", "-r", file)

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
            raise _InstallFailed(said.decode("utf-8", "replace"))

    def _refusal(self, error: "_InstallFailed") -> str:
        words = "\n".join(f"  | {line}" for line in str(error).strip().splitlines()[-_TAIL:])
        return (
            f"rollout {self._folder.name}: what its pyproject.toml declares could not be installed; "
            f"the installer's last words:\n{words}\n"
            "Mend the dependencies or the connection to the package index and run again."
        )


class _InstallFailed(Exception):
    """The installer failed; the message is its output."""


def _locked(file: int) -> bool:
    """Lock an open file unless another process has it; a blocking wait in a thread could not be cancelled."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _portable(lines: Sequence[str]) -> bool:
    """Return whether requirements mean the same in every folder: names and versions, no paths or addresses."""
    return not any(_LOCAL.search(line.partition(";")[0]) for line in lines)


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


def _program(place: Path) -> Path:
    return place / "bin" / "python"


def _whole(place: Path) -> bool:
    return (place / MARK).is_file()
