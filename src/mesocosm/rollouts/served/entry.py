"""The app of an entry file that starts no server of its own. Runs in the rollout's process; standard library only.

A file may define an app, a backend, or no more than a workflow with its grader and their configs; written for our own
SDK or for the package that it follows.
"""

import importlib
import inspect
from types import ModuleType
from typing import Any

FAMILIES = ("osmosis_ai.rollout", "mesocosm.rollouts.sdk")


class EntryError(Exception):
    """An entry file has nothing to serve, or more than one thing."""


def find_app(module: ModuleType) -> Any:
    """Return the ASGI app of a loaded entry file. Raises EntryError."""
    values = [value for name, value in vars(module).items() if not name.startswith("_")]
    apps = [value for value in values if type(value).__name__ in {"FastAPI", "Starlette"}]
    if apps:
        return _only(apps, "apps", module)
    backends = [value for value in values if _family(type(value), "ExecutionBackend")]
    backend = _only(backends, "backends", module) if backends else _backend(values, module)
    family = _family(type(backend), "ExecutionBackend")
    return importlib.import_module(f"{family}.server").create_rollout_server(backend=backend)


def _backend(values: list[Any], module: ModuleType) -> Any:
    """Return a backend for the one workflow that a file defines, with the grader and configs beside it."""
    workflows, graders = (_defined(values, kind, module) for kind in ("AgentWorkflow", "Grader"))
    if not workflows:
        raise EntryError(
            f"{module.__file__} starts no server and defines no AgentWorkflow: "
            "define one, or call uvicorn.run(create_rollout_server(backend=…)) in it"
        )
    workflow = _only(workflows, "workflows", module)
    parts = {
        "grader": graders,
        "workflow_config": [value for value in values if _family(type(value), "AgentWorkflowConfig")],
        "grader_config": [value for value in values if _family(type(value), "GraderConfig")],
    }
    found = {name: _only(some, f"{name}s", module) for name, some in parts.items() if some}
    backend: Any = importlib.import_module(f"{_family(workflow, 'AgentWorkflow')}.backend").LocalBackend
    return backend(workflow=workflow, **found)


def _defined(values: list[Any], kind: str, module: ModuleType) -> list[type]:
    """Return the concrete classes of a kind; those that are bases of others, or imported, give way."""
    found = {value: None for value in values if isinstance(value, type) and _family(value, kind)}
    concrete = [cls for cls in found if not inspect.isabstract(cls) and not cls.__module__.startswith(FAMILIES)]
    last = [cls for cls in concrete if not any(other is not cls and issubclass(other, cls) for other in concrete)]
    own = [cls for cls in last if cls.__module__ == module.__name__]
    return own or last


def _family(cls: type, kind: str) -> str:
    """Return the SDK that a class has its base of this kind from, "" when it has none."""
    for base in cls.__mro__:
        if base.__name__ == kind:
            for family in FAMILIES:
                if base.__module__.startswith(family):
                    return family
    return ""


def _only(found: list[Any], what: str, module: ModuleType) -> Any:
    distinct = list({id(one): one for one in found}.values())
    if len(distinct) > 1:
        names = ", ".join(getattr(one, "__name__", type(one).__name__) for one in distinct)
        raise EntryError(
            f"{module.__file__} defines several {what} ({names}): say which one is served by a LocalBackend"
        )
    return distinct[0]
