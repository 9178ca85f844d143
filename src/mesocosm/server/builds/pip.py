"""Run pip in a sandbox, because building packages runs foreign code; it reaches only the operator's package index."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mesocosm.core.failure import MesocosmError
from mesocosm.sandboxes.egress_proxy import EgressProxy
from mesocosm.sandboxes.program_limits import MIB
from mesocosm.sandboxes.sandboxed_process import Finished
from mesocosm.server.builds.errors import BuildError, disk_full_error
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.package_index import index_proxy, read_index_settings
from mesocosm.server.builds.sandbox import build_sandbox, runtime_folders
from mesocosm.server.settings import Settings

PIP = (
    *("install", "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--no-color", "--progress-bar=off"),
    *("--no-warn-script-location", "--root-user-action=ignore"),
)
"""The command of pip and its options."""

LOCAL = re.compile(r"(\.|/|file:)")
"""Marks a requirement that is a path."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ABSENT = re.compile(
    r"(?:No matching distribution found for|Could not find a version that satisfies the requirement) ([^\s(;]+)"
)
_INVALID = re.compile(r"Invalid requirement: ['\"]?(.+?)['\"]?(?:: |\s*\(from line|\s*$)", re.MULTILINE)
_UNBUILT = re.compile(
    r"(?:Failed building wheel for |Failed to build (?!installable )|╰─> (?!See above|No available|from ))"
    r"'?([\w.-]+)(?=['\s]|$)"
)
_BROKE_OFF = "error: subprocess-exited-with-error"
_STEP = re.compile(r"^(?:Collecting|Processing|Obtaining) (\S+)", re.MULTILINE)
_ARCHIVE = re.compile(r"(?:.*/)?(.+?)-\d[^/]*\.(?:tar\.\w+|tgz|zip)")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RequirementLine:
    """A requirement in a file, whose name is relative to what was submitted; `number` is its line, 0 if unknown."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.number} ({self.text})" if self.number else f"{self.file} ({self.text})"


async def run_pip(
    settings: Settings,
    command: Sequence[str],
    lines: Sequence[RequirementLine],
    log: BuildLog,
    *,
    cwd: Path,
    readable: Sequence[Path],
    packages: Path,
    scratch: Path,
) -> None:
    """Run a `command` of pip that installs `lines` into the folder `packages`; `scratch` is for its temporary files.

    Raises BuildError with the end of what pip printed, InfrastructureError if the disk is full.
    """
    index = read_index_settings()
    egress = index_proxy(settings, index)
    most = settings.packages_mb * MIB
    sandbox = build_sandbox(
        settings, (*readable, *runtime_folders(), *index.readable), seconds=settings.install_s, most_bytes=most
    )
    done = await sandbox.run(
        command,
        cwd=cwd,
        writable=[packages, scratch],
        env={"TMPDIR": str(scratch), "LC_ALL": "C.UTF-8", "PYTHONNOUSERSITE": "1", **index.variables},
        seconds=settings.install_s,
        egress=egress,
        heard=log.hear,
        most_bytes=most,
    )
    if done.how != "ok":
        raise _install_error(settings, packages, done, lines, egress, log)


def _install_error(
    settings: Settings,
    packages: Path,
    done: Finished,
    lines: Sequence[RequirementLine],
    egress: EgressProxy,
    log: BuildLog,
) -> MesocosmError:
    said = log.clean(done.output_tail)
    # Omit retry warnings, which would displace the end of pip's output. The log contains them.
    last_words = [line for line in said.splitlines() if not line.startswith("WARNING: Retrying (")]
    tail = "\n".join(f"  | {line}" for line in last_words[-_SHOWN:])
    if done.how == "timeout":
        words = f"the requirements were not installed within {settings.install_s:g} s; require less, or pin versions"
    elif done.how == "limit" or "No space left on device" in said:
        if (full := disk_full_error(packages)) is not None:
            return full
        words = (
            f"installing the requirements went beyond a limit ({done.reason or 'no space left'}); there are "
            f"{settings.packages_mb} MB for packages: require less"
        )
    else:
        words = _reason(said, lines, egress)
    return BuildError(f"{words}; pip said last:\n{tail}" if tail else words)


def _reason(said: str, lines: Sequence[RequirementLine], egress: EgressProxy) -> str:
    if egress.refused:
        return f"the requirements could not be fetched: {egress.refused[0]}; take packages from the index, or try again"
    if found := _INVALID.search(said):
        return f"{_line(found[1], lines)} is not a valid requirement; correct that line"
    if found := _ABSENT.search(said):
        return f"{_line(found[1], lines)}: no package of that name and version was found; correct the name or version"
    if unbuilt := _unbuilt(said):
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"{_line(unbuilt, lines)} could not be built; require a version that has a wheel for Python {python}"
    if "ResolutionImpossible" in said or "conflicting dependencies" in said:
        return f"the requirements of {lines[0].file} contradict each other; loosen one of them"
    return f"the requirements of {lines[0].file} could not be installed; correct the line that pip names"


def _unbuilt(said: str) -> str:
    """Return the package that failed to build; empty if unknown.

    Before version 26 pip names a package only when it starts with it.
    """
    if found := _UNBUILT.search(said):
        return found[1]
    before, broke_off, _ = said.partition(_BROKE_OFF)
    steps = _STEP.findall(before) if broke_off else []
    if not steps:
        return ""
    archive = _ARCHIVE.fullmatch(steps[-1])
    return archive[1] if archive else steps[-1]


def _line(wanted: str, lines: Sequence[RequirementLine]) -> str:
    """Return the line that requires a package, or a text that it is an indirect requirement."""
    name = _key(wanted)
    for line in lines:
        asked = line.text.rpartition("/")[2] if LOCAL.match(line.text) else line.text
        if line.text == wanted or (name and _key(asked) == name):
            return str(line)
    return f"{wanted}, which something in {lines[0].file} requires,"


def _key(requirement: str) -> str:
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""
