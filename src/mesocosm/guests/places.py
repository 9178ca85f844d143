"""Files that sources and options of guests name, as paths from the root: a run goes on in any folder."""

import os
import re
from collections.abc import Mapping
from typing import Any

from mesocosm.core.folder import from_home, from_root

PYTHON = "python"
"""Option of every guest: the path of its interpreter. It is not passed to the framework."""
FOLDER = "started-in"
"""Option of a guest that files of the user describe: the folder where it starts, from which they may read others. It is
not passed either; no parameter of a framework can have this name.
"""
OURS = frozenset({PYTHON, FOLDER})
_OPTION = re.compile(r",(?=[A-Za-z_][A-Za-z0-9_.]*=)")
INCLUDED, ROWS = "include_path", "data"
"""Options that name folders and files, of lm-evaluation-harness and of SkyRL-gym; their content counts, not they."""

Located = tuple[str, dict[str, Any]]


def python_place(source: str, options: Mapping[str, Any]) -> Located:
    """Return a source that names no files, and its options."""
    named = options.get(PYTHON)
    if isinstance(named, str) and os.sep in named:
        return source, {**options, PYTHON: from_root(named)}
    return source, dict(options)


def _started(options: Mapping[str, Any]) -> dict[str, Any]:
    return {**options, FOLDER: from_root(str(options.get(FOLDER, "")))}


def inspect_place(source: str, options: Mapping[str, Any]) -> Located:
    """Return `FILE.py@TASK`, a file or a folder with its path from the root; `PACKAGE/TASK` as it is."""
    path, at, name = source.partition("@")
    place = from_home(path)
    if not (place.is_file() or (not at and place.is_dir())):
        return python_place(source, options)
    return python_place(f"{from_root(path)}{at}{name}", _started(options))


def verifiers_place(source: str, options: Mapping[str, Any]) -> Located:
    """Return the file or folder of a task set with its path from the root; the name of a task set as it is."""
    first, *more = _OPTION.split(source)
    if not ((first.endswith(".py") or os.sep in first) and from_home(first).exists()):
        return python_place(source, options)
    return python_place(",".join([from_root(first), *more]), _started(options))


def lm_eval_place(source: str, options: Mapping[str, Any]) -> Located:
    """Return tasks and their options, with the paths of files from the root, and the folder from which those read."""
    names = [part.strip() for part in source.split(",") if part.strip()]
    files = [name for name in names if from_home(name).is_file()]
    if files:
        source = ",".join(from_root(name) if name in files else name for name in names)
    source, found = python_place(source, options)
    included = found.get(INCLUDED)
    folders = included.split(",") if isinstance(included, str) else included if isinstance(included, list) else []
    if folders:
        found[INCLUDED] = [from_root(one) for one in folders if isinstance(one, str) and one]
    return source, _started(found) if files or folders else found


def skyrl_place(source: str, options: Mapping[str, Any]) -> Located:
    """Return an environment and its options, with the path of its rows from the root."""
    source, found = python_place(source, options)
    if isinstance(rows := found.get(ROWS), str) and rows:
        found[ROWS] = from_root(rows)
    return source, found
