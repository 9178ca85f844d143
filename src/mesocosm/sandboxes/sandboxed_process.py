"""A program in a sandbox: a running server, or the result of one that has ended."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mesocosm.sandboxes.isolation import Isolation
from mesocosm.sandboxes.process import ForeignProcess
from mesocosm.sandboxes.relay import Relay
from mesocosm.sandboxes.socket_forwarder import SocketForwarder
from mesocosm.sandboxes.tree import is_ending
from mesocosm.sandboxes.watches import Watch, guard

How = Literal["ok", "failed", "timeout", "limit"]
_LAST_S = 1.0


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended.

    `code` is its exit code, or 128 + number for a signal; `output_tail` is the end of its stdout and stderr; `how` is
    how it ended: by itself with exit code 0 or another (ok, failed), out of time (timeout), or at a limit (limit).
    `reason` says why we ended it, for its author; empty if we did not.
    """

    code: int
    output_tail: str
    how: How
    reason: str = ""


class SandboxedProcess:
    """A server in a sandbox.

    `process` is its process tree; stopping it stops everything. `socket` leads to its HTTP port: pass it to
    `mesocosm.http.client.HttpClient(socket=…)`. `reason` is empty while the server runs and when it ended by itself;
    otherwise it is set before the process is gone.
    """

    def __init__(
        self,
        process: ForeignProcess,
        forwarder: SocketForwarder,
        isolation: Isolation,
        watches: Sequence[Watch],
        relay: Relay | None = None,
    ) -> None:
        self.process = process
        self.socket: Path = forwarder.socket
        self._reason = ""
        self._stopped = False
        self._forwarder = forwarder
        self._isolation = isolation
        self._relaying = asyncio.create_task(relay.serve(process)) if relay is not None else None
        watching = [*watches, *isolation.watches(process), self._left_alone()]
        self._guarding = asyncio.create_task(self._guard(watching))

    @property
    def reason(self) -> str:
        """Why we or a limit ended it, as a phrase for its author; otherwise empty."""
        code = self.process.returncode
        return self._reason or ("" if code is None or self._stopped else self._isolation.ending(code))

    @property
    def pid(self) -> int:
        """Process id of the leader."""
        return self.process.pid

    @property
    def returncode(self) -> int | None:
        """Exit code once it ended: negative for a signal, or 128 + number if the isolation reports it so."""
        return self.process.returncode

    def stdout_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stdout."""
        return self.process.stdout_tail(lines)

    def stderr_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stderr."""
        return self.process.stderr_tail(lines)

    async def wait(self) -> int:
        """Wait for its end and return its exit code."""
        return await self.process.wait()

    async def stop(self, grace: float = 5.0) -> None:
        """Ask it to end, kill the rest after `grace` seconds, and remove its socket."""
        self._stopped = self._stopped or self.process.returncode is None
        self._forwarder.close()
        await self.process.stop(grace)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(self._guarding)

    async def _guard(self, watches: Sequence[Watch]) -> None:
        try:
            await guard(self.process, watches, self._tell)
        finally:
            self._forwarder.close()
            if self._relaying is not None:
                await asyncio.gather(self._relaying, return_exceptions=True)
            await self._isolation.remove()

    def _tell(self, reason: str) -> None:
        self._reason = reason
        # The port forwarder ignores SIGTERM; without this a plain program would always use up its grace time.
        self._forwarder.close()

    async def _left_alone(self) -> str:
        """Return once the port forwarder is gone while the program is still running."""
        await self._forwarder.serve()
        # If everything ends together, the port forwarder may be noticed first, on a busy machine long before the rest.
        await asyncio.sleep(_LAST_S)
        if is_ending(self.process.pid):
            await asyncio.Event().wait()
        return "ended the process that hands connections over to it"
