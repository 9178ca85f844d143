"""Building what was submitted: from a row in the queue to a domain that runs can be started on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mesocosm.platform.service import Service
from mesocosm.store.environments import VersionRow


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


async def build(service: Service, version: VersionRow, *, heartbeat: Callable[[], None]) -> None:
    """Build a claimed version: clone, check, install, test, publish. Failures are told to the author, not raised."""
    raise NotImplementedError


async def built(service: Service, environment_id: str, version: int) -> Built:
    """Return a version on this machine, built again from its commit where it is missing."""
    raise NotImplementedError
