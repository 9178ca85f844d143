"""Give each run of a program its own directory, so that files of an earlier run are never taken for its result.

`attempt-N/output` belongs to the program; beside it are its logs and, once it ended by itself, `attempt.json`.
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
    """What is known of an ended attempt. Paths are relative to the directory that holds all attempts.

    `accepted` is set once the episode is graded: a program that ended well may still have been refused model calls.
    `calls` are the numbers, from 1, of the model calls of each item, by its id.
    """

    attempt: int
    trial: int
    returncode: int | None
    duration_s: float
    result: str = ""
    items: str = ""
    failed: bool = False
    accepted: bool = False
    calls: dict[str, list[int]] = {}


@dataclass(frozen=True, slots=True)
class AttemptDirectory:
    """The directory of one attempt inside `root`."""

    root: Path
    number: int

    @property
    def folder(self) -> Path:
        """Everything that belongs to this attempt."""
        return self.root / f"attempt-{self.number}"

    @property
    def output(self) -> Path:
        """The directory that the program writes to."""
        return self.folder / "output"

    def relative(self, path: Path) -> str:
        """Return `path` as it is stored: relative to the directory of all attempts, so that this can be moved."""
        return path.relative_to(self.root.resolve() if path.is_absolute() else self.root).as_posix()

    def conclude(self, ended: AttemptEnd) -> None:
        """Write the attempt's record atomically."""
        half = self.folder / f".{RECORD}"
        half.write_bytes(msgspec.json.encode(ended))
        half.replace(self.folder / RECORD)


def begin(root: Path) -> AttemptDirectory:
    """Create and return a new, empty attempt. Raises InfrastructureError if its directory cannot be created."""
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
    """Mark an attempt's episode as graded; do nothing if it is already marked or has no record."""
    attempt = AttemptDirectory(root.resolve(), number)
    ended = _read(attempt.folder / RECORD)
    if ended is not None and not ended.accepted:
        attempt.conclude(msgspec.structs.replace(ended, accepted=True))


def note_calls(root: Path, number: int, calls: dict[str, list[int]]) -> None:
    """Keep which model calls belong to which item."""
    attempt = AttemptDirectory(root.resolve(), number)
    ended = _read(attempt.folder / RECORD)
    if ended is not None:
        attempt.conclude(msgspec.structs.replace(ended, calls=calls))


def latest(root: Path, trial: int) -> AttemptEnd | None:
    """Return the newest ended attempt of a repetition, or None if there is none."""
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
