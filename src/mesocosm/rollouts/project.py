"""Where rollouts live: a workspace with its folders, and a rollout inside of it."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.core.reading import nearest

DATA_FORMATS = ("jsonl", "csv", "parquet", "json")
"""Endings of data files, in the order in which a dataset's bare name is looked for."""

_HUB = re.compile(r"(hf:)?[A-Za-z0-9][\w.-]*/[\w.-]+|hf:[\w.-]+")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A directory with `rollouts/` and `configs/`; `data/` is where datasets are looked for by name."""

    root: Path

    @property
    def rollouts(self) -> Path:
        """One folder for each rollout."""
        return self.root / "rollouts"

    @property
    def data(self) -> Path:
        """Data files, and folders of them."""
        return self.root / "data"

    @property
    def configs(self) -> Path:
        """The folder of the configurations of evaluations."""
        return self.root / "configs" / "eval"

    def names(self) -> list[str]:
        """Return the names of the rollouts that are here."""
        return _names(self.rollouts, folders=True)


@dataclass(frozen=True, slots=True)
class Rollout:
    """A folder with an entry file, and what its `pyproject.toml` says; without one it declares nothing."""

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
    """Return the workspace that `path` lies in: the nearest directory upward with `rollouts/` and `configs/`.

    Raises UsageError where there is none.
    """
    place = path.resolve()
    for directory in (place, *place.parents):
        if (directory / "rollouts").is_dir() and (directory / "configs").is_dir():
            return Workspace(directory)
    raise UsageError(
        f"{path} lies in no workspace: neither it nor a directory above has both rollouts/ and configs/; "
        "`mesocosm eval init NAME` makes them"
    )


def find_dataset(workspace: Workspace, name: str) -> Path | str:
    """Return where the dataset called `name` is: a file or folder, or `org/name` of a dataset on the Hugging Face hub.

    A path is taken from the root of the workspace. A name is looked for in `data/`, as it is and with the endings of
    `DATA_FORMATS`. `hf:` in front always means the hub. Raises UsageError when it is nowhere.
    """
    if name.startswith("hf:") and _HUB.fullmatch(name):
        return name.removeprefix("hf:")
    places = [workspace.root / name, workspace.data / name]
    if not Path(name).is_absolute():
        places += [workspace.data / f"{name}.{ending}" for ending in DATA_FORMATS]
    for place in places:
        if place.name and place.exists() and place.resolve() != workspace.root.resolve():
            return place
    if _HUB.fullmatch(name) and not name.endswith(tuple(f".{ending}" for ending in DATA_FORMATS)):
        return name
    near = nearest(name, [Path(known).stem for known in _names(workspace.data, folders=False)])
    hint = f"; did you mean {near!r}?" if near else f"; put {name}.jsonl there, or name a file or a dataset of the hub"
    raise UsageError(f"there is no dataset {name!r} in {workspace.data}{hint}")


def read_rollout(folder: Path, entrypoint: str) -> Rollout:
    """Return the rollout in `folder`, named as its `pyproject.toml` says, else as the folder is.

    Raises UsageError when there is no entry file, InvalidInput for a `pyproject.toml` that cannot be read.
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


def _names(directory: Path, *, folders: bool) -> list[str]:
    if not directory.is_dir():
        return []
    found = [item for item in directory.iterdir() if not item.name.startswith((".", "__"))]
    return sorted(item.name for item in found if item.is_dir() or not folders)
