"""Containers: what is started, and the engines that start them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import msgspec

from mesocosm.core.run import LeaseOwner

NetworkMode = Literal["public", "no-network", "allowlist"]


class NetworkPolicy(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a container may reach: everything public, nothing, or the hosts in `hosts` alone."""

    mode: NetworkMode = "public"
    hosts: tuple[str, ...] = ()


def is_root(user: str | int | None) -> bool:
    """Return whether a user of a container is root; none is."""
    return user is None or str(user) in {"root", "0"}


class ContainerImage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the file system of a container comes from: an image by name, else the Dockerfile of a build context."""

    name: str = ""
    context: Path | None = None
    build_seconds: float = 600.0

    def __str__(self) -> str:
        return self.name or f"{self.context}/Dockerfile"


class ContainerLimits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Limits of a container; None is no limit. Sizes are in MiB."""

    cpus: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    gpus: int = 0


class ContainerSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to start. `networks` are all policies that the container is to have, the first of them from its start.

    `ports` are ports of this machine's loopback that the container can reach at the same number of its own, whatever
    the policy. `users` are those that commands are to run as. `labels` are kept with the container, to tell whose it
    is.
    """

    image: ContainerImage
    limits: ContainerLimits = ContainerLimits()
    networks: tuple[NetworkPolicy, ...] = (NetworkPolicy(),)
    ports: tuple[int, ...] = ()
    users: tuple[str | int, ...] = ()
    workdir: str = ""
    env: dict[str, str] = {}
    labels: dict[str, str] = {}


class ContainerCommand(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command in a container, without a shell.

    By default it runs as root, or as the user of the image, in the working directory of the container, with its
    variables and those of `env`. After `seconds` it is ended.
    """

    argv: Sequence[str]
    user: str | int | None = None
    cwd: str = ""
    env: Mapping[str, str] = {}
    seconds: float | None = None
    stdin: bytes = b""


class CommandEnd(NamedTuple):
    """How a command in a container ended.

    `code` is its exit code, 128 + N for signal N. `out` and `err` hold the beginning and the end of what it wrote if
    that was too much; `dropped` counts the bytes between them. `late` means that it was ended for its timeout.
    """

    code: int
    out: bytes
    err: bytes
    seconds: float
    late: bool = False
    dropped: int = 0


class Container(Protocol):
    """A started container. Calls raise EpisodeError: sandbox_failed if the engine fails, else environment_error."""

    name: str

    async def exec(self, command: ContainerCommand) -> CommandEnd:
        """Run a command and wait for its end; what it leaves in the background lives on."""
        ...

    async def put(self, source: Path, target: str) -> None:
        """Copy a file to `target`, or the content of a folder into the folder `target`, which is created."""
        ...

    async def get(self, source: str, target: Path) -> bool:
        """Copy a file or folder out to `target`, which must not exist; return whether it was there.

        Links that lead out of it, devices and sockets are left behind.
        """
        ...

    async def admit(self, policy: NetworkPolicy) -> None:
        """Change what the container may reach to a policy of its spec."""
        ...

    async def stop(self) -> None:
        """End the container with all its processes, and remove its files. Never raise."""
        ...


class ContainerLease(msgspec.Struct, frozen=True, omit_defaults=True):
    """A container that exists, as its engine or its record tells: whose it is, and since when (UNIX seconds)."""

    engine: str
    name: str
    owner: LeaseOwner | None = None
    labels: dict[str, str] = {}
    since: float = 0.0


class ContainerEngine(Protocol):
    """Starts containers."""

    name: str

    def refusals(self, spec: ContainerSpec) -> Sequence[str]:
        """Return why this engine cannot start this; empty if it can. May read files, starts nothing."""
        ...

    def doubts(self, spec: ContainerSpec) -> Sequence[str]:
        """Return what readers of results must know of containers like this, as limits that are not enforced."""
        ...

    async def start(self, spec: ContainerSpec, notice: Callable[[str], None]) -> Container:
        """Build the image if necessary, once for all containers, and start one. Raise EpisodeError."""
        ...

    async def leases(self) -> Sequence[ContainerLease]:
        """Return the containers of this engine that mesocosm started on this machine. Raise InfrastructureError."""
        ...

    async def remove(self, name: str) -> None:
        """Remove a container by name, with its files. Raise InfrastructureError."""
        ...
