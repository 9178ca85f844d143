"""The declared requirements of a rollout, and whether our own interpreter satisfies them."""

import re
import tomllib
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class Declared:
    """The requirements in a rollout's pyproject.toml, and its supported Python versions."""

    requirements: tuple[str, ...] = ()
    requires_python: str = ""

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
    """Read the pyproject.toml of a rollout; a missing file declares nothing. Raises UsageError, InvalidInput."""
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


def _brought(line: str) -> tuple[str, ...]:
    match = _NAME.match(line)
    extras = re.split(r"\s*,\s*", match.group(2).strip()) if match and match.group(2) else []
    names = list(_EXTRAS) if "full" in extras else extras
    return tuple(one for extra in names for one in _EXTRAS.get(extra, ()))
