"""Loading a task of Inspect: by the name that a package gives it, or from a file."""

import ast
import contextlib
import difflib
import importlib
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import Failed, digest
from .inspect_catalogue import Fields, described, entries, exported, names_of, package_of, points, task_functions

LIMITS = ("message_limit", "token_limit", "turn_limit", "time_limit", "working_limit")
"""Arguments that a task need not have: limits of every sample."""
ROLES, SANDBOX = "roles", "sandbox"
_MOST_LABELS, _LONGEST_LABEL = 20, 40
_MOST_FILES = 400
_MEANS = {"accuracy", "mean", "grouped"}
"""Metrics of Inspect that are means of a number for each sample."""


@dataclass
class InspectTask:
    """A task with its samples, their contents, and what is known of its scorers."""

    task: Any
    samples: list[Any]
    contents: list[Fields]
    metrics: list[Fields]
    scorers: list[str]
    roles: list[str]
    limits: Fields
    sandbox: str


@contextlib.contextmanager
def without_tasks() -> Iterator[None]:
    """Let Inspect load hooks and providers of packages, but not all the tasks of inspect_evals: that takes seconds."""
    from inspect_ai._util import entrypoints

    state: Any = vars(entrypoints)
    known = "_inspect_ai_eps_loaded_all"
    for point in points():
        if package_of(point) != "inspect_evals":
            try:
                point.load()
            except Exception as error:  # noqa: BLE001 -- foreign code
                print(f"{point.value} cannot be loaded: {error}", file=sys.stderr)
    before, state[known] = state.get(known, False), True
    try:
        yield
    finally:
        state[known] = before


def _import(source: str) -> None:
    """Import the module of one task of a package, so that the others need not be."""
    package, _, name = source.partition("/")
    for point in points():
        if package_of(point) == package and (module := exported(point.value).get(name)):
            try:
                importlib.import_module(module)
            except Exception:  # noqa: BLE001 -- loading the task says why
                traceback.print_exc()


def load(source: str, args: Fields) -> InspectTask:
    """Load a task with its samples. Raises Failed, in one sentence, for what is no task or cannot be played."""
    path, at, name = source.partition("@")
    if at or path.endswith(".py") or Path(path).exists():
        named = [one for function in task_functions(Path(path)) for one in names_of(function)]
        if not Path(path).exists() or (at and named and name not in named):
            raise Failed(unknown(source))
    else:
        _import(source)
    roles, limits, sandbox = _taken(source, args)
    task = _one(source, args)
    samples = [sample.model_copy() for sample in task.dataset]
    for place, sample in enumerate(samples):
        if sample.id is None:
            sample.id = place + 1
        if sandbox and sample.sandbox is not None and sample.sandbox.type != sandbox:
            sample.sandbox = None
    _check_names(samples)
    metrics, scorers = metrics_of(task)
    roles = sorted({"grader", "judge", *roles, *roles_in(_files(source)), *(task.model_roles or {})})
    contents = [_without_folder(_content(one), f"{_folder(source)}{os.sep}") for one in samples]
    return InspectTask(task, samples, contents, metrics, scorers, roles, limits, sandbox)


def _taken(source: str, args: Fields) -> tuple[list[str], Fields, str]:
    """Take the arguments out of `args` that are ours: roles, limits, and the type of the sandbox. Raises Failed."""
    roles = [role.strip() for role in str(args.pop(ROLES, "")).split(",") if role.strip()]
    parameters = _parameters(source)
    own = frozenset(parameters or ())
    limits = {name: args.pop(name) for name in LIMITS if name in args and name not in own}
    # A task with a parameter of this name gets it too.
    sandbox = str(args.get(SANDBOX, ""))
    if SANDBOX not in own:
        args.pop(SANDBOX, None)
    strange = [name for name in args if parameters is not None and name not in own]
    if strange:
        known = ", ".join(parameters or ()) or "none"
        raise Failed(f"it has no parameter {strange[0]!r}; its parameters are: {known}")
    return roles, limits, sandbox


def _one(source: str, args: Fields) -> Any:
    """Return the only task of a source. Raises Failed."""
    # load_tasks is no public name; `inspect eval` finds tasks by it.
    from inspect_ai._eval.loader import load_tasks

    try:
        tasks = load_tasks([source], args)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        raise Failed(_unloadable(source, error)) from error
    if not tasks:
        raise Failed(unknown(source))
    if len(tasks) > 1:
        names = sorted(task.name.rpartition("/")[2] for task in tasks)
        raise Failed(f"it has {len(tasks)} tasks ({', '.join(names)}); name one: FILE.py@{names[0]}")
    task = tasks[0]
    if getattr(task, "sample_source", None) is not None:
        raise Failed("its samples are made while it runs, and cannot be listed before")
    if not task.scorer:
        raise Failed("it has no scorer, so there would be nothing to measure")
    return task


def _check_names(samples: Iterable[Any]) -> None:
    seen: set[str] = set()
    for sample in samples:
        if str(sample.id) in seen:
            raise Failed(f"two of its samples have the id {sample.id!r}")
        seen.add(str(sample.id))


def _registered(source: str) -> Any:
    """Return the function of a task of a package, or None."""
    if "@" in source or source.endswith(".py") or Path(source).exists():
        return None
    from inspect_ai._util.registry import registry_lookup

    return registry_lookup("task", source)


def _parameters(source: str) -> list[str] | None:
    """Return the names of a task's parameters; None if they are not known, or any is taken."""
    import inspect as reflection

    from inspect_ai.util import registry_info

    found = _registered(source)
    if found is None:
        return parameters_in(source)
    try:
        signature = reflection.signature(reflection.unwrap(found)).parameters.values()
        if any(one.kind is one.VAR_KEYWORD for one in signature):
            return None
    except (TypeError, ValueError):
        pass
    return list(registry_info(found).metadata.get("params", []))


def parameters_in(source: str) -> list[str] | None:
    """Return the parameters of a task in a file, read without running it."""
    path, _, name = source.partition("@")
    for function in task_functions(Path(path)):
        if not name or name in names_of(function):
            if function.args.kwarg is not None:
                return None
            return [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return None


def _unloadable(source: str, error: BaseException) -> str:
    if isinstance(error, FileNotFoundError) and _registered(source) is None and error.filename in (None, source):
        return unknown(source)
    if "not found" in str(error) and _registered(source) is None and not Path(source.partition("@")[0]).exists():
        return unknown(source)
    if type(error).__name__ in {"PrerequisiteError", "SystemExit"}:
        # Sentences for people, with marks of its console.
        return " ".join(re.sub(r"\[/?[a-z ]+\]", "", str(error)).split()).removeprefix("ERROR: ") or "no message"
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0] or 'no message'}"


def unknown(source: str) -> str:
    """Return a sentence about a name that means no task."""
    path, _, name = source.partition("@")
    if Path(path).exists():
        named = [one for function in task_functions(Path(path)) for one in names_of(function)]
        inside = f"; it has {', '.join(named)}" if named else ""
        return f"there is no task {name!r} in {path}{inside}" if name else f"{path} has no function with @task"
    if path.endswith(".py"):
        return f"there is no file {path}"
    package = source.partition("/")[0]
    known = [entry["id"] for entry in entries(package)]
    if not known:
        return f"no package called {package!r} with tasks of Inspect is installed, and there is no such file"
    near = difflib.get_close_matches(source, known, 1, 0.6)
    return f"{package} has no task of that name" + (f"; did you mean {near[0]}?" if near else "")


def _files(source: str) -> list[Path]:
    """Return the files with the code of a task: those of its folder in a package, or its file."""
    import inspect as reflection

    found = _registered(source)
    if found is not None:
        file = reflection.getsourcefile(reflection.unwrap(found))
        module = getattr(found, "__module__", "") or ""
        if file is None:
            return []
        # The folder below the package: PACKAGE/EVAL/….
        folder = Path(file).parent
        for _ in range(max(0, module.count(".") - 2)):
            folder = folder.parent
        return sorted(folder.rglob("*.py"))[:_MOST_FILES]
    path = Path(source.partition("@")[0])
    if path.is_dir():
        return sorted(path.glob("*.py"))[:_MOST_FILES]
    return [path] if path.is_file() else []


def roles_in(files: Iterable[Path]) -> set[str]:
    """Return the roles that code asks models for: `get_model(role=…)`, `model_role=…`."""
    found: set[str] = set()
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if "role" not in text:
            continue
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for keyword in node.keywords:
                named = keyword.arg == "model_role" or (keyword.arg == "role" and called == "get_model")
                if named and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                    found.add(keyword.value.value)
    return found


def _content(sample: Any) -> Fields:
    """Return a sample as JSON, without the ids that messages get by chance."""
    content: Fields = sample.model_dump(mode="json", exclude_none=True, fallback=repr)
    if isinstance(content.get("input"), list):
        for message in content["input"]:
            message.pop("id", None)
    return content


def _folder(source: str) -> Path:
    """Return the folder of a task in a file, below which Inspect finds its data."""
    path = Path(source.partition("@")[0]).absolute()
    return path if path.is_dir() else path.parent


def _without_folder(value: Any, folder: str) -> Any:
    """Return JSON with paths below the folder of a task as the task names them, wherever that folder is."""
    if isinstance(value, dict):
        return {name: _without_folder(item, folder) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_folder(item, folder) for item in value]
    return value.removeprefix(folder) if isinstance(value, str) else value


def code(source: str) -> str:
    """Return the digest of a task's own code, for files and folders of the user; packages have versions."""
    path = Path(source.partition("@")[0])
    files = sorted(path.rglob("*.py"))[:_MOST_FILES] if path.is_dir() else [path] if path.is_file() else []
    return digest(*files)


def distributions(source: str) -> list[str]:
    """Return the names of the distributions that bring the package of a task."""
    from importlib.metadata import packages_distributions

    package = source.partition("/")[0]
    return packages_distributions().get(package, []) if "@" not in source and not Path(source).exists() else []


def full_name(source: str, task: Any) -> str:
    """Return the name of a task, with its package if one brings it."""
    return source if _registered(source) is not None else str(task.name)


def version(task: Any, packages: Mapping[str, str]) -> str:
    """Return the version that a task states, else that of its package."""
    own = str(task.version) if task.version else ""
    return own if own not in {"", "0"} else next((one for name, one in packages.items() if name != "inspect_ai"), "0")


def described_as(source: str, task: Any) -> tuple[str, str]:
    """Return title and description: those of the package's `eval.yaml`, else of the task and its function."""
    import inspect as reflection

    title = str(getattr(task, "display_name", None) or task.name)
    found = _registered(source)
    if found is None:
        own = [one for one in task_functions(Path(source.partition("@")[0])) if title in names_of(one)]
        return title, (ast.get_docstring(own[0]) or "").partition("\n\n")[0] if own else ""
    file = reflection.getsourcefile(reflection.unwrap(found))
    package = source.partition("/")[0]
    for folder in Path(file).parents if file else ():
        if folder.name == package:
            break
        for entry in described(package, [folder / "eval.yaml"], ""):
            if entry["id"] == source:
                return str(entry["title"]), str(entry["description"])
    return title, (reflection.getdoc(found) or "").partition("\n\n")[0]


def needs(loaded: InspectTask) -> list[str]:
    """Return what this machine must have."""
    if loaded.sandbox:
        return ["docker"] if loaded.sandbox == "docker" else []
    sandboxes = [loaded.task.sandbox, *(sample.sandbox for sample in loaded.samples)]
    return ["docker"] if any(one is not None and one.type == "docker" for one in sandboxes) else []


def labels(samples: list[Any]) -> list[dict[str, str]]:
    """Return for each sample those facts of its metadata that have few values: results are grouped by them."""
    values: dict[str, set[str]] = {}
    for sample in samples:
        for name, value in (sample.metadata or {}).items():
            short = isinstance(value, str | bool | int) and len(str(value)) <= _LONGEST_LABEL
            values.setdefault(name, set()).add(str(value) if short else "\0")
    most = min(_MOST_LABELS, len(samples) // 2)
    kept = {name for name, seen in values.items() if 2 <= len(seen) <= most and "\0" not in seen}
    return [{name: str(value) for name, value in (sample.metadata or {}).items() if name in kept} for sample in samples]


def metrics_of(task: Any) -> tuple[list[Fields], list[str]]:
    """Return the metrics that are known before a run, and the names of the scorers as Inspect gives them."""
    from inspect_ai.util import registry_info

    found: list[Fields] = []
    names: list[str] = []
    for scorer in task.scorer:
        info = registry_info(scorer)
        base = info.name.rpartition("/")[2]
        name, count = base, 1
        while name in names:
            name, count = f"{base}{count}", count + 1
        names.append(name)
        declared = info.metadata.get("metrics") or []
        scalar = {_metric_name(one) for one in declared if not isinstance(one, Mapping)}
        parts: dict[str, set[str]] = {}
        for one in [declared] if isinstance(declared, Mapping) else declared:
            if isinstance(one, Mapping):
                for key, metrics in one.items():
                    parts[key] = {_metric_name(metric) for metric in metrics}
        if any("*" in key for key in parts) or (not parts and not scalar & _MEANS):
            parts = {key: set() for key in _keys(scorer)}
        for key, metrics in parts.items():
            found.append(_mean(f"{name}.{key}", metrics))
        if not parts:
            found.append(_mean(name, scalar))
    headline = getattr(task, "headline_metric", None)
    wanted = getattr(headline, "scorer", None)
    first = next((one for one in found if wanted and one["name"].partition(".")[0] == wanted), None)
    if found:
        (first or found[0])["primary"] = True
    return found, names


def _mean(name: str, metrics: set[str]) -> Fields:
    mean: Fields = {"name": name, "score": name}
    if "accuracy" in metrics:
        return mean | {"low": 0.0, "high": 1.0}
    return mean if metrics & _MEANS else mean | {"directed": False}


def _metric_name(metric: Any) -> str:
    from inspect_ai.util import registry_info

    try:
        return str(registry_info(metric).name).rpartition("/")[2]
    except (ValueError, AttributeError, KeyError):
        return ""


def _keys(scorer: Any) -> list[str]:
    """Return the keys of the objects that a scorer gives, if its code names them: `Score(value={"a": …})`."""
    import inspect as reflection
    import textwrap

    try:
        tree = ast.parse(textwrap.dedent(reflection.getsource(reflection.unwrap(scorer))))
    except (OSError, TypeError, SyntaxError):
        return []
    keys: dict[str, None] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) != "Score":
            continue
        for keyword in node.keywords:
            if keyword.arg == "value" and isinstance(keyword.value, ast.Dict):
                for key in keyword.value.keys:
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        keys[key.value] = None
    return list(keys)
