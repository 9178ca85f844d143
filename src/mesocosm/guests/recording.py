"""Files with a JSON object a line, as `mesocosm parity` reads them."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from mesocosm.core.failure import InvalidInput, Problem, UsageError

T = TypeVar("T")


def read_lines(path: Path, kind: type[T], what: str, problem: Callable[[T], str]) -> list[T]:
    """Return the lines of a file; `problem` says what is wrong with one, "" if nothing is, and `what` they are.

    Raises UsageError if there is no file or nothing in it, InvalidInput for lines that cannot be used.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    found, problems = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = msgspec.json.decode(line, type=kind)
            wrong = problem(one)
        except msgspec.DecodeError as error:
            wrong = str(error)
        if wrong:
            problems.append(Problem(f"line {number}", wrong))
        else:
            found.append(one)
    if problems:
        raise InvalidInput(str(path), problems)
    if not found:
        raise UsageError(f"{path} has no {what}")
    return found
