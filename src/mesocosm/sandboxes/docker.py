"""Sandboxes through the docker command line, for machines with a docker engine on which bubblewrap does not work.

The engine itself limits memory and processes; network, files and permissions are as with bubblewrap. The caller's
command is run, so its interpreter must be among the readable folders and fit the image (its C library and system
libraries); the image itself needs `python3`. Containers have the label `mesocosm`. If this program is killed together
with its supervisors, remove the remaining containers with `docker rm --force` by that label.

Tested with a fake docker command, not with an engine.
"""

import asyncio
import contextlib
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.bubblewrap import ACCOUNT, FilesystemView
from mesocosm.sandboxes.program_limits import ProgramLimits

LABEL = "mesocosm"
PYTHON = "python3"
"""The image's interpreter, for our own programs inside the container."""
_SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64")))
_OURS = 8
"""Number of our own processes in a container: init, the port forwarder, and the processes that start it."""


@dataclass(frozen=True, slots=True)
class DockerProgram:
    """The container of one program: its image, its limits, and `own`, a private folder for its files."""

    image: str
    allowance: ProgramLimits
    most_memory: int
    own: Path
    name: str

    def words(self, command: Sequence[str], view: FilesystemView, env: Mapping[str, str]) -> list[str]:
        """Return the command that runs `command` in the container, with exactly these variables.

        Raises EpisodeError for a path or a variable that docker's command line cannot express.
        """
        number = ACCOUNT if os.getuid() == 0 else os.getuid()
        return [
            *("docker", "run", "--rm", "--init", "--pull", "missing", "--name", self.name, "--label", LABEL),
            *("--network", "none", "--read-only", "--user", f"{number}:{number}", "--ipc", "private"),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--log-driver", "none"),
            *self._limits(),
            *("--env-file", str(self._variables(env))),
            *(word for mount in self._mounts(view) for word in mount),
            *("--workdir", str(view.cwd or "/tmp"), self.image),  # noqa: S108
            *command,
        ]

    def _limits(self) -> Iterator[str]:
        allowance, scratch = self.allowance, self.allowance.scratch_bytes
        # The limit of memory and swap together equals that of memory, so there is no swap.
        yield from ("--memory", str(self.most_memory), "--memory-swap", str(self.most_memory))
        yield from ("--shm-size", str(scratch), "--tmpfs", f"/tmp:rw,nosuid,nodev,size={scratch},mode=1777")  # noqa: S108
        if allowance.processes is not None:
            yield from ("--pids-limit", str(allowance.processes + _OURS))
        files = {"fsize": allowance.file_bytes, "nofile": allowance.open_files, "core": 0}
        limits = {"cpu": allowance.cpu_seconds, **files}
        for name, value in limits.items():
            if value is not None:
                yield from ("--ulimit", f"{name}={value}:{value}")

    def _mounts(self, view: FilesystemView) -> Iterator[tuple[str, str]]:
        cwd = () if view.cwd is None else (view.cwd,)
        writable = {path.absolute() for path in view.writable}
        shown = {path.absolute() for path in (*view.readable, *cwd)} | writable
        for path in sorted(shown):
            if not any(path.is_relative_to(system) for system in _SYSTEM):
                yield _mount(path, path, readonly=path not in writable)
        for place, file in view.placed.items():
            # The engine itself writes a file of this name.
            if place.name != "hosts":
                yield _mount(file, place, readonly=True)
        for path in view.hidden:
            yield ("--tmpfs", f"{path.absolute()}:ro,size=4096")

    def _variables(self, env: Mapping[str, str]) -> Path:
        """Write the variables to a file. Other accounts of this machine could read them on the command line."""
        for name, value in env.items():
            if "\n" in value:
                raise EpisodeError(Cause.SANDBOX_FAILED, f"docker takes no variable of several lines: {name}")
        place = self.own / "variables"
        place.write_text("".join(f"{name}={value}\n" for name, value in env.items()), encoding="utf-8")
        place.chmod(0o600)
        return place

    async def remove(self) -> None:
        """Remove the container if it still exists: the docker command may have been killed without it."""
        with contextlib.suppress(OSError):
            process = await asyncio.create_subprocess_exec(
                *("docker", "rm", "--force", self.name),
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            await process.wait()

    def ending(self, code: int) -> str:
        """Return why the engine ended the program, as a phrase for its author; empty if it did not."""
        if code != 137:
            return ""
        return f"was killed by the engine, most likely for using more than {self.most_memory >> 20:,} MB of memory"


def container(image: str, allowance: ProgramLimits, most_memory: int, own: Path) -> DockerProgram:
    """Return a container with a unique name."""
    return DockerProgram(image, allowance, most_memory, own, f"{LABEL}-{uuid.uuid4().hex}")


def _mount(source: Path, target: Path, *, readonly: bool) -> tuple[str, str]:
    if "," in f"{source}{target}":
        raise EpisodeError(Cause.SANDBOX_FAILED, f"docker cannot show a path with a comma: {source}")
    return ("--mount", f"type=bind,source={source},target={target}" + (",readonly" if readonly else ""))
