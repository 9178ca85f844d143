"""A new environment repository that runs green untouched."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from mesocosm.core.failure import UsageError

FILES = (
    "benchanything.json",
    "adapter.py",
    "env.py",
    "test_env.py",
    "requirements.txt",
    "LOCAL_DEV.md",
    ".gitignore",
    "showcase/README.md",
    "showcase/replay.example.json",
    "showcase/index.html",
)


@dataclass(frozen=True, slots=True)
class Written:
    """One file of the scaffold: its path, and whether it was written or left because it exists."""

    path: Path
    written: bool


def scaffold(directory: Path, *, force: bool = False) -> list[Written]:
    """Write the files of a new environment into `directory` and return what became of each.

    Existing files stay unless `force`. Raises UsageError when the directory cannot be written.
    """
    templates = files("mesocosm.environments") / "templates"
    done = []
    for name in FILES:
        path = directory / name
        # The template has no leading dot, so that packaging tools do not take it as their own ignore file.
        content = (templates / name.replace(".gitignore", "gitignore")).read_bytes()
        write = force or not path.exists()
        if write:
            _write(path, content)
        done.append(Written(path, write))
    return done


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}; choose another --dir") from error
