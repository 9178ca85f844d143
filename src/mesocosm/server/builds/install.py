"""The packages that an environment asks for, in a virtual environment of its own.

It is made of our interpreter, and finds our packages (`bench_common` and what it needs) behind its own through a .pth
file. pip runs enclosed, because packages run code of strangers when they are built: it reaches the operator's package
index and nothing else. The operator's PIP_* variables hold; a password of an index stays on our side of the way out.
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
from mesocosm.sandboxes.allowance import MIB
from mesocosm.sandboxes.egress import Egress, Entrance
from mesocosm.sandboxes.enclosure import Finished
from mesocosm.sandboxes.enclosure.disk import remove, settle
from mesocosm.server.builds.check import Checked
from mesocosm.server.builds.enclosing import our_folders, our_packages, workshop
from mesocosm.server.builds.fault import BuildFault, no_room
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.place import Place
from mesocosm.server.builds.source import Source
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
class Line:
    """One requirement: `file` relative to the repository, number and text of the line."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.number} ({self.text})"


async def install(settings: Settings, source: Source, checked: Checked, place: Place, log: BuildLog) -> None:
    """Make the virtual environment at `place.packages` with everything that is required. Raises BuildFault."""
    make(place)
    files = _files(source, checked, place.source)
    lines = [line for file in files for line in _lines(file, place.source)]
    if not lines:
        log.say("no requirements, so nothing is installed")
        return
    log.say(f"installing {', '.join(file.relative_to(place.source).as_posix() for file in files)}")
    for line in lines:
        if _EDITABLE.match(line.text):
            raise BuildFault(f"{line}: editable installs are not possible here; write the folder without -e")
    place.scratch.mkdir(exist_ok=True)
    # Packages of the repository itself are built where they lie, which must not be what was checked.
    here = any(_HERE.match(line.text) for line in lines)
    root = Path(shutil.copytree(place.source, place.scratch / "source", symlinks=True)) if here else place.source
    operators = read_operators()
    egress = _way_out(settings, operators)
    names = [word for file in files for word in ("-r", str(root / file.relative_to(place.source)))]
    done = await _pip(settings, place, root, names, (operators, egress), log)
    await asyncio.to_thread(remove, place.scratch)
    if done.how != "ok":
        raise _fault(settings, place, done, lines, egress, log)
    await asyncio.to_thread(settle, place.packages)


def make(place: Place) -> None:
    """Make an empty virtual environment that finds our packages. Raises InfrastructureError."""
    pip = importlib.util.find_spec("pip") is not None
    if not pip and importlib.util.find_spec("ensurepip") is None:
        raise InfrastructureError(f"{sys.executable} has no pip, so no packages can be installed; install pip there")
    venv.EnvBuilder(symlinks=True, with_pip=not pip).create(place.packages)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = place.packages / "lib" / version / "site-packages"
    (packages / "mesocosm.pth").write_text("\n".join(map(str, our_packages())) + "\n")


def _files(source: Source, checked: Checked, root: Path) -> list[Path]:
    places = (root, root / source.folder, (root / checked.path).parent)
    return [path for path in dict.fromkeys(place / REQUIREMENTS for place in places) if path.is_file()]


def _lines(file: Path, root: Path) -> Iterator[Line]:
    text = file.read_bytes()[:MIB].decode("utf-8-sig", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        wanted = re.sub(r"(^|\s+)#.*$", "", line).strip()
        if wanted:
            yield Line(file.relative_to(root).as_posix(), number, wanted[:200])


async def _pip(
    settings: Settings,
    place: Place,
    root: Path,
    names: list[str],
    outside: "tuple[Operators, Egress]",
    log: BuildLog,
) -> Finished:
    operators, egress = outside
    most = settings.packages_mb * MIB
    bench = workshop(
        settings, (place.source, *our_folders(), *operators.shown), seconds=settings.install_s, most_bytes=most
    )
    return await bench.run(
        # Without -P a folder `pip` of the repository would be the pip that is run.
        [str(place.python), "-P", "-m", "pip", *_PIP, *names],
        cwd=root,
        writable=[place.packages, place.scratch],
        env={"TMPDIR": str(place.scratch), "LC_ALL": "C.UTF-8", "PYTHONNOUSERSITE": "1", **operators.variables},
        seconds=settings.install_s,
        egress=egress,
        heard=log.hear,
        most_bytes=most,
    )


@dataclass(frozen=True, slots=True)
class Operators:
    """What the operator says of packages: variables of pip without passwords, the files and folders that they name,
    the places that indexes are at, and how those that ask for a password are entered.
    """

    variables: Mapping[str, str]
    shown: list[Path]
    places: list[str]
    entrances: Mapping[str, Sequence[Entrance]]


def read_operators() -> Operators:
    """Read the PIP_* variables. Packages run code of strangers beside pip, so it may know no password."""
    variables: dict[str, str] = {}
    places: list[str] = []
    entrances: dict[str, list[Entrance]] = {}
    for name, value in os.environ.items():
        if not name.startswith("PIP_") or name in _NOT_PASSED:
            continue
        if name in _INDEXES:
            variables[name] = " ".join(_without_password(word, places, entrances) for word in value.split())
        elif not is_secret(name, value):
            variables[name] = value
    if entrances:
        # What enters for pip speaks TLS; between the two is a socket of ours.
        hosts = (place.removesuffix(":80") for place in entrances)
        variables["PIP_TRUSTED_HOST"] = " ".join([variables.get("PIP_TRUSTED_HOST", ""), *hosts]).strip()
    words = [word for value in variables.values() for word in value.split()]
    paths = [Path(unquote(urlsplit(word).path) if word.startswith("file:") else word) for word in words]
    return Operators(variables, [path for path in paths if path.is_absolute() and path.exists()], places, entrances)


def _without_password(word: str, places: list[str], entrances: dict[str, list[Entrance]]) -> str:
    """Return the address of an index as pip may know it, and note its place, and how it is entered."""
    try:
        origin, authorization = target(word).origin, target(word).authorization
    except ValueError:
        return word
    host = origin.host.rstrip(".")
    places.append(f"{host}:{origin.port}")
    if not authorization:
        return word
    tls = origin.scheme == "https"
    asked = Origin("http", host, 80 if tls and origin.port == 443 else origin.port)
    entrance = Entrance(origin.port, tls, authorization, _folders(target(word).path))
    entrances.setdefault(f"{host}:{asked.port}", []).append(entrance)
    return f"http://{asked.authority}{target(word).path}"


def _folders(path: str) -> tuple[str, ...]:
    """Return the paths of an index: its own, and those beside it where servers of indexes keep their files."""
    path = path.partition("?")[0]
    before, _, last = path.rstrip("/").rpartition("/")
    beside = ("packages", "files", "+f") if last in {"simple", "+simple"} else ()
    return (path, *(f"{before}/{name}/" for name in beside))


def _way_out(settings: Settings, operators: Operators) -> Egress:
    hosts = [place.rpartition(":")[0] for place in operators.places]
    # Who names a port may mean a place in the own network.
    ports = [place for place in operators.places if not place.endswith((":80", ":443"))]
    return Egress(
        [*settings.package_hosts, *hosts],
        loopback=ports,
        most_bytes=4 * settings.packages_mb * MIB,
        entrances=operators.entrances,
        trusted=os.environ.get("PIP_CERT") or None,
    )


def _fault(
    settings: Settings, place: Place, done: Finished, lines: list[Line], egress: Egress, log: BuildLog
) -> MesocosmError:
    said = log.clean(done.output_tail)
    # Tries again are in the log; here they would fill the place of what pip says at last.
    told = [line for line in said.splitlines() if not line.startswith("WARNING: Retrying (")]
    tail = "\n".join(f"  | {line}" for line in told[-_SHOWN:])
    if done.how == "timeout":
        words = f"the requirements were not installed within {settings.install_s:g} s; require less, or pin versions"
    elif done.how == "limit" or "No space left on device" in said:
        if (full := no_room(place.folder)) is not None:
            return full
        words = (
            f"installing the requirements went beyond a limit ({done.reason or 'no space left'}); environments have "
            f"{settings.packages_mb} MB for packages: require less"
        )
    else:
        words = _reason(said, lines, egress)
    return BuildFault(f"{words}; pip said last:\n{tail}" if tail else words)


def _reason(said: str, lines: list[Line], egress: Egress) -> str:
    if egress.refused:
        return f"the requirements could not be fetched: {egress.refused[0]}; take packages from the index, or try again"
    if found := _INVALID.search(said):
        return f"{_line(found[1], lines)} is no requirement; correct that line"
    if found := _ABSENT.search(said):
        return f"{_line(found[1], lines)}: no package of that name and version was found; correct the name or version"
    if unbuilt := _unbuilt(said):
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"{_line(unbuilt, lines)} could not be built; require a version that has a wheel for Python {python}"
    if "ResolutionImpossible" in said or "conflicting dependencies" in said:
        return f"the requirements of {lines[0].file} contradict each other; loosen one of them"
    return f"the requirements of {lines[0].file} could not be installed; correct the line that pip names"


def _unbuilt(said: str) -> str:
    """Return the package whose own code failed. Before version 26 pip names it only where it begins with it."""
    if found := _UNBUILT.search(said):
        return found[1]
    before, broke_off, _ = said.partition(_BROKE_OFF)
    steps = _STEP.findall(before) if broke_off else []
    if not steps:
        return ""
    archive = _ARCHIVE.fullmatch(steps[-1])
    return archive[1] if archive else steps[-1]


def _line(wanted: str, lines: list[Line]) -> str:
    """Return the line that asks for something, or who it is that others ask for."""
    name = _key(wanted)
    for line in lines:
        asked = line.text.rpartition("/")[2] if _HERE.match(line.text) else line.text
        if line.text == wanted or (name and _key(asked) == name):
            return str(line)
    return f"{wanted}, which something in {lines[0].file} requires,"


def _key(requirement: str) -> str:
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""
