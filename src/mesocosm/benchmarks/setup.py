"""What a benchmark is opened with, and the digests of the files in its folder."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.descriptor import FILE, Descriptor
from mesocosm.core.failure import UsageError
from mesocosm.core.folder import files_below, from_home


@dataclass(frozen=True, slots=True)
class BenchmarkSetup:
    """What a benchmark is opened with: its descriptor, folder, parameters, and output directory.

    `code` is the digest of the code that opens it and of the files in its folder; it is empty for a built-in benchmark,
    which is identified by its version.
    """

    descriptor: Descriptor
    folder: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    output: Path | None = None
    code: str = ""

    def path(self, parameter: str) -> Path | None:
        """Return the path that a parameter names: relative to the working directory, or else to the benchmark's folder.

        Return None if the parameter is not set. Raises UsageError if neither path exists.
        """
        text = self.parameters.get(parameter)
        if not text:
            return None
        given = from_home(str(text))
        for place in (given, self.folder / given):
            with suppress(OSError):  # A path that cannot be looked up, for example because the name is too long.
                if place.exists():
                    return place.resolve()
        raise UsageError(f"{self.descriptor.id}: {parameter} names {given}, and there is nothing; check the path")


def own_files(setup: BenchmarkSetup, root: Path | None = None) -> dict[str, str]:
    """Return the digests, by name, of the files below `root` (default: the folder) that can change the benchmark.

    If `root` is another directory, files inside the folder are skipped there. The descriptor, what the benchmark
    `writes`, and files named by parameters without `content` are left out. Raises UsageError for unreadable or too many
    files.
    """
    folder = setup.folder.resolve()
    root = root or folder
    writes = [os.path.normpath(pattern) for pattern in setup.descriptor.writes]
    idle = {
        folder / str(setup.parameters.get(name, parameter.default))
        for name, parameter in setup.descriptor.parameters.items()
        if parameter.type == "path" and not parameter.content
    }

    def apart(name: str) -> bool:
        path, place = root / name, os.path.relpath(root / name, folder)
        elsewhere = root != folder and path.is_relative_to(folder)
        return elsewhere or path in idle or place == FILE or any(fnmatchcase(place, pattern) for pattern in writes)

    try:
        return files_below(root, apart=apart)
    except OSError as error:
        raise UsageError(
            f"{error.filename} cannot be read ({error.strerror}), but it belongs to benchmark {setup.descriptor.id}"
        ) from error
