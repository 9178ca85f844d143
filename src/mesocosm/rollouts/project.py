"""The layout of a workspace and of a rollout in it."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mesocosm.core.failure import InvalidInput, Problem, UsageError


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory with `rollouts/` and `configs/`; datasets are looked up by name in `data/`."""

    root: Path

    @property
    def rollouts(self) -> Path:
        """The folder with one subfolder per rollout."""
        return self.root / "rollouts"

    @property
    def data(self) -> Path:
        """The folder for data files and folders of data files."""
        return self.root / "data"

    @property
    def configs(self) -> Path:
        """The folder of the configurations of evaluations."""
        return self.root / "configs" / "eval"

    def names(self) -> list[str]:
        """Return the names of the rollouts in this workspace, sorted."""
        if not self.rollouts.is_dir():
            return []
        folders = [item.name for item in self.rollouts.iterdir() if item.is_dir()]
        return sorted(name for name in folders if not name.startswith((".", "__")))


@dataclass(frozen=True, slots=True)
class Rollout:
    """A folder with an entry file, and what its `pyproject.toml` declares, if it has one."""

    folder: Path
    entrypoint: str
    name: str
    dependencies: tuple[str, ...] = ()
    requires_python: str = ""

    @property
    def entry(self) -> Path:
        """The entry file."""
        return self.folder / self.entrypoint


def find_workspace(path: Path) -> Workspace:
    """Return the workspace of `path`: the nearest directory, from `path` upwards, with `rollouts/` and `configs/`.

    Raises UsageError if there is none.
    """
    place = path.resolve()
    for directory in (place, *place.parents):
        if (directory / "rollouts").is_dir() and (directory / "configs").is_dir():
            return Workspace(directory)
    raise UsageError(
        f"{path} lies in no workspace: neither it nor a directory above has both rollouts/ and configs/; "
        "`mesocosm eval init NAME` makes them"
    )


def read_rollout(folder: Path, entrypoint: str) -> Rollout:
    """Return the rollout in `folder`, named by its `pyproject.toml`, else by the folder.

    Raises UsageError without an entry file or if `pyproject.toml` cannot be read, InvalidInput if its content is
    invalid.
    """
    if not (folder / entrypoint).is_file():
        raise UsageError(f"{folder} has no file {entrypoint}; set [experiment] entrypoint to the file that starts it")
    document = folder / "pyproject.toml"
    project = _project(document) if document.is_file() else {}
    name, needs, python = project.get("name"), project.get("dependencies"), project.get("requires-python")
    problems = []
    if name is not None and not isinstance(name, str):
        problems.append(Problem("project.name", "must be a string"))
    if needs is not None and not _texts(needs):
        problems.append(Problem("project.dependencies", "must be a list of strings", 'for example ["openai>=1.70"]'))
    if python is not None and not isinstance(python, str):
        problems.append(Problem("project.requires-python", "must be a string", 'for example ">=3.11"'))
    if problems:
        raise InvalidInput(str(document), problems)
    return Rollout(folder, entrypoint, name or folder.name, tuple(needs or ()), python or "")


def _project(document: Path) -> Mapping[str, Any]:
    try:
        table = tomllib.loads(document.read_text("utf-8-sig")).get("project", {})
    except OSError as error:
        raise UsageError(f"{document} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(str(document), [Problem("", f"is not TOML: {error}", "mend that line")]) from error
    if not isinstance(table, Mapping):
        raise InvalidInput(str(document), [Problem("project", "must be a table", "write it as [project]")])
    return table


def _texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(item, str) for item in value)
