"""Resource limits of an external program."""

import resource
from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProgramLimits:
    """Limits of one confined program; None means no limit.

    `cpu_seconds`, `memory_bytes` (address space), `data_bytes` (private memory) and `file_bytes` apply to each process,
    `processes` to all of them together, threads included. `scratch_bytes` is the size of each memory-backed folder
    (/tmp, /dev/shm).
    """

    cpu_seconds: int | None = None
    memory_bytes: int | None = None
    data_bytes: int | None = None
    processes: int | None = 256
    file_bytes: int | None = None
    open_files: int | None = 1024
    scratch_bytes: int = 256 * MIB

    def words(self) -> list[str]:
        """Return a `prlimit` command prefix (util-linux) that sets these limits and executes the command behind it."""
        limits = {
            "nproc": (self.processes, resource.RLIMIT_NPROC),
            "cpu": (self.cpu_seconds, resource.RLIMIT_CPU),
            "as": (self.memory_bytes, resource.RLIMIT_AS),
            "data": (self.data_bytes, resource.RLIMIT_DATA),
            "fsize": (self.file_bytes, resource.RLIMIT_FSIZE),
            "nofile": (self.open_files, resource.RLIMIT_NOFILE),
            "core": (0, resource.RLIMIT_CORE),
        }
        found = [f"--{name}={_lower(value, kind)}" for name, (value, kind) in limits.items() if value is not None]
        return ["prlimit", *found, "--"]


def _lower(value: int, kind: int) -> int:
    """Return a limit that can be set here: at most the hard limit that already applies to this process."""
    hard = resource.getrlimit(kind)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
