"""Remove expired runs of guests and sessions, unused files of environments and rollouts, abandoned uploads."""

import time
from contextlib import suppress
from pathlib import Path

import msgspec

from mesocosm.core.failure import RunLeased, UnknownName
from mesocosm.sandboxes.disk import remove
from mesocosm.sandboxes.scratch import sweep
from mesocosm.server.builds.rollout_packages import sweep_packages
from mesocosm.server.builds.sync import sweep_folders
from mesocosm.server.evaluations.content import sweep_content
from mesocosm.server.evaluations.hosted_rollout import sweep_run_files
from mesocosm.server.run_requests.lifecycle import stop_cancelled
from mesocosm.server.service import Service
from mesocosm.store.run_requests import OPEN, RunRequestFilter
from mesocosm.store.sessions import Sessions
from mesocosm.store.users import Guests

_BATCH = 100
_KEPT_LONGER_S = 86_400.0
"""Seconds to keep expired sessions, guests and folders, for investigations."""


class Cleaned(msgspec.Struct, frozen=True):
    """Counts of the objects that a cleanup removed, stopped or returned to the queue."""

    guest_runs: int = 0
    guests: int = 0
    sessions: int = 0
    environment_folders: int = 0
    sync_folders: int = 0
    rollout_packages: int = 0
    cached_contents: int = 0
    run_files: int = 0
    run_secrets: int = 0
    snapshots: int = 0
    objects: int = 0
    workers: int = 0
    scratch_folders: int = 0
    runs_stopped: int = 0
    benches_taken_back: int = 0
    uploads: int = 0

    def __bool__(self) -> bool:
        return any(msgspec.structs.astuple(self))

    def __str__(self) -> str:
        counted = msgspec.structs.asdict(self).items()
        return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counted if count) or "nothing"


def clean(service: Service) -> Cleaned:
    """Remove everything expired. Safe to run in several processes at once. Raises InfrastructureError."""
    before = time.time() - _KEPT_LONGER_S
    database = service.store.database
    return Cleaned(
        guest_runs=_guest_runs(service),
        guests=Guests(database).remove_expired(before),
        sessions=Sessions(database).remove_expired(before),
        environment_folders=_folders(service),
        sync_folders=sweep_folders(service.settings, before),
        rollout_packages=sweep_packages(service.settings),
        cached_contents=sweep_content(service.settings),
        run_files=sweep_run_files(service.settings, before - service.settings.run_s),
        run_secrets=service.store.workspace_secrets.drop_of_ended_runs(),
        snapshots=service.store.snapshots.drop_unused(),
        objects=service.store.blobs.drop_outside(),
        workers=service.store.workers.forget(),
        scratch_folders=sweep(),
        runs_stopped=stop_cancelled(service),
        benches_taken_back=service.store.batch_runs.take_back(service.settings.run_s),
        uploads=service.store.datasets.drop_abandoned(_KEPT_LONGER_S)
        + service.store.run_imports.drop_abandoned(_KEPT_LONGER_S)
        + service.store.snapshot_uploads.drop_abandoned(_KEPT_LONGER_S),
    )


def _guest_runs(service: Service) -> int:
    """Delete expired runs of guests and return their number. A run in progress is deleted the next time."""
    removed, known = 0, set[str]()
    while True:
        listed = [
            request
            for request in service.store.run_requests.expired(time.time(), limit=_BATCH)
            if request.run_id not in known
        ]
        if not listed:
            return removed
        for request in listed:
            known.add(request.run_id)
            service.store.queue.cancel(request.run_id, "its time is over")
            with suppress(UnknownName, RunLeased):
                run = service.store.runs.get(request.run_id)
                service.store.run_requests.remember_cost(request, run.usage.cost_usd or 0.0)
                service.store.runs.delete(request.run_id)
                removed += 1


def _folders(service: Service) -> int:
    """Remove builds of deleted and unknown environments, and of versions that no open run uses; return the number."""
    place = service.settings.data_dir / "environments"
    if not place.is_dir():
        return 0
    removed = 0
    for folder in _old_folders(place):
        environment = service.store.environments.get(folder.name)
        if environment is None:
            removed += remove(folder)
            continue
        waiting = service.store.run_requests.list(
            RunRequestFilter(environment_id=environment.id, states=OPEN), limit=_BATCH
        )
        if len(waiting) == _BATCH:
            continue
        # A resumed run of an older version rebuilds it from its commit.
        kept = {environment.version, environment.ready_version, *(request.environment_version for request in waiting)}
        names = {str(version) for version in kept}
        removed += sum(remove(old) for old in _old_folders(folder) if old.name.isdecimal() and old.name not in names)
    return removed


def _old_folders(place: Path) -> list[Path]:
    """Return the subfolders that were last modified over `_KEPT_LONGER_S` ago."""
    before = time.time() - _KEPT_LONGER_S
    listed = (entry for entry in sorted(place.iterdir()) if entry.is_dir() and not entry.is_symlink())
    return [entry for entry in listed if entry.stat().st_mtime < before]
