"""Frameworks of others that are installed on this machine: a folder each, with one complete virtual environment."""

import os
from pathlib import Path

import msgspec

from mesocosm.core.folder import from_home

PLACE = "MESOCOSM_GUESTS_DIR"
"""Variable with the folder in which frameworks are installed."""
MARK = "guest.json"
"""The file that names the complete environment in the folder of a framework."""


def guests_folder() -> Path:
    """Return the folder in which frameworks are installed."""
    given = os.environ.get(PLACE, "")
    if given:
        return from_home(given).absolute()
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if data else Path.home() / ".local" / "share") / "mesocosm" / "guests"


def installed_python(name: str) -> str:
    """Return the interpreter of an installed framework; empty if it is not installed, or not completely."""
    folder = guests_folder() / name
    try:
        program = folder / str(msgspec.json.decode((folder / MARK).read_bytes())["environment"]) / "bin" / "python"
    except (OSError, KeyError, TypeError, msgspec.DecodeError):
        return ""
    return str(program) if program.exists() else ""
