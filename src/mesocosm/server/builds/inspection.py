"""What a synced workspace directory has: its rollouts, its configurations, and what to mend in them.

The files are anybody's. Nothing of them is executed, and what could keep a TOML reader busy for hours is not read.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from mesocosm.core.failure import InvalidInput, Problem, UsageError
from mesocosm.rollouts.configuration import Config, read_config
from mesocosm.rollouts.processes.requirement import Declared, declared
from mesocosm.rollouts.project import WorkspaceDirectory
from mesocosm.store.repositories import SyncedConfiguration, SyncedRollout, SyncFault

MOST_ROLLOUTS, MOST_CONFIGURATIONS = 500, 200
MOST_FAULTS = 200
LARGEST = 256 * 1024
"""Maximum size of a TOML file in bytes."""
_MOST_DOTS = 1_000
"""Dots in a line of TOML: the standard library needs time quadratic in the parts of a key."""
_LONGEST = 500
_DEEPEST, _MOST_FOLDERS, _NAMED = 4, 1_000, 3
_CREATE = "put each rollout into a folder there"

_TABLE = re.compile(r"\s*\[\[?\s*([\w.\"'\- ]+?)\s*\]")
_KEY = re.compile(r"\s*([\w\"'-]+(?:\s*\.\s*[\w\"'-]+){0,15})\s*=")
_AT_LINE = re.compile(r"line (\d+)")


class Inspection(msgspec.Struct, frozen=True):
    """What a workspace directory has."""

    rollouts: tuple[SyncedRollout, ...]
    configurations: tuple[SyncedConfiguration, ...]
    faults: tuple[SyncFault, ...]


def inspect_workspace(root: Path, clean: Callable[[str], str]) -> Inspection:
    """Return the rollouts and configurations of the workspace directory `root`, checked.

    `clean` removes paths of this machine and control characters from a text.
    """

    def shown(text: str) -> str:
        text = text.replace(f"{root}/", "").replace(str(root), ".")
        return clean(text).replace("\n", " ")[:_LONGEST]

    workspace, faults = WorkspaceDirectory(root), list[SyncFault]()
    if not workspace.rollouts.is_dir():
        others = [shown(name) for name in workspace_folders(root)]
        fix = f"connect the repository with the folder {' or '.join(others)}, which has one" if others else _CREATE
        faults.append(SyncFault("rollouts", "there is no folder rollouts/", fix=fix))
        return Inspection((), (), tuple(faults))
    names = workspace.names()
    if len(names) > MOST_ROLLOUTS:
        faults.append(SyncFault("rollouts", f"only the first {MOST_ROLLOUTS} of {len(names)} rollouts are listed"))
    configs = dict(_configurations(workspace, faults))
    entrypoints: dict[str, list[str]] = {}
    for config in filter(None, configs.values()):
        if config.experiment.entrypoint:
            entrypoints.setdefault(config.experiment.rollout, []).append(config.experiment.entrypoint)
    rollouts = [
        _rollout(workspace.rollouts / name, entrypoints.get(name, []), faults) for name in names[:MOST_ROLLOUTS]
    ]
    told = [SyncFault(shown(one.path), shown(one.message), one.line, shown(one.fix)) for one in faults[:MOST_FAULTS]]
    return Inspection(
        tuple(
            SyncedRollout(
                shown(one.name),
                tuple(map(shown, one.entrypoints)),
                tuple(map(shown, one.requirements)),
                shown(one.requires_python),
            )
            for one in rollouts
        ),
        tuple(_listed(shown(name), config, shown) for name, config in configs.items()),
        tuple(told),
    )


def workspace_folders(root: Path) -> list[str]:
    """Return folders below `root` that have a folder rollouts/, the first few."""
    found, level = list[str](), [root]
    for _ in range(_DEEPEST):
        below = [
            folder
            for parent in level
            for folder in sorted(parent.iterdir())
            if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith(".")
        ][:_MOST_FOLDERS]
        found += [
            folder.relative_to(root).as_posix() for folder in below if WorkspaceDirectory(folder).rollouts.is_dir()
        ]
        level = below
    return found[:_NAMED]


def _configurations(workspace: WorkspaceDirectory, faults: list[SyncFault]) -> Iterator[tuple[str, Config | None]]:
    """Yield each configuration by its path, None for an invalid one."""
    if not workspace.configs.is_dir():
        return
    paths = sorted(path for path in workspace.configs.iterdir() if path.suffix == ".toml")
    if len(paths) > MOST_CONFIGURATIONS:
        faults.append(
            SyncFault("configs/eval", f"only the first {MOST_CONFIGURATIONS} of {len(paths)} configurations are read")
        )
    for path in paths[:MOST_CONFIGURATIONS]:
        name = path.relative_to(workspace.root).as_posix()
        config = None
        if (fault := _unreadable(path)) is not None:
            faults.append(SyncFault(name, fault))
        else:
            try:
                config = read_config(path, check_out=False)
            except InvalidInput as error:
                faults += _faults(name, path, error.problems)
            except UsageError as error:
                faults.append(SyncFault(name, str(error)))
        yield name, config


def _rollout(folder: Path, entrypoints: list[str], faults: list[SyncFault]) -> SyncedRollout:
    name = f"rollouts/{folder.name}"
    project, path = Declared(), folder / "pyproject.toml"
    if path.is_file() and (fault := _unreadable(path)) is not None:
        faults.append(SyncFault(f"{name}/pyproject.toml", fault))
    elif path.is_file():
        try:
            project = declared(folder)
        except InvalidInput as error:
            faults += _faults(f"{name}/pyproject.toml", path, error.problems)
        except UsageError as error:
            faults.append(SyncFault(f"{name}/pyproject.toml", str(error), _line(str(error))))
    files = sorted(item.name for item in folder.iterdir() if item.suffix == ".py" and item.is_file())
    if not files:
        faults.append(SyncFault(name, "there is no Python file in it", fix="put the entry point there, say main.py"))
    found = list(dict.fromkeys(entrypoints)) or (
        ["main.py"] if "main.py" in files else files if len(files) == 1 else []
    )
    return SyncedRollout(folder.name, tuple(found), project.requirements, project.requires_python)


def _listed(name: str, config: Config | None, shown: Callable[[str], str]) -> SyncedConfiguration:
    if config is None:
        return SyncedConfiguration(name, valid=False)
    told = config.experiment
    rollout, entrypoint, model, dataset = map(shown, (told.rollout, told.entrypoint, told.model_path, told.dataset))
    secrets = tuple(map(shown, config.secrets))
    return SyncedConfiguration(
        name, valid=True, rollout=rollout, entrypoint=entrypoint, model=model, dataset=dataset, secrets=secrets
    )


def _unreadable(path: Path) -> str | None:
    """Return why a TOML file is not read; None if it may be."""
    if not path.is_file():
        return "is not a file"
    if path.stat().st_size > LARGEST:
        return f"is larger than {LARGEST // 1024} KiB"
    if any(line.count(b".") > _MOST_DOTS for line in path.read_bytes().splitlines()):
        return f"has a line with more than {_MOST_DOTS:,} dots"
    return None


def _faults(name: str, path: Path, problems: tuple[Problem, ...]) -> Iterator[SyncFault]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for problem in problems:
        at = _line(problem.path)
        told = problem.message if at else str(problem)
        yield SyncFault(name, told, at or _line_of(lines, problem.path), problem.fix)


def _line(text: str) -> int:
    found = _AT_LINE.search(text)
    return int(found[1][:9]) if found else 0


def _line_of(lines: list[str], wanted: str) -> int:
    """Return the number of the line with the key `section.key`, else that of its table, else 0."""
    table, best, at = "", 0, 0
    for number, line in enumerate(lines, 1):
        if found := _TABLE.match(line):
            table = name = _bare(found[1])
        elif found := _KEY.match(line):
            name = ".".join(filter(None, (table, _bare(found[1]))))
        else:
            continue
        if len(name) > best and (wanted == name or wanted.startswith((f"{name}.", f"{name}["))):
            best, at = len(name), number
    return at


def _bare(name: str) -> str:
    return re.sub(r"[\s\"']", "", name)
