"""Sandboxes of submitted code: one for adapters, one for git and pip during a build."""

import os
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import mesocosm
from mesocosm.sandboxes.bubblewrap import python_folders
from mesocosm.sandboxes.program_limits import MIB, ProgramLimits
from mesocosm.sandboxes.sandbox import ProgramSandbox, choose
from mesocosm.server.builds.directory import BuiltVersion
from mesocosm.server.settings import Settings

# Minimum address space of a process in bytes: large libraries reserve gigabytes of addresses and use little of them.
_LEAST_ADDRESS_SPACE = 8 * 1024 * MIB


def adapter_sandbox(settings: Settings, built: BuiltVersion) -> ProgramSandbox:
    """Return the sandbox for the adapters of a version. Raises UsageError if none is available on this machine."""
    scratch = settings.environment_scratch_mb * MIB
    readable = (built.source, built.packages, *runtime_folders())
    return _sandbox(settings, readable, cpu_seconds=settings.environment_cpu_s, file_bytes=scratch)


def build_sandbox(settings: Settings, readable: Sequence[Path], *, seconds: float, most_bytes: int) -> ProgramSandbox:
    """Return the sandbox for git or pip, limited to `seconds` and files of `most_bytes`.

    Raises UsageError if none is available on this machine.
    """
    cpu_seconds = max(int(seconds * (os.cpu_count() or 1)), 1)
    return _sandbox(settings, tuple(readable), cpu_seconds=cpu_seconds, file_bytes=most_bytes)


def _sandbox(settings: Settings, readable: tuple[Path, ...], *, cpu_seconds: int, file_bytes: int) -> ProgramSandbox:
    memory = settings.environment_memory_mb * MIB
    allowance = ProgramLimits(
        cpu_seconds=cpu_seconds,
        memory_bytes=max(4 * memory, _LEAST_ADDRESS_SPACE),
        processes=settings.environment_processes,
        file_bytes=file_bytes,
        scratch_bytes=settings.environment_scratch_mb * MIB,
    )
    kind = choose(settings.sandbox, settings.unsafe_sandbox)
    return ProgramSandbox(kind=kind, allowance=allowance, most_memory=memory, readable=readable)


def runtime_folders() -> tuple[Path, ...]:
    """Return the folders of this interpreter and of the packages that it imports."""
    return tuple(dict.fromkeys((*python_folders(), *package_folders())))


def package_folders() -> tuple[Path, ...]:
    """Return the folders from which this process imports packages. Environments import `bench_common` from there."""
    installed = [Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")]
    return tuple(dict.fromkeys((Path(mesocosm.__file__).resolve().parents[1], *installed)))
