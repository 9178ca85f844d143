"""Check what a benchmark needs on this machine and report what is missing."""

import importlib.machinery
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.catalogue import KnownBenchmark
from mesocosm.benchmarks.descriptor import Requirement
from mesocosm.benchmarks.placeholders import UnsetPlaceholder, text
from mesocosm.benchmarks.setup import BenchmarkSetup
from mesocosm.core.folder import from_home

DOCKER_SECONDS = 3.0
_KVM = Path("/dev/kvm")


@dataclass(frozen=True, slots=True)
class _Place:
    """The context of a check: the benchmark's folder, its parameters, our environment variables."""

    folder: Path
    parameters: Mapping[str, Any]
    environ: Mapping[str, str]


def missing(known: KnownBenchmark, parameters: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
    """Return what a benchmark needs and this machine lacks, each as a sentence that ends with the remedy.

    `parameters` are all of the benchmark's own, with defaults. A requirement is skipped if a parameter makes it
    unnecessary (for example, a path to recorded results).
    """
    place = _Place(known.folder, parameters, environ)
    wanted = [one for one in known.descriptor.requirement if not any(parameters.get(name) for name in one.unless)]
    sentences = (_sentence(one, _CHECKS[one.kind](one.name, place)) for one in wanted)
    return list(dict.fromkeys(sentence for sentence in sentences if sentence))


def lacking(setup: BenchmarkSetup) -> list[str]:
    """Return the missing requirements of a benchmark that is about to be opened."""
    return missing(KnownBenchmark(setup.descriptor, setup.folder, ""), setup.parameters, os.environ)


def _sentence(requirement: Requirement, found: str) -> str:
    return f"{found} ({requirement.why})" if found and requirement.why else found


def _program(name: str, place: _Place) -> str:
    if shutil.which(name, path=place.environ.get("PATH", os.defpath)):
        return ""
    return f"the program {name!r} is not on PATH; install it"


def _package(name: str, place: _Place) -> str:
    del place
    path: Any = None
    for part in _prefixes(name):
        found = importlib.machinery.PathFinder.find_spec(part, path)
        if found is None:
            return f"the Python package {name!r} is not installed; install it into this environment"
        path = found.submodule_search_locations
    return ""


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def _variable(name: str, place: _Place) -> str:
    return "" if place.environ.get(name) else f"the variable {name} is not set; export it"


def _file(name: str, place: _Place) -> str:
    try:
        filled = text(name, place.parameters)
    except UnsetPlaceholder as unset:
        return f"the parameter {unset} is not set; give it the path of what is needed"
    path = from_home(filled)
    if (place.folder / path).exists() or path.exists():
        return ""
    return f"there is nothing at {filled}; put it there, or name another place"


def lacks(need: str, environ: Mapping[str, str]) -> str:
    """Return why this machine has not what a benchmark of another framework needs; empty if it has.

    `need` is `docker`, or a program.
    """
    place = _Place(Path.cwd(), {}, environ)
    return _docker(need, place) if need == "docker" else _program(need, place)


def _docker(name: str, place: _Place) -> str:
    del name
    program = shutil.which("docker", path=place.environ.get("PATH", os.defpath))
    if program is None:
        return "docker is not installed; install it and start its engine"
    try:
        asked = subprocess.run(  # noqa: S603 -- a program of this machine, no words from outside
            [program, "version", "--format", "{{.Server.Version}}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DOCKER_SECONDS,
            check=False,
            env=dict(place.environ),
        )
    except (OSError, subprocess.TimeoutExpired):
        return f"the docker engine did not answer within {DOCKER_SECONDS:g} s; start it"
    if asked.returncode or not asked.stdout.strip():
        return "docker is installed, but no engine answers; start it, and see that this user may use it"
    return ""


def _kvm(name: str, place: _Place) -> str:
    del name, place
    if not _KVM.exists():
        return f"there is no {_KVM}: this machine offers no hardware virtualisation; use another, or enable it"
    if not os.access(_KVM, os.R_OK | os.W_OK):
        return f"{_KVM} may not be used by this user; add the user to the group that owns it"
    return ""


def _disk(name: str, place: _Place) -> str:
    wanted = float(name)
    free = shutil.disk_usage(place.folder).free / 1e9
    if free >= wanted:
        return ""
    return f"{wanted:g} GB of free disk space are needed and {free:.0f} GB are there; make room"


_CHECKS: dict[str, Callable[[str, _Place], str]] = {
    "program": _program,
    "package": _package,
    "variable": _variable,
    "file": _file,
    "docker": _docker,
    "kvm": _kvm,
    "disk": _disk,
}
