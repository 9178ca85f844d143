"""What a rollout requires, and whether our own environment or another interpreter of this machine satisfies it."""

import asyncio
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mesocosm.core.failure import InvalidInput, Problem, UsageError

SHIMMED = "osmosis-ai"
"""The package that our compatibility package replaces; any version of it counts as satisfied."""

SERVER = ("pydantic>=2.10", "fastapi>=0.115", "uvicorn>=0.34")
"""What our own SDK needs in order to serve a rollout."""

SPOKEN = "osmosis-ai<0.4"
"""Releases with a known protocol: before 0.3.3 they send callbacks, later ones are polled."""

_EXTRAS = {
    "openai-agents": ("openai-agents[litellm]>=0.18.1,<0.19",),
    "strands": ("strands-agents[litellm]",),
    "rubric": ("litellm",),
    "eval-run": ("litellm",),
    "parquet": ("pyarrow",),
}
"""What the extras of the replaced package would install, as far as rollouts use it."""

_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([^\]]*)\])?")

MINORS = range(11, 21)
"""The Python 3.N to look for. Older ones cannot run rollouts."""

KEPT = (".pyenv/versions/3.*/bin/python3", ".local/share/uv/python/*/bin/python3")
"""Where version managers keep interpreters below the home directory, on the path or not."""

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.!+_-]*")
_MOST_BYTES = 16 * 1024 * 1024
_CLAUSE = re.compile(r"\s*(~=|===?|!=|<=|>=|<|>)\s*v?([0-9]+(?:\.[0-9]+)*)(\.\*)?\s*$")


@dataclass(frozen=True, slots=True)
class Declared:
    """The requirements in a rollout's pyproject.toml, its supported Python versions, and the versions in its uv.lock.

    `locked` are requirements as `name==version`, for whatever of them is installed.
    """

    requirements: tuple[str, ...] = ()
    requires_python: str = ""
    locked: tuple[str, ...] = ()

    @property
    def shimmed(self) -> bool:
        """Whether it requires the package that we can replace."""
        return any(name_of(line) == SHIMMED for line in self.requirements)

    def without_shimmed(self) -> tuple[str, ...]:
        """Return the requirements, with the replaced package exchanged for what our replacement needs."""
        kept = [line for line in self.requirements if name_of(line) != SHIMMED]
        brought = [one for line in self.requirements if name_of(line) == SHIMMED for one in _brought(line)]
        return (*kept, *brought, *SERVER)


def declared(folder: Path) -> Declared:
    """Read the pyproject.toml and the uv.lock of a rollout; missing files declare nothing.

    Raises UsageError, InvalidInput.
    """
    path = folder / "pyproject.toml"
    project = _toml(path).get("project", {})
    if not isinstance(project, Mapping):
        raise InvalidInput(str(path), [Problem("project", "not a table", "write it as [project]")])
    lines, python = project.get("dependencies", []), project.get("requires-python", "")
    problems = []
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        problems.append(Problem("project.dependencies", "not a list of strings", 'for example ["openai>=1.70"]'))
    if not isinstance(python, str):
        problems.append(Problem("project.requires-python", "not a string", 'for example ">=3.11"'))
    if problems:
        raise InvalidInput(str(path), problems)
    return Declared(tuple(lines), python, locked(folder) if lines else ())


def locked(folder: Path) -> tuple[str, ...]:
    """Return the versions in the uv.lock of a rollout that come from a package index. Raises UsageError."""
    packages = _toml(folder / "uv.lock").get("package", [])
    return tuple(sorted(filter(None, map(_pin, packages)))) if isinstance(packages, list) else ()


def _pin(package: object) -> str:
    """Return a package of a lock as a requirement; empty if it comes from a folder, a repository or an address."""
    if not isinstance(package, Mapping) or not isinstance(source := package.get("source"), Mapping):
        return ""
    name, found, markers = package.get("name"), package.get("version"), package.get("resolution-markers", [])
    if "registry" not in source or not isinstance(name, str) or not isinstance(found, str):
        return ""
    if not isinstance(markers, list) or not all(isinstance(one, str) and one.isprintable() for one in markers):
        return ""
    if _NAME.fullmatch(name) is None or _VERSION.fullmatch(found) is None:
        return ""
    # uv locks several versions of a package if none fits everywhere; the markers say which one is for what.
    where = " or ".join(f"({marker})" for marker in markers)
    return f"{name}=={found} ; {where}" if where else f"{name}=={found}"


def _toml(path: Path) -> Mapping[str, Any]:
    """Return the content of a file, empty if there is none. Raises UsageError."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError(f"{path} has more than {_MOST_BYTES >> 20} MB, so it is not read")
        return tomllib.loads(content.decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def name_of(line: str) -> str:
    """Return the normalised project name in a requirement (PEP 503)."""
    match = _NAME.match(line)
    return re.sub(r"[-_.]+", "-", match.group(1)).lower() if match else ""


def satisfied(line: str) -> bool:
    """Return whether our own environment satisfies a requirement. One that cannot be evaluated is not satisfied."""
    if name_of(line) == SHIMMED:
        return all(satisfied(one) for one in _brought(line))
    bare = _NAME.fullmatch(line.strip())
    try:
        if bare is not None and not bare.group(2):
            version(bare.group(1))
            return True
        from packaging.requirements import InvalidRequirement, Requirement
    except (PackageNotFoundError, ImportError):
        return False
    try:
        wanted = Requirement(line)
        if wanted.marker is not None and not wanted.marker.evaluate():
            return True
        # The requirements of an extra are in the metadata of a package that may be missing: leave them to the
        # installer.
        return (
            not wanted.url and not wanted.extras and wanted.specifier.contains(version(wanted.name), prereleases=True)
        )
    except (InvalidRequirement, PackageNotFoundError):
        return False


def contradicts(line: str) -> bool:
    """Return whether our own environment has a package of a lock in another version."""
    try:
        from packaging.requirements import InvalidRequirement, Requirement
        from packaging.version import InvalidVersion
    except ImportError:
        return True
    try:
        wanted = Requirement(line)
        if wanted.marker is not None and not wanted.marker.evaluate():
            return False
        return not wanted.specifier.contains(version(wanted.name), prereleases=True)
    except PackageNotFoundError:
        return False
    except (InvalidRequirement, InvalidVersion):
        return True


def _brought(line: str) -> tuple[str, ...]:
    match = _NAME.match(line)
    extras = re.split(r"\s*,\s*", match.group(2).strip()) if match and match.group(2) else []
    names = list(_EXTRAS) if "full" in extras else extras
    return tuple(one for extra in names for one in _EXTRAS.get(extra, ()))


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
