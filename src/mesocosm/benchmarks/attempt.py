"""One directory for each time that a program is run, so that nothing of an earlier one can be taken for its result.

`attempt-N/output` is the program's own; beside it stand its logs and, once it ended by itself, `attempt.json`.
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import InfrastructureError

RECORD = "attempt.json"
_NAME = re.compile(r"attempt-(\d+)")


class AttemptEnd(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of an attempt that ended. Paths are relative to the directory that holds all attempts.

    It is `accepted` once its episode is graded: a program that ended well may still have been refused model calls.
    """

    attempt: int
    trial: int
    returncode: int | None
    duration_s: float
    result: str = ""
    items: str = ""
    failed: bool = False
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class AttemptDirectory:
    """The directory of one attempt inside `root`."""

    root: Path
    number: int

    @property
    def folder(self) -> Path:
        """Everything of this attempt."""
        return self.root / f"attempt-{self.number}"

    @property
    def output(self) -> Path:
        """Where the program writes."""
        return self.folder / "output"

    def relative(self, path: Path) -> str:
        """Return a path as it is stored: from the directory of all attempts on, so that it can be moved."""
        return path.relative_to(self.root.resolve() if path.is_absolute() else self.root).as_posix()

    def conclude(self, ended: AttemptEnd) -> None:
        """Write that this attempt ended; it is there as a whole or not at all."""
        half = self.folder / f".{RECORD}"
        half.write_bytes(msgspec.json.encode(ended))
        half.replace(self.folder / RECORD)


def begin(root: Path) -> AttemptDirectory:
    """Return a new, empty attempt. Raises InfrastructureError when its directory cannot be made."""
    root = root.resolve()
    try:
        root.mkdir(parents=True, exist_ok=True)
        while True:
            attempt = AttemptDirectory(root, 1 + max(_numbers(root), default=0))
            try:
                attempt.folder.mkdir()
            except FileExistsError:
                continue
            attempt.output.mkdir()
            return attempt
    except OSError as error:
        raise InfrastructureError(f"{root}: no directory for the program's output can be made: {error}") from error


def accept(root: Path, number: int) -> None:
    """Note that the episode of an attempt came to a good end; nothing happens where that is known."""
    attempt = AttemptDirectory(root.resolve(), number)
    ended = _read(attempt.folder / RECORD)
    if ended is not None and not ended.accepted:
        attempt.conclude(msgspec.structs.replace(ended, accepted=True))


def latest(root: Path, trial: int) -> AttemptEnd | None:
    """Return the newest ended attempt of a repetition; None when it has none."""
    root = root.resolve()
    for number in sorted(_numbers(root), reverse=True):
        ended = _read(root / f"attempt-{number}" / RECORD)
        if ended is not None and ended.trial == trial:
            return ended
    return None


def _read(path: Path) -> AttemptEnd | None:
    try:
        found: Any = json.loads(path.read_bytes())
        return msgspec.convert(found, AttemptEnd)
    except (OSError, ValueError, RecursionError):
        return None


def _numbers(root: Path) -> list[int]:
    try:
        names = os.listdir(root)  # noqa: PTH208 -- names are all that is wanted
    except OSError:
        return []
    return [int(found[1]) for name in names if (found := _NAME.fullmatch(name))]
