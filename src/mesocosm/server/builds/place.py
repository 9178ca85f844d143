"""Where a version lies on this machine, and that only one process builds it there at a time."""

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
from typing import Any

from mesocosm.core.failure import InfrastructureError
from mesocosm.sandboxes.enclosure.disk import remove as remove_tree
from mesocosm.server.settings import Settings

_LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of one version: the checked-out `source`, its `packages`, its `logs`, and a note of what was built."""

    folder: Path

    @property
    def source(self) -> Path:
        """The repository as it was at the commit."""
        return self.folder / "source"

    @property
    def packages(self) -> Path:
        """Its own virtual environment."""
        return self.folder / "venv"

    @property
    def python(self) -> Path:
        """The interpreter of that."""
        return self.packages / "bin" / "python"

    @property
    def scratch(self) -> Path:
        """Room for temporary files while it is built."""
        return self.folder / "scratch"

    @property
    def logs(self) -> Path:
        """What its adapter wrote when it was run on this machine."""
        return self.folder / "logs"

    @property
    def _note(self) -> Path:
        return self.folder / "built.json"

    def remember(self, **facts: str) -> None:
        """Note that everything is there; `facts` are to be read again by `facts`."""
        self._note.write_text(json.dumps({**facts, "interpreter": _interpreter()}))

    def facts(self) -> dict[str, Any] | None:
        """Return what was noted, None where the version is not there or was built for another interpreter."""
        try:
            noted = json.loads(self._note.read_bytes())
        except (OSError, ValueError):
            return None
        usable = isinstance(noted, dict) and noted.get("interpreter") == _interpreter() and self.python.exists()
        return noted if usable else None


def environment_folder(settings: Settings, environment_id: str) -> Path:
    """Return where all versions of an environment lie."""
    return settings.data_dir.absolute() / "environments" / environment_id


def place_of(settings: Settings, environment_id: str, version: int) -> Place:
    """Return where a version lies, whether it is there or not."""
    return Place(environment_folder(settings, environment_id) / str(version))


@asynccontextmanager
async def alone(place: Place) -> AsyncIterator[None]:
    """Keep other processes of this machine from building in a place. Raises InfrastructureError."""
    path = _lock_of(place)
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
                await asyncio.sleep(_LOOK_S)
        yield
    finally:
        os.close(number)


def remove(place: Place) -> bool:
    """Remove a version from this machine, unless somebody builds it just now; return whether it is gone."""
    with contextlib.suppress(BlockingIOError, OSError), _lock_of(place).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(place.folder)
    return not place.folder.exists()


def _lock_of(place: Place) -> Path:
    return place.folder.with_name(f"{place.folder.name}.lock")


def _interpreter() -> str:
    return f"{sys.base_prefix} {sys.version_info.major}.{sys.version_info.minor} {sys.prefix}"
