"""Snapshots and dataset versions as files on this machine, written once by content when a process first needs them."""

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mesocosm.core.failure import InfrastructureError, UnknownName
from mesocosm.core.ids import new_id
from mesocosm.sandboxes.disk import remove
from mesocosm.server.builds.sync import write_snapshot
from mesocosm.server.service import Service
from mesocosm.server.settings import Settings
from mesocosm.store.datasets import DatasetVersion

_KEPT_S = 3 * 86_400.0
_SPARED_S = 3_600.0
"""Seconds after the time limit of a run for which content that it began to use is kept."""


def snapshot_folder(service: Service, digest: str) -> Path:
    """Return a folder with the files of a snapshot, only to be read. Raises UnknownName, InfrastructureError."""

    def write(folder: Path) -> None:
        snapshots = service.store.snapshots
        write_snapshot(snapshots, snapshots.get(digest), folder)

    return _kept(service.settings, f"snapshot-{digest}", write)


def dataset_file(service: Service, version: DatasetVersion) -> Path:
    """Return the file of an uploaded version, only to be read. Raises UnknownName, InfrastructureError."""
    store, name = service.store.datasets, f"data.{version.format}"

    def write(folder: Path) -> None:
        digests = store.parts(version.dataset_id, version.version)
        whole = hashlib.sha256()
        with (folder / name).open("wb") as file:
            for number in range(1, version.part_count + 1):
                if number not in digests:
                    raise UnknownName(f"part {number} of version {version.version} of the dataset is not stored")
                data = store.read_part(digests[number])
                whole.update(data)
                file.write(data)
        if whole.hexdigest() != version.digest:
            raise InfrastructureError(
                f"version {version.version} of dataset {version.dataset_id} is damaged in {service.store.place}: its "
                f"SHA-256 is {whole.hexdigest()}, not {version.digest}; restore a backup, or upload it again"
            )

    return _kept(service.settings, f"dataset-{version.digest}-{version.format}", write) / name


def sweep_content(settings: Settings) -> int:
    """Remove content that was unused for days, and what killed processes left; return how many folders."""
    place = _place(settings)
    before = time.time() - max(_KEPT_S, settings.run_s + _SPARED_S)
    listed = place.iterdir() if place.is_dir() else ()
    return sum(remove(folder) for folder in listed if folder.stat().st_mtime < before)


def _place(settings: Settings) -> Path:
    return settings.data_dir.absolute() / "content"


def _kept(settings: Settings, name: str, write: Callable[[Path], None]) -> Path:
    """Return the folder `name`, filled by `write` unless it is there; it appears at once and whole."""
    folder = _place(settings) / name
    with suppress(FileNotFoundError):
        os.utime(folder)
        return folder
    partial = folder.with_name(f"{name}.{new_id()}")
    try:
        partial.mkdir(parents=True)
        write(partial)
        partial.rename(folder)
    except OSError as error:
        # Another process may have been faster.
        if not folder.is_dir():
            words = f"{folder} cannot be written: {error.strerror or error}; make room in the data directory"
            raise InfrastructureError(words) from error
    finally:
        remove(partial)
    return folder
