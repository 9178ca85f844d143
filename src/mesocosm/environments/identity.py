"""Identify the environment of a running server, and the one that an adapter would serve."""

import ast
from pathlib import Path
from typing import Any

from mesocosm.core.source import syntax_tree

SERVE = "serve"


def named_by_health(body: Any) -> str:
    """Return the class name in the response to GET /health, "" if the server does not report it."""
    name = body.get("env") if isinstance(body, dict) else None
    return name if isinstance(name, str) else ""


def served_class(adapter: Path) -> str:
    """Return the name of the class that an adapter passes to `serve`, "" if it cannot be determined.

    The source is parsed, never run. The class must be defined in the adapter, or in a module beside it from which the
    adapter imports it; other cases are not recognized.
    """
    tree = _parsed(adapter)
    if tree is None:
        return ""
    given = {_first_argument(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_serve(node)}
    if len(given) != 1:
        return ""
    name = given.pop()
    if name in _classes(tree):
        return name
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if (alias.asname or alias.name) == name and _defines(adapter.parent, node.module, alias.name):
                    return alias.name
    return ""


def _is_serve(call: ast.Call) -> bool:
    function = call.func
    return (isinstance(function, ast.Name) and function.id == SERVE) or (
        isinstance(function, ast.Attribute) and function.attr == SERVE
    )


def _first_argument(call: ast.Call) -> str:
    named = [keyword.value for keyword in call.keywords if keyword.arg == "env_class"]
    first = next(iter([*call.args, *named]), None)
    return first.id if isinstance(first, ast.Name) else ""


def _defines(directory: Path, module: str, name: str) -> bool:
    place = directory.joinpath(*module.split("."))
    trees = [_parsed(path) for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()]
    return any(tree is not None and name in _classes(tree) for tree in trees)


def _classes(tree: ast.Module) -> set[str]:
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


def _parsed(path: Path) -> ast.Module | None:
    try:
        return syntax_tree(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
