"""Containers through the command line of apptainer, for machines of a cluster: images alone, nothing is built.

Tested through a recorded command, without apptainer itself.
"""

import asyncio
import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from mesocosm.core.container import CommandEnd, ContainerCommand, ContainerLease, ContainerSpec, NetworkPolicy, is_root
from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError
from mesocosm.core.run import LeaseOwner
from mesocosm.sandboxes.containers import lease
from mesocosm.sandboxes.containers.archive import MOST_BYTES
from mesocosm.sandboxes.containers.command import MOST_OUTPUT, run_command
from mesocosm.sandboxes.containers.deadline import outer_seconds, timed, with_lateness
from mesocosm.sandboxes.containers.transfer import get_archive, is_packing, put_archive
from mesocosm.sandboxes.scratch import ScratchFolder

NAME = "apptainer"
_START_S = 3600.0
_CALL_S = 60.0
_OWN = ("PATH", "HOME", "TMPDIR", "USER", "XDG_RUNTIME_DIR")
_PASSED = "APPTAINERENV_"


class ApptainerContainers:
    """Starts instances of images. Implements core.container.ContainerEngine."""

    name = NAME

    def __init__(self, owner: LeaseOwner) -> None:
        self._owner = owner

    def refusals(self, spec: ContainerSpec) -> list[str]:
        """Return why this cannot be started: no command, a Dockerfile, a network that is not public, other accounts."""
        found: list[str] = []
        if shutil.which(NAME) is None:
            found.append("the command apptainer is not found; install it, or choose another engine")
        if not spec.image.name:
            found.append(f"{spec.image}: apptainer builds no Dockerfile; name an image with docker_image")
        if any(policy.mode != "public" for policy in spec.networks):
            found.append("its network is restricted, and instances of apptainer have that of this machine")
        found += [
            f"it runs commands as {user!r}, and instances of apptainer run as one account"
            for user in dict.fromkeys(spec.users)
            if not is_root(user)
        ]
        return found

    def doubts(self, spec: ContainerSpec) -> list[str]:
        """Return the limits that are not enforced."""
        limited = spec.limits.cpus or spec.limits.memory_mb or spec.limits.storage_mb
        return ["limits of processors, memory and storage are not enforced with apptainer"] if limited else []

    async def start(self, spec: ContainerSpec, notice: Callable[[str], None]) -> "ApptainerContainer":
        """Start an instance, which pulls its image if necessary. Raises EpisodeError."""
        del notice
        container = ApptainerContainer(spec)
        try:
            await container.begin(self._owner)
        except BaseException:
            await container.stop()
            raise
        return container

    async def leases(self) -> list[ContainerLease]:
        """Return the instances that have a record on this machine."""
        return [found for _, found in lease.recorded(NAME)]

    async def remove(self, name: str) -> None:
        """Stop an instance and remove its record. Raises InfrastructureError."""
        folder = lease.folder_of(NAME, name)
        listed = await _call("instance", "list", "--json", name)
        if _instances(listed.out):
            ended = await _call("instance", "stop", name)
            if ended.code:
                raise InfrastructureError(f"`apptainer instance stop {name}` ended with exit code {ended.code}")
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


class ApptainerContainer:
    """One instance. Implements core.container.Container."""

    def __init__(self, spec: ContainerSpec) -> None:
        self.name = lease.new_name()
        self._spec = spec
        self._scratch = ScratchFolder()

    async def begin(self, owner: LeaseOwner) -> None:
        """Start it. Raises EpisodeError (sandbox_failed)."""
        found = ContainerLease(NAME, self.name, owner, self._spec.labels, time.time())
        await asyncio.to_thread(lease.record, self._scratch.path, found)
        name = self._spec.image.name
        image = name if "://" in name or name.endswith(".sif") else f"docker://{name}"
        rights = ("--fakeroot",) if os.getuid() != 0 else ()
        gpus = ("--nv",) if self._spec.limits.gpus else ()
        words = ("instance", "start", "--containall", "--no-home", "--writable-tmpfs", *rights, *gpus, image, self.name)
        ended = await _call(*words, env=self._spec.env, seconds=_START_S)
        if ended.code or ended.late:
            said = (ended.err or ended.out).decode(errors="replace")[-4000:]
            raise EpisodeError(
                Cause.SANDBOX_FAILED,
                f"`apptainer instance start {image}` ended with exit code {ended.code}",
                stderr=said,
            )

    async def exec(self, command: ContainerCommand) -> CommandEnd:
        """Run a command in the instance. Raises EpisodeError if it has ended."""
        where = command.cwd or self._spec.workdir
        ended = await _call(
            *("exec", *(("--pwd", where) if where else ()), f"instance://{self.name}", *timed(command)),
            stdin=command.stdin,
            env={**self._spec.env, **command.env},
            seconds=outer_seconds(command),
            most=MOST_BYTES * 2 if is_packing(command.argv) else MOST_OUTPUT,
        )
        if ended.code == 255:
            listed = await _call("instance", "list", "--json", self.name)
            if not _instances(listed.out):
                raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"the instance {self.name} has ended")
        return with_lateness(ended, command)

    async def put(self, source: Path, target: str) -> None:
        """Copy a file or the content of a folder in. Raises EpisodeError."""
        await put_archive(self, source, target)

    async def get(self, source: str, target: Path) -> bool:
        """Copy a file or folder out. Raises EpisodeError."""
        return await get_archive(self, source, target)

    async def admit(self, policy: NetworkPolicy) -> None:
        """Do nothing: every policy is public."""
        assert policy in self._spec.networks

    async def stop(self) -> None:
        """Stop the instance and remove its record."""
        with contextlib.suppress(EpisodeError):
            await _call("instance", "stop", self.name)
        await asyncio.to_thread(self._scratch.remove)


def _instances(listed: bytes) -> list[object]:
    try:
        found = json.loads(listed)
    except ValueError:
        return []
    return list(found.get("instances") or ()) if isinstance(found, dict) else []


async def _call(
    *words: str,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    seconds: float | None = _CALL_S,
    most: int = MOST_OUTPUT,
) -> CommandEnd:
    """Run a command of apptainer, whose container gets the variables `env`. Raises EpisodeError (sandbox_failed)."""
    own = {
        name: value
        for name, value in os.environ.items()
        if name in _OWN or (name.startswith("APPTAINER_") and not name.startswith(_PASSED))
    }
    passed = {f"{_PASSED}{name}": value for name, value in (env or {}).items()}
    return await run_command([NAME, *words], stdin=stdin, env={**own, **passed}, seconds=seconds, most=most)
