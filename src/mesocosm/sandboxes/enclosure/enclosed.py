"""A program in an enclosure: the one that serves, and what is left of one that ran to its end."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

How = Literal["ok", "failed", "timeout", "limit"]


class Enclosed(Protocol):
    """A server in an enclosure."""

    @property
    def socket(self) -> Path:
        """The unix socket through which `mesocosm.http.client.Client(socket=…)` reaches its HTTP port."""
        ...

    @property
    def reason(self) -> str:
        """Why we ended it, in words for its author; "" while it lives and when it ended by itself."""
        ...

    @property
    def pid(self) -> int:
        """Process id of the leader."""
        ...

    @property
    def returncode(self) -> int | None:
        """Exit code once it ended, negative for a signal."""
        ...

    def stdout_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stdout."""
        ...

    def stderr_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stderr."""
        ...

    async def wait(self) -> int:
        """Wait for its end and return its exit code."""
        ...

    async def stop(self, grace: float = 5.0) -> None:
        """End it with everything that it started, and remove its socket."""
        ...


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that is over.

    `code` is its exit code, 128 + number for a signal; `output_tail` the end of what it wrote to stdout and stderr;
    `how` it ended: by itself with exit code 0 or another (ok, failed), out of time (timeout), at a limit (limit).
    `reason` says in words for its author why we ended it, "" where we did not.
    """

    code: int
    output_tail: str
    how: How
    reason: str = ""
