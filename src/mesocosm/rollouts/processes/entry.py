"""Find what an entry file defines: an app, a backend, or a workflow with its grader. Standard library only.

The file may use our own SDK or the published package that it follows.
"""

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

OURS = "mesocosm.rollouts.sdk"
FAMILIES = ("osmosis_ai.rollout", OURS)


class EntryError(Exception):
    """An entry file defines no rollout, or more than one."""


def find_rollout(module: ModuleType) -> Any:
    """Return the app of a loaded entry file, else its backend, else a backend for its workflow class.

    For an app of our own SDK, return its backend. Raises EntryError.
    """
    names = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    apps = _distinct({name: value for name, value in names.items() if _is_app(value)})
    if len(apps) > 1:
        raise EntryError(f"{_file(module)} makes {len(apps)} apps ({', '.join(apps)}); keep one")
    if apps:
        app = next(iter(apps.values()))
        return getattr(app.state, "rollout_backend", app)
    backends = _instances(names, "ExecutionBackend")
    if len(backends) > 1:
        raise EntryError(
            f"{_file(module)} makes {len(backends)} backends ({', '.join(backends)}); keep one, or move the others to "
            "another file"
        )
    return next(iter(backends.values()), None) or _new_backend(module, names)


def family_of(cls: type, kind: str = "ExecutionBackend") -> str:
    """Return the SDK that provides a class's base of this kind, or "" if there is none."""
    for base in cls.__mro__:
        if base.__name__ == kind:
            for family in FAMILIES:
                if base.__module__.startswith(family):
                    return family
    return ""


def _new_backend(module: ModuleType, names: Mapping[str, Any]) -> Any:
    workflow = _class(module, names, "AgentWorkflow", "workflow")
    if workflow is None:
        raise EntryError(
            f"{_file(module)} has no rollout: there is neither a LocalBackend nor a class derived from AgentWorkflow "
            f"with a run method; found: {', '.join(sorted(names)) or 'nothing'}"
        )
    parts = {
        "grader": _class(module, names, "Grader", "grader"),
        "workflow_config": _only(module, _instances(names, "AgentWorkflowConfig"), "workflow_config"),
        "grader_config": _only(module, _instances(names, "GraderConfig"), "grader_config"),
    }
    from importlib import import_module

    backend: Any = import_module(f"{family_of(workflow, 'AgentWorkflow')}.backend").LocalBackend
    return backend(workflow=workflow, **{name: part for name, part in parts.items() if part is not None})


def _class(module: ModuleType, names: Mapping[str, Any], kind: str, noun: str) -> type | None:
    """Return the one class of a kind that is not a base of another; of several, the one defined in this file."""
    classes = {
        value
        for value in names.values()
        if isinstance(value, type)
        and family_of(value, kind)
        and not inspect.isabstract(value)
        and not value.__module__.startswith(FAMILIES)
    }
    leaves = [one for one in classes if not any(other is not one and issubclass(other, one) for other in classes)]
    own = [one for one in leaves if one.__module__ == module.__name__]
    chosen = own if len(leaves) > 1 and own else leaves
    if len(chosen) > 1:
        found = ", ".join(sorted(one.__name__ for one in chosen))
        raise EntryError(
            f"{_file(module)} has several {noun} classes ({found}); say which one: backend = LocalBackend({noun}=…)"
        )
    return chosen[0] if chosen else None


def _only(module: ModuleType, values: Mapping[str, Any], noun: str) -> Any:
    if len(values) > 1:
        raise EntryError(
            f"{_file(module)} has several configurations ({', '.join(values)}); say which one: "
            f"backend = LocalBackend(workflow=…, {noun}=…)"
        )
    return next(iter(values.values()), None)


def _instances(names: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return _distinct({name: value for name, value in names.items() if family_of(type(value), kind)})


def _distinct(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return each object once, by its first name."""
    found: dict[int, tuple[str, Any]] = {}
    for name, value in values.items():
        found.setdefault(id(value), (name, value))
    return dict(found.values())


def _is_app(value: Any) -> bool:
    return type(value).__name__ in {"FastAPI", "Starlette"}


def _file(module: ModuleType) -> str:
    return str(getattr(module, "__file__", None) or module.__name__)
