"""The virtual environment of a rollout: made once for what it declares, and used again."""

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from mesocosm.core.failure import MesocosmError, UsageError
from mesocosm.core.ids import digest
from mesocosm.rollouts.served.interpreter import Interpreter, fits, fitting, own
from mesocosm.rollouts.served.requirement import SERVER, SPOKEN, Declared, declared, satisfied

MARK = "mesocosm.json"
"""An environment with this file in it is whole."""

INSTALLER = ("PIP_", "UV_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "SSL_CERT_")
"""Variables of ours that tell an installer where packages come from; installing runs none of the rollout's code
unless it names a folder or an archive to build."""

_TAIL = 15


class Installation:
    """Finds or makes the environment that the rollout in `folder` needs, below `installs`."""

    def __init__(self, folder: Path, installs: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._installs = installs.absolute()
        ours = {name: value for name, value in os.environ.items() if name.startswith(INSTALLER)}
        self._environment = {**ours, **environment}

    async def python(self, notice: Callable[[str], None]) -> str:
        """Return the interpreter that runs the rollout: our own where that has everything it declares.

        Raises MesocosmError with the installer's last words.
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
            notice(f"rollout {self._folder.name}: making its virtual environment (Python {interpreter})")
            await self._make(place, interpreter, lines)
        return str(_program(place))

    def _place(self, interpreter: Interpreter, lines: Sequence[str]) -> Path:
        # Relative paths in requirements mean other things in other folders.
        key = digest([sorted(lines), interpreter.path, str(interpreter), str(self._folder)])[:16]
        return self._installs / f"{self._folder.name}-{key}"

    async def _make(self, place: Path, interpreter: Interpreter, lines: Sequence[str]) -> None:
        """Make an environment where it will stay, because it knows its own path; it counts once it has its mark."""
        self._installs.mkdir(parents=True, exist_ok=True)
        lock = place.with_suffix(".lock")
        with lock.open("a") as held:
            await asyncio.to_thread(_lock, held.fileno())
            if _whole(place):
                return
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
            try:
                await self._install(place, interpreter, lines)
            except BaseException:
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
                raise

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
        # A pip of our own installs into the environment from outside, so that none has to be made in there first.
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
    """The installer ended with an error; the message is what it said."""


def _lock(file: int) -> None:
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)


def _program(place: Path) -> Path:
    return place / "bin" / "python"


def _whole(place: Path) -> bool:
    return (place / MARK).is_file()
