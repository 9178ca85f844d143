"""The tasks that packages of Inspect offer, read without importing them."""

import ast
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Fields = dict[str, Any]


def points() -> list[Any]:
    """Return the entry points of packages that extend Inspect."""
    from importlib.metadata import entry_points

    return list(entry_points(group="inspect_ai"))


def package_of(point: Any) -> str:
    """Return the name of the package that an entry point names."""
    return str(point.value).partition(":")[0].partition(".")[0]


def exported(module: str) -> dict[str, str]:
    """Return the modules from which a module imports names, by name; it is not imported itself."""
    package, *rest = module.partition(":")[0].split(".")
    spec = find_spec(package)
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        file = Path(place, *rest).with_suffix(".py") if rest else Path(place) / "__init__.py"
        if file.is_file():
            tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
            return {
                alias.asname or alias.name: ("." * node.level and f"{package}.") + (node.module or "")
                for node in tree.body
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
    return {}


def entries(package: str) -> Iterator[Fields]:
    """Yield the tasks of a package: from the descriptions of inspect_evals, else from functions with `@task`."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        root = Path(place)
        licence = _licence(package)
        seen: set[str] = set()
        for entry in described(package, sorted(root.glob("*/eval.yaml")), licence):
            seen.add(entry["id"])
            yield entry
        brought = _brought(package)
        for file in sorted(root.rglob("*.py")):
            for function in task_functions(file):
                name = f"{package}/{names_of(function)[0]}"
                if name not in seen and (not brought or function.name in brought):
                    seen.add(name)
                    words = ast.get_docstring(function) or ""
                    yield _entry(name, function.name.replace("_", " "), words.partition("\n\n")[0], licence)


def described(package: str, files: Iterable[Path], licence: str) -> Iterator[Fields]:
    """Yield what files `eval.yaml` say, one for each evaluation with any number of tasks."""
    for file in files:
        if not file.is_file():
            continue
        import yaml

        # Safe as well, and ten times as fast.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            told = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506
        except (OSError, yaml.YAMLError):
            continue
        if not isinstance(told, dict):
            continue
        facts = told.get("metadata") or {}
        needs = ["docker"] if facts.get("sandbox") else []
        if told.get("dependency"):
            needs.append(f"{package}[{told['dependency']}]")
        assets = told.get("external_assets") or []
        if any(isinstance(one, dict) and one.get("type") in {"huggingface", "direct_url"} for one in assets):
            needs.append("download")
        tags = [str(told["group"])] if told.get("group") else []
        tags += [str(tag) for tag in told.get("tags") or []]
        for task in told.get("tasks") or []:
            if isinstance(task, dict) and task.get("name"):
                name = f"{package}/{task['name']}"
                words = str(task.get("description") or told.get("description") or "").strip()
                entry = _entry(name, str(told.get("title") or task["name"]), words, licence)
                count = task.get("dataset_samples")
                yield entry | {"tasks": count if isinstance(count, int) else None, "needs": needs, "tags": tags}


def _entry(name: str, title: str, description: str, licence: str) -> Fields:
    return {
        "id": name,
        "title": title,
        "description": " ".join(description.split()),
        "tasks": None,
        "needs": [],
        "licence": licence,
        "tags": [],
        "run": f"inspect:{name}",
    }


def _brought(package: str) -> set[str]:
    """Return the names that the entry points of a package import, which are all that Inspect knows; empty: any."""
    names = {name for point in points() if package_of(point) == package for name in exported(point.value)}
    return set() if "*" in names else names


def _licence(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        told: Any = metadata(package)
    except PackageNotFoundError:
        return ""
    named = str(told.get("License-Expression") or told.get("License") or "").strip()
    return named.partition("\n")[0][:80]


def task_functions(path: Path) -> Iterator[ast.FunctionDef]:
    """Yield the functions with `@task` of a file, or of the files of a folder; none of them is run."""
    files = sorted(path.glob("*.py")) if path.is_dir() else [path] if path.is_file() else []
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if "@task" not in text:
            continue
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and any(_is_task(one) for one in node.decorator_list):
                yield node


def _is_task(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) == "task"


def names_of(function: ast.FunctionDef) -> list[str]:
    """Return the name of a task: that of its decorator, else of its function."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and _is_task(decorator):
            for keyword in decorator.keywords:
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    return [str(keyword.value.value)]
    return [function.name]
