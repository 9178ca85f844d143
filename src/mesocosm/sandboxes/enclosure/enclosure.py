"""Where programs of strangers run."""

import asyncio
import codecs
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from mesocosm.sandboxes.allowance import MIB, Allowance
from mesocosm.sandboxes.bubblewrap import View
from mesocosm.sandboxes.egress import Egress
from mesocosm.sandboxes.enclosure.choice import Kind
from mesocosm.sandboxes.enclosure.door import Door
from mesocosm.sandboxes.enclosure.enclosed import Enclosed, Finished, How
from mesocosm.sandboxes.enclosure.guard import Watch, guard
from mesocosm.sandboxes.enclosure.ring import Ring
from mesocosm.sandboxes.enclosure.tree import parent
from mesocosm.sandboxes.enclosure.wall import ENVIRONMENT, identity, interpreter, private_folder, walled
from mesocosm.sandboxes.enclosure.watch import Flood, disk, memory_and_processes, too_long
from mesocosm.sandboxes.log import Log
from mesocosm.sandboxes.port import free_port
from mesocosm.sandboxes.process import ForeignProcess, start_process
from mesocosm.sandboxes.relay import Relay

MOST_LOG = 4 * MIB
MOST_FILES = 200_000
_LINES = 400
_SIGNALS = {
    signal.SIGXCPU: "used more CPU time than its limit",
    signal.SIGXFSZ: "wrote a file larger than its limit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    """Runs programs without a network, with the files that are shown to them only, and ends what passes its limits.

    `allowance` holds for each program with all that it starts, `most_memory` is bytes of all its processes together.
    It sees the system's programs and the `readable` files and folders at their own paths; `hidden` folders look empty.
    `image` is the image of kind `docker`.
    """

    kind: Kind
    allowance: Allowance = field(default_factory=Allowance)
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
    ) -> Enclosed:
        """Start a server that will listen at `port` of its own 127.0.0.1; it need not answer yet.

        With `logs`, a folder, the last of what it writes is kept there (stdout.log, stderr.log, before that NAME.1).
        Raises EpisodeError, cause sandbox_failed.
        """
        door, flood = Door(), Flood()
        logged = [
            Ring(logs / f"{name}.log", limit=MOST_LOG, heard=flood.hear) if logs else Log(heard=flood.hear)
            for name in ("stdout", "stderr")
        ]
        own = private_folder()
        try:
            view = self._view(cwd, own, shown=(door.meeting,))
            process = await self._start(door.through(command, port), view, env, own, *logged)
        except BaseException:
            door.close()
            shutil.rmtree(own, ignore_errors=True)
            raise
        return Enclosed(process, door, self._watches(process, flood), partial(shutil.rmtree, own, ignore_errors=True))

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        writable: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        seconds: float,
        egress: Egress | None = None,
        heard: Callable[[str], None] | None = None,
        most_bytes: int | None = None,
    ) -> Finished:
        """Run a program to its end, `seconds` at most; `heard` is told what it writes, as it comes.

        It may write into `writable` folders, `most_bytes` of disk in all of them together. With an `egress` it is told
        of that proxy by the usual variables. Raises EpisodeError, cause sandbox_failed, where it cannot be started.
        """
        flood, output = Flood(), Log()
        logged = [Log(heard=_heard(flood, output, heard)) for _ in range(2)]
        port = free_port() if egress is not None else 0
        relay = Relay((port,), takers={port: egress.serve}) if egress is not None else None
        own = private_folder()
        reasons: list[str] = []
        try:
            view = self._view(cwd, own, shown=(relay.socket,) if relay else (), writable=tuple(writable))
            wrapped = relay.through_gate(command) if relay else command
            variables = {**(egress.variables(port) if egress else {}), **(env or {})}
            process = await self._start(wrapped, view, variables, own, *logged)
            carrying = asyncio.ensure_future(relay.serve(process)) if relay else None
            try:
                timing = too_long(seconds)
                filling = [] if most_bytes is None else [disk(writable, most_bytes, MOST_FILES)]
                await guard(process, [timing, *filling, *self._watches(process, flood)], reasons.append)
            finally:
                if carrying is not None:
                    await asyncio.gather(carrying, return_exceptions=True)
        finally:
            if relay is not None:
                relay.close()
            shutil.rmtree(own, ignore_errors=True)
        return _finished(process, output, reasons[0] if reasons else "")

    def _view(self, cwd: Path, own: Path, *, shown: tuple[Path, ...], writable: tuple[Path, ...] = ()) -> View:
        readable = (*interpreter(), *self.readable, *shown)
        return View(readable, writable, cwd, tuple(self.hidden), identity(own))

    async def _start(
        self, command: Sequence[str], view: View, env: Mapping[str, str] | None, own: Path, stdout: Log, stderr: Log
    ) -> ForeignProcess:
        assert view.cwd is not None
        return await start_process(
            walled(self.kind, command, view, self.allowance, own),
            cwd=view.cwd,
            env={**ENVIRONMENT, **(env or {})},
            stdout=stdout,
            stderr=stderr,
        )

    def _watches(self, process: ForeignProcess, flood: Flood) -> list[Watch]:
        # Orphans of a plain program go to its supervisor, which is nobody's child here.
        root = process.pid if self.kind == "bubblewrap" else parent(process.pid)
        return [memory_and_processes(root, self.most_memory, self.allowance), flood.over()]


def _heard(flood: Flood, output: Log, heard: Callable[[str], None] | None) -> Callable[[bytes], None]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def hear(data: bytes) -> None:
        flood.hear(data)
        output.write(data)
        if heard is not None and (text := decoder.decode(data)):
            heard(text)

    return hear


def _finished(process: ForeignProcess, output: Log, reason: str) -> Finished:
    assert process.returncode is not None
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    how: How = "ok" if code == 0 else "failed"
    if reason:
        how = "timeout" if reason.startswith("did not end") else "limit"
    elif code - 128 in _SIGNALS:
        how, reason = "limit", _SIGNALS[signal.Signals(code - 128)]
    return Finished(code, output.text(_LINES), how, reason)
