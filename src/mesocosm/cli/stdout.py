"""Reserve standard output for the single document that a command prints."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

STDOUT, STDERR = 1, 2


@contextmanager
def kept_stdout() -> Iterator[None]:
    """Redirect what third-party code of this process writes to file descriptor 1 to standard error.

    Python's `sys.stdout` still writes to the original target. If a descriptor is closed, nothing happens.
    """
    try:
        sys.stdout.flush()
        before = os.dup(STDOUT)
        os.dup2(STDERR, STDOUT)
    except OSError:
        yield
        return
    ours, python = None, sys.stdout
    if _is_descriptor(python):
        ours = sys.stdout = os.fdopen(os.dup(before), "w", encoding=python.encoding, errors="replace")
    try:
        yield
    finally:
        if ours is not None:
            sys.stdout = python
            with suppress(OSError):  # a reader that went away is reported at the end of the command
                ours.close()
        os.dup2(before, STDOUT)
        os.close(before)


def _is_descriptor(stream: TextIO) -> bool:
    try:
        return stream.fileno() == STDOUT
    except (OSError, ValueError):
        return False
