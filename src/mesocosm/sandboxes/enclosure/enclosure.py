"""Where programs of strangers run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mesocosm.sandboxes.allowance import Allowance
from mesocosm.sandboxes.egress import Egress
from mesocosm.sandboxes.enclosure.choice import Kind
from mesocosm.sandboxes.enclosure.enclosed import Enclosed, Finished


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

        With `logs`, a folder, the last of what it writes is kept there. Raises EpisodeError, cause sandbox_failed.
        """
        raise NotImplementedError

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
        raise NotImplementedError
