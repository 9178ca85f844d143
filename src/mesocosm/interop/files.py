"""Write files atomically."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mesocosm.core.failure import UsageError


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` if the block succeeds; otherwise `path` is unchanged.

    Parent directories are created, links are followed, and devices and pipes are written directly. Raises UsageError if
    the file cannot be written.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a directory; name a file in it")
    if path.exists() and not path.is_file():
        with path.open("wb") as special:
            yield special
        return
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}; choose another place") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(name).unlink()
        raise
