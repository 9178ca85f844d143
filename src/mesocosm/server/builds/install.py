"""Install the requirements of an environment into its own virtual environment.

The virtual environment uses this interpreter and finds mesocosm's packages after its own, through a .pth file. pip
runs in a sandbox (`pip.py`) and can reach only the operator's package index (`package_index.py`).
"""

import asyncio
import importlib.util
import re
import shutil
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

from mesocosm.core.failure import InfrastructureError
from mesocosm.sandboxes.disk import remove, settle
from mesocosm.sandboxes.program_limits import MIB
from mesocosm.server.builds.directory import BuildDirectory
from mesocosm.server.builds.errors import BuildError
from mesocosm.server.builds.log import BuildLog
from mesocosm.server.builds.manifest import CheckedManifest
from mesocosm.server.builds.pip import LOCAL, PIP, RequirementLine, run_pip
from mesocosm.server.builds.repository_address import RepositorySource
from mesocosm.server.builds.sandbox import package_folders
from mesocosm.server.settings import Settings

REQUIREMENTS = "requirements.txt"
_EDITABLE = re.compile(r"(-e|--editable)\b")


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
    here = any(LOCAL.match(line.text) for line in lines)
    root = (
        Path(shutil.copytree(directory.source, directory.scratch / "source", symlinks=True))
        if here
        else directory.source
    )
    names = [word for file in files for word in ("-r", str(root / file.relative_to(directory.source)))]
    try:
        await run_pip(
            settings,
            # Without -P Python would run a folder `pip` of the repository instead of pip.
            [str(directory.python), "-P", "-m", "pip", *PIP, *names],
            lines,
            log,
            cwd=root,
            readable=[directory.source],
            packages=directory.packages,
            scratch=directory.scratch,
        )
    finally:
        await asyncio.to_thread(remove, directory.scratch)
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
