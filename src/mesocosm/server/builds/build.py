"""Building what was submitted: from a row in the queue to a domain that runs can be started on."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from mesocosm.core.failure import EpisodeError, InfrastructureError, MesocosmError, UnknownName, UsageError
from mesocosm.environments.manifest import load_manifest
from mesocosm.sandboxes.enclosure.disk import remove as remove_tree
from mesocosm.server.builds.check import Checked, check
from mesocosm.server.builds.checkout import fetch
from mesocosm.server.builds.fault import BuildFault, BuildLost
from mesocosm.server.builds.install import install
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.place import Place, alone, environment_folder, place_of, remove
from mesocosm.server.builds.smoke import smoke
from mesocosm.server.builds.source import Source
from mesocosm.server.service import Service
from mesocosm.store.environments import BuildState, VersionRow
from mesocosm.store.run_requests import OPEN, RunRequestFilter

_BEAT_S = 1.0
_MOST_GOING = 1_000


@dataclass(frozen=True, slots=True)
class Built:
    """A version that is present on this machine.

    `source` is the checked-out repository, `manifest` the manifest in it, `python` the interpreter of its own virtual
    environment, `packages` that environment's folder, `digest` that of everything that can change its behaviour.
    """

    source: Path
    manifest: Path
    python: Path
    packages: Path
    digest: str

    @property
    def logs(self) -> Path:
        """Where what its adapter writes is kept for its author."""
        return self.source.parent / "logs"


async def build(service: Service, version: VersionRow, *, heartbeat: Callable[[], None]) -> None:
    """Build a claimed version: clone, check, install, test, publish. Failures are told to the author, not raised.

    `heartbeat` is called about every second. Who is cancelled gives the version back to the queue. Raises
    InfrastructureError where the store cannot be used.
    """
    building = _Building(service, version)
    working = asyncio.ensure_future(building.through())
    beating = asyncio.ensure_future(building.beat(heartbeat, working.cancel))
    try:
        await working
    except BuildLost:
        return
    except asyncio.CancelledError:
        if building.trouble is None:
            await asyncio.to_thread(service.environments.release_build, building.version)
            raise
        if not isinstance(building.trouble, BuildLost):
            raise building.trouble from None
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
    await asyncio.to_thread(prune, service, version.environment_id)


async def built(service: Service, environment_id: str, version: int) -> Built:
    """Return a version on this machine, fetched and installed again from its commit where it is missing.

    Raises UnknownName for a version that is not there or was never ready, InfrastructureError where it cannot be had
    any more.
    """
    row = await asyncio.to_thread(service.environments.version, environment_id, version)
    if row is None or row.state is not BuildState.READY:
        raise UnknownName(f"version {version} of environment {environment_id} was never built; submit it again")
    place = place_of(service.settings, environment_id, version)
    there = _built(place)
    if there is not None:
        return there
    async with alone(place):
        there = _built(place)
        if there is not None:
            return there
        try:
            found = await _again(service, row, place)
        except (BuildFault, UsageError, EpisodeError) as error:
            raise InfrastructureError(
                f"version {version} of environment {environment_id} is not on this machine and cannot be built again: "
                f"{error}"
            ) from error
    await asyncio.to_thread(prune, service, environment_id, version)
    return found


async def _again(service: Service, row: VersionRow, place: Place) -> Built:
    log, source = BuildLog(place.folder), _source(row)
    _clear(place)
    await fetch(service.settings, source, place, log, commit=row.commit_id)
    checked = check(service.settings, source, place.source, log)
    if checked.digest != row.digest:
        raise BuildFault(f"commit {row.commit_id} of {row.source} holds other files than it did; submit it again")
    await install(service.settings, source, checked, place, log)
    place.remember(manifest=checked.path, digest=checked.digest)
    return _there(place, checked)


class _Building:
    """One build on its way. `version` is the row as it was written last, `trouble` why it was stopped."""

    def __init__(self, service: Service, version: VersionRow) -> None:
        self._service = service
        self._place = place_of(service.settings, version.environment_id, version.version)
        self._log = BuildLog(self._place.folder)
        self._writing = asyncio.Lock()
        self.version = version
        self.trouble: Exception | None = None

    async def beat(self, heartbeat: Callable[[], None], stop: Callable[[], object]) -> None:
        """Keep the lease and the log up to date; `stop` the build when that cannot be done."""
        try:
            while await self._beat(heartbeat):  # noqa: ASYNC110 - it is no event that is waited for
                await asyncio.sleep(min(_BEAT_S, self._service.settings.lease_s / 4))
        except Exception as error:  # noqa: BLE001 - whatever it is, the build must not go on without its lease
            self.trouble = error
            stop()

    async def _beat(self, heartbeat: Callable[[], None]) -> bool:
        await asyncio.to_thread(heartbeat)
        lease = self._service.settings.lease_s
        held = await asyncio.to_thread(self._service.environments.renew_build, self.version, lease)
        if self.version.ended_at is not None:
            return False
        if not held:
            raise _lost()
        if self._log.changed:
            await self._save()
        return True

    async def through(self) -> None:
        """Take all steps; what goes wrong becomes the error of the version. Raises BuildLost."""
        try:
            async with alone(self._place):
                await self._steps()
        except BuildFault as error:
            await self._fail(str(error))
        except BuildLost:
            raise
        except (MesocosmError, OSError) as error:
            await self._fail(
                f"this platform could not build it: {error}. That is no fault of the environment: try again, and tell "
                "those who run the platform when it stays so"
            )

    async def _steps(self) -> None:
        service, place, log = self._service, self._place, self._log
        source = _source(self.version)
        await asyncio.to_thread(_clear, place)
        await self._enter(BuildState.CLONING)
        commit = await fetch(service.settings, source, place, log, commit=self.version.commit_id)
        await self._enter(BuildState.CHECKING, commit_id=commit)
        checked = await asyncio.to_thread(check, service.settings, source, place.source, log)
        facts = {"manifest": checked.text, "manifest_path": checked.path, "digest": checked.digest}
        report = msgspec.json.encode(checked.report).decode()
        await self._enter(BuildState.INSTALLING, **facts, verdict=report)
        await install(service.settings, source, checked, place, log)
        await self._enter(BuildState.TESTING)
        await self._test(checked)
        place.remember(manifest=checked.path, digest=checked.digest)
        domain_id = await asyncio.to_thread(self._published)
        log.say(f"== ready: domain {domain_id}")
        await self._save(domain_id=domain_id, state=BuildState.READY, ended_at=time.time())

    async def _test(self, checked: Checked) -> None:
        from mesocosm.server.adapters.lines import Lines
        from mesocosm.server.adapters.place import Enclosing

        settings, there = self._service.settings, _there(self._place, checked)
        lines = Lines()
        try:
            manifest = load_manifest(there.manifest)
            await smoke(settings, manifest, there.python, Enclosing(settings, there, lines), lines, self._log)
        except BuildFault as error:
            raise BuildFault(self._log.clean(str(error))) from error
        finally:
            await lines.close()

    def _published(self) -> str:
        from mesocosm.server.domains.domains import publish_environment

        environment = self._service.environments.get(self.version.environment_id)
        if environment is None:
            raise _lost()
        try:
            return publish_environment(self._service, environment, self.version)
        except UsageError as error:
            raise BuildFault(self._log.clean(str(error))) from error

    async def _enter(self, state: BuildState, **facts: str) -> None:
        self._log.say(f"== {state.value}")
        await self._save(state=state, **facts)

    async def _fail(self, words: str) -> None:
        error = self._log.clean(words)
        self._log.say(f"== failed: {error}")
        await self._save(state=BuildState.FAILED, error=error, ended_at=time.time())
        await asyncio.to_thread(remove, self._place)

    async def _save(self, *, domain_id: str | None = None, **facts: object) -> None:
        async with self._writing:
            self._log.changed = False
            self.version = msgspec.structs.replace(self.version, log=self._log.text(), **facts)
            save = partial(self._service.environments.save_version, self.version, domain_id=domain_id)
            if not await asyncio.to_thread(save):
                raise _lost()


def _lost() -> BuildLost:
    return BuildLost("the version was deleted, or is built by somebody else")


def prune(service: Service, environment_id: str, spared: int | None = None) -> None:
    """Remove versions from this machine that no run waits for or uses: each may be as large as the operator allows.

    What is needed again is built again from its commit. The `spared` one stays.
    """
    row = service.environments.get(environment_id)
    folder = environment_folder(service.settings, environment_id)
    if row is None or row.ready_version is None or not folder.is_dir():
        return
    going = service.run_requests.list(RunRequestFilter(environment_id=environment_id, states=OPEN), limit=_MOST_GOING)
    kept = {row.ready_version, spared, *(order.environment_version for order in going)}
    for number in [int(path.name) for path in folder.iterdir() if path.name.isdigit()]:
        if number < row.ready_version and number not in kept:
            remove(place_of(service.settings, environment_id, number))


def _source(version: VersionRow) -> Source:
    return Source(version.source, version.ref, version.folder)


def _clear(place: Place) -> None:
    remove_tree(place.folder)
    place.folder.mkdir(parents=True, exist_ok=True)


def _built(place: Place) -> Built | None:
    facts = place.facts()
    if facts is None:
        return None
    return Built(place.source, place.source / facts["manifest"], place.python, place.packages, facts["digest"])


def _there(place: Place, checked: Checked) -> Built:
    return Built(place.source, place.source / checked.path, place.python, place.packages, checked.digest)
