"""Run untrusted programs in a sandbox."""

import asyncio
import codecs
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mesocosm.core.failure import UsageError
from mesocosm.sandboxes.bubblewrap import FilesystemView, available
from mesocosm.sandboxes.egress_proxy import EgressProxy
from mesocosm.sandboxes.isolation import Isolation, Kind
from mesocosm.sandboxes.log import Log
from mesocosm.sandboxes.port import free_port
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.relay import Relay
from mesocosm.sandboxes.rotating_log import RotatingLog
from mesocosm.sandboxes.sandboxed_process import Finished, How, SandboxedProcess
from mesocosm.sandboxes.socket_forwarder import SocketForwarder
from mesocosm.sandboxes.watches import Flood, disk, guard, too_long, too_much

MOST_LOG = 4 * MIB
MOST_FILES = 200_000
_LINES = 400


def choose(sandbox: str, unsafe: bool) -> Kind:
    """Return the kind that the setting `sandbox` (auto, bubblewrap, docker, plain) selects on this machine.

    `auto` means bubblewrap. Raises UsageError with what to install if the kind does not work here, and for `plain`,
    which gives external programs all our rights, unless `unsafe` is set.
    """
    if sandbox == "plain" and not unsafe:
        raise UsageError(
            "the sandbox `plain` gives foreign programs all rights of the worker; "
            "choose bubblewrap or docker, or allow it with --unsafe-sandbox"
        )
    if sandbox == "docker" and shutil.which("docker") is None:
        raise UsageError("the sandbox `docker` needs the command docker, which is not found; install it")
    if sandbox in {"auto", "bubblewrap"}:
        works = available()
        if not works:
            raise UsageError(f"foreign programs cannot be confined here: {works.reason}")
        return "bubblewrap"
    if sandbox not in {"docker", "plain"}:
        raise UsageError(f"there is no sandbox {sandbox!r}; choose auto, bubblewrap, docker or plain")
    return cast(Kind, sandbox)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSandbox:
    """Run programs without a network, with only the given files, and end those that exceed their limits.

    `allowance` applies to each program with its descendants; `most_memory` is the limit in bytes of all its processes
    together. A program sees the system's programs and the `readable` files and folders at their own paths; `hidden`
    folders look empty. `image` is the image for kind `docker`.
    """

    kind: Kind
    allowance: ProgramLimits = field(default_factory=ProgramLimits)
    most_memory: int
    readable: Sequence[Path] = ()
    hidden: Sequence[Path] = ()
    image: str = "python:3-slim"

    async def serve(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        port: int,
        env: Mapping[str, str] | None = None,
        logs: Path | None = None,
        relay: Relay | None = None,
        writable: Sequence[Path] = (),
        most_bytes: int | None = None,
        heard: Callable[[str, bytes], None] | None = None,
    ) -> SandboxedProcess:
        """Start a server that will listen on `port` of its own 127.0.0.1; do not wait until it answers.

        With `logs`, a folder, the end of its output is stored there (stdout.log, stderr.log, older output in NAME.1).
        `heard` is called with the stream (`stdout`, `stderr`) and each piece of output. The `relay` is its access to
        ports of this machine, and is closed with it. It may write to the `writable` folders, at most `most_bytes` of
        disk in all of them together. Programs outside of the sandbox see `env` too, so variables that its author chose
        belong to the relay. Raises EpisodeError with cause sandbox_failed.
        """
        forwarder, flood, isolation = SocketForwarder(), Flood(), self._isolation()

        def logged(name: str) -> Log | RotatingLog:
            def hear(data: bytes) -> None:
                flood.hear(data)
                if heard is not None:
                    heard(name, data)

            return RotatingLog(logs / f"{name}.log", limit=MOST_LOG, heard=hear) if logs else Log(heard=hear)

        try:
            shown = (*self.readable, forwarder.meeting, *([relay.socket] if relay else []))
            view = FilesystemView(shown, tuple(writable), cwd, tuple(self.hidden))
            wrapped = relay.through_gate(command, python=isolation.python) if relay else command
            process = await isolation.start(
                forwarder.through(wrapped, port, python=isolation.python),
                view,
                env or {},
                logged("stdout"),
                logged("stderr"),
            )
        except BaseException:
            forwarder.close()
            if relay is not None:
                relay.close()
            await isolation.remove()
            raise
        filling = [] if most_bytes is None else [disk(isolation.root(process), writable, most_bytes, MOST_FILES)]
        return SandboxedProcess(process, forwarder, isolation, [flood.over(), *filling], relay)

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        writable: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        seconds: float,
        egress: EgressProxy | None = None,
        secrets: Mapping[str, str] | None = None,
        heard: Callable[[str], None] | None = None,
        printed: Callable[[bytes], object] | None = None,
        most_bytes: int | None = None,
    ) -> Finished:
        """Run a program for at most `seconds`; `heard` is called with each piece of its output.

        With `printed`, which is called with each piece of its stdout, only stderr counts as output.
        It may write to the `writable` folders, at most `most_bytes` of disk in all of them together. With `egress`, the
        usual variables point it to that proxy. `secrets` are variables that programs outside of the sandbox do not see;
        they need `egress`. Raises EpisodeError with cause sandbox_failed if it cannot be started.
        """
        assert egress is not None or not secrets
        flood, output = Flood(), Log()
        logged = [Log(heard=_heard(flood, output, heard)) for _ in range(2)]
        if printed is not None:
            logged[0] = Log(heard=_printed(flood, printed))
        port = free_port() if egress is not None else 0
        relay = Relay((port,), takers={port: egress.serve}, variables=secrets) if egress is not None else None
        isolation = self._isolation()
        reasons: list[str] = []
        try:
            view = FilesystemView(
                (*self.readable, *([relay.socket] if relay else [])), tuple(writable), cwd, tuple(self.hidden)
            )
            wrapped = relay.through_gate(command, python=isolation.python) if relay else command
            variables = {**(egress.variables(port) if egress else {}), **(env or {})}
            process = await isolation.start(wrapped, view, variables, *logged)
            carrying = asyncio.ensure_future(relay.serve(process)) if relay else None
            try:
                filling = (
                    [] if most_bytes is None else [disk(isolation.root(process), writable, most_bytes, MOST_FILES)]
                )
                watches = [too_long(seconds), flood.over(), *filling, *isolation.watches(process)]
                await guard(process, watches, reasons.append)
                if most_bytes is not None:
                    # Check what was written since the last look; no process is left now.
                    reasons.append(await asyncio.to_thread(too_much, writable, most_bytes, MOST_FILES))
            finally:
                if carrying is not None:
                    await asyncio.gather(carrying, return_exceptions=True)
        finally:
            if relay is not None:
                relay.close()
            await isolation.remove()
        assert process.returncode is not None
        return _finished(process.returncode, output, next(filter(None, reasons), ""), isolation)

    def _isolation(self) -> Isolation:
        return Isolation(self.kind, self.allowance, self.most_memory, self.image)


def _heard(flood: Flood, output: Log, heard: Callable[[str], None] | None) -> Callable[[bytes], None]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def hear(data: bytes) -> None:
        flood.hear(data)
        output.write(data)
        if heard is not None and (text := decoder.decode(data)):
            heard(text)

    return hear


def _printed(flood: Flood, printed: Callable[[bytes], object]) -> Callable[[bytes], None]:
    def hear(data: bytes) -> None:
        flood.hear(data)
        printed(data)

    return hear


def _finished(returncode: int, output: Log, reason: str, isolation: Isolation) -> Finished:
    code = returncode if returncode >= 0 else 128 - returncode
    how: How = "ok" if code == 0 else "failed"
    if reason:
        how = "timeout" if reason.startswith("did not end") else "limit"
    elif reason := isolation.ending(code):
        how = "limit"
    return Finished(code, output.text(_LINES), how, reason)
