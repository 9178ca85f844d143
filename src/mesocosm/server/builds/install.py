"""Install the requirements of an environment into its own virtual environment.

The virtual environment uses this interpreter and finds mesocosm's packages after its own, through a .pth file. pip
runs in a sandbox, because building packages runs foreign code, and can reach only the operator's package index. The
operator's PIP_* variables apply. The password of an index never enters the sandbox: the egress proxy adds it.
"""

import asyncio
import importlib.util
import os
import re
import shutil
import sys
import venv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mesocosm.core.failure import InfrastructureError, MesocosmError
from mesocosm.core.secret import is_secret
from mesocosm.http.target import Origin, target
from mesocosm.sandboxes.disk import remove, settle
from mesocosm.sandboxes.egress_proxy import AuthenticatedRoute, EgressProxy
from mesocosm.sandboxes.program_limits import MIB
from mesocosm.sandboxes.sandboxed_process import Finished
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError, disk_full_error
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.manifest import CheckedManifest
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.builds.sandbox import build_sandbox, package_folders, runtime_folders
from mesocosm.server.settings import Settings

REQUIREMENTS = "requirements.txt"
_PIP = (
    *("install", "--no-input", "--no-cache-dir", "--disable-pip-version-check", "--no-color", "--progress-bar=off"),
    *("--no-warn-script-location", "--root-user-action=ignore"),
)
_NOT_PASSED = frozenset(
    {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_CACHE_DIR", "PIP_LOG", "PIP_PYTHON", "PIP_PROXY"}
)
_INDEXES = frozenset({"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"})
_EDITABLE = re.compile(r"(-e|--editable)\b")
_HERE = re.compile(r"(\.|/|file:)")
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
    """A line of a requirements file; `file` is relative to the repository."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.number} ({self.text})"


async def install(
    settings: Settings, source: RepositorySource, checked: CheckedManifest, directory: BuildDirectory, log: BuildLog
) -> None:
    """Create the virtual environment at `directory.packages` and install the requirements.

    Raises BuildError, or InfrastructureError if pip is missing or the disk is full.
    """
    make_venv(directory)
    files = _requirement_files(source, checked, directory.source)
    lines = [line for file in files for line in _requirement_lines(file, directory.source)]
    if not lines:
        log.say("no requirements, so nothing is installed")
        return
    log.say(f"installing {', '.join(file.relative_to(directory.source).as_posix() for file in files)}")
    for line in lines:
        if _EDITABLE.match(line.text):
            raise BuildError(f"{line}: editable installs are not possible here; write the folder without -e")
    directory.scratch.mkdir(exist_ok=True)
    # Install from a copy: pip builds packages of the repository in place, and the checked files must not change.
    here = any(_HERE.match(line.text) for line in lines)
    root = (
        Path(shutil.copytree(directory.source, directory.scratch / "source", symlinks=True))
        if here
        else directory.source
    )
    index = read_index_settings()
    egress = _egress(settings, index)
    names = [word for file in files for word in ("-r", str(root / file.relative_to(directory.source)))]
    done = await _pip(settings, directory, root, names, (index, egress), log)
    await asyncio.to_thread(remove, directory.scratch)
    if done.how != "ok":
        raise _install_error(settings, directory, done, lines, egress, log)
    await asyncio.to_thread(settle, directory.packages)


def make_venv(directory: BuildDirectory) -> None:
    """Create an empty virtual environment that finds mesocosm's packages. Raises InfrastructureError without pip."""
    pip = importlib.util.find_spec("pip") is not None
    if not pip and importlib.util.find_spec("ensurepip") is None:
        raise InfrastructureError(f"{sys.executable} has no pip, so no packages can be installed; install pip there")
    venv.EnvBuilder(symlinks=True, with_pip=not pip).create(directory.packages)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = directory.packages / "lib" / version / "site-packages"
    (packages / "mesocosm.pth").write_text("\n".join(map(str, package_folders())) + "\n")


def _requirement_files(source: RepositorySource, checked: CheckedManifest, root: Path) -> list[Path]:
    folders = (root, root / source.folder, (root / checked.path).parent)
    return [path for path in dict.fromkeys(folder / REQUIREMENTS for folder in folders) if path.is_file()]


def _requirement_lines(file: Path, root: Path) -> Iterator[RequirementLine]:
    text = file.read_bytes()[:MIB].decode("utf-8-sig", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        wanted = re.sub(r"(^|\s+)#.*$", "", line).strip()
        if wanted:
            yield RequirementLine(file.relative_to(root).as_posix(), number, wanted[:200])


async def _pip(
    settings: Settings,
    directory: BuildDirectory,
    root: Path,
    names: list[str],
    outside: "tuple[PackageIndexSettings, EgressProxy]",
    log: BuildLog,
) -> Finished:
    index, egress = outside
    most = settings.packages_mb * MIB
    sandbox = build_sandbox(
        settings, (directory.source, *runtime_folders(), *index.readable), seconds=settings.install_s, most_bytes=most
    )
    return await sandbox.run(
        # Without -P Python would run a folder `pip` of the repository instead of pip.
        [str(directory.python), "-P", "-m", "pip", *_PIP, *names],
        cwd=root,
        writable=[directory.packages, directory.scratch],
        env={"TMPDIR": str(directory.scratch), "LC_ALL": "C.UTF-8", "PYTHONNOUSERSITE": "1", **index.variables},
        seconds=settings.install_s,
        egress=egress,
        heard=log.hear,
        most_bytes=most,
    )


@dataclass(frozen=True, slots=True)
class PackageIndexSettings:
    """The operator's configuration of pip.

    `variables` contain no passwords, `readable` are the files and folders that they name, `addresses` are host and port
    of each index. `entrances` are the routes by which the egress proxy authenticates at indexes with a password.
    """

    variables: Mapping[str, str]
    readable: list[Path]
    addresses: list[str]
    entrances: Mapping[str, Sequence[AuthenticatedRoute]]


def read_index_settings() -> PackageIndexSettings:
    """Read the PIP_* variables without passwords, because packages run foreign code in the same sandbox."""
    variables: dict[str, str] = {}
    addresses: list[str] = []
    entrances: dict[str, list[AuthenticatedRoute]] = {}
    for name, value in os.environ.items():
        if not name.startswith("PIP_") or name in _NOT_PASSED:
            continue
        if name in _INDEXES:
            variables[name] = " ".join(_without_password(word, addresses, entrances) for word in value.split())
        elif not is_secret(name, value):
            variables[name] = value
    if entrances:
        # pip connects to the egress proxy by plain HTTP, and the proxy to the index by TLS.
        hosts = (address.removesuffix(":80") for address in entrances)
        variables["PIP_TRUSTED_HOST"] = " ".join([variables.get("PIP_TRUSTED_HOST", ""), *hosts]).strip()
    words = [word for value in variables.values() for word in value.split()]
    paths = [Path(unquote(urlsplit(word).path) if word.startswith("file:") else word) for word in words]
    return PackageIndexSettings(
        variables, [path for path in paths if path.is_absolute() and path.exists()], addresses, entrances
    )


def _without_password(word: str, addresses: list[str], entrances: dict[str, list[AuthenticatedRoute]]) -> str:
    """Return the URL of an index without its password; add to `addresses` and `entrances`."""
    try:
        origin, authorization = target(word).origin, target(word).authorization
    except ValueError:
        return word
    host = origin.host.rstrip(".")
    addresses.append(f"{host}:{origin.port}")
    if not authorization:
        return word
    tls = origin.scheme == "https"
    asked = Origin("http", host, 80 if tls and origin.port == 443 else origin.port)
    entrance = AuthenticatedRoute(origin.port, tls, authorization, _folders(target(word).path))
    entrances.setdefault(f"{host}:{asked.port}", []).append(entrance)
    return f"http://{asked.authority}{target(word).path}"


def _folders(path: str) -> tuple[str, ...]:
    """Return the paths of an index: its own, and the sibling paths where index servers store their files."""
    path = path.partition("?")[0]
    before, _, last = path.rstrip("/").rpartition("/")
    beside = ("packages", "files", "+f") if last in {"simple", "+simple"} else ()
    return (path, *(f"{before}/{name}/" for name in beside))


def _egress(settings: Settings, index: PackageIndexSettings) -> EgressProxy:
    hosts = [address.rpartition(":")[0] for address in index.addresses]
    # An index on a non-standard port may be in the private network.
    ports = [address for address in index.addresses if not address.endswith((":80", ":443"))]
    return EgressProxy(
        [*settings.package_hosts, *hosts],
        loopback=ports,
        most_bytes=4 * settings.packages_mb * MIB,
        entrances=index.entrances,
        trusted=os.environ.get("PIP_CERT") or None,
    )


def _install_error(
    settings: Settings,
    directory: BuildDirectory,
    done: Finished,
    lines: list[RequirementLine],
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
        if (full := disk_full_error(directory.folder)) is not None:
            return full
        words = (
            f"installing the requirements went beyond a limit ({done.reason or 'no space left'}); environments have "
            f"{settings.packages_mb} MB for packages: require less"
        )
    else:
        words = _reason(said, lines, egress)
    return BuildError(f"{words}; pip said last:\n{tail}" if tail else words)


def _reason(said: str, lines: list[RequirementLine], egress: EgressProxy) -> str:
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


def _line(wanted: str, lines: list[RequirementLine]) -> str:
    """Return the line that requires a package, or a text that it is an indirect requirement."""
    name = _key(wanted)
    for line in lines:
        asked = line.text.rpartition("/")[2] if _HERE.match(line.text) else line.text
        if line.text == wanted or (name and _key(asked) == name):
            return str(line)
    return f"{wanted}, which something in {lines[0].file} requires,"


def _key(requirement: str) -> str:
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""
