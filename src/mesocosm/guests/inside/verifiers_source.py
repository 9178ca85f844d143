"""What `verifiers:SOURCE` and its options name: a task set, and the configuration of the environment that plays it."""

import importlib.util
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from . import Failed

_OPTION = re.compile(r",(?=[A-Za-z_][A-Za-z0-9_.]*=)")
_LEAST, _SHELL = "null", "bash"
"""The harness with the tools of the task set alone, and the framework's default, which adds a shell."""
HERE, CONTAINER = "subprocess", "docker"
_NO_SHELL = (
    "harness null: the model has the tools of the task set and no shell; verifiers by itself would give it one, as "
    f"harness={_SHELL},runtime={CONTAINER} does"
)


@dataclass(frozen=True)
class Wanted:
    """A source taken apart: the id of a task set, the file or folder it is in (None: installed), options by name."""

    taskset: str
    place: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def wanted(source: str, args: Mapping[str, Any]) -> Wanted:
    """Take `TASKSET[,NAME=VALUE…]` apart, and make the modules of a path importable. Raises Failed."""
    first, *more = _OPTION.split(source)
    options = {name: _value(text) for name, _, text in (one.partition("=") for one in more)}
    options |= args
    path = Path(first).expanduser()
    if not (first.endswith(".py") or os.sep in first) or _hub_id(first, path):
        return Wanted(first, None, options)
    if not path.exists():
        raise Failed(f"there is no file or folder {first}", "environment_invalid")
    folder, module = _module_of(path.absolute())
    _make_importable(folder, module)
    return Wanted(module.replace("_", "-"), path.absolute(), options)


def _hub_id(name: str, path: Path) -> bool:
    """Return whether `owner/name` is an id of the hub, of which the framework uses the last part."""
    return bool(re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w.-]+)?", name)) and not name.endswith(".py") and not path.exists()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _module_of(path: Path) -> tuple[Path, str]:
    """Return the folder to import from, and the module, for a file, a package or the folder of a project."""
    if path.is_file():
        return path.parent, path.stem
    if (path / "__init__.py").exists():
        return path.parent, path.name
    roots = [root for root in (path, path / "src") if root.is_dir()]
    found = {one.stem: root for root in roots for one in sorted(_modules(root)) if "Taskset" in _text(one)}
    named = _project_name(path)
    if named in found:
        return found[named], named
    if len(found) == 1:
        return next((root, name) for name, root in found.items())
    if found:
        names = ", ".join(f"{path / name}.py" for name in found)
        raise Failed(f"{path} holds several task sets; name one of {names}", "environment_invalid")
    raise Failed(f"there is no task set in {path}", "environment_invalid")


def _modules(root: Path) -> Iterator[Path]:
    yield from root.glob("*.py")
    yield from (one.parent for one in root.glob("*/__init__.py"))


def _text(module: Path) -> str:
    files = [module] if module.is_file() else sorted(module.rglob("*.py"))
    return "".join(file.read_text("utf-8", "replace") for file in files)


def _project_name(path: Path) -> str:
    try:
        project = tomllib.loads((path / "pyproject.toml").read_text("utf-8")).get("project", {})
    except (OSError, tomllib.TOMLDecodeError):
        return ""
    return str(project.get("name", "")).replace("-", "_").lower()


def _make_importable(folder: Path, module: str) -> None:
    if module != module.lower():
        raise Failed(f"verifiers imports task sets by names in lower case; rename {module}", "environment_invalid")
    sys.path.insert(0, str(folder))
    # Tool servers are started as `python -m MODULE`.
    known = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{known}" if known else str(folder)
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or folder not in Path(spec.origin).parents:
        raise Failed(f"{module} is also the name of {spec.origin if spec else 'another module'}; rename it")


@dataclass(frozen=True)
class Prepared:
    """The configuration of an environment, and what people should know of it.

    `asks_other` are the roles for which the task set names a model of its own.
    """

    config: Any
    harnesses: Mapping[str, str]
    runtimes: Mapping[str, str]
    asks_other: tuple[str, ...]
    limit: int | None
    notices: tuple[str, ...] = ()


def prepared(what: Wanted, container: bool = False) -> Prepared:
    """Return the configuration for a source. With `container`, roles run in one unless an option says where.

    Raises Failed for unknown names and values, and for a shell of which nobody said where it may run.
    """
    from pydantic import ValidationError
    from verifiers.v1.configs.agent import agent_config_fields
    from verifiers.v1.utils import loaders

    options = dict(what.options)
    environment = str(options.pop("env", ""))
    limit = options.pop("tasks", None)
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise Failed(f"tasks={limit} is not a number of tasks", "environment_invalid")
    harness, runtime = options.pop("harness", None), options.pop("runtime", None)
    kind = loaders.env_config_type(what.taskset, environment)
    roles = {name: one.default for name, one in kind.model_fields.items() if isinstance(one.default, _agent_config())}
    raw: dict[str, Any] = {"id": environment, "taskset": {"id": what.taskset}}
    free = [name for name, role in roles.items() if role.harness is None]
    if harness is not None and not free:
        raise Failed(f"every role of {what.taskset} has its own harness; name one: {next(iter(roles))}.harness=…")
    standard = loaders.default_harness_id(what.taskset)
    for name, role in roles.items():
        raw[name] = {}
        if name in free:
            raw[name]["harness"] = {"id": str(harness) if harness else _LEAST if standard == _SHELL else standard}
        if runtime is not None or "runtime" not in role.model_fields_set:
            raw[name]["runtime"] = {"type": str(runtime or (CONTAINER if container else HERE))}
    settings = loaders.taskset_config_type(what.taskset).model_fields
    for name, value in options.items():
        _put(raw, name, value, settings, kind.model_fields)
    try:
        config = loaders.resolve_env_config(raw)
    except ValidationError as error:
        raise Failed(_first_problem(error), "environment_invalid") from error
    found = agent_config_fields(config)
    harnesses = {name: one.id for name, one in config.agent_harnesses().items()}
    runtimes = {name: one.runtime.type for name, one in found.items()}
    _check_shells(harnesses, runtimes, options, named=runtime is not None)
    other = tuple(name for name, one in found.items() if one.model is not None or one.client is not None)
    plain = standard == _SHELL and harness is None and any(harnesses[name] == _LEAST for name in free)
    return Prepared(config, harnesses, runtimes, other, limit, (_NO_SHELL,) if plain else ())


def _agent_config() -> type:
    from verifiers.v1.configs.agent import AgentConfig

    found: type = AgentConfig
    return found


def _put(raw: dict[str, Any], name: str, value: Any, settings: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
    """Put an option where it belongs: `phrases` into the task set, `agent.max_turns` and the like by their path."""
    first, *rest = name.split(".")
    if not rest and first in settings:
        first, rest = "taskset", [name]
    elif first not in whole or first in {"id", "interception"}:
        known = sorted({*settings, *(one for one in whole if one not in {"id", "interception"})} - {"id"})
        raise Failed(f"there is no option {name}; there are {', '.join(known)}", "environment_invalid")
    path = [first, *rest]
    short = {"harness": "id", "runtime": "type"}.get(path[-1])
    if short is not None and isinstance(value, str):
        path.append(short)
    place = raw
    for part in path[:-1]:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise Failed(f"the option {name} has no parts", "environment_invalid")
    place[path[-1]] = value


def _check_shells(
    harnesses: Mapping[str, str], runtimes: Mapping[str, str], options: Mapping[str, Any], *, named: bool
) -> None:
    """Refuse a shell on this machine that nobody asked for."""
    from verifiers.v1.utils.loaders import harness_class

    for role, harness in harnesses.items():
        shell = harness_class(harness).EXECUTES_CODE
        if shell and runtimes[role] == HERE and not named and f"{role}.runtime" not in options:
            raise Failed(
                f"the harness {harness} lets the model run commands; say where: runtime={CONTAINER} (isolated), or "
                f"runtime={HERE} (on this machine, as you)",
                "environment_invalid",
            )


def _first_problem(error: Any) -> str:
    problems = error.errors()
    first = problems[0]
    place = ".".join(str(part) for part in first["loc"])
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place}: {str(first['msg']).removeprefix('Value error, ')}{more}" if place else f"{first['msg']}{more}"


def files_of(module: Any) -> list[Path]:
    """Return the Python files that a task set consists of, in order."""
    origin = Path(module.__file__)
    return sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]


def version_of(module: Any) -> str:
    """Return the version of the distribution that brings a module; `0` for a file of the user."""
    top = module.__name__.split(".")[0]
    for name in metadata.packages_distributions().get(top, []):
        return metadata.version(name)
    return "0"
