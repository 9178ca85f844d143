"""The directory of an environment version on this machine, and a lock so that only one process builds it."""

import asyncio
import contextlib
import fcntl
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from mesocosm.core.failure import InfrastructureError
from mesocosm.sandboxes.disk import remove as remove_tree
from mesocosm.server.settings import Settings

_LOCK_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class BuiltVersion:
    """A version that is ready to run on this machine.

    `source` is the checked-out repository, `manifest` the manifest in it, `python` the interpreter of its virtual
    environment, `packages` the folder of that environment, `digest` covers everything that can change its behaviour.
    """

    source: Path
    manifest: Path
    python: Path
    packages: Path
    digest: str

    @property
    def logs(self) -> Path:
        """The folder with the output of its adapter, for its author."""
        return self.source.parent / "logs"


@dataclass(frozen=True, slots=True)
class BuildDirectory:
    """The folder of one version: the checked-out `source`, its `packages`, its `logs` and a record of the build."""

    folder: Path

    @property
    def source(self) -> Path:
        """The repository at the built commit."""
        return self.folder / "source"

    @property
    def packages(self) -> Path:
        """The virtual environment of the version."""
        return self.folder / "venv"

    @property
    def python(self) -> Path:
        """The interpreter of that virtual environment."""
        return self.packages / "bin" / "python"

    @property
    def scratch(self) -> Path:
        """The folder with temporary files of the build."""
        return self.folder / "scratch"

    @property
    def logs(self) -> Path:
        """The folder with the output of its adapter on this machine."""
        return self.folder / "logs"

    @property
    def _record(self) -> Path:
        return self.folder / "built.json"

    def complete(self, manifest: str, digest: str) -> BuiltVersion:
        """Record that the build is complete; `manifest` is the path of the manifest in the repository."""
        self._record.write_text(json.dumps({"manifest": manifest, "digest": digest, "interpreter": _interpreter()}))
        return self.version(manifest, digest)

    def version(self, manifest: str, digest: str) -> BuiltVersion:
        """Return the version in this directory, complete or not."""
        return BuiltVersion(self.source, self.source / manifest, self.python, self.packages, digest)

    def completed(self) -> BuiltVersion | None:
        """Return the version; None if it is incomplete or was built for another interpreter."""
        try:
            record = json.loads(self._record.read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(record, dict) or record.get("interpreter") != _interpreter() or not self.python.exists():
            return None
        return self.version(record["manifest"], record["digest"])

    def clear(self) -> None:
        """Remove all content and leave an empty directory."""
        remove_tree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Wait for and hold the lock of this directory. Raises InfrastructureError if it cannot be created."""
        path = self._lock
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InfrastructureError(
                f"the folder {path.parent} for environments cannot be written ({error.strerror}); choose another data "
                "directory with --data-dir"
            ) from error
        try:
            while True:
                try:
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(_LOCK_POLL_S)
            yield
        finally:
            os.close(number)

    def remove(self) -> bool:
        """Remove the version from this machine unless it is being built; return whether it no longer exists."""
        with contextlib.suppress(BlockingIOError, OSError), self._lock.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(self.folder)
        return not self.folder.exists()

    @property
    def _lock(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.lock")


def environment_folder(settings: Settings, environment_id: str) -> Path:
    """Return the folder of all versions of an environment."""
    return settings.data_dir.absolute() / "environments" / environment_id


def build_directory(settings: Settings, environment_id: str, version: int) -> BuildDirectory:
    """Return the directory of a version, whether it exists or not."""
    return BuildDirectory(environment_folder(settings, environment_id) / str(version))


def _interpreter() -> str:
    return f"{sys.base_prefix} {sys.version_info.major}.{sys.version_info.minor} {sys.prefix}"
