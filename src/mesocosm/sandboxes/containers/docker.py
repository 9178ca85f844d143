"""Containers through the command line of docker or podman, which is the same as far as it is used here.

Tests record how the command is called; both have also run all task folders of the tests by hand.
"""

import asyncio
import os
import posixpath
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from mesocosm.core.container import (
    CommandEnd,
    ContainerCommand,
    ContainerImage,
    ContainerLease,
    ContainerSpec,
    NetworkPolicy,
)
from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError
from mesocosm.core.run import LeaseOwner
from mesocosm.sandboxes.containers import lease
from mesocosm.sandboxes.containers.archive import MOST_BYTES
from mesocosm.sandboxes.containers.command import MOST_OUTPUT, run_command
from mesocosm.sandboxes.containers.content import folder_digest
from mesocosm.sandboxes.containers.deadline import outer_seconds, timed, with_lateness
from mesocosm.sandboxes.containers.doors import Doors
from mesocosm.sandboxes.containers.egress import Egress
from mesocosm.sandboxes.containers.transfer import write_archive
from mesocosm.sandboxes.log import Log
from mesocosm.sandboxes.process import ForeignProcess, start_process
from mesocosm.sandboxes.relay import Relay, Taker, carry

_COMMAND_S = 120.0
_PULL_S = 3600.0
_COPY_S = 300.0
_OWN_VARIABLES = frozenset({"PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "USER", "SSH_AUTH_SOCK"})
_OWN_PREFIXES = ("DOCKER_", "CONTAINER", "BUILDKIT_", "BUILDAH_", "STORAGE_", "REGISTRY_", "XDG_")
_PYTHON = "python3"
_BRIDGE = {"docker": "bridge", "podman": "podman"}
# `docker exec` cannot end what it started, so a program inside does it.


class CommandLineContainers:
    """Starts containers through `docker` or `podman`. Implements core.container.ContainerEngine."""

    def __init__(self, name: str, owner: LeaseOwner) -> None:
        self.name = name
        self._owner = owner
        self._images: dict[ContainerImage, asyncio.Task[str]] = {}

    def refusals(self, spec: ContainerSpec) -> list[str]:
        """Return why this cannot be started here: a command that is not there, services, ranges of addresses."""
        found: list[str] = []
        if shutil.which(self.name) is None:
            found.append(f"the command {self.name} is not found; install it, or choose -P engine=bubblewrap")
        context = spec.image.context
        if not spec.image.name and context is not None:
            if (context / "docker-compose.yaml").is_file():
                found.append(f"{context / 'docker-compose.yaml'} starts services beside the container")
            elif not (context / "Dockerfile").is_file():
                found.append(f"there is no {context / 'Dockerfile'} and no image is named")
        found += [
            f"the allowed host {host} is a range of addresses, and hosts are allowed by name here"
            for policy in spec.networks
            for host in policy.hosts
            if "/" in host
        ]
        return found

    def doubts(self, spec: ContainerSpec) -> list[str]:
        """Return the limits that are not enforced."""
        return [f"limits of storage are not enforced with {self.name}"] if spec.limits.storage_mb else []

    async def start(self, spec: ContainerSpec, notice: Callable[[str], None]) -> "CommandLineContainer":
        """Build or pull the image unless it is there, and start a container. Raises EpisodeError."""
        image = await self._image(spec.image, notice)
        container = CommandLineContainer(self.name, spec)
        try:
            await container.begin(image, lease.engine_labels(self._owner, spec.labels))
        except BaseException:
            await container.stop()
            raise
        return container

    async def _image(self, image: ContainerImage, notice: Callable[[str], None]) -> str:
        """Return the name of an image that is there. Everybody who needs it waits for one attempt."""
        task = self._images.get(image)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._images[image] = asyncio.create_task(self._provide(image, notice))
        return await asyncio.shield(task)

    async def _provide(self, image: ContainerImage, notice: Callable[[str], None]) -> str:
        if image.name:
            if (await _call(self.name, "image", "inspect", image.name, check=False)).code:
                notice(f"{self.name} pulls {image.name}")
                await _call(self.name, "pull", "--quiet", image.name, seconds=_PULL_S)
            return image.name
        assert image.context is not None
        tag = f"mesocosm-task:{(await asyncio.to_thread(folder_digest, image.context))[:32]}"
        # Once for each run, also if it is there: its base may have changed, and the engine keeps what has not.
        # Contexts of Terminal-Bench are copies, called like their task.
        folder = image.context if image.context.name != "environment" else image.context.parent
        notice(f"{self.name} builds the image of {folder.name}")
        words = ("build", "--quiet", "--tag", tag, "--label", "mesocosm.task=1", str(image.context))
        await _call(self.name, *words, seconds=image.build_seconds)
        return tag

    async def leases(self) -> list[ContainerLease]:
        """Return the containers with our label. Raises InfrastructureError if the engine does not answer."""
        form = (
            f'{{{{.Name}}}}\t{{{{index .Config.Labels "{lease.OWNER}"}}}}\t{{{{index .Config.Labels "{lease.SINCE}"}}}}'
        )
        try:
            words = ("ps", "--all", "--filter", f"label={lease.OWNER}", "--format", "{{.Names}}")
            names = (await _call(self.name, *words)).out.decode(errors="replace").split()
            if not names:
                return []
            # One that is removed meanwhile makes this fail, and the others are told all the same.
            ended = await _call(self.name, "inspect", "--format", form, *names, check=False)
        except EpisodeError as error:
            raise InfrastructureError(f"{error}; the containers of {self.name} cannot be listed") from error
        lines = [line.split("\t") for line in ended.out.decode(errors="replace").splitlines()]
        return [lease.of_labels(self.name, line[0].lstrip("/"), *line[1:]) for line in lines if len(line) == 3]

    async def remove(self, name: str) -> None:
        """Remove a container. Raises InfrastructureError."""
        try:
            await _call(self.name, "rm", "--force", "--volumes", name)
        except EpisodeError as error:
            raise InfrastructureError(f"{error}: {error.stderr.strip()}") from error


class CommandLineContainer:
    """One container. Implements core.container.Container."""

    def __init__(self, engine: str, spec: ContainerSpec) -> None:
        self.name = lease.new_name()
        self._engine = engine
        self._spec = spec
        allowed = {policy: policy.hosts for policy in spec.networks if policy.mode == "allowlist"}
        self._egress = Egress(allowed, spec.networks[0])
        self._doors: Doors | None = None
        self._gate: tuple[ForeignProcess, asyncio.Task[None]] | None = None
        self._relay: Relay | None = None

    async def begin(self, image: str, labels: Mapping[str, str]) -> None:
        """Start it. Raises EpisodeError (sandbox_failed)."""
        spec, limits = self._spec, self._spec.limits
        public = any(policy.mode == "public" for policy in spec.networks)
        words = ["run", "--detach", "--init", "--name", self.name]
        words += [word for name, value in labels.items() for word in ("--label", f"{name}={value}")]
        words += ["--network", _BRIDGE[self._engine] if public else "none"]
        if limits.cpus is not None:
            words += ["--cpus", f"{limits.cpus:g}"]
        if limits.memory_mb is not None:
            words += ["--memory", f"{limits.memory_mb}m", "--memory-swap", f"{limits.memory_mb}m"]
        if limits.gpus:
            words += ["--gpus", str(limits.gpus)]
        if spec.workdir:
            words += ["--workdir", spec.workdir]
        takers: dict[int, Taker] = {port: partial(carry, port) for port in spec.ports}
        if self._egress.port:
            takers[self._egress.port] = self._egress.serve
        if takers and os.getuid() != 0:
            self._relay = Relay(tuple(takers), takers=takers)
            words += ["--mount", f"type=bind,source={self._relay.socket},target={self._relay.socket}"]
        passed, env = _variables(spec.env)
        await _call(self._engine, *words, *passed, image, "sh", "-c", "sleep infinity", seconds=_COMMAND_S, env=env)
        if public and self._egress.policy.mode != "public":
            await self._network("disconnect")
        if takers:
            await self._open(takers)

    async def _open(self, takers: dict[int, Taker]) -> None:
        """Open the doors: by entering its network as root, otherwise by a program inside that needs Python."""
        if self._relay is not None:
            inside = self._relay.through_gate(["sleep", "infinity"], python=_PYTHON)
            logs = Log(), Log()
            process = await start_process(
                [self._engine, "exec", self.name, *inside],
                cwd=Path("/"),
                env=_own(),
                stdout=logs[0],
                stderr=logs[1],
            )
            self._gate = process, asyncio.ensure_future(self._relay.serve(process))
            return
        ended = await _call(self._engine, "inspect", "--format", "{{.State.Pid}}", self.name)
        self._doors = Doors(takers)
        await self._doors.open(int(ended.out.decode().strip() or 0))

    async def exec(self, command: ContainerCommand) -> CommandEnd:
        """Run a command in the container. Raises EpisodeError if it has ended or the engine does not answer."""
        passed, variables = _variables({**self._egress.variables, **command.env})
        words = [self._engine, "exec", *(["--interactive"] if command.stdin else []), *passed]
        words += ["--user", str(command.user)] if command.user is not None else []
        words += ["--workdir", command.cwd] if command.cwd else []
        words += [self.name, *timed(command)]
        ended = await run_command(words, stdin=command.stdin, env=_own(variables), seconds=outer_seconds(command))
        if ended.code in {125, 126, 127, 1, 255} and not await self._alive():
            raise EpisodeError(
                Cause.ENVIRONMENT_ERROR,
                f"the container {self.name} has ended",
                stderr=ended.err.decode(errors="replace"),
            )
        return with_lateness(ended, command)

    async def _alive(self) -> bool:
        ended = await _call(self._engine, "inspect", "--format", "{{.State.Running}}", self.name, check=False)
        return ended.out.strip() == b"true"

    async def put(self, source: Path, target: str) -> None:
        """Copy a file or the content of a folder in. Raises EpisodeError."""
        whole = await asyncio.to_thread(source.is_dir)
        folder = target if whole else posixpath.dirname(target) or "/"
        made = await self.exec(ContainerCommand(["mkdir", "-p", "--", folder], user=0, cwd="/", seconds=_COMMAND_S))
        if made.code:
            raise EpisodeError(
                Cause.ENVIRONMENT_ERROR, f"{folder} cannot be created in the container", stderr=made.err.decode()
            )
        words = f"{source}/." if whole else str(source)
        await _call(self._engine, "cp", words, f"{self.name}:{target}", seconds=_COPY_S)

    async def get(self, source: str, target: Path) -> bool:
        """Copy a file or folder out. Raises EpisodeError."""
        words = ("cp", f"{self.name}:{source}", "-")
        ended = await _call(self._engine, *words, seconds=_COPY_S, check=False, most=MOST_BYTES * 2)
        if ended.code:
            if not await self._alive():
                raise EpisodeError(Cause.ENVIRONMENT_ERROR, f"the container {self.name} has ended")
            return False
        if ended.dropped:
            raise EpisodeError(
                Cause.ENVIRONMENT_ERROR, f"{source} of the container is larger than {MOST_BYTES >> 20} MB"
            )
        await write_archive(ended.out, source, target)
        return True

    async def admit(self, policy: NetworkPolicy) -> None:
        """Connect the container to the network of the engine, or disconnect it. Raises EpisodeError."""
        assert policy in self._spec.networks
        was, self._egress.policy = self._egress.policy, policy
        if (was.mode == "public") != (policy.mode == "public"):
            await self._network("connect" if policy.mode == "public" else "disconnect")

    async def _network(self, change: str) -> None:
        await _call(self._engine, "network", change, _BRIDGE[self._engine], self.name)

    async def stop(self) -> None:
        """Remove the container. Its name is its own, so this is safe whatever has happened."""
        if self._doors is not None:
            await self._doors.close()
        if self._gate is not None:
            process, serving = self._gate
            await process.stop(0.0)
            await asyncio.gather(serving, return_exceptions=True)
        elif self._relay is not None:
            self._relay.close()
        try:
            await _call(self._engine, "rm", "--force", "--volumes", self.name, check=False)
        except EpisodeError:
            return


async def _call(
    engine: str,
    *words: str,
    seconds: float = _COMMAND_S,
    check: bool = True,
    env: Mapping[str, str] | None = None,
    most: int = MOST_OUTPUT,
) -> CommandEnd:
    """Run a command of the engine. Raises EpisodeError (sandbox_failed) if it fails, unless not to `check`."""
    ended = await run_command([engine, *words], env=_own(env), seconds=seconds, most=most)
    if check and (ended.code or ended.late):
        why = f"did not end within {seconds:g} s" if ended.late else f"ended with exit code {ended.code}"
        said = (ended.err or ended.out).decode(errors="replace")[-4000:]
        last = next((line for line in reversed(said.splitlines()) if line.strip()), "it said nothing")
        raise EpisodeError(Cause.SANDBOX_FAILED, f"`{engine} {words[0]}` {why}: {last.strip()}", stderr=said)
    return ended


def _own(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables of the engine's command: those of ours that it reads, and those that it is to pass on."""
    own = {
        name: value for name, value in os.environ.items() if name in _OWN_VARIABLES or name.startswith(_OWN_PREFIXES)
    }
    return {**(more or {}), **own}


def _variables(env: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return the words that give a container variables, and the variables of the command that reads them there.

    Values stay out of the words, which other accounts of this machine can read. A variable that the command itself
    needs cannot be passed like that.
    """
    own = _own()
    words = [word for name, value in env.items() for word in ("--env", f"{name}={value}" if name in own else name)]
    return words, dict(env)
