"""The smoke test of a built environment: start it as for a run, then call two resets and one step.

An error that would fail every episode fails the build. Minor deviations from the contract become notes to the author.
"""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.foreign import read_json
from mesocosm.core.ports import Observation, Step
from mesocosm.core.sampling import sample
from mesocosm.core.space import CompositeSpace, Space, SpaceType
from mesocosm.environments.client import HttpEnvironment, Timeouts
from mesocosm.environments.contract import Contract
from mesocosm.environments.launch import Launched, launch
from mesocosm.environments.launch import ServerPlace as Launcher
from mesocosm.environments.manifest import Manifest
from mesocosm.http.errors import HttpError
from mesocosm.sandboxes.process import ForeignProcess
from mesocosm.sandboxes.supervisor import descendants
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.launcher import SocketRouter
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.settings import Settings

SEED = 1
_STRAY_S = 1.5
"""Seconds between checks whether the adapter listens on a wrong port."""
_HEALTH_S = 5.0
_CHECKS = 2
_LISTEN = "0A"
"""The state of listening sockets in /proc/net/tcp."""
_ACTION = 200


async def smoke_test(
    settings: Settings, manifest: Manifest, python: Path, launcher: Launcher, router: SocketRouter, log: BuildLog
) -> None:
    """Start the adapter with `launcher`, begin two episodes through `router`, and stop it.

    Raises BuildError with the failed call and the end of the adapter's output.
    """
    assert manifest.adapter is not None
    log.say(f"starting {manifest.adapter.name}")
    watched = _WatchedLauncher(launcher)
    host = await _started(settings, manifest.adapter, python, watched, router)
    try:
        play = _SmokeTest(settings, manifest, host, router, log)
        await play.run()
    except EpisodeError as error:
        raise BuildError(_episode_failure(manifest, error)) from error
    finally:
        for line in watched.words().splitlines():
            log.say(f"  | {line}")
        await host.process.stop()
    log.say("it works: reset, step and close were answered")


class _WatchedLauncher:
    """Remembers the started process and its assigned port. Implements environments.launch.ServerPlace."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self.process: ForeignProcess | None = None
        self.port = 0

    async def start(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, port: int | None = None
    ) -> ForeignProcess:
        self.port = port or 0
        self.process = await self._launcher.start(command, cwd=cwd, env=env, port=port)
        return self.process

    def words(self) -> str:
        return "" if self.process is None else self.process.stderr_tail() or self.process.stdout_tail()

    async def stray(self) -> int:
        """Wait until two consecutive checks find the adapter listening, but not on its port; return a wrong port."""
        seen = 0
        while True:
            await asyncio.sleep(_STRAY_S)
            ports = _listening(self.process.pid) if self.process is not None else set()
            seen = seen + 1 if ports and self.port not in ports else 0
            if seen == _CHECKS:
                return min(ports)


async def _started(
    settings: Settings, adapter: Path, python: Path, watched: _WatchedLauncher, router: SocketRouter
) -> Launched:
    launching = asyncio.ensure_future(launch(adapter, watched, router, python=str(python), seconds=settings.start_s))
    straying = asyncio.ensure_future(watched.stray())
    try:
        await asyncio.wait({launching, straying}, return_when=asyncio.FIRST_COMPLETED)
        if launching.done():
            return launching.result()
        raise BuildError(
            f"{adapter.name} listens at port {straying.result()}, not at {watched.port}, which it was given as --port; "
            "pass that on, as in serve(MyEnv, port=args.port)"
        )
    except RunAborted as error:
        raise BuildError(_start_failure(str(error), adapter)) from error
    finally:
        for task in (launching, straying):
            task.cancel()
        await asyncio.gather(launching, straying, return_exceptions=True)


_HINTS = (
    (("Read-only file system",), "Environments may write into /tmp only."),
    (
        ("ModuleNotFoundError", "No module named"),
        "Name the package in requirements.txt, or put the module beside the adapter.",
    ),
    (
        ("Network is unreachable", "Name or service not known", "Temporary failure in name resolution"),
        "Environments have no network here; put what they load into the repository.",
    ),
)


def _start_failure(words: str, adapter: Path) -> str:
    reason = re.sub(r"exit code (1[3-9]\d)\b", _signalled, words.removeprefix(f"{adapter}: "))
    hint = next((hint for signs, hint in _HINTS if any(sign in reason for sign in signs)), "")
    return f"{adapter.name} did not start: {reason}" + (f"\n{hint}" if hint else "")


def _signalled(code: "re.Match[str]") -> str:
    """Return an exit code with the name of its signal (128 + number, as shells report it)."""
    try:
        return f"{code[0]} ({signal.Signals(int(code[1]) - 128).name})"
    except ValueError:
        return code[0]


class _SmokeTest:
    """Two resets with one seed, and one step."""

    def __init__(
        self, settings: Settings, manifest: Manifest, host: Launched, router: SocketRouter, log: BuildLog
    ) -> None:
        vow = manifest.vow
        self._vow = vow
        self._log = log
        self._host = host
        self._router = router
        self._noted: set[str] = set()
        self._worlds = [
            HttpEnvironment(
                router,
                host,
                f"first-look-{number}",
                SEED,
                timeouts=Timeouts(settings.step_s, settings.step_s),
                most_bytes=settings.episode_mb * 2**20,
                contract=Contract(vow.observation_space, vow.action_space),
            )
            for number in (1, 2)
        ]

    async def run(self) -> None:
        first, second = self._worlds
        try:
            self._log.say(f"reset with seed {SEED}, twice")
            seen = await first.reset()
            again = await second.reset()
            self._observed(seen)
            self._compare(seen.data, again.data)
            await self._step(first)
        finally:
            for world in self._worlds:
                await world.close()

    async def _step(self, world: HttpEnvironment) -> None:
        action, certain = await self._action(world)
        spelled = msgspec.json.encode(action).decode()
        shown = spelled if len(spelled) <= _ACTION else f"{spelled[:_ACTION]}…"
        self._log.say(f"step with the action {shown}")
        try:
            step = await world.step(action)
        except EpisodeError as error:
            if certain or error.cause is not Cause.ENVIRONMENT_ERROR:
                raise
            # The environment may reject random text. Models send such texts too, so a failure is worth a note.
            self._note(f"the step with the action {shown} failed; answer every action, with a reward: {error}")
            return
        self._observed(step.observation)
        self._noted_all(step)

    async def _action(self, world: HttpEnvironment) -> tuple[Any, bool]:
        """Return an action, and whether the environment must accept it: the oracle's, or a member of a closed space."""
        if await self._offers_oracle():
            try:
                return await world.oracle(), True
            except EpisodeError as error:
                if error.cause not in (Cause.ENVIRONMENT_ERROR, Cause.ENVIRONMENT_INVALID, Cause.MODEL_MISSING):
                    raise
                self._note(f"/health says that there is an oracle, but it failed: {error}")
        return sample(self._vow.action_space, Random(SEED)), _closed(self._vow.action_space)

    async def _offers_oracle(self) -> bool:
        try:
            answer = await self._router.request("GET", f"{self._host.url}/health", timeout=_HEALTH_S)
            said = read_json(answer.body)
        except (HttpError, ValueError, RecursionError):
            return False
        return isinstance(said, dict) and said.get("oracle") is True

    def _compare(self, first: Any, second: Any) -> None:
        if first == second:
            return
        if self._vow.episode.deterministic_reset:
            self._note(
                f"binding_vow.episode.deterministic_reset is true, but two resets with seed {SEED} gave different "
                "observations; seed everything that is random, or say false"
            )
        elif self._vow.episode.supports_seed:
            self._note(f"two resets with seed {SEED} gave different observations, so runs cannot be repeated exactly")

    def _observed(self, observation: Observation) -> None:
        for note in observation.notes:
            self._note(note)

    def _noted_all(self, step: Step) -> None:
        for note in step.notes:
            self._note(note)

    def _note(self, words: str) -> None:
        if words not in self._noted:
            self._noted.add(words)
            self._log.note(words)


def _closed(space: Space) -> bool:
    """Return whether the environment must accept every member of a space. It may reject free text."""
    if isinstance(space, CompositeSpace):
        return all(_closed(field) for field in space.fields.values())
    if space.type is SpaceType.CONTINUOUS:
        return True
    return bool(space.enum_values) or (space.type is SpaceType.JSON and space.json_schema is not None)


def _episode_failure(manifest: Manifest, error: EpisodeError) -> str:
    assert manifest.adapter is not None
    stderr = "\n".join(f"  | {line}" for line in (error.stderr or "").splitlines())
    last = f"; its last words:\n{stderr}" if stderr else ""
    return f"{manifest.adapter.name} started, but a first episode failed: {error}{last}"


def _listening(pid: int) -> set[int]:
    """Return the ports that sandboxed processes listen on; empty if they share the network of this process."""
    ports: set[int] = set()
    with contextlib.suppress(OSError):
        ours = os.readlink("/proc/self/ns/net")  # noqa: PTH115 - not a path
        for member in descendants(pid):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{member}/ns/net") != ours:  # noqa: PTH115
                    return _listed(member)
    return ports


def _listed(pid: int) -> set[int]:
    found = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN:
                    found.add(int(fields[1].rpartition(":")[2], 16))
    return found
