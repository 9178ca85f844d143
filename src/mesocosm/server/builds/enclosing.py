"""What programs of strangers may see and use here: one enclosure for adapters, one for building them."""

import os
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import mesocosm
from mesocosm.sandboxes.allowance import MIB, Allowance
from mesocosm.sandboxes.bubblewrap import python_folders
from mesocosm.sandboxes.enclosure import Enclosure, choose
from mesocosm.server.settings import Settings

if TYPE_CHECKING:
    from mesocosm.server.builds.build import Built

_ADDRESSES = 8 * 1024 * MIB
"""Address space that one process has at least: large libraries reserve gigabytes and touch little of it."""


def enclosure(settings: Settings, built: "Built") -> Enclosure:
    """Return where adapters of a built version run. Raises UsageError where this machine offers none."""
    most = settings.environment_memory_mb * MIB
    scratch = settings.environment_scratch_mb * MIB
    allowance = Allowance(
        cpu_seconds=settings.environment_cpu_s,
        memory_bytes=max(4 * most, _ADDRESSES),
        processes=settings.environment_processes,
        file_bytes=scratch,
        scratch_bytes=scratch,
    )
    return _enclosure(settings, allowance, (built.source, built.packages, *our_folders()))


def workshop(settings: Settings, readable: Sequence[Path], *, seconds: float, most_bytes: int) -> Enclosure:
    """Return where git and pip work, for so many seconds and bytes of a file. Raises UsageError as `enclosure`."""
    allowance = Allowance(
        cpu_seconds=max(int(seconds * (os.cpu_count() or 1)), 1),
        memory_bytes=max(4 * settings.environment_memory_mb * MIB, _ADDRESSES),
        processes=settings.environment_processes,
        file_bytes=most_bytes,
        scratch_bytes=settings.environment_scratch_mb * MIB,
    )
    return _enclosure(settings, allowance, tuple(readable))


def _enclosure(settings: Settings, allowance: Allowance, readable: tuple[Path, ...]) -> Enclosure:
    return Enclosure(
        kind=choose(settings.sandbox, settings.unsafe_sandbox),
        allowance=allowance,
        most_memory=settings.environment_memory_mb * MIB,
        readable=readable,
    )


def our_folders() -> tuple[Path, ...]:
    """Return the folders that our interpreter and packages are in."""
    return tuple(dict.fromkeys((*python_folders(), *our_packages())))


def our_packages() -> tuple[Path, ...]:
    """Return the folders that our packages are imported from: environments find `bench_common` there."""
    installed = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    return tuple(dict.fromkeys((Path(mesocosm.__file__).resolve().parents[1], *installed)))


def interpreter() -> Path:
    """Return the interpreter that virtual environments are made of."""
    return Path(getattr(sys, "_base_executable", "") or sys.executable)
