"""What a rollout declares that it needs, and whether our own interpreter has it."""

import re
import tomllib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mesocosm.core.failure import InvalidInput, Problem, UsageError

SHIMMED = "osmosis-ai"
"""The version that our stand-in implements; it satisfies any requirement."""

SERVER = ("pydantic>=2.10", "fastapi>=0.115", "uvicorn>=0.34")
"""What our own SDK needs to serve a rollout."""

SPOKEN = "osmosis-ai<0.4"
"""Releases with a known protocol: those before 0.3.3 send callbacks, later ones are polled."""

_EXTRAS = {
    "openai-agents": ("openai-agents[litellm]>=0.18.1,<0.19",),
    "strands": ("strands-agents[litellm]",),
    "rubric": ("litellm",),
    "eval-run": ("litellm",),
    "parquet": ("pyarrow",),
}
"""What extras of the package that is stood in for would bring, as far as a rollout uses it."""

_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class Declared:
    """The requirements of a rollout's pyproject.toml, and the versions of Python that it is for."""

    requirements: tuple[str, ...] = ()
    requires_python: str = ""

    @property
    def shimmed(self) -> bool:
        """Whether it asks for the package that we can stand in for."""
        return any(name_of(line) == SHIMMED for line in self.requirements)

    def without_shimmed(self) -> tuple[str, ...]:
        """Return the requirements with what our stand-in needs in place of what it stands in for."""
        kept = [line for line in self.requirements if name_of(line) != SHIMMED]
        brought = [one for line in self.requirements if name_of(line) == SHIMMED for one in _brought(line)]
        return (*kept, *brought, *SERVER)


def declared(folder: Path) -> Declared:
    """Read the pyproject.toml of a rollout; without one nothing is declared. Raises UsageError."""
    path = folder / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("project", {})
    except FileNotFoundError:
        return Declared()
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    lines, python = project.get("dependencies", []), project.get("requires-python", "")
    problems = []
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        problems.append(Problem("project.dependencies", "not a list of strings"))
    if not isinstance(python, str):
        problems.append(Problem("project.requires-python", "not a string"))
    if problems:
        raise InvalidInput(str(path), problems)
    return Declared(tuple(lines), python)


def name_of(line: str) -> str:
    """Return the normalised name of the project that a requirement names (PEP 503)."""
    match = _NAME.match(line)
    return re.sub(r"[-_.]+", "-", match.group(1)).lower() if match else ""


def satisfied(line: str) -> bool:
    """Return whether our own environment has what a requirement asks for. One that cannot be judged is not."""
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
        # What an extra would bring is in the metadata of a package that may not be there: let the installer see to it.
        return (
            not wanted.url and not wanted.extras and wanted.specifier.contains(version(wanted.name), prereleases=True)
        )
    except (InvalidRequirement, PackageNotFoundError):
        return False


def _brought(line: str) -> tuple[str, ...]:
    match = _NAME.match(line)
    extras = re.split(r"\s*,\s*", match.group(2).strip()) if match and match.group(2) else []
    names = list(_EXTRAS) if "full" in extras else extras
    return tuple(one for extra in names for one in _EXTRAS.get(extra, ()))
