"""A rollout folder that runs in processes of its own. Implements rollouts.place.Place."""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from secrets import token_hex

from mesocosm.core.content import Content
from mesocosm.core.failure import Cause, EpisodeError
from mesocosm.core.redact import Redactor, secret_values
from mesocosm.http.client import Client
from mesocosm.rollouts.place import Ended, Log, Work
from mesocosm.rollouts.served.attempt import Attempt, Displaced
from mesocosm.rollouts.served.callbacks import Callbacks
from mesocosm.rollouts.served.fleet import Fleet
from mesocosm.rollouts.served.installation import Installation
from mesocosm.rollouts.served.output import LogFile
from mesocosm.rollouts.served.process import Launch, RolloutProcess, start
from mesocosm.rollouts.served.scratch import Scratch
from mesocosm.sandboxes.telemetry import OFF

INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "SYSTEMROOT"),
)
"""Variables of ours that every rollout sees; all others must be declared."""

LOOPBACK = "127.0.0.1,localhost"
TRIES = 3
"""A row that lost its process without fault of its own is run again, so many times in all."""

START_S = 90.0
_INSTANT_S = 0.001
_IDLE_S = 3.0
"""Shorter than servers keep an idle connection (uvicorn: 5 s), so that none of theirs ends under a request."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """What an open place holds."""

    client: Client
    callbacks: Callbacks
    fleet: Fleet
    scratch: Scratch


class ServedPlace:
    """Runs the rollout of `folder` behind the published protocol.

    Its processes see `environment`, the variables in INHERITED, and those that keep frameworks from sending traces.
    Virtual environments are kept in `installs` and used again; None: beside our user's other caches. `concurrency` is
    how many tries will run at once, if that is known. What processes write goes to `log_file`, without `secrets` and
    what else of `environment` looks like one. Each of its processes is started from files that are still `content`.
    """

    def __init__(
        self,
        folder: Path,
        entrypoint: str,
        *,
        environment: Mapping[str, str],
        installs: Path | None = None,
        concurrency: int | None = None,
        log_file: Path | None = None,
        secrets: Collection[str] = (),
        start_seconds: float = START_S,
        content: Content | None = None,
    ) -> None:
        self._content = content
        self._folder = folder.absolute()
        self._entrypoint = entrypoint
        self._environment = dict(environment)
        self._installs = installs or _cache()
        self._concurrency = concurrency
        self._seconds = start_seconds
        self._log = LogFile(log_file, Redactor({*secret_values(environment), *secrets}))
        self._prefix = f"r{token_hex(6)}-"
        self._numbers = count(1)
        self._opened: _Opened | None = None

    @property
    def capacity(self) -> int | None:
        """How many tries the rollout's server takes at once; None: any number."""
        return self._opened.fleet.capacity if self._opened is not None else None

    async def open(self, notice: Callable[[str], None]) -> None:
        """Make the virtual environment where one is needed, and start the rollout. Raises MesocosmError."""
        installation = Installation(self._folder, self._installs, self._variables())
        python = await installation.python(notice)
        scratch = Scratch(self._prefix, self._variables())
        self._log.open()
        client, callbacks = Client(idle_timeout=_IDLE_S), Callbacks(notice)
        launch = Launch(
            python,
            self._folder,
            self._entrypoint,
            self._variables(Path(python).parent),
            self._prefix,
            scratch.folder,
            self._seconds,
        )

        async def started() -> RolloutProcess:
            return await start(launch, client, self._log, self._content)

        fleet = Fleet(started, self._concurrency, notice)
        self._opened = _Opened(client, callbacks, fleet, scratch)
        try:
            await callbacks.start()
            await fleet.open()
        except BaseException:
            await self.close()
            raise

    async def run(self, work: Work, log: Log) -> Ended:
        """Run one try. Raises EpisodeError (rollout_failed), RunAborted when no process can be started any more.

        One that lost its process to another row is run again, its time from the beginning.
        """
        assert self._opened is not None, "open the place first"
        displaced, began = "", time.monotonic()
        for _ in range(TRIES):
            try:
                return await self._once(self._opened, work, log, began)
            except Displaced as error:
                displaced = str(error)
                if error.harmed:
                    self._opened.fleet.isolate(displaced)
        raise EpisodeError(Cause.ROLLOUT_FAILED, f"this row lost its process {TRIES} times: {displaced}")

    async def close(self) -> None:
        """End all processes and remove what they left in temporary places."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        await opened.fleet.close()
        await opened.callbacks.stop()
        await opened.client.close()
        self._log.close()
        await asyncio.to_thread(opened.scratch.clear)

    async def _once(self, opened: "_Opened", work: Work, log: Log, began: float) -> Ended:
        fleet, callbacks = opened.fleet, opened.callbacks
        seat = await fleet.take()
        waited = time.monotonic() - began
        name = f"{self._prefix}{next(self._numbers)}"
        # Releases of the package up to 0.3.1 know one key, for the controller and for the model. Our SDK knows two, so
        # that a workflow cannot report its own reward with that of the model.
        key = "" if seat.process.punctual else work.model.api_key
        attempt = Attempt(work, name, seat, callbacks.expect(name, key), log)
        try:
            ended = await attempt.play()
            return replace(ended, queued_s=ended.queued_s + waited) if waited > _INSTANT_S else ended
        except asyncio.CancelledError:
            attempt.abandoned = True
            raise
        finally:
            callbacks.forget(name)
            seat.process.tries.pop(name, None)
            if attempt.abandoned:
                fleet.abandon(seat, name)
            if attempt.stuck:
                fleet.wear(seat.process)
            fleet.give_back(seat)
            if attempt.blocking:
                fleet.isolate(attempt.blocking)
            opened.scratch.keep(name, work.artifacts)

    def _variables(self, programs: Path | None = None) -> dict[str, str]:
        """Return the whole environment of a process of the rollout."""
        variables = {**OFF, **{name: os.environ[name] for name in INHERITED if name in os.environ}}
        variables.update(self._environment)
        for name in ("NO_PROXY", "no_proxy"):
            variables[name] = ",".join(filter(None, (variables.get(name, ""), LOOPBACK)))
        if programs is not None:
            variables["PATH"] = os.pathsep.join(filter(None, (str(programs), variables.get("PATH", ""))))
        return variables


def _cache() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "mesocosm" / "environments"
