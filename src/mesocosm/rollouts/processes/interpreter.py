"""Find an interpreter on this machine with the version that a rollout requires."""

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MINORS = range(11, 21)
"""The Python 3.N to look for. Older ones cannot run rollouts."""

KEPT = (".pyenv/versions/3.*/bin/python3", ".local/share/uv/python/*/bin/python3")
"""Where version managers keep interpreters below the home directory, on the path or not."""

_CLAUSE = re.compile(r"\s*(~=|===?|!=|<=|>=|<|>)\s*v?([0-9]+(?:\.[0-9]+)*)(\.\*)?\s*$")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter: the path of its program and its version."""

    path: str
    version: tuple[int, int, int]

    def __str__(self) -> str:
        return ".".join(map(str, self.version))


def own() -> Interpreter:
    """Return the interpreter of this process."""
    return Interpreter(sys.executable, sys.version_info[:3])


def fits(version: tuple[int, int, int], wanted: str) -> bool:
    """Return whether a version satisfies `requires-python` (PEP 440, releases only).

    A clause that cannot be parsed excludes nothing.
    """
    return all(_holds(version, clause) for clause in wanted.split(",") if clause.strip())


async def fitting(wanted: str, environment: Mapping[str, str]) -> Interpreter | None:
    """Return an interpreter with a fitting version: our own, one on the path, or one of a version manager.

    Return None if there is none.
    """
    if fits(own().version, wanted):
        return own()
    for path in _candidates(environment):
        found = await _asked(path, environment)
        if found is not None and found.version >= (3, 11) and fits(found.version, wanted):
            return found
    return None


def _candidates(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield programs that may be interpreters; by name the oldest first, because it has the most wheels."""
    for name in ("python3", *(f"python3.{minor}" for minor in MINORS)):
        path = shutil.which(name, path=environment.get("PATH", os.defpath))
        if path is not None:
            yield path
    home = Path(environment.get("HOME") or Path.home())
    for pattern in KEPT:
        yield from map(str, sorted(home.glob(pattern)))


async def _asked(path: str, environment: Mapping[str, str]) -> Interpreter | None:
    """Return the interpreter at a path, or None if it cannot run (for example the shim of a version manager)."""
    code = "import sys; print(sys.executable, *sys.version_info[:3], sep='\\n')"
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            "-I",
            "-c",
            code,
            env=dict(environment),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        said, _ = await process.communicate()
        executable, *numbers = said.decode().split("\n")[:4]
        major, minor, micro = map(int, numbers)
    except (OSError, ValueError):
        return None
    return Interpreter(executable, (major, minor, micro))


def _holds(version: tuple[int, int, int], clause: str) -> bool:
    match = _CLAUSE.match(clause)
    if match is None:
        return True
    sign, number, star = match.groups()
    parts = tuple(map(int, number.split(".")))
    if sign == "~=":
        return version >= _padded(parts) and version[: len(parts) - 1] == parts[:-1]
    if sign in {"==", "===", "!="}:
        same = version[: len(parts)] == parts if star else version == _padded(parts)
        return same != (sign == "!=")
    bound = _padded(parts)
    return {"<": version < bound, "<=": version <= bound, ">": version > bound, ">=": version >= bound}[sign]


def _padded(parts: tuple[int, ...]) -> tuple[int, int, int]:
    major, minor, micro = (*parts, 0, 0)[:3]
    return major, minor, micro
