"""Build a submitted version of an environment: from a queued row to a published domain."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

import msgspec

from mesocosm.core.failure import EpisodeError, InfrastructureError, MesocosmError, UnknownName, UsageError
from mesocosm.environments.manifest import load_manifest
from mesocosm.server.builds.checkout import fetch
from mesocosm.server.builds.directory import BuildDirectory, BuiltVersion, build_directory, environment_folder
from mesocosm.server.builds.errors import BuildError, BuildLeaseLost
from mesocosm.server.builds.install import install
from mesocosm.server.builds.launcher import SandboxLauncher, SocketRouter
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.manifest import CheckedManifest, check_manifest
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.builds.smoke_test import smoke_test
from mesocosm.server.domains.domains import publish_environment
from mesocosm.server.service import Service
from mesocosm.store.environments import BuildState, VersionRow
from mesocosm.store.run_requests import OPEN, RunRequestFilter

_HEARTBEAT_S = 1.0
_MOST_OPEN_RUNS = 1_000


async def build(service: Service, version: VersionRow) -> None:
    """Build a claimed version: clone, check, install, test, publish. Errors are stored in its row for the author.

    Cancelling returns the version to the queue. Raises InfrastructureError if the store cannot be used.
    """
    running = _Build(service, version)
    working = asyncio.ensure_future(running.run())
    beating = asyncio.ensure_future(running.keep_lease(working.cancel))
    try:
        await working
    except BuildLeaseLost:
        return
    except asyncio.CancelledError:
        if running.lease_error is None:
            await asyncio.to_thread(service.store.environments.release_build, running.version)
            raise
        if not isinstance(running.lease_error, BuildLeaseLost):
            raise running.lease_error from None
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
    await asyncio.to_thread(prune, service, version.environment_id)


async def ensure_built(service: Service, environment_id: str, version: int) -> BuiltVersion:
    """Return a built version on this machine; rebuild it from its commit if it is missing.

    Raises UnknownName for a version that was never ready, InfrastructureError if it cannot be rebuilt.
    """
    row = await asyncio.to_thread(service.store.environments.version, environment_id, version)
    if row is None or row.state is not BuildState.READY:
        raise UnknownName(f"version {version} of environment {environment_id} was never built; submit it again")
    directory = build_directory(service.settings, environment_id, version)
    if (present := directory.completed()) is not None:
        return present
    async with directory.locked():
        if (present := directory.completed()) is not None:
            return present
        try:
            rebuilt = await _rebuild(service, row, directory)
        except (BuildError, UsageError, EpisodeError) as error:
            raise InfrastructureError(
                f"version {version} of environment {environment_id} is not on this machine and cannot be built again: "
                f"{error}"
            ) from error
    await asyncio.to_thread(prune, service, environment_id, version)
    return rebuilt


async def _rebuild(service: Service, row: VersionRow, directory: BuildDirectory) -> BuiltVersion:
    log, source = BuildLog(directory.folder), _source(row)
    directory.clear()
    await fetch(service.settings, source, directory, log, commit=row.commit_id)
    checked = check_manifest(service.settings, source, directory.source, log)
    if checked.digest != row.digest:
        raise BuildError(f"commit {row.commit_id} of {row.source} holds other files than it did; submit it again")
    await install(service.settings, source, checked, directory, log)
    return directory.complete(checked.path, checked.digest)


class _Build:
    """A build in progress. `version` is the row as last written, `lease_error` the error that ended its lease."""

    def __init__(self, service: Service, version: VersionRow) -> None:
        self._service = service
        self._directory = build_directory(service.settings, version.environment_id, version.version)
        self._log = BuildLog(self._directory.folder)
        self._writing = asyncio.Lock()
        self.version = version
        self.lease_error: Exception | None = None

    async def keep_lease(self, stop: Callable[[], object]) -> None:
        """Renew the lease and save the log about every second; call `stop` if that fails."""
        try:
            while await self._renew():  # noqa: ASYNC110 - a heartbeat waits for no event
                await asyncio.sleep(min(_HEARTBEAT_S, self._service.settings.lease_s / 4))
        except Exception as error:  # noqa: BLE001 - whatever it is, the build must not go on without its lease
            self.lease_error = error
            stop()

    async def _renew(self) -> bool:
        lease = self._service.settings.lease_s
        renewed = await asyncio.to_thread(self._service.store.environments.renew_build, self.version, lease)
        if self.version.ended_at is not None:
            return False
        if not renewed:
            raise _lease_lost()
        if self._log.changed:
            await self._save()
        return True

    async def run(self) -> None:
        """Run all steps, and store a failure as the error of the version. Raises BuildLeaseLost."""
        try:
            async with self._directory.locked():
                await self._steps()
        except BuildError as error:
            await self._fail(str(error))
        except BuildLeaseLost:
            raise
        except (MesocosmError, OSError) as error:
            await self._fail(
                f"this server could not build it: {error}. The environment is not at fault: try again, and tell an "
                "administrator if this persists"
            )

    async def _steps(self) -> None:
        settings, directory, log = self._service.settings, self._directory, self._log
        source = _source(self.version)
        await asyncio.to_thread(directory.clear)
        await self._enter(BuildState.CLONING)
        commit = await fetch(settings, source, directory, log, commit=self.version.commit_id)
        await self._enter(BuildState.CHECKING, commit_id=commit)
        checked = await asyncio.to_thread(check_manifest, settings, source, directory.source, log)
        facts = {"manifest": checked.text, "manifest_path": checked.path, "digest": checked.digest}
        report = msgspec.json.encode(checked.report).decode()
        await self._enter(BuildState.INSTALLING, **facts, verdict=report)
        await install(settings, source, checked, directory, log)
        await self._enter(BuildState.TESTING)
        await self._test(checked)
        directory.complete(checked.path, checked.digest)
        domain_id = await asyncio.to_thread(self._published)
        log.say(f"== ready: domain {domain_id}")
        await self._save(domain_id=domain_id, state=BuildState.READY, ended_at=time.time())

    async def _test(self, checked: CheckedManifest) -> None:
        settings, built = self._service.settings, self._directory.version(checked.path, checked.digest)
        router = SocketRouter()
        try:
            manifest = load_manifest(built.manifest)
            await smoke_test(
                settings, manifest, built.python, SandboxLauncher(settings, built, router), router, self._log
            )
        except BuildError as error:
            raise BuildError(self._log.clean(str(error))) from error
        finally:
            await router.close()

    def _published(self) -> str:
        environment = self._service.store.environments.get(self.version.environment_id)
        if environment is None:
            raise _lease_lost()
        try:
            return publish_environment(self._service, environment, self.version)
        except UsageError as error:
            raise BuildError(self._log.clean(str(error))) from error

    async def _enter(self, state: BuildState, **facts: str) -> None:
        self._log.say(f"== {state.value}")
        await self._save(state=state, **facts)

    async def _fail(self, reason: str) -> None:
        error = self._log.clean(reason)
        self._log.say(f"== failed: {error}")
        await self._save(state=BuildState.FAILED, error=error, ended_at=time.time())
        await asyncio.to_thread(self._directory.remove)

    async def _save(self, *, domain_id: str | None = None, **facts: object) -> None:
        async with self._writing:
            self._log.changed = False
            self.version = msgspec.structs.replace(self.version, log=self._log.text(), **facts)
            save = partial(self._service.store.environments.save_version, self.version, domain_id=domain_id)
            if not await asyncio.to_thread(save):
                raise _lease_lost()


def _lease_lost() -> BuildLeaseLost:
    return BuildLeaseLost("the version was deleted, or another worker builds it")


def prune(service: Service, environment_id: str, spared: int | None = None) -> None:
    """Remove old versions that no open run uses from this machine, to free disk space. The `spared` one stays.

    A removed version is rebuilt from its commit when it is needed again.
    """
    row = service.store.environments.get(environment_id)
    folder = environment_folder(service.settings, environment_id)
    if row is None or row.ready_version is None or not folder.is_dir():
        return
    wanted = RunRequestFilter(environment_id=environment_id, states=OPEN)
    requests = service.store.run_requests.list(wanted, limit=_MOST_OPEN_RUNS)
    kept = {row.ready_version, spared, *(request.environment_version for request in requests)}
    for number in [int(path.name) for path in folder.iterdir() if path.name.isdigit()]:
        if number < row.ready_version and number not in kept:
            build_directory(service.settings, environment_id, number).remove()


def _source(version: VersionRow) -> RepositorySource:
    return RepositorySource(version.source, version.ref, version.folder)
