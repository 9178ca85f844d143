"""Containers without images: bubblewrap shows the system of this machine, read-only, below a folder of their own.

For tasks that need no more than a base system. Root of the container is an account without rights on this machine; it
is the only account. What the container writes goes to its folder, in the temporary directory.
"""

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from mesocosm.core.container import CommandEnd, ContainerCommand, ContainerLease, ContainerSpec, NetworkPolicy, is_root
from mesocosm.core.failure import Cause, EpisodeError, InfrastructureError
from mesocosm.core.run import LeaseOwner
from mesocosm.sandboxes import cgroup
from mesocosm.sandboxes.bubblewrap import ACCOUNT, available, filter_file, hand_over
from mesocosm.sandboxes.containers import lease
from mesocosm.sandboxes.containers.archive import MOST_BYTES
from mesocosm.sandboxes.containers.command import MOST_OUTPUT, run_command
from mesocosm.sandboxes.containers.dockerfile import BuildStep, Dockerfile, read_dockerfile
from mesocosm.sandboxes.containers.doors import Doors
from mesocosm.sandboxes.containers.egress import Egress
from mesocosm.sandboxes.containers.transfer import get_archive, is_packing, put_archive
from mesocosm.sandboxes.log import Log
from mesocosm.sandboxes.process import ForeignProcess, start_process
from mesocosm.sandboxes.relay import Taker, carry
from mesocosm.sandboxes.scratch import ScratchFolder

NAME = "bubblewrap"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENVIRONMENT = {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"}
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/ssl/certs", "/nix/store")
_FOLDERS = ("etc", "root", "home", "tmp", "var/tmp", "opt", "srv", "run", "mnt")
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
    "etc/group": "root:x:0:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/hostname": "container\n",
}
_ENTER = str(Path(__file__).with_name("enter.py"))
_RIGHTS = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
_START_S = 30.0


class BubblewrapContainers:
    """Starts containers without images. Implements core.container.ContainerEngine."""

    name = NAME

    def __init__(self, owner: LeaseOwner) -> None:
        self._owner = owner

    def refusals(self, spec: ContainerSpec) -> list[str]:
        """Return why this cannot be started without an image."""
        works = available()
        if not works:
            return [works.reason]
        named = spec.image.name
        found = [f"{spec.image}: {problem}" for problem in _recipe(spec).refused]
        if named and named.lower().startswith("mcr.microsoft.com/windows"):
            found.append(f"{named} is an image of Windows")
        found += [
            f"it runs commands as {user!r}, and the only account without an image is root"
            for user in dict.fromkeys(spec.users)
            if not is_root(user)
        ]
        found += [
            f"the allowed host {host} is a range of addresses, and hosts are allowed by name here"
            for policy in spec.networks
            for host in policy.hosts
            if "/" in host
        ]
        if spec.limits.gpus:
            found.append("it needs a GPU, and containers without an image have none")
        return found

    async def start(self, spec: ContainerSpec, notice: Callable[[str], None]) -> "BubblewrapContainer":
        """Start a container and follow its Dockerfile. Raises EpisodeError."""
        del notice
        recipe = _recipe(spec)
        container = BubblewrapContainer(spec, recipe)
        try:
            await container.begin(self._owner)
            for step in recipe.steps:
                await container.follow(step)
            if spec.workdir or recipe.workdir != "/":
                await container.exec(ContainerCommand(["mkdir", "-p", "--", container.workdir], cwd="/"))
        except BaseException:
            await container.stop()
            raise
        return container

    def doubts(self, spec: ContainerSpec) -> list[str]:
        """Return what is other than with an image."""
        limits = spec.limits
        found = [f"no image is used: containers have the system of this machine in place of {_recipe(spec).base}"]
        if (limits.cpus or limits.memory_mb) and cgroup.why_not():
            found.append(f"limits of processors and memory are not enforced here: {cgroup.why_not()}")
        elif limits.cpus and not limits.memory_mb:
            found.append("a limit of processors without one of memory is not enforced without an image")
        if limits.storage_mb:
            found.append("limits of storage are not enforced without an image")
        if any(policy.mode == "public" for policy in spec.networks):
            found.append(
                "the public network is reached by HTTP and HTTPS alone, through a proxy that HTTPS_PROXY names"
            )
        return found

    async def leases(self) -> list[ContainerLease]:
        """Return the containers that have a folder on this machine."""
        return [found for _, found in lease.recorded(NAME)]

    async def remove(self, name: str) -> None:
        """Remove the folder of a container, whose processes ended with their owner. Raises InfrastructureError."""
        folder = lease.folder_of(NAME, name)
        await asyncio.to_thread(_remove, folder)
        if folder.exists():
            raise InfrastructureError(f"{folder} of the container {name} cannot be removed; is it yours?")


class BubblewrapContainer:
    """One container. Implements core.container.Container."""

    def __init__(self, spec: ContainerSpec, recipe: Dockerfile) -> None:
        self.name = lease.new_name()
        self.workdir = spec.workdir or recipe.workdir
        self._spec = spec
        self._context = spec.image.context
        self._env = {**_ENVIRONMENT, **recipe.env, **spec.env}
        self._scratch = ScratchFolder()
        self._root = self._scratch.path / "root"
        allowed = {policy: _hosts(policy) for policy in spec.networks if policy.mode != "no-network"}
        self._egress = Egress(allowed, spec.networks[0])
        self._group: cgroup.Cgroup | None = None
        self._process: ForeignProcess | None = None
        self._inside = 0
        self._doors: Doors | None = None

    async def begin(self, owner: LeaseOwner) -> None:
        """Start the container, before its Dockerfile is followed. Raises EpisodeError (sandbox_failed)."""
        found = ContainerLease(NAME, self.name, owner, self._spec.labels, time.time())
        try:
            await asyncio.to_thread(self._prepare, found)
        except OSError as error:
            raise EpisodeError(Cause.SANDBOX_FAILED, f"the folder of a container cannot be made: {error}") from error
        ready = asyncio.Event()
        command = _confined(self._root, ["sh", "-c", "echo ready; exec sleep infinity"])
        self._process = await start_process(
            [*(self._group.words() if self._group is not None else ()), *command],
            cwd=self._scratch.path,
            env={"PATH": PATH},
            stdout=Log(heard=lambda _: ready.set()),
            stderr=Log(),
        )
        await self._ready(ready)
        self._inside = _leaf(self._process.pid)
        takers: dict[int, Taker] = {port: partial(carry, port) for port in self._spec.ports}
        if self._egress.port:
            takers[self._egress.port] = self._egress.serve
        if takers:
            self._doors = Doors(takers)
            await self._doors.open(self._inside)

    async def _ready(self, ready: asyncio.Event) -> None:
        assert self._process is not None
        waits = [asyncio.ensure_future(ready.wait()), asyncio.ensure_future(self._process.wait())]
        try:
            await asyncio.wait(waits, timeout=_START_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
        if not ready.is_set():
            said = self._process.stderr_tail()
            raise EpisodeError(Cause.SANDBOX_FAILED, "bubblewrap started no container", stderr=said)

    def _prepare(self, found: ContainerLease) -> None:
        self._root.mkdir()
        for folder in _FOLDERS:
            (self._root / folder).mkdir(parents=True)
        for place, text in _FILES.items():
            (self._root / place).write_text(text, encoding="utf-8")
        for folder in ("tmp", "var/tmp"):
            (self._root / folder).chmod(0o1777)
        self._root.chmod(0o755)
        hand_over(self._root)
        lease.record(self._scratch.path, found)
        limits = self._spec.limits
        if limits.memory_mb is not None:
            self._group = cgroup.make(cgroup.CgroupLimits(limits.memory_mb << 20, None, limits.cpus))

    async def follow(self, step: BuildStep) -> None:
        """Follow one instruction of the Dockerfile. Raises EpisodeError with its line."""
        if step.does == "run":
            await self.exec(ContainerCommand(["mkdir", "-p", "--", step.cwd], cwd="/"))
            seconds = self._spec.image.build_seconds
            ended = await self.exec(ContainerCommand(step.argv, cwd=step.cwd, env=step.env, seconds=seconds))
            if ended.code:
                why = f"did not end within {seconds:g} s" if ended.late else f"ended with exit code {ended.code}"
                raise EpisodeError(
                    Cause.ENVIRONMENT_ERROR,
                    f"line {step.line} of the Dockerfile, RUN {step.text[:200]}, {why}",
                    stderr=(ended.err or ended.out).decode(errors="replace")[-4000:],
                )
            return
        assert self._context is not None
        for source in step.sources:
            for path in _sources(self._context, source):
                target = step.target
                if path.is_file() and (target.endswith("/") or len(step.sources) > 1 or "*" in source):
                    target = f"{target.rstrip('/')}/{path.name}"
                await self.put(path, target.rstrip("/") or "/")

    async def exec(self, command: ContainerCommand) -> CommandEnd:
        """Run a command in the container. Raises EpisodeError."""
        if not is_root(command.user):
            raise EpisodeError(
                Cause.ENVIRONMENT_ERROR,
                f"{command.argv[0]} is to run as {command.user!r}; the only account here is root",
            )
        if self._process is None or self._process.returncode is not None or not self._inside:
            raise self._gone()
        most = MOST_BYTES * 2 if is_packing(command.argv) else MOST_OUTPUT
        rules = filter_file()
        wanted = {
            "argv": list(command.argv),
            "env": {**self._env, **self._egress.variables, **command.env},
            "cwd": command.cwd or self.workdir,
            "filter": str(rules) if rules is not None else "",
        }
        number = os.memfd_create("wanted")
        try:
            os.write(number, json.dumps(wanted).encode())
            os.lseek(number, 0, os.SEEK_SET)
            entering = [sys.executable, "-I", "-S", _ENTER, str(self._inside), str(number)]
            ended = await run_command(
                [*(self._group.words() if self._group is not None else ()), *entering],
                stdin=command.stdin,
                env={"PATH": PATH},
                seconds=command.seconds,
                most=most,
                pass_fds=(number,),
            )
        finally:
            os.close(number)
        if ended.code and not os.path.exists(f"/proc/{self._inside}/ns/mnt"):  # noqa: ASYNC240, PTH110 -- /proc
            raise self._gone()
        return ended

    def _gone(self) -> EpisodeError:
        return EpisodeError(
            Cause.ENVIRONMENT_ERROR,
            "the container has ended: all its processes were killed, from inside or by the kernel",
        )

    async def put(self, source: Path, target: str) -> None:
        """Copy a file or the content of a folder in. Raises EpisodeError."""
        await put_archive(self, source, target)

    async def get(self, source: str, target: Path) -> bool:
        """Copy a file or folder out. Raises EpisodeError."""
        return await get_archive(self, source, target)

    async def admit(self, policy: NetworkPolicy) -> None:
        """Change what the proxy of the container lets through."""
        assert policy in self._spec.networks
        self._egress.policy = policy

    async def stop(self) -> None:
        """End all processes and remove the folder."""
        if self._process is not None:
            await self._process.stop(0.0)
        if self._doors is not None:
            await self._doors.close()
        if self._group is not None:
            await asyncio.to_thread(self._group.remove)
        await asyncio.to_thread(_remove, self._root)
        await asyncio.to_thread(self._scratch.remove)


def _recipe(spec: ContainerSpec) -> Dockerfile:
    if spec.image.name or spec.image.context is None:
        return Dockerfile(base=spec.image.name or "an image")
    context = spec.image.context
    if (context / "docker-compose.yaml").is_file():
        return Dockerfile(refused=["docker-compose.yaml starts services beside the container"])
    try:
        text = (context / "Dockerfile").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return Dockerfile(refused=[f"it cannot be read: {error}"])
    return read_dockerfile(text, context)


def _sources(context: Path, source: str) -> list[Path]:
    return sorted(context.glob(source.lstrip("/"))) if source.strip("./") else [context]


def _hosts(policy: NetworkPolicy) -> tuple[str, ...]:
    return ("*",) if policy.mode == "public" else policy.hosts


def _confined(root: Path, command: Sequence[str]) -> list[str]:
    """Return the command that holds the namespaces of a container open; see sandboxes.bubblewrap for the accounts."""
    as_root = os.getuid() == 0
    inner = ["--unshare-user", "--uid", "0", "--gid", "0", "--die-with-parent"]
    account = ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups", "--inh-caps=-all"]
    become = [*account, "--bounding-set=-all", "--no-new-privs", "bwrap", *inner, "--dev-bind", "/", "/", "--"]
    rights = ["--cap-drop", "ALL", *(word for right in _RIGHTS for word in ("--cap-add", right)), "--die-with-parent"]
    return [
        *("bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *(rights if as_root else inner),
        *("--new-session", "--hostname", "container"),
        *_mounts(root),
        "--",
        *(become if as_root else []),
        *command,
    ]


def _mounts(root: Path) -> Iterator[str]:
    yield from ("--bind", str(root), "/")
    for system in map(Path, _SYSTEM):
        if system.is_symlink():
            yield from ("--symlink", str(system.readlink()), str(system))
        elif system.is_dir():
            yield from ("--ro-bind", str(system), str(system))
    for setting in _SETTINGS:
        yield from ("--ro-bind-try", setting, setting)
    yield from ("--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm")  # noqa: S108


def _leaf(pid: int) -> int:
    """Return the process inside: the last descendant, whose namespaces are those of the container."""
    while True:
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        except OSError:
            return 0
        if not children:
            return pid
        pid = int(children[-1])


def _remove(folder: Path) -> None:
    def again(function: Callable[..., object], path: str, _: object) -> None:
        # A folder may forbid its own account to change it.
        try:
            os.chmod(os.path.dirname(path), 0o700)  # noqa: PTH101, PTH120
            if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
                os.chmod(path, 0o700)  # noqa: PTH101
                shutil.rmtree(path, ignore_errors=True)
            else:
                function(path)
        except OSError:
            return

    shutil.rmtree(folder, onerror=again)
