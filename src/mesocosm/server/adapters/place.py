"""Where adapters of submissions run: enclosed, without a network and without anything of this worker."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.sandboxes.enclosure import Enclosed
from mesocosm.sandboxes.process import ForeignProcess
from mesocosm.server.adapters.lines import Lines
from mesocosm.server.builds.enclosing import enclosure
from mesocosm.server.settings import Settings

if TYPE_CHECKING:
    from mesocosm.server.builds.build import Built


class Enclosing:
    """Starts adapters of one built version. Implements environments.launch.Place.

    They get the variables that are declared for a start and no other: nothing that this worker knows.
    """

    def __init__(self, settings: Settings, built: "Built", lines: Lines) -> None:
        self._settings = settings
        self._built = built
        self._lines = lines

    async def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, port: int | None = None
    ) -> ForeignProcess:
        """Start `command`, whose port only this worker reaches. Raises EpisodeError with cause sandbox_failed."""
        assert port is not None
        place = enclosure(self._settings, self._built)
        enclosed = await place.serve(command, cwd=cwd, port=port, env=dict(env or {}), logs=self._built.logs)
        self._lines.add(port, enclosed.socket)
        return cast(ForeignProcess, _Reachable(enclosed, port, self._lines))


class _Reachable:
    """An enclosed server as the launcher knows processes: its line ends with it, and a limit is among its words."""

    def __init__(self, enclosed: Enclosed, port: int, lines: Lines) -> None:
        self._enclosed = enclosed
        self._port = port
        self._lines = lines

    @property
    def pid(self) -> int:
        """Process id of the leader."""
        return self._enclosed.pid

    @property
    def returncode(self) -> int | None:
        """Exit code once it ended, negative for a signal."""
        return self._enclosed.returncode

    def stdout_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stdout."""
        return self._enclosed.stdout_tail(lines)

    def stderr_tail(self, lines: int = 20) -> str:
        """Return the last lines that it wrote to stderr, and why it was ended where that was a limit."""
        return "\n".join(part for part in (self._enclosed.stderr_tail(lines), self._enclosed.reason) if part)

    async def wait(self) -> int:
        """Wait for its end and return its exit code."""
        return await self._enclosed.wait()

    async def stop(self, grace: float = 5.0) -> None:
        """End the whole tree."""
        try:
            await self._enclosed.stop(grace)
        finally:
            await self._lines.drop(self._port)


class Nowhere:
    """The place of remote environments: nothing is ever started for them. Implements environments.launch.Place."""

    async def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, port: int | None = None
    ) -> NoReturn:
        """Refuse."""
        del cwd, env, port
        raise EpisodeError(Cause.SANDBOX_FAILED, f"{command[0]} is not started: the environment runs elsewhere")
